//! Changing the values of settings in a git configuration file and leaving all else in it as a person wrote it. Pure.
//!
//! What is written is made here from names and values, never copied from a file of the command's: a text that git and
//! this parser would read differently cannot come through.
//!
//! Danger: a value that is not quoted rightly could end its line and begin a setting of its own.

use std::ops::Range;

use super::config::{self, Setting};

/// New values of one setting; none takes it out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    /// `section.subsection.key` with section and key in lower case.
    pub(super) name: String,
    /// All its values, in order.
    pub(super) values: Vec<String>,
}

/// The settings whose values differ between two files.
pub(super) fn differences(old: &[Setting], new: &[Setting]) -> Vec<Change> {
    let mut changes: Vec<Change> = Vec::new();
    for name in old.iter().chain(new).map(|setting| &setting.name) {
        let (before, after) = (values(old, name), values(new, name));
        if before != after && !changes.iter().any(|change| change.name == *name) {
            changes.push(Change { name: name.clone(), values: after });
        }
    }
    changes
}

/// All values of a setting.
pub(super) fn values(settings: &[Setting], name: &str) -> Vec<String> {
    settings.iter().filter(|setting| setting.name == name).map(|setting| setting.value.clone()).collect()
}

/// A setting's section, subsection and key.
pub(super) fn parts(name: &str) -> Option<(&str, Option<&str>, &str)> {
    let (section, rest) = name.split_once('.')?;
    Some(match rest.rsplit_once('.') {
        Some((subsection, key)) => (section, Some(subsection), key),
        None => (section, None, rest),
    })
}

/// `text` with these changes; `None` where a name or value cannot be written.
pub(super) fn apply(text: &str, changes: &[Change]) -> Option<String> {
    let mut text = text.to_owned();
    for change in changes {
        text = apply_one(&text, change)?;
    }
    Some(text)
}

fn apply_one(text: &str, change: &Change) -> Option<String> {
    let (section, subsection, key) = parts(&change.name)?;
    let plain = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if !plain(section)
        || !plain(key)
        || key.is_empty()
        || subsection.is_some_and(|name| name.contains(['\n', '\0']))
    {
        return None;
    }
    let lines: Option<String> =
        change.values.iter().map(|value| Some(format!("\t{key} = {}\n", quoted(value)?))).collect();
    let lines = lines?;
    let file = config::parse(text);
    let header = subsection.map_or(section.to_owned(), |subsection| format!("{section}.{subsection}"));
    let old: Vec<Range<usize>> = file
        .settings
        .iter()
        .filter(|setting| setting.name == change.name)
        .map(|setting| whole_line(text, setting.span.clone()))
        .collect();
    let mut sections = file.headers.iter().filter(|(name, _)| *name == header).map(|(_, span)| span.clone());
    let last = sections.next_back();
    let mut edits: Vec<(Range<usize>, String)> =
        old.iter().map(|span| (span.clone(), String::new())).collect();
    match (edits.first_mut(), last) {
        (Some((span, new)), _) => {
            let starts_line =
                span.start == 0 || text.get(..span.start).is_some_and(|before| before.ends_with('\n'));
            *new = if starts_line || lines.is_empty() { lines } else { format!("\n{lines}") };
        }
        (None, Some(header)) => {
            let inside = file.settings.iter().filter(|setting| setting.span.start >= header.end);
            let next = file.headers.iter().map(|(_, span)| span.start).find(|start| *start >= header.end);
            let end = inside
                .map(|setting| setting.span.end)
                .take_while(|end| next.is_none_or(|next| *end <= next))
                .last();
            let end = end.unwrap_or(header.end);
            let (at, newline) = match text.get(end..).and_then(|rest| rest.find('\n')) {
                Some(length) => (end + length + 1, ""),
                None => (text.len(), "\n"),
            };
            // A comment may stand behind; a further header or key on the same line may not.
            if text.get(end..at).is_some_and(|rest| rest.trim_start().starts_with(|c| c != '#' && c != ';')) {
                edits.push((end..end, format!("\n{lines}")));
            } else {
                edits.push((at..at, format!("{newline}{lines}")));
            }
        }
        (None, None) if lines.is_empty() => {}
        (None, None) => {
            let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
            let header = match subsection {
                Some(name) => format!("[{section} \"{}\"]", name.replace('\\', "\\\\").replace('"', "\\\"")),
                None => format!("[{section}]"),
            };
            edits.push((text.len()..text.len(), format!("{newline}{header}\n{lines}")));
        }
    }
    let mut result = text.to_owned();
    for (span, new) in edits.into_iter().rev() {
        result.replace_range(span, &new);
    }
    Some(if change.values.is_empty() { without_empty(&result, &header) } else { result })
}

/// The line of a setting with its newline, or the setting alone where something stands before it on the line.
fn whole_line(text: &str, span: Range<usize>) -> Range<usize> {
    let start = text.get(..span.start).and_then(|before| before.rfind('\n')).map_or(0, |newline| newline + 1);
    let alone = text.get(start..span.start).is_some_and(|before| before.trim().is_empty());
    if !alone {
        return span;
    }
    let newline = usize::from(text.get(span.end..).is_some_and(|rest| rest.starts_with('\n')));
    start..span.end + newline
}

/// Takes out sections of that name that hold nothing at all.
fn without_empty(text: &str, name: &str) -> String {
    let file = config::parse(text);
    let ends = file.headers.iter().skip(1).map(|(_, span)| span.start).chain([text.len()]);
    let empty = file.headers.iter().zip(ends).filter(|((header, span), end)| {
        header == name && text.get(span.end..*end).is_some_and(|rest| rest.trim().is_empty())
    });
    let spans: Vec<Range<usize>> = empty.map(|((_, span), end)| span.start..end).collect();
    let mut text = text.to_owned();
    for span in spans.into_iter().rev() {
        text.replace_range(span, "");
    }
    text
}

/// A value in quotes where it needs them; `None` for one that no file can hold.
fn quoted(value: &str) -> Option<String> {
    if value.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
        return None;
    }
    let plain = |c: char| c.is_alphanumeric() || "/.:@_+*-^,=~".contains(c);
    if !value.is_empty() && value.chars().all(plain) {
        return Some(value.to_owned());
    }
    let escaped = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t");
    Some(format!("\"{escaped}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(name: &str, values: &[&str]) -> Change {
        Change { name: name.to_owned(), values: values.iter().map(|value| (*value).to_owned()).collect() }
    }

    #[test]
    fn values_change_and_the_rest_stays_as_it_was() {
        let text = "# mine\n[core]\n\tbare = false ; yes\n[branch \"a.b\"]\n\tremote = o\n\tmerge = refs/heads/x\n[x]y=1";
        for (changes, expected) in [
            (vec![change("branch.a.b.remote", &["p"])], text.replace("remote = o", "remote = p")),
            (
                vec![change("branch.a.b.rebase", &["true"])],
                text.replace("heads/x\n", "heads/x\n\trebase = true\n"),
            ),
            (
                vec![change("branch.a.b.remote", &[]), change("branch.a.b.merge", &[])],
                "# mine\n[core]\n\tbare = false ; yes\n[x]y=1".to_owned(),
            ),
            (
                vec![change("branch.n.remote", &["o"]), change("branch.n.merge", &["refs/heads/n"])],
                format!("{text}\n[branch \"n\"]\n\tremote = o\n\tmerge = refs/heads/n\n"),
            ),
            (vec![change("core.k", &["v"])], text.replace("; yes\n", "; yes\n\tk = v\n")),
            (vec![change("x.y", &["2"])], text.replace("[x]y=1", "[x]\n\ty = 2\n")),
            (vec![change("x.z", &["2"])], format!("{text}\n\tz = 2\n")),
            (vec![change("none.k", &[])], text.to_owned()),
        ] {
            let result = apply(text, &changes).unwrap();
            assert_eq!(result, expected, "{changes:?}");
        }
    }

    #[test]
    fn what_is_written_reads_back_as_what_was_meant() {
        let values = [
            "a b",
            "",
            " x ",
            "\"q\" \\ #;",
            "two\nlines\tand",
            "ä",
            "[core] fsmonitor = x",
            "x\n[core]\nfsmonitor=y",
        ];
        for value in values {
            for name in ["branch.we\"ird\\ n.ame.description", "branch.x.description"] {
                for text in [
                    "",
                    "[core]\n\tbare = false\n",
                    "[branch \"x\"]\n\tdescription = \"old\"\n",
                    "[branch \"x\"] a = b",
                ] {
                    let result = apply(text, &[change(name, &[value, "second"])]).unwrap();
                    let settings = config::settings(result.as_bytes());
                    assert_eq!(values_of(&settings, name), [value, "second"], "{result}");
                    let others = settings.iter().filter(|setting| setting.name != name);
                    let before = config::settings(text.as_bytes());
                    let kept = before.iter().filter(|setting| setting.name != name);
                    assert!(
                        others.map(|s| (&s.name, &s.value)).eq(kept.map(|s| (&s.name, &s.value))),
                        "{result}"
                    );
                }
            }
        }
    }

    fn values_of(settings: &[Setting], name: &str) -> Vec<String> {
        values(settings, name)
    }

    #[test]
    fn what_cannot_be_written_is_refused() {
        for (name, value) in
            [("branch.a\nb.remote", "o"), ("branch.a.remote", "o\u{1}"), ("branch", "o"), ("a b.c", "d")]
        {
            assert_eq!(apply("", &[change(name, &[value])]), None, "{name:?}");
        }
    }

    #[test]
    fn differences_are_found_by_name_and_order() {
        let old = config::settings(b"[a]\nk = 1\nk = 2\n[b]\nx = y\n");
        let new = config::settings(b"[a]\nk = 2\nk = 1\n[b]\nx = y\n[c \"D\"]\nz\n");
        assert_eq!(differences(&old, &new), [change("a.k", &["2", "1"]), change("c.D.z", &["true"])]);
        assert!(differences(&old, &old).is_empty());
    }
}
