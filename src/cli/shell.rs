//! `swbox bash …`, and swbox called as `bash` or `sh`: the arguments as bash reads them.
//!
//! Danger: what is taken for an option here and for the script by bash would be judged as one thing and run as
//! another. Options that are not known are refused, never guessed.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use crate::diagnostic::Diagnostic;

/// What `swbox bash --help` says.
pub(super) const HELP: &str = "\
A drop-in bash: each command is held to the rights of the state its work is in.

Usage: swbox bash [--session ID | --workflow W --state S --profile P] [--workspace DIR] [--timeout TIME]
                  [--observe HOW] [--events FILE|fd:N] ARGUMENTS
       bash BASH-ARGUMENTS          where `bash` or `sh` is a link to swbox

Bash's arguments are -c LINE [NAME [ARG…]], SCRIPT [ARG…], or -s with the script on standard input; options that
change how a script runs (-e, -u, -x, -o pipefail …) are passed on. No start-up file is read: -l and -i mean nothing,
BASH_ENV and ENV are not honoured. Without flags the law is that of the session SWBOX_SESSION, or of SWBOX_WORKFLOW,
SWBOX_STATE, SWBOX_PROFILE and SWBOX_WORKSPACE, of whoever starts the shell; else of the workspace's session.
SWBOX_OBSERVE and SWBOX_EVENTS stand for --observe and --events.
A script is read once, whole, before anything runs: up to 64 KiB it is judged by its text, and these bytes lie read-only
over its own path while it runs (without namespaces bash gets them as -c, and BASH_SOURCE is empty); a longer one is
judged as opaque. There is no prompt: what is typed at a terminal is such a script.

Exit codes: the script's own; 124 time ran out; 125 swbox could not set up; 126 refused; 127 not found; 128+n signal n.
";

/// What bash was asked to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Work {
    /// `-c LINE [NAME [ARG…]]`.
    Line {
        /// The line.
        text: OsString,
        /// `$0` and the positional parameters.
        parameters: Vec<OsString>,
    },
    /// `SCRIPT [ARG…]`.
    Script {
        /// The file.
        file: OsString,
        /// The positional parameters.
        parameters: Vec<OsString>,
    },
    /// Commands from standard input, with the positional parameters.
    Stdin(Vec<OsString>),
    /// `--version` or `--help`: answered by the real bash.
    About(OsString),
}

/// A call of bash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call {
    /// Options that the real bash gets.
    pub(super) options: Vec<OsString>,
    /// What to do.
    pub(super) work: Work,
    /// swbox's own flags that stood in front, as `(name, value)`.
    pub(super) own: Vec<(&'static str, OsString)>,
}

/// swbox's own flags in front of bash's.
const OWN: [&str; 8] =
    ["--session", "--workflow", "--state", "--profile", "--workspace", "--timeout", "--observe", "--events"];

/// Letters that change how bash runs a script and are passed on.
const PASSED: &[u8] = b"abefhkmnpuvxBCEHPT";

/// Reads the arguments.
///
/// # Errors
/// `bash_option`.
pub(super) fn read(args: &[OsString]) -> Result<Call, Diagnostic> {
    let refuse = |option: &OsStr| {
        Diagnostic::new("bash_option", format!("`{}` is no option of this bash", option.to_string_lossy()))
            .help("known: -c, -l, -s, -i, -o NAME, +o NAME, -O NAME, +O NAME, --login, --noprofile, --norc, --posix, --, and the letters of `set`")
    };
    let mut own = Vec::new();
    let mut rest = args;
    while let [flag, tail @ ..] = rest {
        let text = flag.to_string_lossy();
        let (name, attached) =
            text.split_once('=').map_or((&*text, None), |(name, value)| (name, Some(value.to_owned())));
        let Some(name) = OWN.iter().find(|own| **own == name) else { break };
        match (attached, tail) {
            (Some(value), _) => {
                own.push((*name, value.into()));
                rest = tail;
            }
            (None, [value, tail @ ..]) => {
                own.push((*name, value.clone()));
                rest = tail;
            }
            (None, []) => return Err(Diagnostic::new("bash_option", format!("{name} needs a value"))),
        }
    }

    let mut options: Vec<OsString> = Vec::new();
    let (mut command, mut stdin) = (false, false);
    while let [word, tail @ ..] = rest {
        let bytes = word.as_bytes();
        match bytes {
            b"--version" | b"--help" => {
                return Ok(Call { options: Vec::new(), work: Work::About(word.clone()), own });
            }
            b"--" | b"-" => {
                rest = tail;
                break;
            }
            b"--login" | b"--noprofile" | b"--norc" | b"--noediting" => {}
            b"--posix" | b"--verbose" => options.push(word.clone()),
            [b'-' | b'+', letters @ ..] if !letters.is_empty() && letters[0] != b'-' => {
                let mut values = Vec::new();
                let mut kept = vec![bytes[0]];
                for letter in letters {
                    match letter {
                        b'c' if bytes[0] == b'-' => command = true,
                        b's' if bytes[0] == b'-' => stdin = true,
                        // No start-up file is read and nobody types here: login and interactive mean nothing.
                        b'l' | b'i' => {}
                        b'o' | b'O' => {
                            kept.push(*letter);
                            values.push(*letter);
                        }
                        letter if PASSED.contains(letter) => kept.push(*letter),
                        _ => return Err(refuse(word)),
                    }
                }
                rest = tail;
                if kept.len() > 1 {
                    options.push(OsStr::from_bytes(&kept).to_owned());
                }
                for _ in values {
                    let [value, tail @ ..] = rest else { return Err(refuse(word)) };
                    options.push(value.clone());
                    rest = tail;
                }
                continue;
            }
            [b'-' | b'+', ..] => return Err(refuse(word)),
            _ => break,
        }
        rest = tail;
    }

    let work = match (command, stdin, rest) {
        (true, _, [text, parameters @ ..]) => {
            Work::Line { text: text.clone(), parameters: parameters.to_vec() }
        }
        (true, _, []) => {
            return Err(
                Diagnostic::new("bash_option", "-c: option requires an argument").help("swbox bash -c LINE")
            );
        }
        (false, false, [file, parameters @ ..]) => {
            Work::Script { file: file.clone(), parameters: parameters.to_vec() }
        }
        (false, true, parameters) => Work::Stdin(parameters.to_vec()),
        (false, false, []) => Work::Stdin(Vec::new()),
    };
    Ok(Call { options, work, own })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(args: &[&str]) -> Call {
        read(&args.iter().map(OsString::from).collect::<Vec<_>>()).unwrap()
    }

    fn words(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    #[test]
    fn lines() {
        let plain = Work::Line { text: "ls".into(), parameters: Vec::new() };
        for args in [
            &["-c", "ls"][..],
            &["-lc", "ls"],
            &["-l", "-c", "ls"],
            &["--login", "-ic", "ls"],
            &["-c", "--", "ls"],
        ] {
            let call = call(args);
            assert_eq!((call.work, call.options), (plain.clone(), Vec::new()), "{args:?}");
        }
        let rich = call(&["--noprofile", "--norc", "-eo", "pipefail", "-c", "a $1", "n", "-x"]);
        assert_eq!(rich.options, words(&["-eo", "pipefail"]));
        assert_eq!(rich.work, Work::Line { text: "a $1".into(), parameters: words(&["n", "-x"]) });
        let euo = call(&["-euo", "pipefail", "-c", "x"]);
        assert_eq!(euo.options, words(&["-euo", "pipefail"]));
    }

    #[test]
    fn scripts_and_standard_input() {
        let script = call(&["-e", "x.sh", "-c", "y"]);
        assert_eq!(script.work, Work::Script { file: "x.sh".into(), parameters: words(&["-c", "y"]) });
        assert_eq!(script.options, words(&["-e"]));
        assert_eq!(call(&[]).work, Work::Stdin(Vec::new()));
        assert_eq!(call(&["-s", "a"]).work, Work::Stdin(words(&["a"])));
        assert_eq!(
            call(&["--", "-x.sh"]).work,
            Work::Script { file: "-x.sh".into(), parameters: Vec::new() }
        );
    }

    #[test]
    fn own_flags_stand_in_front() {
        let call = call(&["--state", "testing", "--profile=rust", "-c", "ls --state x"]);
        assert_eq!(call.own, [("--state", "testing".into()), ("--profile", "rust".into())]);
        assert_eq!(call.work, Work::Line { text: "ls --state x".into(), parameters: Vec::new() });
    }

    #[test]
    fn what_is_unknown_is_refused() {
        for args in [
            &["-z", "-c", "x"][..],
            &["--rcfile", "x"],
            &["--init-file", "x"],
            &["-c"],
            &["-o"],
            &["--state"],
            &["-D"],
        ] {
            let args: Vec<OsString> = args.iter().map(OsString::from).collect();
            assert_eq!(read(&args).map_err(|problem| problem.code), Err("bash_option"), "{args:?}");
        }
    }
}
