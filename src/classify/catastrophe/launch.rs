//! Programs that run another command: which of their words it is.

use super::command::{Surroundings, base_name, reads_program};
use super::iterate::{find, parallel, xargs};
use super::mark;
use super::names::{EMBEDDERS, INTERPRETERS, LOOSE, SHELLS, TEXT_TAKERS, WRAPPERS, Wrapper};
use super::scan::{Reader, Scanner};
use super::strings::{embedded, git, ssh, stringly};

/// What a launcher leaves to be judged.
#[derive(Debug)]
pub(super) enum Launch {
    /// This argv, next.
    Inner(Vec<Vec<u8>>),
    /// Nothing more.
    Done,
}

/// Takes one launcher off an argv, or judges the strings that it runs.
pub(super) fn launch(
    scanner: &mut Scanner<'_, '_>,
    program: &[u8],
    argv: Vec<Vec<u8>>,
    around: &mut Surroundings<'_>,
) -> Launch {
    let rest = argv.get(1..).unwrap_or(&[]);
    match program {
        _ if SHELLS.contains(&program) => shell(scanner, rest, around),
        b"eval" => {
            let words =
                if rest.first().is_some_and(|word| word.as_slice() == b"--") { &rest[1..] } else { rest };
            let positional = scanner.state.positional.clone();
            scanner.nested(&words.join(&b' '), around.span, positional);
        }
        b"." | b"source" => {
            if rest.first().is_some_and(|word| is_stream(word)) {
                reads_program(around, Reader::Shell);
            }
        }
        b"xargs" => return xargs(rest, around),
        b"find" => find(scanner, rest, around),
        b"fd" | b"fdfind" => {
            let exec = rest
                .iter()
                .position(|word| matches!(word.as_slice(), b"-x" | b"-X" | b"--exec" | b"--exec-batch"));
            if let Some(at) = exec {
                return Launch::Inner(rest.get(at + 1..).unwrap_or(&[]).to_vec());
            }
        }
        b"parallel" => parallel(scanner, rest, around),
        b"ssh" | b"mosh" | b"autossh" | b"dbclient" => ssh(scanner, rest, around),
        b"su" | b"runuser" | b"script" | b"flock" | b"watch" | b"sg" => {
            return stringly(scanner, program, rest, around);
        }
        b"trap" => {
            if let Some(text) = rest.iter().find(|word| !word.starts_with(b"-")) {
                scanner.nested(text, around.span, None);
            }
        }
        b"alias" => {
            for text in rest.iter().filter_map(|word| value_of(word)) {
                scanner.nested(text, around.span, None);
            }
        }
        b"mapfile" | b"readarray" | b"compgen" | b"complete" => {
            for pair in rest.windows(2) {
                if let [flag, text] = pair
                    && flag.as_slice() == b"-C"
                {
                    scanner.nested(text, around.span, None);
                }
            }
        }
        b"git" => git(scanner, rest, around),
        _ if INTERPRETERS.contains(&program) || is_versioned_python(program) => {
            for word in rest {
                scanner.code(word, around.span);
            }
            if !rest.iter().any(|word| is_script_operand(word)) {
                reads_program(around, Reader::Code);
            }
        }
        _ if EMBEDDERS.contains(&program) => embedded(scanner, program, rest, around),
        _ if LOOSE.contains(&program) => return loose(scanner, program, rest, around),
        _ => {
            if let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.name == program) {
                return wrapped(scanner, wrapper, rest, around);
            }
        }
    }
    Launch::Done
}

/// Whether an operand names the standard input or a process substitution.
fn is_stream(word: &[u8]) -> bool {
    matches!(word, b"-" | b"/dev/stdin" | b"/dev/fd/0" | b"/proc/self/fd/0") || word.contains(&mark::PROCESS)
}

fn is_versioned_python(program: &[u8]) -> bool {
    program.strip_prefix(b"python").is_some_and(|rest| rest.iter().all(|b| b.is_ascii_digit() || *b == b'.'))
}

fn is_script_operand(word: &[u8]) -> bool {
    !word.starts_with(b"-") && !is_stream(word)
}

/// What stands behind the first `=`.
pub(super) fn value_of(word: &[u8]) -> Option<&[u8]> {
    let at = word.iter().position(|byte| *byte == b'=')?;
    word.get(at + 1..)
}

fn is_assignment(word: &[u8]) -> bool {
    let name = word.split(|byte| *byte == b'=').next().unwrap_or(b"");
    name.len() < word.len()
        && name.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
        && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

/// Whether a long option (without `--` and value) is one of `names`, abbreviated or not.
fn is_long(name: &[u8], names: &[&[u8]]) -> bool {
    !name.is_empty() && names.iter().any(|known| known.starts_with(name))
}

/// How many words an option takes, itself included; 0 when `words` does not begin with an option.
pub(super) fn option_width(words: &[Vec<u8>], short: &[u8], long: &[&[u8]]) -> usize {
    let Some(word) = words.first() else { return 0 };
    match word.as_slice() {
        [b'-', b'-', name @ ..] => {
            let own_word = !name.contains(&b'=') && is_long(name, long);
            1 + usize::from(own_word)
        }
        [b'-', flags @ ..] if !flags.is_empty() => {
            let valued = flags.iter().position(|flag| short.contains(flag));
            1 + usize::from(valued.is_some_and(|at| at + 1 == flags.len()))
        }
        _ => 0,
    }
}

fn wrapped(
    scanner: &mut Scanner<'_, '_>,
    wrapper: &Wrapper,
    mut words: &[Vec<u8>],
    around: &mut Surroundings<'_>,
) -> Launch {
    let split: &[u8] = b"split-string";
    while let Some(word) = words.first() {
        if word.as_slice() == b"--" {
            words = &words[1..];
            break;
        }
        if wrapper.name == b"env"
            && let Some((text, used)) = env_string(words, split)
        {
            let tail = words.get(used..).unwrap_or(&[]).join(&b' ');
            scanner.nested(&[text, b" ", tail.as_slice()].concat(), around.span, None);
            return Launch::Done;
        }
        let width = option_width(words, wrapper.short, wrapper.long);
        if word.as_slice() == b"-" {
            words = &words[1..];
        } else if width > 0 {
            words = words.get(width..).unwrap_or(&[]);
        } else if is_assignment(word) {
            if let Some(at) = word.iter().position(|byte| *byte == b'=') {
                let (name, value) = word.split_at(at);
                scanner.set(name, value.get(1..).unwrap_or(b"").to_vec(), false);
            }
            words = &words[1..];
        } else {
            break;
        }
    }
    words = words.get(wrapper.operands..).unwrap_or(&[]);
    while wrapper.operands == 0 && words.first().is_some_and(|word| is_assignment(word)) {
        words = &words[1..];
    }
    if words.is_empty() && matches!(wrapper.name, b"sudo" | b"doas" | b"chroot" | b"busybox") {
        reads_program(around, Reader::Shell);
    }
    Launch::Inner(words.to_vec())
}

/// `env -S TEXT`, attached, clustered or long: the text and the words it takes.
fn env_string<'w>(words: &'w [Vec<u8>], long: &[u8]) -> Option<(&'w [u8], usize)> {
    match words.first()?.as_slice() {
        [b'-', b'-', name @ ..] => match value_of(name) {
            Some(text) => is_long(name.split(|byte| *byte == b'=').next()?, &[long]).then_some((text, 1)),
            None => is_long(name, &[long]).then_some((words.get(1)?.as_slice(), 2)),
        },
        [b'-', flags @ ..] => {
            let at = flags.iter().position(|flag| matches!(flag, b'S' | b'u' | b'C'))?;
            if flags.get(at) != Some(&b'S') {
                return None;
            }
            match flags.get(at + 1..) {
                Some(text) if !text.is_empty() => Some((text, 1)),
                _ => Some((words.get(1)?.as_slice(), 2)),
            }
        }
        _ => None,
    }
}

fn shell(scanner: &mut Scanner<'_, '_>, rest: &[Vec<u8>], around: &mut Surroundings<'_>) {
    let mut words = rest;
    let (mut string, mut stream) = (false, false);
    while let Some(word) = words.first() {
        match word.as_slice() {
            b"--" | b"-" => {
                words = &words[1..];
                break;
            }
            [b'-', b'-', name @ ..] => {
                string |= matches!(name, b"command");
                let valued = matches!(name, b"rcfile" | b"init-file" | b"init-command");
                words = words.get(1 + usize::from(valued)..).unwrap_or(&[]);
            }
            [b'-' | b'+', flags @ ..] if !flags.is_empty() => {
                string |= flags.contains(&b'c');
                stream |= flags.contains(&b's');
                let valued = flags.contains(&b'o') || flags.contains(&b'O');
                words = words.get(1 + usize::from(valued)..).unwrap_or(&[]);
            }
            _ => break,
        }
    }
    match words.split_first() {
        Some((text, arguments)) if string => {
            let positional = arguments.get(1..).map(<[Vec<u8>]>::to_vec);
            scanner.nested(text, around.span, positional);
        }
        None => reads_program(around, Reader::Shell),
        Some((script, _)) if stream || is_stream(script) => reads_program(around, Reader::Shell),
        Some(_) => {}
    }
}

fn loose(
    scanner: &mut Scanner<'_, '_>,
    program: &[u8],
    rest: &[Vec<u8>],
    around: &mut Surroundings<'_>,
) -> Launch {
    const MODES: &[&[u8]] = &[
        b"run",
        b"exec",
        b"x",
        b"dlx",
        b"shell",
        b"ssh",
        b"develop",
        b"rsh",
        b"attach",
        b"enter",
        b"debug",
        b"send-command",
    ];
    // These do much else than run commands; only behind such a word their operands are a command.
    let needs_mode = matches!(
        program,
        b"docker"
            | b"podman"
            | b"nerdctl"
            | b"docker-compose"
            | b"kubectl"
            | b"oc"
            | b"lxc"
            | b"incus"
            | b"uv"
            | b"poetry"
            | b"pipenv"
            | b"rye"
            | b"hatch"
            | b"pdm"
            | b"bundle"
            | b"conda"
            | b"mamba"
            | b"micromamba"
            | b"npm"
            | b"pnpm"
            | b"yarn"
            | b"gcloud"
            | b"aws"
            | b"az"
            | b"snap"
            | b"flatpak"
            | b"heroku"
            | b"fly"
            | b"flyctl"
            | b"multipass"
    );
    let mode = rest.iter().position(|word| MODES.contains(&word.as_slice()));
    let start = match mode {
        Some(at) => at + 1,
        None if needs_mode => return Launch::Done,
        None => 0,
    };
    let words = rest.get(start..).unwrap_or(&[]);
    for (at, word) in words.iter().enumerate() {
        let name = base_name(word);
        let name = name.as_slice();
        // The first operand is often a name: of a container, an image, a host.
        if TEXT_TAKERS.contains(&name) {
            return Launch::Done;
        }
        let runs = name == b"rm"
            || name == b"eval"
            || name == b"find"
            || name == b"xargs"
            || SHELLS.contains(&name)
            || INTERPRETERS.contains(&name)
            || LOOSE.contains(&name)
            || WRAPPERS.iter().any(|wrapper| wrapper.name == name);
        if runs && !word.starts_with(b"-") {
            return Launch::Inner(words.get(at..).unwrap_or(&[]).to_vec());
        }
        if word.contains(&b' ') && (!needs_mode || program == b"gcloud") {
            let text = if word.starts_with(b"-") { value_of(word).unwrap_or(b"") } else { word };
            scanner.nested(text, around.span, None);
        }
    }
    Launch::Done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn option_widths() {
        let words = |line: &str| line.split(' ').map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>();
        assert_eq!(option_width(&words("-u x"), b"u", &[]), 2);
        assert_eq!(option_width(&words("-nu x"), b"u", &[]), 2);
        assert_eq!(option_width(&words("-ux y"), b"u", &[]), 1);
        assert_eq!(option_width(&words("--us x"), b"", &[b"user"]), 2);
        assert_eq!(option_width(&words("--user=x y"), b"", &[b"user"]), 1);
        assert_eq!(option_width(&words("rm"), b"u", &[]), 0);
    }
}
