//! Metamorphic properties of classification: what may be written around a command never hides what it does.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use proptest::prelude::*;
use proptest::sample::select;
use swbox::classify::spec::Traits;
use swbox::classify::{Classification, Environment, OpClass, OpSet, classify_line, registry};
use swbox::shell::{Trust, parse};

/// Trusted lines of the labelled cases and of the rows' own lines.
fn lines() -> &'static [String] {
    static LINES: OnceLock<Vec<String>> = OnceLock::new();
    LINES.get_or_init(|| {
        let tests = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests");
        let mut lines = Vec::new();
        for line in fs::read_to_string(tests.join("corpus/classify.jsonl")).unwrap().lines() {
            let case: serde_json::Value = serde_json::from_str(line).unwrap();
            lines.push(case["cmd"].as_str().unwrap().to_owned());
        }
        for file in fs::read_dir(tests.join("classify")).unwrap() {
            let text = fs::read_to_string(file.unwrap().path()).unwrap();
            let commands = text.lines().filter_map(|line| line.rsplit_once(" => "));
            lines.extend(commands.map(|(command, _)| command.replace('⏎', "\n")));
        }
        lines.retain(|line| parse(line).trust == Trust::Trusted);
        lines
    })
}

/// Lines of one simple command without redirects in front.
fn simple_lines() -> &'static [String] {
    static LINES: OnceLock<Vec<String>> = OnceLock::new();
    LINES.get_or_init(|| {
        let is_simple = |line: &&String| {
            let script = parse(line);
            let [segment] = &script.segments[..] else { return false };
            let starts = line.starts_with(|first: char| first.is_ascii_lowercase());
            let word = segment.argv.first().and_then(|verb| verb.value.literal()).unwrap_or("");
            starts
                && !line.contains('\n')
                && word.bytes().all(|byte| byte.is_ascii_lowercase())
                && word.len() > 1
        };
        lines().iter().filter(is_simple).cloned().collect()
    })
}

fn look(line: &str) -> Classification {
    let environment =
        Environment { cwd: "/work/project".into(), home: "/home/dev".into(), ..Environment::default() };
    classify_line(line, &environment)
}

fn effects(found: &Classification) -> OpSet {
    found.classes.without(OpSet::of(&[OpClass::Passthrough]))
}

/// `around` shows all that `inner` shows, or says that it cannot see.
fn keeps(inner: &str, around: &str) -> Result<(), TestCaseError> {
    let (inner_found, around_found) = (look(inner), look(around));
    let is_seen = effects(&inner_found).is_subset(effects(&around_found));
    prop_assert!(
        is_seen || around_found.opaque.is_some() || around_found.trust != Trust::Trusted,
        "{inner:?} gives {:?}, {around:?} only {:?}",
        inner_found.classes.iter().collect::<Vec<_>>(),
        around_found.classes.iter().collect::<Vec<_>>()
    );
    let is_blind = inner_found.opaque.is_some() && around_found.opaque.is_none();
    prop_assert!(!is_blind || around_found.trust != Trust::Trusted, "{inner:?} is opaque, {around:?} is not");
    Ok(())
}

fn quoted(line: &str) -> String {
    format!("'{}'", line.replace('\'', "'\\''"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn shell_text_in_a_wrapper(line in select(lines()), shape in select(vec![
        "bash -c @", "sh -ec @", "bash -lc @", "eval @", "sudo sh -c @", "timeout 5 bash -c @", "env A=1 sh -c @",
        "nohup bash -c @ &", "su root -c @", "bash -c \"bash -c @\"", "xargs -n1 sh -c @", "watch @", "flock /tmp/l -c @",
        "busybox sh -c @", "nice -n 5 zsh -c @", "env -S \"bash -c @\"", "script -qc @ /dev/null",
        "find . -exec sh -c @ \\;", "trap @ EXIT", "parallel ::: @",
    ])) {
        // Shapes with text in double quotes only take lines that quote the same there.
        let is_double = shape.contains('"');
        prop_assume!(!is_double || !line.contains(['"', '$', '`', '\\', '\n', '!', '\'']));
        keeps(&line, &shape.replace('@', &quoted(&line)))?;
    }

    #[test]
    fn structure_around_lines(line in select(lines()), shape in select(vec![
        "{\n@\n}", "(\n@\n)", "if true; then\n@\nfi", "while true; do\n@\ndone", "for i in 1; do\n@\ndone",
        "f() {\n@\n}\nf", "true\n@", "@\ntrue", "ls\n@\nls", "x=$(\n@\n)", "! {\n@\n}", "case x in x)\n@\n;; esac",
        "coproc {\n@\n}", "{\n@\n} 2>/dev/null", "cat <(\n@\n)", "# note\n@", "cd /tmp\n@", "export A=1\n@",
    ])) {
        keeps(&line, &shape.replace('@', &line))?;
    }

    #[test]
    fn a_wrapper_in_front(line in select(simple_lines()), wrapper in select(vec![
        "sudo", "sudo -u bob --", "env A=1", "timeout 5", "timeout -k 2 --signal=KILL 5s", "nice -n 5", "nohup", "setsid",
        "ionice -c 3", "stdbuf -oL", "time -p", "doas", "strace -f", "taskset 0x3", "chrt -b 0", "flock /tmp/l",
        "systemd-run --user", "sudo env A=1 nice -n 5 timeout 9 nohup", "unshare -r", "chroot /mnt", "busybox env",
    ])) {
        // A builtin behind a program is another program or none.
        let verb = line.split(' ').next().unwrap();
        let is_builtin = registry::lookup(verb).is_some_and(|row| {
            row.traits.has(Traits::EFFECT_FREE) || matches!(verb, "source")
        });
        prop_assume!(!is_builtin);
        keeps(&line, &format!("{wrapper} {line}"))?;
    }

    #[test]
    fn quoting_of_the_verb(line in select(simple_lines()), way in 0..6_usize) {
        let end = line.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(line.len());
        let (verb, rest) = line.split_at(end);
        let quoted = match way {
            0 => format!("'{verb}'"),
            1 => format!("\"{verb}\""),
            2 => format!("\\{verb}"),
            3 => format!("{}\\\n{}", &verb[..1], &verb[1..]),
            4 => format!("{}\"\"{}", &verb[..1], &verb[1..]),
            _ => format!("$'\\x{:02x}{}'", verb.as_bytes()[0], &verb[1..]),
        };
        keeps(&line, &format!("{quoted}{rest}"))?;
    }

    #[test]
    fn two_lines_together(first in select(lines()), second in select(lines())) {
        // A function shadows the program of its name.
        prop_assume!(parse(&first).functions.is_empty());
        let both = format!("{first}\n{second}");
        keeps(&first, &both)?;
        keeps(&second, &both)?;
    }

    /// Whatever the text, classification ends without a panic and each segment shows at least one class.
    #[test]
    fn any_text_ends(parts in prop::collection::vec(select(vec![
        "rm", "sed", "awk", "find", "git", "bash", "-c", "-e", "xargs", "env", "sudo", "tar", "dd", "ssh", "curl", "python",
        "parallel", "sort", "docker", "exec", "kubectl", "if=", "of=é", "-o", "--output=", "--", "-", "-I", "{}", ":::", "\\;",
        "'s/a/b/w é'", "'{print > \"é'", "\"$x\"", "$x", "é", "'", "\"", "`", "$(", ")", "(", "{", "}", "|", "&&", ";", ">", "<",
        "<<E", "E", "\n", " ", "\\", "=", "a=b", "PATH=", "*", "~", "-exec", "alias", "eval", "trap", "'rm x'", "+", "/", "--help",
    ]), 0..24), glue in select(vec![" ", ""])) {
        let found = look(&parts.join(glue));
        for segment in &found.segments {
            prop_assert!(!segment.classes.is_empty() && !segment.ops.is_empty());
            prop_assert!(segment.opaque.is_none() || !(segment.closed || segment.pure || segment.effect_free));
        }
    }
}
