//! Programs as they were really started: what their arguments mean, and who started them.
//!
//! Danger: the arguments are the program's own choice of words. The name that a process gives itself and the file that
//! runs may differ, so both are read; a script is also read as if it ran by itself.

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::classify::{self, Classification, Environment};
use crate::shell;
use crate::supervisor::Program;

/// How many processes are remembered by name.
const REMEMBERED: usize = 8192;

/// How many programs are remembered with their arguments.
const RECENT: usize = 64;

/// Longer arguments are not remembered.
const SHORT: usize = 2048;

/// Interpreters of scripts, with the option letters behind which code or a module stands and no script.
const INTERPRETERS: [(&str, &[u8]); 12] = [
    ("bash", b"c"),
    ("sh", b"c"),
    ("dash", b"c"),
    ("zsh", b"c"),
    ("python", b"cm"),
    ("perl", b"eE"),
    ("ruby", b"e"),
    ("node", b"ep"),
    ("php", b"r"),
    ("lua", b"e"),
    ("env", b"S"),
    ("busybox", b""),
];

/// How deep a chain of forks is followed to the line's own shell.
const GENERATIONS: usize = 32;

/// The processes of a run, as far as programs were seen to begin in them.
#[derive(Debug, Default)]
pub(super) struct Processes {
    /// The program that each runs.
    names: HashMap<i32, String>,
    /// The arguments of the last few, where they are short.
    recent: VecDeque<(i32, Program)>,
    /// The process that swbox itself started.
    first: Option<i32>,
    /// Whether the first one is a shell that runs a line.
    of_line: bool,
    /// Whether another program has taken that shell's place.
    replaced: bool,
    /// How many programs began.
    pub(super) count: u64,
}

impl Processes {
    /// Of a run whose first program is the line's shell, or is the command itself.
    pub(super) fn new(of_line: bool) -> Self {
        Self { of_line, ..Self::default() }
    }

    /// Whether the line's own shell starts the program that is about to begin in `pid`. The first program of a line is that
    /// shell. It asks for the parents of the process, which is no little of what a program's start may cost.
    pub(super) fn is_by_line(&self, pid: i32) -> bool {
        match self.first {
            None => !self.of_line,
            Some(first) => self.of_line && !self.replaced && self.forked_from(first, pid),
        }
    }

    /// Notes that a program begins.
    pub(super) fn begin(&mut self, pid: i32, program: &Program) {
        self.count += 1;
        match self.first {
            None => self.first = Some(pid),
            // `exec` in the shell itself.
            Some(first) => self.replaced |= first == pid,
        }
        if self.names.len() < REMEMBERED || self.names.contains_key(&pid) {
            self.names.insert(pid, name_of(program));
        }
        self.recent.retain(|(known, _)| *known != pid);
        if program.argv.iter().map(Vec::len).sum::<usize>() <= SHORT {
            if self.recent.len() >= RECENT {
                self.recent.pop_front();
            }
            self.recent.push_back((pid, program.clone()));
        }
    }

    /// The program of a process with its arguments, where it is one of the last.
    pub(super) fn argv(&self, pid: i32) -> Option<&Program> {
        self.recent.iter().find(|(known, _)| *known == pid).map(|(_, program)| program)
    }

    /// The program that a process runs: its own, or the one that it was forked from.
    pub(super) fn name(&self, pid: i32) -> String {
        let mut at = pid;
        for _ in 0..GENERATIONS {
            if let Some(name) = self.names.get(&at) {
                return name.clone();
            }
            match parent(at) {
                Some(parent) => at = parent,
                None => break,
            }
        }
        String::new()
    }

    /// Whether only forks of the line's shell stand between it and this process. One whose parent is gone counts.
    fn forked_from(&self, first: i32, pid: i32) -> bool {
        let mut at = pid;
        for _ in 0..GENERATIONS {
            if at == first {
                return true;
            }
            at = match parent(at) {
                Some(above) if above > 1 => above,
                _ => return true,
            };
            if at != first && self.names.contains_key(&at) {
                return false;
            }
        }
        true
    }
}

/// The parent of a process that is held still or alive; as `/proc` says it.
fn parent(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may hold anything.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

/// A name for people: the file's own, or the script's.
fn name_of(program: &Program) -> String {
    let base = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let file = base(&program.file).unwrap_or_default();
    let Some(letters) = code_letters(&file) else { return file };
    let script = script(&program.argv, letters).and_then(|at| program.argv.get(at));
    let script = script.and_then(|word| base(Path::new(std::ffi::OsStr::from_bytes(word))));
    script.unwrap_or(file)
}

/// The letters of an interpreter's options that bring code; none where the name is no interpreter's.
fn code_letters(name: &str) -> Option<&'static [u8]> {
    let stem = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    INTERPRETERS.iter().find(|(known, _)| *known == stem).map(|(_, letters)| *letters)
}

/// Where the script stands among the arguments of an interpreter whose options with these letters bring code: behind one
/// word of options at most, as the kernel passes them.
fn script(argv: &[Vec<u8>], letters: &[u8]) -> Option<usize> {
    let first = argv.get(1)?;
    let at = if first.starts_with(b"-") { 2 } else { 1 };
    let brings = at == 2 && !first.starts_with(b"--") && first.iter().any(|letter| letters.contains(letter));
    argv.get(at).filter(|word| !brings && word.contains(&b'/')).map(|_| at)
}

/// What a program's arguments may mean.
pub(super) fn readings(program: &Program, environment: &Environment) -> Vec<Classification> {
    let words: Vec<String> =
        program.argv.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    let file = program.file.to_string_lossy().into_owned();
    let base = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let mut all = vec![words.clone()];
    let called = words.first().map(|word| base(word)).unwrap_or_default();
    let rest = words.get(1..).unwrap_or_default();
    if called != base(&file) {
        all.push(std::iter::once(file.clone()).chain(rest.iter().cloned()).collect());
    }
    if let Some(at) = code_letters(&base(&file)).and_then(|letters| script(&program.argv, letters)) {
        all.push(words.get(at..).unwrap_or_default().to_vec());
    }
    all.iter()
        .filter(|words| !words.is_empty())
        .map(|words| classify::classify("", &shell::from_argv(words), environment))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(file: &str, argv: &[&str]) -> Program {
        Program {
            file: file.into(),
            argv: argv.iter().map(|word| word.as_bytes().to_vec()).collect(),
            cut: false,
            stopped: false,
        }
    }

    fn commands(file: &str, argv: &[&str]) -> Vec<String> {
        let world = Environment { home: "/home/u".to_owned(), ..Environment::default() };
        let readings = readings(&program(file, argv), &world);
        readings.iter().flat_map(|reading| &reading.segments).map(|segment| segment.argv.join(" ")).collect()
    }

    #[test]
    fn a_program_is_read_by_its_name_its_file_and_its_script() {
        assert_eq!(commands("/usr/bin/git", &["git", "push"]), ["git push"]);
        assert_eq!(commands("/usr/bin/git", &["harmless", "push"]), ["harmless push", "/usr/bin/git push"]);
        assert_eq!(
            commands("/usr/bin/python3.11", &["/usr/bin/python3.11", "-E", "/usr/bin/pytest", "-q"])[1],
            "/usr/bin/pytest -q"
        );
        let wrapped = commands(
            "/usr/lib/x/ld-linux-x86-64.so.2",
            &["/lib64/ld-linux-x86-64.so.2", "/usr/bin/git", "push"],
        );
        assert_eq!(wrapped, ["/usr/bin/git push"], "the loader is a wrapper");
    }

    #[test]
    fn a_script_goes_by_its_own_name() {
        assert_eq!(name_of(&program("/usr/bin/bash", &["bash", "./deploy.sh", "x"])), "deploy.sh");
        assert_eq!(name_of(&program("/usr/bin/bash", &["bash", "-e", "./deploy.sh"])), "deploy.sh");
        assert_eq!(name_of(&program("/usr/bin/bash", &["bash", "-c", "cat a/b"])), "bash");
        assert_eq!(name_of(&program("/usr/bin/python3.11", &["python3", "-c", "open('/x')"])), "python3.11");
        assert_eq!(name_of(&program("/usr/bin/git", &["git"])), "git");
    }

    #[test]
    fn what_the_shell_forks_is_the_lines_and_what_a_program_starts_is_not() {
        let own = i32::try_from(std::process::id()).unwrap();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let begin = |processes: &mut Processes, pid: i32, program: Program| {
            let by_line = processes.is_by_line(pid);
            processes.begin(pid, &program);
            by_line
        };
        let mut processes = Processes::new(true);
        let shell = program("/bin/bash", &["bash", "-c", "x"]);
        assert!(!begin(&mut processes, own, shell), "the shell is not its own command");
        assert!(begin(&mut processes, pid, program("/bin/sleep", &["sleep"])));
        let mut nested = Processes::new(true);
        begin(&mut nested, parent(own).unwrap(), program("/bin/bash", &["bash"]));
        begin(&mut nested, own, program("/bin/pytest", &["pytest"]));
        assert!(!begin(&mut nested, pid, program("/bin/git", &["git"])));
        assert_eq!(nested.name(pid), "git");
        let mut argv = Processes::new(false);
        let first = program("/bin/x", &["x"]);
        assert!(begin(&mut argv, own, first), "without a shell the command is the caller's own");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
