//! Reading git configuration files, to find what in them makes git run a program or read other files, and which. Pure.
//!
//! Danger: a key that is missing from the table here is one that a planted repository can use unseen.

use std::ops::Range;
use std::path::{Path, PathBuf};

use super::survey::normal;

/// One setting: `section.subsection.key` with section and key in lower case, and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setting {
    /// The full name.
    pub(super) name: String,
    /// The value; `true` for a key alone.
    pub(super) value: String,
    /// The bytes from the key to the end of its last line, without the newline.
    pub(super) span: Range<usize>,
}

/// A configuration file as it is laid out.
#[derive(Debug, Default)]
pub(super) struct File {
    /// Its settings in order.
    pub(super) settings: Vec<Setting>,
    /// Its section headers in order: the name as in a setting, and the bytes from bracket to bracket.
    pub(super) headers: Vec<(String, Range<usize>)>,
    /// Whether a line is none that git is known to take. Git refuses the whole file then, or reads it in another way.
    pub(super) unclear: bool,
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
    "gc.recentobjectshook",
    "gpg.*.defaultkeycommand",
    "gpg.*.program",
    "gpg.program",
    "gpg.ssh.defaultkeycommand",
    "guitool.*.cmd",
    "hook.*.command",
    "http.proxyauthmethod",
    "imap.tunnel",
    "include.path",
    "includeif.*.path",
    "init.templatedir",
    "instaweb.httpd",
    "interactive.difffilter",
    "lfs.customtransfer.*.path",
    "lfs.extension.*.clean",
    "lfs.extension.*.smudge",
    "man.*.cmd",
    "man.*.path",
    "merge.*.driver",
    "mergetool.*.cmd",
    "mergetool.*.path",
    "pager.*",
    "protocol.*.allow",
    "protocol.allow",
    "receive.procreceiverefs",
    "remote.*.proxy",
    "remote.*.receivepack",
    "remote.*.uploadpack",
    "remote.*.vcs",
    "sendemail.*",
    "sequence.editor",
    "svn.authorsprog",
    "tar.*.command",
    "trailer.*.cmd",
    "trailer.*.command",
    "uploadpack.packobjectshook",
    "web.browser",
];

/// The settings of a file. Lines that git would refuse are left out: git then runs nothing at all. Whoever relies on that
/// for a file of a command's asks [`File::unclear`].
pub(super) fn settings(bytes: &[u8]) -> Vec<Setting> {
    parse(&String::from_utf8_lossy(bytes)).settings
}

/// Reads a file.
pub(super) fn parse(text: &str) -> File {
    let mut section = String::new();
    let mut file = File::default();
    let mut rest: &str = text;
    let at = |rest: &str| text.len() - rest.len();
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        let Some(first) = rest.chars().next() else { return file };
        match first {
            '#' | ';' => rest = after_line(rest),
            '[' => match header(rest) {
                Some((name, after)) => {
                    file.headers.push((name.clone(), at(rest)..at(after)));
                    (section, rest) = (name, after);
                }
                None => {
                    file.unclear = true;
                    rest = after_line(rest);
                }
            },
            _ => {
                let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).unwrap_or(rest.len());
                let (key, after) = rest.split_at(end);
                let (value, after) = value(after);
                if !key.is_empty() {
                    let whole = text.get(at(rest)..at(after)).unwrap_or_default();
                    let span = at(rest)..at(rest) + whole.strip_suffix('\n').unwrap_or(whole).len();
                    let name = format!("{section}.{}", key.to_ascii_lowercase());
                    file.settings.push(Setting { name, value, span });
                } else {
                    file.unclear = true;
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
    // A carriage return is a blank for git too.
    let after = after.trim_start_matches([' ', '\t', '\r']);
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
    let text = text.trim_start_matches([' ', '\t']);
    let mut value = String::new();
    // Blanks at the end count where they are quoted or escaped.
    let mut end = 0;
    let mut quoted = false;
    let mut rest = "";
    let mut chars = text.char_indices();
    while let Some((index, c)) = chars.next() {
        match c {
            '\n' => {
                rest = text.get(index + 1..).unwrap_or("");
                break;
            }
            '"' => quoted = !quoted,
            '#' | ';' if !quoted => {
                rest = after_line(text.get(index..).unwrap_or(""));
                break;
            }
            '\\' => {
                match chars.next() {
                    Some((_, '\n')) | None => continue,
                    Some((_, 'n')) => value.push('\n'),
                    Some((_, 't')) => value.push('\t'),
                    Some((_, other)) => value.push(other),
                }
                end = value.len();
            }
            c => {
                value.push(c);
                if quoted || !c.is_ascii_whitespace() {
                    end = value.len();
                }
            }
        }
    }
    value.truncate(end);
    (value, rest)
}

/// The last value of `name`, which is the one in force.
pub(super) fn last<'a>(settings: &'a [Setting], name: &str) -> Option<&'a str> {
    settings.iter().rev().find(|setting| setting.name == name).map(|setting| setting.value.as_str())
}

/// Whether a setting makes git run a program or read more configuration.
pub(super) fn is_executable(setting: &Setting) -> bool {
    let (name, value) = (setting.name.as_str(), setting.value.as_str());
    let of = |section: &str| name.starts_with(section);
    if HARMLESS.contains(&(name, value)) {
        return false;
    }
    match name {
        // Yes or no asks for git's own.
        "core.fsmonitor" => !BOOLEAN.contains(&value.to_ascii_lowercase().as_str()),
        "core.hookspath" => value != "/dev/null",
        _ if of("alias.") => !is_plain_alias(value),
        _ if of("submodule.") && name.ends_with(".update") => value.starts_with('!'),
        // `transport::address` starts a program for the transport.
        _ if of("remote.") && (name.ends_with("url")) => value.contains("::"),
        _ if of("url.") => name.contains("::"),
        _ => EXECUTABLE.iter().any(|pattern| matches(pattern, name)),
    }
}

/// Whether an alias is another name for a command of git's that runs nothing else and writes no file of its choice: `!` is
/// for a shell, options in front may name a directory of programs, and `grep -O`, `rebase --exec`, `submodule foreach` and
/// their like run what they are told.
fn is_plain_alias(value: &str) -> bool {
    const COMMANDS: &[&str] = &[
        "add",
        "blame",
        "branch",
        "checkout",
        "cherry-pick",
        "commit",
        "describe",
        "diff",
        "fetch",
        "log",
        "ls-files",
        "merge",
        "pull",
        "push",
        "reflog",
        "remote",
        "reset",
        "restore",
        "rev-parse",
        "shortlog",
        "show",
        "stash",
        "status",
        "switch",
        "tag",
    ];
    // Options may be shortened as far as they are the only ones.
    const TELLING: &[&str] = &["--e", "--output", "--rece", "--upl"];
    let mut words = value.split([' ', '=']);
    words.next().is_some_and(|command| COMMANDS.contains(&command))
        && value.chars().all(|c| c.is_ascii_graphic() || c == ' ')
        && !value.contains(['!', '\'', '"', '\\'])
        && words.all(|word| !TELLING.iter().any(|option| word.starts_with(option)))
}

/// Values of settings that switch something on or off.
const BOOLEAN: [&str; 9] = ["", "0", "1", "false", "no", "off", "on", "true", "yes"];

/// Settings of the table that a widespread tool writes, with the values by which its own programs run.
const HARMLESS: [(&str, &str); 4] = [
    ("filter.lfs.clean", "git-lfs clean -- %f"),
    ("filter.lfs.process", "git-lfs filter-process"),
    ("filter.lfs.process", "git-lfs filter-process --skip"),
    ("filter.lfs.smudge", "git-lfs smudge -- %f"),
];

/// Whether the value of an executable setting is a path, and not a command.
pub(super) fn is_place(setting: &Setting) -> bool {
    setting.name == "core.hookspath" || setting.name == "core.attributesfile" || is_include(setting)
}

/// Whether a setting names another configuration file.
pub(super) fn is_include(setting: &Setting) -> bool {
    setting.name == "include.path"
        || setting.name.starts_with("includeif.") && setting.name.ends_with(".path")
}

/// The paths that an executable setting of a file in the directory `around` may name, for a repository whose work tree
/// is `tree`: its value, or each word of it, since a command may be `sh scripts/filter %f`. In normal form.
pub(super) fn named_paths(setting: &Setting, around: &Path, tree: &Path) -> Vec<PathBuf> {
    if is_include(setting) {
        return normal(&around.join(&setting.value)).into_iter().collect();
    }
    if is_place(setting) {
        return normal(&tree.join(&setting.value)).into_iter().collect();
    }
    if setting.name.starts_with("alias.") && !setting.value.starts_with('!') {
        // Arguments of a command of git's: most name refs and files that nobody runs.
        return Vec::new();
    }
    let command = setting.value.strip_prefix('!').unwrap_or(&setting.value);
    let words = shell_words::split(command)
        .unwrap_or_else(|_| command.split_whitespace().map(str::to_owned).collect());
    let mut words = words.into_iter();
    // A first word without a slash is looked for in PATH.
    let program = words.next().filter(|word| word.contains('/'));
    program.into_iter().chain(words).filter_map(|word| normal(&tree.join(word))).collect()
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
        let text = "[core]\n\tFsMonitor = /x y # c\n[Remote \"a.B\\\"c\"] url = \"q;#\" z\n[a.B]\nk\nl = one\\\ntwo\n; c\nm = x\\n\" y \"  \n";
        assert_eq!(
            named(text),
            [
                ("core.fsmonitor", "/x y"),
                ("remote.a.B\"c.url", "q;# z"),
                ("a.b.k", "true"),
                ("a.b.l", "onetwo"),
                ("a.b.m", "x\n y "),
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
            "[alias]\n st = --exec-path=/tmp/x foo",
            "[remote \"o\"]\nurl = ext::sh -c x",
            "[url \"ext::sh -c x\"]\ninsteadOf = https://",
            "[filter \"lfs\"]\nclean = sh x",
            "[protocol \"ext\"]\nallow = always",
            "[user]\n[includeIf\r\"gitdir:/\"]\npath = c",
            "[alias]\n st = grep -O./x .",
            "[alias]\n st = rebase --exec ./x HEAD",
            "[alias]\n st = submodule foreach ./x",
            "[alias]\n st = status\\t!x",
            "[alias]\n st = diff --output=x",
            "[alias \"st\"]\n command = !x",
        ] {
            assert!(settings(text.as_bytes()).iter().any(is_executable), "{text}");
        }
    }

    #[test]
    fn lines_that_git_may_read_otherwise_are_told() {
        for text in
            ["[core\u{b}\"x\"]\nk = v", "[a", "[a \"b\nc\"]", "= x", "[core]\n\u{e4} = x", "[a]\n\"k\" = v"]
        {
            assert!(parse(text).unclear, "{text:?}");
        }
        for text in ["", "[a]\r\n\tk = v\r\n", "# c\n[a \"b\"] k\n", "\u{feff}[a]\nk = \"x\n"] {
            assert!(!parse(text).unclear, "{text:?}");
        }
    }

    #[test]
    fn what_git_init_and_clone_write_is_harmless() {
        let text = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n\
                    [remote \"origin\"]\n\turl = /x\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
                    [branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n[alias]\n\tst = status -sb\n\tlg = log --graph --oneline --format=%h%d\n\
                    [core]\n\tfsmonitor = true\n\thooksPath = /dev/null\n[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n";
        let found: Vec<_> = settings(text.as_bytes()).into_iter().filter(is_executable).collect();
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn a_setting_names_the_files_it_runs() {
        let named = |text: &str| {
            let found = settings(text.as_bytes());
            let paths = named_paths(&found[0], Path::new("/w/.git"), Path::new("/w"));
            paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(named("[core]\nhooksPath = .husky/_"), ["/w/.husky/_"]);
        assert_eq!(named("[include]\npath = ../.gitconfig"), ["/w/.gitconfig"]);
        assert_eq!(named("[filter \"x\"]\nclean = sh scripts/x.sh %f"), ["/w/scripts/x.sh", "/w/%f"]);
        assert_eq!(named("[alias]\nx = !./run 'a b'"), ["/w/run", "/w/a b"]);
        assert_eq!(named("[core]\npager = less"), Vec::<String>::new());
        assert_eq!(named("[alias]\nx = ls-tree HEAD README.md"), Vec::<String>::new());
    }

    #[test]
    fn no_input_hangs_or_panics() {
        for text in ["[", "[a", "[a \"", "[a \"\\", "=", "a=\\", "[a]\nk=\"", "\u{feff}[a]b", "[a \"b\n\"]c"]
        {
            let _ = settings(text.as_bytes());
        }
    }
}
