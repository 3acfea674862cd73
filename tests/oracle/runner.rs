//! Runs a script in bash with an empty PATH; every program that it would start is logged instead.

use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// Logs the words of what was not found, one line each, quoted so that a line is a record.
const PRELUDE: &str = "ulimit -t 2 -f 2048; exec 9>&1 >/dev/null 2>/dev/null </dev/null; \
    command_not_found_handle() { builtin local IFS=' '; builtin printf '%s\\n' \"@@RUN ${*@Q}\" >&9; builtin return 0; }\n";

/// A throw-away directory for one test.
pub(crate) struct Place(PathBuf);

impl Place {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("swbox-oracle-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Takes away what scripts before left: a `*` of thousands of names makes a record longer than a write that two
    /// processes cannot mix.
    fn clear(&self) {
        for entry in std::fs::read_dir(&self.0).unwrap().flatten() {
            let path = entry.path();
            let removed = if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                std::fs::remove_dir_all(path)
            } else {
                std::fs::remove_file(path)
            };
            removed.ok();
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

/// bash, in `wrapper` or as it is.
fn wrapped(place: &Place, wrapper: &str) -> Command {
    let mut words = wrapper.split_whitespace();
    let mut command = match words.next() {
        Some(program) => {
            let mut command = Command::new(installed(program).unwrap_or_else(|| program.into()));
            command.args(words).arg("/bin/bash");
            command
        }
        None => Command::new("/bin/bash"),
    };
    command.env_clear().env("PATH", "/nonexistent").env("HOME", place.path()).current_dir(place.path());
    command.stdin(Stdio::null()).stderr(Stdio::null()).process_group(0);
    command
}

/// Where a program is installed.
pub(crate) fn installed(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// The command to run bash in, when the caller names one.
pub(crate) fn wrapper() -> Option<String> {
    std::env::var("SWBOX_ORACLE_WRAPPER").ok().filter(|wrapper| !wrapper.is_empty())
}

/// Runs `script` after `prelude`, both in one text; what it wrote to its standard output, none on a time-out.
pub(crate) fn output(place: &Place, wrapper: &str, prelude: &str, script: &str) -> Option<Vec<u8>> {
    place.clear();
    let mut command = wrapped(place, wrapper);
    command.args(["--norc", "-c"]).arg(format!("{prelude}{script}"));
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let group = Pid::from_raw(i32::try_from(child.id()).unwrap());
    let mut stdout = child.stdout.take().unwrap();
    let (done, wait) = mpsc::channel::<()>();
    let watchdog = std::thread::spawn(move || {
        let late = wait.recv_timeout(Duration::from_secs(4)).is_err();
        killpg(group, Signal::SIGKILL).ok();
        late
    });
    let mut text = Vec::new();
    stdout.read_to_end(&mut text).unwrap();
    done.send(()).ok();
    let late = watchdog.join().unwrap();
    child.wait().unwrap();
    (!late).then_some(text)
}

/// The argvs of the programs that `script` would have started; none on a time-out.
pub(crate) fn executed(place: &Place, script: &str) -> Option<Vec<Vec<String>>> {
    let text = output(place, &wrapper().unwrap_or_default(), PRELUDE, script)?;
    let text = String::from_utf8_lossy(&text);
    Some(text.lines().filter_map(|line| line.strip_prefix("@@RUN ")).map(unquote).collect())
}

/// Whether bash can parse it; nothing is run.
pub(crate) fn accepts(source: &str) -> bool {
    let mut command = Command::new("/bin/bash");
    command
        .args(["--norc", "-n", "-c", source])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().unwrap().success()
}

/// The words of a line that `${*@Q}` wrote.
pub(crate) fn unquote(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = Vec::new();
    let bytes = line.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b' ' => {
                words.push(String::from_utf8_lossy(&std::mem::take(&mut word)).into_owned());
                at += 1;
            }
            b'$' if bytes.get(at + 1) == Some(&b'\'') => at = ansi(bytes, at + 2, &mut word),
            b'\'' => {
                at += 1;
                while at < bytes.len() && bytes[at] != b'\'' {
                    word.push(bytes[at]);
                    at += 1;
                }
                at += 1;
            }
            b'\\' => {
                word.extend(bytes.get(at + 1));
                at += 2;
            }
            byte => {
                word.push(byte);
                at += 1;
            }
        }
    }
    words.push(String::from_utf8_lossy(&word).into_owned());
    words
}

fn ansi(bytes: &[u8], mut at: usize, word: &mut Vec<u8>) -> usize {
    while at < bytes.len() && bytes[at] != b'\'' {
        if bytes[at] != b'\\' {
            word.push(bytes[at]);
            at += 1;
            continue;
        }
        at += 1;
        let digits = bytes[at..].iter().take(3).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
        if digits > 0 {
            let code =
                bytes[at..at + digits].iter().fold(0_u32, |sum, digit| sum * 8 + u32::from(digit - b'0'));
            word.push(u8::try_from(code & 0xff).unwrap());
            at += digits;
            continue;
        }
        word.push(match bytes.get(at) {
            Some(b'n') => b'\n',
            Some(b't') => b'\t',
            Some(b'r') => b'\r',
            Some(b'a') => 7,
            Some(b'b') => 8,
            Some(b'E' | b'e') => 27,
            Some(b'f') => 12,
            Some(b'v') => 11,
            Some(other) => *other,
            None => b'\\',
        });
        at += 1;
    }
    at + 1
}

#[test]
fn quoted_records_are_read_back() {
    let place = Place::new("unquote");
    let argv = executed(&place, "P1 'a b' $'x\\ny\\'z' '' \"q'r\" é").unwrap();
    assert_eq!(argv, [["P1", "a b", "x\ny'z", "", "q'r", "é"]]);
}
