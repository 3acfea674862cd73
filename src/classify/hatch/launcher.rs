//! Programs that start another in surroundings of their own: what they start is judged, though they stay opaque.

use crate::classify::findings::Findings;
use crate::classify::options::{Call, Word};

/// Runs what stands behind `--`; false when there is none.
fn behind_dashes<'a>(call: &Call<'a>, findings: &mut Findings<'a>) -> bool {
    let at = call.words.iter().position(|arg| arg.value.literal() == Some("--"));
    let Some(rest) = at.and_then(|at| call.words.get(at + 1..)).filter(|rest| !rest.is_empty()) else {
        return false;
    };
    findings.run(rest);
    true
}

/// Runs the words from `from` on, options in front of them skipped.
fn from<'a>(call: &Call<'a>, from: usize, findings: &mut Findings<'a>) {
    let words = call.words.get(from..).unwrap_or(&[]);
    let options = words.iter().take_while(|arg| arg.value.known_prefix().starts_with('-')).count();
    if let Some(rest) = words.get(options..).filter(|rest| !rest.is_empty()) {
        findings.run(rest);
    }
}

/// Where a word stands.
fn position(call: &Call<'_>, text: &str) -> Option<usize> {
    call.words.iter().position(|arg| arg.value.literal() == Some(text))
}

/// `pdm run CMD…`, `hatch run CMD…`, `yarn exec CMD…`, `mise exec TOOL -- CMD…`, `dotenv run -- CMD…`.
pub fn run_verb<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let verb = call.operand(0);
    if !matches!(verb, Some("run" | "exec" | "x" | "r")) || behind_dashes(call, findings) {
        return;
    }
    if let Some(at) = verb.and_then(|verb| position(call, verb)) {
        from(call, at + 1, findings);
    }
}

/// A subcommand (`exec`, `x`) whose operands are the command; `-c TEXT` is shell text (`npm exec -c`).
pub fn operands_run<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    for pair in call.words.windows(2) {
        if matches!(pair[0].value.literal(), Some("-c" | "--call")) {
            findings.shell(Word::whole(&pair[1]));
            return;
        }
    }
    if !behind_dashes(call, findings) && call.first_operand < call.words.len() {
        findings.run(&call.words[call.first_operand..]);
    }
}

/// `nix-shell --run TEXT`, `nix develop -c CMD…`, `nix shell PKG --command CMD…`.
pub fn nix<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    for (index, arg) in call.words.iter().enumerate() {
        match arg.value.literal() {
            Some("--run") => {
                if let Some(text) = call.words.get(index + 1) {
                    findings.shell(Word::whole(text));
                }
            }
            Some("-c" | "--command") => {
                let rest = call.words.get(index + 1..).unwrap_or(&[]);
                match rest {
                    [text] => findings.shell(Word::whole(text)),
                    [] => {}
                    rest => findings.run(rest),
                }
                return;
            }
            _ => {}
        }
    }
}

/// `cross-env A=1 CMD…`, `env-cmd -f F CMD…`, `nodemon --exec TEXT`, `concurrently TEXT…`, `dotenv -- CMD…`.
pub fn script_runner<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let name = call.name.text().unwrap_or("").rsplit('/').next().unwrap_or("");
    if behind_dashes(call, findings) {
        return;
    }
    for pair in call.words.windows(2) {
        if matches!(pair[0].value.literal(), Some("--exec" | "-x")) {
            findings.shell(Word::whole(&pair[1]));
            return;
        }
    }
    match name {
        "concurrently" => {
            for word in call.operands.iter().filter(|word| word.known_prefix().contains(' ')) {
                findings.shell(*word);
            }
        }
        "cross-env" | "cross-env-shell" => {
            let settings = call.words.iter().take_while(|arg| arg.value.known_prefix().contains('=')).count();
            from(call, settings, findings);
        }
        _ => run_verb(call, findings),
    }
}

/// `tmux new -d 'TEXT'`, `tmux send-keys 'TEXT' Enter`, `screen -dm CMD…`: the session's shell runs it.
pub fn multiplexer<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let name = call.name.text().unwrap_or("").rsplit('/').next().unwrap_or("");
    if name == "screen" {
        let words = call.words;
        let mut at = 0;
        while let Some(known) =
            words.get(at).map(|arg| arg.value.known_prefix()).filter(|known| known.starts_with('-'))
        {
            if known == "-X" {
                // `-X stuff TEXT`: typed into a shell.
                for arg in words
                    .get(at + 1..)
                    .unwrap_or(&[])
                    .iter()
                    .filter(|arg| arg.value.known_prefix().contains(' '))
                {
                    findings.shell(Word::whole(arg));
                }
                return;
            }
            let is_valued =
                matches!(known.chars().last(), Some('S' | 's' | 'c' | 'e' | 'h' | 't' | 'T' | 'p'))
                    && known != "-ls";
            at += 1 + usize::from(is_valued);
        }
        if let Some(rest) = words.get(at..).filter(|rest| !rest.is_empty()) {
            findings.run(rest);
        }
        return;
    }
    for word in call.operands.iter().filter(|word| word.known_prefix().contains(' ')) {
        findings.shell(*word);
    }
}

/// `bwrap`'s options with their numbers of values.
pub fn bubblewrap<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let words = call.words;
    let mut at = 0;
    while let Some(known) =
        words.get(at).map(|arg| arg.value.known_prefix()).filter(|known| known.starts_with("--"))
    {
        at += 1 + match known {
            "--" => 0,
            "--bind" | "--bind-try" | "--dev-bind" | "--dev-bind-try" | "--ro-bind" | "--ro-bind-try"
            | "--symlink" | "--setenv" | "--file" | "--bind-data" | "--ro-bind-data" | "--overlay"
            | "--chmod" | "--bind-fd" | "--ro-bind-fd" => 2,
            "--dev" | "--proc" | "--tmpfs" | "--mqueue" | "--dir" | "--chdir" | "--uid" | "--gid"
            | "--hostname" | "--unsetenv" | "--lock-file" | "--sync-fd" | "--seccomp"
            | "--add-seccomp-fd" | "--args" | "--remount-ro" | "--cap-add" | "--cap-drop" | "--perms"
            | "--size" | "--userns" | "--userns2" | "--pidns" | "--exec-label" | "--file-label"
            | "--block-fd" | "--userns-block-fd" | "--info-fd" | "--json-status-fd" | "--argv0"
            | "--overlay-src" | "--tmp-overlay" | "--ro-overlay" => 1,
            _ => 0,
        };
        if known == "--" {
            break;
        }
    }
    if let Some(rest) = words.get(at..).filter(|rest| !rest.is_empty()) {
        findings.run(rest);
    }
}

/// `perf stat [-e X] CMD…`.
pub fn perf<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    if behind_dashes(call, findings) {
        return;
    }
    let Some(verb) = call
        .operand(0)
        .filter(|verb| matches!(*verb, "stat" | "record" | "trace" | "mem" | "kmem" | "lock" | "sched"))
    else {
        return;
    };
    let words = call.words;
    let mut at = position(call, verb).map_or(words.len(), |at| at + 1);
    while let Some(known) =
        words.get(at).map(|arg| arg.value.known_prefix()).filter(|known| known.starts_with('-'))
    {
        let is_valued = known.len() == 2
            && known.ends_with(['e', 'o', 'C', 'p', 'G', 'i', 'F', 't', 'r', 'I', 'c', 'm', 'u']);
        at += 1 + usize::from(is_valued);
    }
    if let Some(rest) = words.get(at..).filter(|rest| !rest.is_empty()) {
        findings.run(rest);
    }
}

/// `direnv exec DIR CMD…`.
pub fn direnv<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    if call.operand(0) == Some("exec")
        && let Some(rest) = call.words.get(call.first_operand + 2..).filter(|rest| !rest.is_empty())
    {
        findings.run(rest);
    }
}

/// `npx CMD…`, `uvx CMD…`: a package's program of this name; what a row knows of the name counts too.
pub fn fetched<'a>(call: &Call<'a>, findings: &mut Findings<'a>) {
    let text = call.words.windows(2).find(|pair| matches!(pair[0].value.literal(), Some("-c" | "--call")));
    if let Some(pair) = text {
        findings.shell(Word::whole(&pair[1]));
        return;
    }
    let mut at = 0;
    while let Some(known) =
        call.words.get(at).map(|arg| arg.value.known_prefix()).filter(|known| known.starts_with('-'))
    {
        let is_valued = matches!(
            known,
            "-p" | "--package" | "--from" | "--with" | "--python" | "-w" | "--workspace" | "--index"
        );
        at += 1 + usize::from(is_valued);
    }
    let is_plain =
        |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    if let Some(rest) = call.words.get(at..)
        && rest.first().and_then(|arg| arg.value.literal()).is_some_and(is_plain)
    {
        findings.run(rest);
    }
}
