//! Changes to a line that bash does not notice lose no command and no word.

use proptest::prelude::*;
use proptest::sample::Index;
use swbox::shell::{RedirectOp, Script, Trust, Value, parse};

use super::corpus;

type Words = Vec<Vec<Value>>;

fn words(script: &Script) -> Words {
    let segments = script.segments.iter().filter(|segment| !segment.argv.is_empty());
    let mut words: Words =
        segments.map(|segment| segment.argv.iter().map(|arg| arg.value.clone()).collect()).collect();
    words.sort_by_key(|argv| format!("{argv:?}"));
    words
}

/// A line that is trusted and has no heredoc, whose body would change with the line.
fn usable(source: &str) -> Option<Script> {
    let script = parse(source);
    let heredoc = script
        .segments
        .iter()
        .any(|segment| segment.redirects.iter().any(|redirect| redirect.op == RedirectOp::Heredoc));
    (script.trust == Trust::Trusted && !heredoc && !source.ends_with('\\') && !script.segments.is_empty())
        .then_some(script)
}

/// The same commands with the same words.
fn same(before: &Script, changed: &str) -> Result<(), TestCaseError> {
    let after = parse(changed);
    prop_assert_eq!(&after.trust, &Trust::Trusted, "{:?}", changed);
    prop_assert_eq!(words(before), words(&after), "{:?}", changed);
    Ok(())
}

/// Whether a command of which less is known can still be that one.
fn covers(vague: &[Value], known: &[Value]) -> bool {
    match (vague, known) {
        ([], []) => true,
        ([Value::Unknown { splits: true }, ..], _) => true,
        ([new, vague @ ..], [old, known @ ..]) => {
            let prefix = new.literal().is_none() && old.known_prefix().starts_with(new.known_prefix());
            (new == old || prefix) && covers(vague, known)
        }
        _ => false,
    }
}

/// All commands of before, and maybe more. `vaguer`: a word that was known may have become one that can be anything.
fn contains(before: &Script, changed: &str, vaguer: bool) -> Result<(), TestCaseError> {
    let after = parse(changed);
    prop_assert_eq!(&after.trust, &Trust::Trusted, "{:?}", changed);
    let after = words(&after);
    for argv in words(before) {
        let kept = after.iter().any(|new| *new == argv || vaguer && covers(new, &argv));
        prop_assert!(kept, "{:?} is lost in {:?}", argv, changed);
    }
    Ok(())
}

fn is_plain(text: &str) -> bool {
    text.len() > 1
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'/'))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn quoting_a_verb_changes_nothing(line in any::<Index>(), which in any::<Index>(), style in 0..3) {
        let lines = corpus_once();
        let source = line.get(lines);
        let Some(script) = usable(source) else { return Ok(()) };
        let verbs: Vec<_> = script.segments.iter().filter_map(|segment| segment.argv.first()).collect();
        prop_assume!(!verbs.is_empty());
        let span = which.get(&verbs).span;
        let text = span.of(source);
        // a quoted `declare` is still the builtin, but bash reads `a=(…)` only after a plain one
        prop_assume!(is_plain(text) && !source.contains("=("));
        prop_assume!(!source[..span.start].ends_with('`') && !source.contains('`'));
        let quoted = match style {
            0 => format!("'{text}'"),
            1 => format!("\"{text}\""),
            _ => format!("\\{text}"),
        };
        same(&script, &format!("{}{quoted}{}", &source[..span.start], &source[span.end..]))?;
    }

    #[test]
    fn a_continuation_inside_or_between_words_changes_nothing(line in any::<Index>(), which in any::<Index>(), inside in any::<bool>(), cut in any::<Index>()) {
        let lines = corpus_once();
        let source = line.get(lines);
        let Some(script) = usable(source) else { return Ok(()) };
        let args: Vec<_> = script.segments.iter().flat_map(|segment| &segment.argv).collect();
        prop_assume!(!args.is_empty() && !source.contains('`'));
        let span = which.get(&args).span;
        let text = span.of(source);
        prop_assume!(is_plain(text));
        let at = if inside { span.start + 1 + cut.index(text.len() - 1) } else { span.start };
        same(&script, &format!("{}\\\n{}", &source[..at], &source[at..]))?;
    }

    #[test]
    fn comments_and_blank_lines_change_nothing(line in any::<Index>(), before in "(\n| |\t|# it's \"`\\$\\(\n){0,3}", after in "(\n|\n# c'\n|\n\n)") {
        let lines = corpus_once();
        let source = line.get(lines);
        let Some(script) = usable(source) else { return Ok(()) };
        same(&script, &format!("{before}{source}{after}"))?;
    }

    #[test]
    fn wrapping_loses_nothing(line in any::<Index>(), style in 0..10) {
        let lines = corpus_once();
        let source = line.get(lines);
        let Some(script) = usable(source) else { return Ok(()) };
        let wrapped = match style {
            0 => format!("{{ {source}\n}}"),
            1 => format!("( {source}\n)"),
            2 => format!("if true; then {source}\nfi"),
            3 => format!("while true; do {source}\ndone"),
            4 => format!("case x in x) {source}\n;; esac"),
            5 => format!("echo \"$( {source}\n)\""),
            6 => format!("cat <( {source}\n)"),
            7 => format!("true && {{ {source}\n}} | cat"),
            8 => format!("{source}\nrm zz"),
            _ => format!("cat <<E\n$( {source}\n)\nE\n"),
        };
        // a value that is known outside may be unknown in a branch
        prop_assume!(!source.contains('=') || style == 8);
        // bash joins continued lines of an unquoted heredoc before it reads quotes, so the words themselves change
        prop_assume!(style != 9 || !source.contains("\\\n"));
        // in a script with an unquoted heredoc nothing is known of loop variables, since its body is read elsewhere
        contains(&script, &wrapped, style == 9 && source.contains("for "))?;
    }
}

fn corpus_once() -> &'static [String] {
    static LINES: std::sync::OnceLock<Vec<String>> = std::sync::OnceLock::new();
    LINES.get_or_init(corpus)
}
