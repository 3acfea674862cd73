//! Where commands stand: scripts full of directory changes are run, and each command is where the classifier says that it
//! may be.
//!
//! The commands are `rm NAME` with a name of their own; the `rm` in PATH says where it stands and removes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use swbox::classify::{Environment, OpClass, Subject, classify_line};
use swbox::shell::Trust;

use crate::runner::Place;

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }
}

/// Writes scripts; each marker has a number of its own.
struct Writer {
    random: Random,
    markers: usize,
    functions: usize,
    loops: usize,
}

/// What is changed to: directories, links, files, what is missing.
const TARGETS: &[&str] = &[
    "a",
    "a",
    "b",
    "a/b",
    "link",
    "link/..",
    "..",
    "../b",
    "../..",
    ".",
    "file",
    "gone",
    "gone/../a",
    "a/../b",
    "deep",
    "''",
    "-",
    "~",
    "$HOME/a",
    "$unset",
    "\"$PWD\"",
    "*",
    "a b",
    "--",
    "-- a",
    "-P a",
    "-P link",
    "-L link",
    "-e a",
    "dangling",
    "name",
];

const HEADS: &[&str] = &[
    "CDPATH=$HOME/paths",
    "shopt -s lastpipe",
    "shopt -s cdable_vars; name=$HOME/a",
    "set -e",
    "set -P",
    "set -o physical",
    "cd() { builtin cd b; }",
    "trap 'cd b' DEBUG",
    "export CDPATH=$HOME/paths:",
    "set -o pipefail",
    "shopt -s expand_aliases\nalias go='cd a'",
    "OLDPWD=$HOME/b",
    "HOME=$PWD/b",
    "eval 'shopt -s lastpipe'",
    "enable -n cd",
    "f() { cd a; }",
    "trap 'rm end' EXIT",
];

impl Writer {
    fn script(&mut self) -> String {
        let mut text = String::new();
        if self.random.below(3) == 0 {
            text = format!("{}\n", self.random.of(HEADS));
        }
        let depth = 1 + self.random.below(2);
        let list = self.list(depth);
        text + &list
    }

    fn list(&mut self, depth: usize) -> String {
        let count = 1 + self.random.below(3);
        let mut text = String::new();
        for number in 0..count {
            if number > 0 {
                text += self.random.of(&["; ", "\n", "; ", " & "]);
            }
            text += &self.chain(depth);
        }
        text
    }

    fn chain(&mut self, depth: usize) -> String {
        let mut text = self.pipeline(depth);
        for _ in 0..[0, 0, 1, 1, 2][self.random.below(5)] {
            text += self.random.of(&[" && ", " && ", " || "]);
            text += &self.pipeline(depth);
        }
        text
    }

    fn pipeline(&mut self, depth: usize) -> String {
        let mut text = if self.random.below(8) == 0 { "! ".to_owned() } else { String::new() };
        text += &self.command(depth);
        while self.random.below(6) == 0 {
            text += " | ";
            text += &self.command(depth);
        }
        text
    }

    fn marker(&mut self) -> String {
        self.markers += 1;
        format!("rm m{}", self.markers)
    }

    fn change(&mut self) -> String {
        let target = self.random.of(TARGETS);
        match self.random.below(14) {
            0 => format!("pushd {target}"),
            1 => self
                .random
                .of(&["popd", "pushd", "pushd +1", "pushd -1", "pushd -n a", "popd +0", "popd -n"])
                .to_owned(),
            2 => format!("eval 'cd {}'", target.replace('\'', "\"")),
            3 => format!("builtin cd {target}"),
            4 => format!("command cd {target}"),
            5 => "cd".to_owned(),
            6 => self
                .random
                .of(&["go", "f", "CDPATH=$HOME/paths cd a", "env cd a", "cd a > file", "cd a > gone/x"])
                .to_owned(),
            _ => format!("cd {target}"),
        }
    }

    fn command(&mut self, depth: usize) -> String {
        let kind = self.random.below(if depth == 0 { 10 } else { 20 });
        match kind {
            0..4 => self.marker(),
            4..8 => self.change(),
            8 => self.random.of(&["true", "false", "exit", "exit 1 2", "exit 3 > gone/x", ":"]).to_owned(),
            9 => format!("x=$({})", if depth == 0 { self.marker() } else { self.list(depth - 1) }),
            10 => format!("{{ {}; }}", self.list(depth - 1)),
            11 => format!("{{ {}\n}} > /dev/null", self.list(depth - 1)),
            12 => format!("( {} )", self.list(depth - 1)),
            13 => format!(
                "if {}\nthen {}\nelse {}\nfi",
                self.list(depth - 1),
                self.list(depth - 1),
                self.list(depth - 1)
            ),
            14 => format!("if {}\nthen {}\nfi", self.chain(depth - 1), self.list(depth - 1)),
            15 => format!("for i in 1 2; do {}\ndone", self.list(depth - 1)),
            16 => {
                self.loops += 1;
                let (name, body) = (format!("n{}", self.loops), self.list(depth - 1));
                format!("{name}=; while test \"${name}\" != 11 && {name}=1${name}; do {body}\ndone")
            }
            17 => format!(
                "case x in {}) {}\n;; *) {}\nesac",
                self.random.of(&["x", "y"]),
                self.list(depth - 1),
                self.list(depth - 1)
            ),
            18 => {
                self.functions += 1;
                let (name, body, then) = (self.functions, self.list(depth - 1), self.list(depth - 1));
                format!("f{name}() {{ {body}\n}}; {then}\nf{name}")
            }
            _ => format!("eval {}", quoted(&self.list(depth - 1))),
        }
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// What a script finds: `w` is where it begins, and HOME.
fn furnish(place: &Path) -> PathBuf {
    let home = place.join("w");
    for directory in ["a/b", "b", "paths/a", "paths/b", "deep/a/b", "deep/x/b"] {
        std::fs::create_dir_all(home.join(directory)).unwrap();
    }
    std::fs::write(home.join("file"), "").unwrap();
    symlink("deep/x", home.join("link")).unwrap();
    symlink("nowhere", home.join("dangling")).unwrap();
    std::fs::create_dir_all(place.join("bin")).unwrap();
    let program = place.join("bin/rm");
    std::fs::write(&program, "#!/bin/bash\nprintf '%s %s\\n' \"$1\" \"$(pwd -P)\" >> \"$LOG\"\n").unwrap();
    std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).unwrap();
    home
}

/// Where each marker stood, the times that it ran.
fn stood(place: &Path, home: &Path, round: usize, script: &str) -> BTreeSet<(String, PathBuf)> {
    // What an earlier script left running in the background has a log of its own.
    let log = place.join(format!("log-{round}"));
    std::fs::write(&log, "").unwrap();
    let text = format!("ulimit -t 1 -f 2048\n{script}\n");
    Command::new("/bin/bash")
        .args(["-c", &text])
        .env_clear()
        .env("PATH", place.join("bin"))
        .env("HOME", home)
        .env("LOG", &log)
        .current_dir(home)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .unwrap();
    let text = std::fs::read_to_string(&log).unwrap();
    std::fs::remove_file(log).unwrap();
    text.lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(name, at)| (name.to_owned(), at.into()))
        .collect()
}

/// Where the classifier has each marker stand; none where it may be anywhere, or more may run than the text shows.
fn considered(home: &Path, script: &str) -> Option<BTreeMap<String, Option<Vec<PathBuf>>>> {
    let home = home.to_str().unwrap();
    let environment = Environment { cwd: home.into(), home: home.into(), ..Environment::default() };
    let mut places: BTreeMap<String, Option<Vec<PathBuf>>> = BTreeMap::new();
    let line = classify_line(script, &environment);
    if line.opaque.is_some() || line.trust != Trust::Trusted {
        return None;
    }
    for segment in line.segments {
        let [verb, name] = &segment.argv[..] else { continue };
        if verb != "rm" {
            continue;
        }
        let place = places.entry(name.clone()).or_insert_with(|| Some(Vec::new()));
        for op in segment.ops.iter().filter(|op| op.class == OpClass::Destructive) {
            match (&op.subject, place.as_mut()) {
                (Subject::Path(path), Some(known)) => {
                    known.push(Path::new(path).parent().unwrap().to_owned())
                }
                _ => *place = None,
            }
        }
    }
    Some(places)
}

/// A directory, where the shell of the test can tell: a pattern may be any name.
fn may_be(known: &Path, at: &Path) -> bool {
    known.to_string_lossy().contains('*') || known.canonicalize().is_ok_and(|known| known == at)
}

#[test]
fn each_command_stands_where_the_classifier_says_that_it_may() {
    let budget = crate::Budget::rounds(600);
    let place = Place::new("stands");
    let home = furnish(place.path());
    let home = home.canonicalize().unwrap();
    let (mut round, mut seen, mut ran, mut certain) = (0, 0, 0, 0);
    while budget.allows(round) {
        let seed = crate::seed().wrapping_add(round as u64);
        let random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut writer = Writer { random, markers: 0, functions: 0, loops: 0 };
        writer.random.below(2);
        let script = writer.script();
        round += 1;
        let Some(places) = considered(&home, &script) else { continue };
        seen += 1;
        for (name, at) in stood(place.path(), &home, round, &script) {
            ran += 1;
            let Some(known) = places.get(&name) else {
                panic!("seed {seed}: {name} is not seen in\n{script}")
            };
            let Some(known) = known else { continue };
            certain += 1;
            assert!(
                known.iter().any(|known| may_be(known, &at)),
                "seed {seed}: {name} stood in {}, not in {known:?}:\n{script}",
                at.display()
            );
        }
    }
    println!("{seen} of {round} scripts, {ran} commands, {certain} of them in known places");
    assert!(ran > seen / 2 && seen > round / 4 && certain * 10 > ran, "hardly anything was tested");
}
