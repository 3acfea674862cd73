//! Reading git configuration files, to find what in them makes git run a program or read other files. Pure.
//!
//! Danger: a key that is missing from the table here is one that a planted repository can use unseen.

/// One setting: `section.subsection.key` with section and key in lower case, and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setting {
    /// The full name.
    pub(super) name: String,
    /// The value; `true` for a key alone.
    pub(super) value: String,
}

/// Names that make git run something or read configuration from elsewhere. `*` stands for a subsection of any text.
const EXECUTABLE: &[&str] = &[
    "browser.*.cmd",
    "browser.*.path",
    "core.alternaterefscommand",
    "core.askpass",
    "core.attributesfile",
    "core.editor",
    "core.fsmonitor",
    "core.gitproxy",
    "core.hookspath",
    "core.pager",
    "core.sshcommand",
    "core.worktree",
    "credential.*.helper",
    "credential.helper",
    "diff.*.command",
    "diff.*.textconv",
    "diff.external",
    "difftool.*.cmd",
    "difftool.*.path",
    "filter.*.clean",
    "filter.*.process",
    "filter.*.smudge",
    "gpg.*.defaultkeycommand",
    "gpg.*.program",
    "gpg.program",
    "gpg.ssh.defaultkeycommand",
    "guitool.*.cmd",
    "hook.*.command",
    "http.proxyauthmethod",
    "include.path",
    "includeif.*.path",
    "init.templatedir",
    "instaweb.httpd",
    "interactive.difffilter",
    "man.*.cmd",
    "man.*.path",
    "merge.*.driver",
    "mergetool.*.cmd",
    "mergetool.*.path",
    "pager.*",
    "protocol.ext.allow",
    "receive.procreceiverefs",
    "remote.*.proxy",
    "remote.*.receivepack",
    "remote.*.uploadpack",
    "remote.*.vcs",
    "sendemail.*",
    "sequence.editor",
    "tar.*.command",
    "trailer.*.cmd",
    "trailer.*.command",
    "uploadpack.packobjectshook",
    "web.browser",
];

/// The settings of a file. Lines that git would refuse are left out: git then runs nothing at all.
pub(super) fn settings(bytes: &[u8]) -> Vec<Setting> {
    let text = String::from_utf8_lossy(bytes);
    let mut section = String::new();
    let mut settings = Vec::new();
    let mut rest: &str = &text;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        let Some(first) = rest.chars().next() else { return settings };
        match first {
            '#' | ';' => rest = after_line(rest),
            '[' => match header(rest) {
                Some((name, after)) => (section, rest) = (name, after),
                None => rest = after_line(rest),
            },
            _ => {
                let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).unwrap_or(rest.len());
                let (key, after) = rest.split_at(end);
                let (value, after) = value(after);
                if !key.is_empty() {
                    settings.push(Setting { name: format!("{section}.{}", key.to_ascii_lowercase()), value });
                }
                rest = after;
            }
        }
    }
}

fn after_line(text: &str) -> &str {
    text.split_once('\n').map_or("", |(_, rest)| rest)
}

/// `[section "subsection"]` or `[section.subsection]`: its name and what follows the bracket.
fn header(text: &str) -> Option<(String, &str)> {
    let body = text.strip_prefix('[')?;
    let end = body.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '.'))?;
    let (name, after) = body.split_at(end);
    let name = name.to_ascii_lowercase();
    let after = after.trim_start_matches([' ', '\t']);
    if let Some(after) = after.strip_prefix(']') {
        return Some((name, after));
    }
    let mut subsection = String::new();
    let mut chars = after.strip_prefix('"')?.char_indices();
    while let Some((index, c)) = chars.next() {
        match c {
            '"' => {
                let after = after.get(index + 2..)?.trim_start_matches([' ', '\t']).strip_prefix(']')?;
                return Some((format!("{name}.{subsection}"), after));
            }
            '\\' => subsection.push(chars.next()?.1),
            '\n' => return None,
            c => subsection.push(c),
        }
    }
    None
}

/// The value after a key, up to the end of its last line, and what follows.
fn value(text: &str) -> (String, &str) {
    let text = text.trim_start_matches([' ', '\t']);
    let Some(text) = text.strip_prefix('=') else { return ("true".to_owned(), after_line(text)) };
    let mut value = String::new();
    let mut quoted = false;
    let mut chars = text.char_indices();
    while let Some((index, c)) = chars.next() {
        match c {
            '\n' => return (value.trim().to_owned(), text.get(index + 1..).unwrap_or("")),
            '"' => quoted = !quoted,
            '#' | ';' if !quoted => {
                return (value.trim().to_owned(), after_line(text.get(index..).unwrap_or("")));
            }
            '\\' => match chars.next() {
                Some((_, '\n')) | None => {}
                Some((_, 'n')) => value.push('\n'),
                Some((_, 't')) => value.push('\t'),
                Some((_, other)) => value.push(other),
            },
            c => value.push(c),
        }
    }
    (value.trim().to_owned(), "")
}

/// The last value of `name`, which is the one in force.
pub(super) fn last<'a>(settings: &'a [Setting], name: &str) -> Option<&'a str> {
    settings.iter().rev().find(|setting| setting.name == name).map(|setting| setting.value.as_str())
}

/// The first setting that makes git run a program or read more configuration.
pub(super) fn executable(settings: &[Setting]) -> Option<&Setting> {
    settings.iter().find(|setting| {
        let alias = setting.name.starts_with("alias.") && setting.value.starts_with('!');
        let update = setting.name.starts_with("submodule.")
            && setting.name.ends_with(".update")
            && setting.value.starts_with('!');
        let off = setting.name == "core.fsmonitor" && matches!(setting.value.as_str(), "false" | "0" | "");
        (alias || update || EXECUTABLE.iter().any(|pattern| matches(pattern, &setting.name))) && !off
    })
}

/// Whether `name` is `pattern`, whose `*` stands for any non-empty text.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, after)) => {
            name.len() > before.len() + after.len() && name.starts_with(before) && name.ends_with(after)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> Vec<(String, String)> {
        settings(text.as_bytes()).into_iter().map(|setting| (setting.name, setting.value)).collect()
    }

    #[test]
    fn sections_keys_and_values_are_read_as_git_does() {
        let text = "[core]\n\tFsMonitor = /x y # c\n[Remote \"a.B\\\"c\"] url = \"q;#\" z\n[a.B]\nk\nl = one\\\ntwo\n; c\n";
        assert_eq!(
            named(text),
            [
                ("core.fsmonitor", "/x y"),
                ("remote.a.B\"c.url", "q;# z"),
                ("a.b.k", "true"),
                ("a.b.l", "onetwo"),
            ]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
    }

    #[test]
    fn what_runs_is_found_wherever_it_hides() {
        for text in [
            "[core] fsmonitor = /tmp/evil",
            "[CORE]\nhooksPath=h",
            "[alias]\n st = !sh",
            "[alias]\n st = \"!sh\"",
            "[filter \"x\"]\n\tclean = cat",
            "[filter.x]\n\tclean = cat",
            "[include]\npath = /tmp/c",
            "[includeIf \"gitdir:~/\"]\npath = c",
            "[diff \"a.b\"]\ntextconv = x",
            "[pager]\nlog = x",
            "[submodule \"a\"]\nupdate = !x",
            "[core]\nbare = false\n[core]\nsshCommand = \\\nx",
        ] {
            assert!(executable(&settings(text.as_bytes())).is_some(), "{text}");
        }
    }

    #[test]
    fn what_git_init_and_clone_write_is_harmless() {
        let text = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n\
                    [remote \"origin\"]\n\turl = /x\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
                    [branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n[alias]\n\tst = status\n";
        assert_eq!(executable(&settings(text.as_bytes())), None);
    }

    #[test]
    fn no_input_hangs_or_panics() {
        for text in ["[", "[a", "[a \"", "[a \"\\", "=", "a=\\", "[a]\nk=\"", "\u{feff}[a]b", "[a \"b\n\"]c"]
        {
            let _ = settings(text.as_bytes());
        }
    }
}
