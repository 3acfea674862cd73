//! A copy of the user's git configuration that cannot run anything: an allow-list of keys, re-quoted.
//!
//! Danger: git's configuration names programs in a dozen places (`core.fsmonitor`, `diff.*.textconv`, `filter.*`,
//! aliases with `!`, credential helpers, includes). What is not listed here does not exist inside.

/// Sections of which every plain key is data.
const WHOLE_SECTIONS: &[&str] =
    &["advice", "column", "color", "i18n", "feature", "status", "versionsort", "author", "committer"];

/// Keys that only say how git behaves, as `section.key`, lower case.
const KEYS: &[&str] = &[
    "blame.coloring",
    "blame.date",
    "blame.ignorerevsfile",
    "branch.autosetupmerge",
    "branch.autosetuprebase",
    "branch.sort",
    "commit.cleanup",
    "commit.status",
    "commit.verbose",
    "core.abbrev",
    "core.attributesfile",
    "core.autocrlf",
    "core.bigfilethreshold",
    "core.checkroundtripencoding",
    "core.commitgraph",
    "core.compression",
    "core.eol",
    "core.excludesfile",
    "core.filemode",
    "core.ignorecase",
    "core.longpaths",
    "core.precomposeunicode",
    "core.preloadindex",
    "core.quotepath",
    "core.safecrlf",
    "core.symlinks",
    "core.trustctime",
    "core.untrackedcache",
    "core.whitespace",
    "diff.algorithm",
    "diff.colormoved",
    "diff.colormovedws",
    "diff.context",
    "diff.ignoresubmodules",
    "diff.indentheuristic",
    "diff.interhunkcontext",
    "diff.mnemonicprefix",
    "diff.noprefix",
    "diff.renamelimit",
    "diff.renames",
    "diff.statgraphwidth",
    "diff.submodule",
    "diff.wserrorhighlight",
    "fetch.prune",
    "fetch.prunetags",
    "format.pretty",
    "gc.auto",
    "grep.column",
    "grep.extendedregexp",
    "grep.fullname",
    "grep.linenumber",
    "grep.patterntype",
    "index.threads",
    "index.version",
    "init.defaultbranch",
    "log.abbrevcommit",
    "log.date",
    "log.decorate",
    "log.follow",
    "log.mailmap",
    "merge.conflictstyle",
    "merge.ff",
    "merge.renamelimit",
    "merge.renames",
    "merge.stat",
    "pack.threads",
    "pull.ff",
    "pull.rebase",
    "push.autosetupremote",
    "push.default",
    "push.followtags",
    "rebase.autosquash",
    "rebase.autostash",
    "rebase.updaterefs",
    "rerere.autoupdate",
    "rerere.enabled",
    "safe.bareRepository",
    "safe.directory",
    "stash.showpatch",
    "submodule.recurse",
    "tag.sort",
    "user.email",
    "user.name",
    "user.useconfigonly",
];

/// Where a further file of configuration is to be found inside: asked with the condition of an `includeIf` and the path as
/// it is written; none leaves it out.
pub type Include<'a> = &'a mut dyn FnMut(Option<&str>, &str) -> Option<String>;

/// A section's header: which, its subsection, and what stands behind it.
fn header(text: &str) -> Option<(String, Option<String>, &str)> {
    let end = text.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-')?;
    let (name, rest) = text.split_at(end);
    let name = Some(name.to_ascii_lowercase()).filter(|name| !name.is_empty())?;
    if let Some(rest) = rest.strip_prefix(']') {
        return Some((name, None, rest));
    }
    let mut letters = rest.trim_start_matches([' ', '\t']).strip_prefix('"')?.chars();
    let mut subsection = String::new();
    loop {
        match letters.next()? {
            '"' => break,
            '\\' => subsection.push(letters.next()?),
            letter => subsection.push(letter),
        }
    }
    letters.as_str().strip_prefix(']').map(|rest| (name, Some(subsection), rest))
}

/// The harmless part of a git configuration file.
pub fn sanitise(source: &[u8], include: Include<'_>) -> Vec<u8> {
    let text = String::from_utf8_lossy(source);
    let mut out = String::new();
    let mut section: Option<(String, Option<String>)> = None;
    let mut written: Option<String> = None;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let mut line = line.trim_start();
        if let Some(text) = line.strip_prefix('[') {
            // Another subsection (`[diff "x"]`, `[a.b]`) holds drivers and remotes: none of it comes along.
            let Some((name, subsection, rest)) = header(text) else {
                section = None;
                continue;
            };
            let known = subsection.is_none() || name == "includeif";
            section = known.then_some((name, subsection));
            line = rest.trim_start();
        }
        let (key, raw) = match line.split_once('=') {
            Some((key, raw)) => (key.trim_end(), Some(raw)),
            None => (line.trim_end(), None),
        };
        let value = raw.map(|raw| value(raw, &mut lines));
        if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
            continue;
        }
        let Some((section, condition)) = &section else { continue };
        let lower = key.to_ascii_lowercase();
        if (section == "include") != condition.is_some()
            && matches!(section.as_str(), "include" | "includeif")
        {
            let place = value.flatten().filter(|_| lower == "path");
            if let Some(place) = place.and_then(|place| include(condition.as_deref(), &place)) {
                let condition = condition.as_ref().map(|condition| format!("If {}", quoted(condition)));
                out.push_str(&format!(
                    "[include{}]\n\tpath = {}\n",
                    condition.unwrap_or_default(),
                    quoted(&place)
                ));
                written = None;
            }
            continue;
        }
        let full = format!("{section}.{lower}");
        let known = WHOLE_SECTIONS.contains(&section.as_str())
            || KEYS.iter().any(|allowed| allowed.eq_ignore_ascii_case(&full));
        let Some(value) = known.then(|| value.unwrap_or_else(|| Some("true".to_owned()))).flatten() else {
            continue;
        };
        if written.as_ref() != Some(section) {
            out.push_str(&format!("[{section}]\n"));
            written = Some(section.clone());
        }
        out.push_str(&format!("\t{key} = {}\n", quoted(&value)));
    }
    out.into_bytes()
}

/// A value as git reads it: quotes, escapes, comments, continuation lines. `None` when it is malformed.
fn value<'a>(first: &'a str, lines: &mut impl Iterator<Item = &'a str>) -> Option<String> {
    let mut out = String::new();
    let mut kept = 0;
    let mut in_quotes = false;
    let mut line = first.trim_start();
    loop {
        let mut letters = line.chars();
        let mut continued = false;
        while let Some(letter) = letters.next() {
            match letter {
                '"' => {
                    in_quotes = !in_quotes;
                    kept = out.len();
                }
                '#' | ';' if !in_quotes => break,
                '\\' => match letters.next() {
                    None => continued = true,
                    Some('n') => out.push('\n'),
                    Some('t') => out.push('\t'),
                    Some('b') => {
                        out.pop();
                    }
                    Some(escaped @ ('"' | '\\')) => out.push(escaped),
                    Some(_) => return None,
                },
                _ => out.push(letter),
            }
            if in_quotes || !letter.is_whitespace() {
                kept = out.len();
            }
        }
        if !continued {
            break;
        }
        line = lines.next()?;
    }
    if in_quotes {
        return None;
    }
    out.truncate(kept);
    Some(out)
}

fn quoted(value: &str) -> String {
    let mut out = String::from("\"");
    for letter in value.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            _ => out.push(letter),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(text: &str) -> String {
        String::from_utf8(sanitise(text.as_bytes(), &mut |_, _| None)).unwrap()
    }

    #[test]
    fn includes_lead_to_what_is_made_of_them_inside() {
        let mut asked = Vec::new();
        let out = sanitise(
            b"[user]\nname = a\n[include]\npath = ~/x\nother = y\n[includeIf \"gitdir:~/w/[a]\\\"\\\\/\"]\n  PATH = \"z z\" # c\n\
              [user]\nemail = b\n[includeIf]\npath = no\n[include \"x\"]\npath = no\n[includeIf \"open\npath = no\n",
            &mut |condition, path| {
                asked.push((condition.map(str::to_owned), path.to_owned()));
                Some(format!("/in/{}", asked.len()))
            },
        );
        let conditional = Some("gitdir:~/w/[a]\"\\/".to_owned());
        assert_eq!(asked, [(None, "~/x".to_owned()), (conditional, "z z".to_owned())]);
        let expected = "[user]\n\tname = \"a\"\n[include]\n\tpath = \"/in/1\"\n[includeIf \"gitdir:~/w/[a]\\\"\\\\/\"]\n\tpath = \"/in/2\"\n\
                        [user]\n\temail = \"b\"\n";
        assert_eq!(String::from_utf8(out.clone()).unwrap(), expected);
        // What is made of it reads as itself.
        assert_eq!(sanitise(&out, &mut |_, path| Some(path.to_owned())), out);
    }

    #[test]
    fn identity_and_behaviour_come_along() {
        let out = clean(
            "# mine\n[user]\n\tname = Ada \"L.\" ; x\n\temail = a@b.c # c\n[init] defaultBranch = main\n[core]\n\
             autocrlf = input\n[push]\nautoSetupRemote\n",
        );
        assert_eq!(
            out,
            "[user]\n\tname = \"Ada L.\"\n\temail = \"a@b.c\"\n[init]\n\tdefaultBranch = \"main\"\n[core]\n\
             \tautocrlf = \"input\"\n[push]\n\tautoSetupRemote = \"true\"\n"
        );
    }

    #[test]
    fn what_runs_or_includes_something_stays_out() {
        let out = clean(
            "[core]\nfsmonitor = /x\nhooksPath=/h\npager = less\nsshCommand = ssh\neditor = vi\n[alias]\nco = !sh\nst = status\n\
             [include]\npath = /inc\n[includeIf \"gitdir:/\"]\npath=/i\n[diff \"x\"]\ntextconv = /t\nalgorithm = y\n\
             [diff]\nexternal = /e\n[filter \"lfs\"]\nclean = /c\n[credential]\nhelper = store\n[http]\nextraHeader = a\n\
             [url \"x\"]\ninsteadOf = y\n[gpg]\nprogram = z\n[commit]\ngpgSign = true\n[core.x]\nautocrlf = 1\n",
        );
        assert_eq!(out, "");
    }

    #[test]
    fn continuations_and_broken_lines_do_not_smuggle() {
        let out = clean(
            "[alias]\nx = a \\\n[user]\nname = b\n[user]\nname = \"open\nemail = \\q\n[user\nname = c\n",
        );
        assert_eq!(out, "");
        assert_eq!(clean("[user]\nname = a\\\nb\n"), "[user]\n\tname = \"ab\"\n");
        assert_eq!(clean("[user]\nname = a\\nb\n"), "[user]\n\tname = \"a\\nb\"\n");
    }
}
