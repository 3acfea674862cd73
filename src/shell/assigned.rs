//! Names that a script gives a value by other means than an assignment or a declaration.
//!
//! Duty: `for PATH in .`, `((PATH = 1))`, `${PATH:=.}`, `{PATH}>f`, `coproc PATH {`. What builtins set is read off argv.
//! Danger: a name missed here is a `PATH` that changes without anybody's seeing it. Reading a variable does not count.

use super::cursor::is_name_byte;
use super::reading::Reading;

/// The names, in no certain order; a name may stand there twice.
pub(super) fn find(reading: &Reading, source: &[u8]) -> Vec<String> {
    let mut names = reading.loop_variables.clone();
    for (slice, _) in &reading.arithmetic {
        let text = reading.bytes(source, *slice);
        if assigns(text) {
            names
                .extend(text.split(|byte| !is_name_byte(*byte)).filter(|name| !name.is_empty()).map(to_text));
        }
    }
    for (slice, _) in &reading.parameters {
        let text = reading.bytes(source, *slice);
        let length = text.iter().take_while(|byte| is_name_byte(**byte)).count();
        let (name, operator) = text.split_at(length);
        if operator.starts_with(b"=") || operator.starts_with(b":=") || operator.starts_with(b"[") {
            names.push(to_text(name));
        }
    }
    let redirects = reading.commands.iter().flat_map(|command| &command.redirects);
    for fd in redirects.filter_map(|redirect| redirect.fd) {
        let name = reading.bytes(source, fd);
        if let Some(name) = name.strip_prefix(b"{") {
            names.push(to_text(name.strip_suffix(b"}").unwrap_or(name)));
        }
    }
    names
}

/// Whether arithmetic may change a variable: `=` that is no comparison, `++`, `--`.
fn assigns(text: &[u8]) -> bool {
    let pair = |one: &[u8; 2]| text.windows(2).any(|window| window == one);
    let comparison = |at: usize| {
        text.get(at + 1) == Some(&b'=')
            || at > 0 && text.get(at - 1).is_some_and(|byte| matches!(byte, b'=' | b'!' | b'<' | b'>'))
    };
    pair(b"++")
        || pair(b"--")
        || pair(b"<<")
        || pair(b">>")
        || text.iter().enumerate().any(|(at, byte)| *byte == b'=' && !comparison(at))
}

fn to_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
