//! A real small project with history, made anew for each test: sources in Rust, Python, Node and C, tests of each, a
//! private HOME with secrets, and a directory outside that nothing may touch.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    dead_code,
    unreachable_pub,
    reason = "shared by several test programs; a set-up that fails is a failed test"
)]

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

static COUNT: AtomicU32 = AtomicU32::new(0);

/// The project and what lies around it; removed at the end.
pub struct Project {
    root: PathBuf,
}

/// What a run of swbox left.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
    pub raw: Vec<u8>,
}

impl Project {
    /// Makes it.
    pub fn new() -> Self {
        Self::named("project")
    }

    /// Makes it in a directory of that name.
    pub fn named(name: &str) -> Self {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let base =
            std::env::var_os("SWBOX_TEST_DIR").map_or_else(|| PathBuf::from("/var/tmp"), PathBuf::from);
        let root = base.join(format!("swbox-it-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        let project = Self { root };
        for directory in ["home/.ssh", "home/.config", "outside"] {
            fs::create_dir_all(project.root.join(directory)).unwrap();
        }
        fs::write(project.home().join(".ssh/id_ed25519"), "TOP SECRET KEY\n").unwrap();
        fs::write(project.home().join(".npmrc"), "//r.example/:_authToken=SECRET\n").unwrap();
        fs::write(
            project.home().join(".gitconfig"),
            "[user]\n\tname = Test\n\temail = t@example.org\n[init]\n\tdefaultBranch = main\n[credential]\n\thelper = store\n\
             [alias]\n\tpwn = !touch /tmp/pwned\n",
        )
        .unwrap();
        fs::write(project.outside().join("kept"), "outside\n").unwrap();
        let inside = project.root.join(name);
        fs::create_dir_all(&inside).unwrap();
        fs::write(project.root.join("name"), name).unwrap();
        project.fill();
        project
    }

    fn fill(&self) {
        for (name, text) in FILES {
            let path = self.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        self.git(&["init", "-q"]);
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", "First version"]);
        for turn in 1..=3 {
            fs::write(self.path().join("CHANGES"), format!("change {turn}\n")).unwrap();
            self.git(&["add", "-A"]);
            self.git(&["commit", "-q", "-m", &format!("Change {turn}")]);
        }
    }

    /// The workspace.
    pub fn path(&self) -> PathBuf {
        self.root.join(fs::read_to_string(self.root.join("name")).unwrap())
    }

    /// The caller's HOME.
    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// A directory beside the workspace.
    pub fn outside(&self) -> PathBuf {
        self.root.join("outside")
    }

    /// Runs git on the host.
    pub fn git(&self, args: &[&str]) -> String {
        let output = Command::new("git")
            .args(args)
            .current_dir(self.path())
            .env("HOME", self.home())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// A command of swbox, in the workspace, with the environment of an ordinary user.
    pub fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        self.command_as(Path::new(env!("CARGO_BIN_EXE_swbox")), args)
    }

    /// The same for another program.
    pub fn command_as<S: AsRef<OsStr>>(&self, program: &Path, args: &[S]) -> Command {
        let mut command = Command::new(program);
        command.args(args).current_dir(self.path()).stdin(Stdio::null()).env_clear().env("HOME", self.home());
        for name in ["PATH", "LANG", "USER", "LOGNAME", "SSL_CERT_FILE"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        // The toolchains of whoever runs the tests lie in the real HOME.
        let real = PathBuf::from(std::env::var_os("HOME").unwrap_or_else(|| OsString::from("/root")));
        for (name, below) in [
            ("CARGO_HOME", ".cargo"),
            ("RUSTUP_HOME", ".rustup"),
            ("PYENV_ROOT", ".pyenv"),
            ("NVM_DIR", ".nvm"),
        ] {
            let place = std::env::var_os(name).map_or_else(|| real.join(below), PathBuf::from);
            if place.is_dir() {
                command.env(name, place);
            }
        }
        command
    }

    /// Runs swbox.
    pub fn swbox<S: AsRef<OsStr>>(&self, args: &[S]) -> Ran {
        ran(self.command(args).output().unwrap())
    }

    /// Runs a line in a state.
    pub fn line(&self, state: &str, line: &str) -> Ran {
        self.swbox(&["exec", "--state", state, "-c", line])
    }

    /// Runs a line in a state and reads the JSON answer.
    pub fn json(&self, state: &str, line: &str) -> (i32, serde_json::Value) {
        let ran = self.swbox(&["exec", "--state", state, "--json", "-c", line]);
        let value =
            serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{line}: {error}: {ran:?}"));
        (ran.code, value)
    }

    /// Runs a line with the host's bash.
    pub fn bare(&self, line: &str) -> Ran {
        ran(self.command_as(Path::new("/bin/bash"), &["-c", line]).output().unwrap())
    }

    /// Every name, kind, mode and content outside the workspace, beside swbox's own cache and state.
    pub fn surroundings(&self) -> Vec<(PathBuf, String)> {
        let mut found = Vec::new();
        for place in [self.home(), self.outside()] {
            walk(&place, &mut found);
        }
        found.retain(|(path, _)| {
            let own = [".cache/swbox", ".local/state/swbox"];
            !own.iter().any(|own| path.starts_with(self.home().join(own)))
                && ![".cache", ".local", ".local/state"].iter().any(|name| *path == self.home().join(name))
        });
        found
    }

    /// Every name, kind, mode and content of the workspace beside `.git`.
    pub fn tree(&self) -> Vec<(PathBuf, String)> {
        let mut found = Vec::new();
        walk(&self.path(), &mut found);
        found.retain(|(path, _)| !path.starts_with(self.path().join(".git")));
        found
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

fn walk(path: &Path, into: &mut Vec<(PathBuf, String)>) {
    use std::os::unix::fs::MetadataExt;
    let meta = fs::symlink_metadata(path).unwrap();
    let content =
        if meta.is_file() { format!("{:?}", fs::read(path).unwrap_or_default()) } else { String::new() };
    into.push((path.to_owned(), format!("{:o} {}", meta.mode(), content)));
    if meta.is_dir() {
        let mut names: Vec<_> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
        names.sort();
        for name in names {
            walk(&name, into);
        }
    }
}

/// An output as text.
pub fn ran(output: Output) -> Ran {
    let code = output.status.code().unwrap_or_else(|| 1000 + output.status.signal().unwrap_or(0));
    Ran {
        code,
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        raw: output.stdout,
    }
}

/// Runs a command with this on its standard input.
pub fn with_input(mut command: Command, input: &[u8]) -> Ran {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || {
        // The reader may go away first; that is its right.
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    ran(output)
}

/// Whether a program is there; says so in the form that CI counts when it is not.
pub fn has(test: &str, program: &str) -> bool {
    let found = std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|directory| directory.join(program).is_file()));
    if found {
        return true;
    }
    let required = std::env::var("SWBOX_REQUIRE").unwrap_or_default();
    assert!(!required.split(',').any(|name| name == program), "{program} is required and missing");
    println!("SKIP {test}: no {program} here");
    false
}

/// Numbered functions, so that a search has something to find.
const FILES: &[(&str, &str)] = &[
    ("README.md", "# The project\n\nA greeting in four languages.\n\nTODO: more languages\n"),
    (".gitignore", "target/\nnode_modules/\n__pycache__/\nbuild/\n"),
    (
        "Cargo.toml",
        "[package]\nname = \"greeting\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[lib]\npath = \"src/lib.rs\"\n",
    ),
    (
        "Cargo.lock",
        "# This file is automatically @generated by Cargo.\n# It is not intended for manual editing.\nversion = 3\n\n[[package]]\nname = \"greeting\"\nversion = \"0.1.0\"\n",
    ),
    (
        "src/lib.rs",
        "//! Greets.\npub fn greet(name: &str) -> String {\n    format!(\"Hello, {name}\")\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn greets() {\n        assert_eq!(super::greet(\"x\"), \"Hello, x\");\n    }\n}\n",
    ),
    ("src/other.rs", "// TODO: unused\nfn other() {}\n"),
    ("src/third.rs", "// a\n// b\n// c\n"),
    ("greeting.py", "def greet(name):\n    return f\"Hello, {name}\"\n"),
    (
        "test_greeting.py",
        "import unittest\nimport greeting\n\nclass Test(unittest.TestCase):\n    def test_greets(self):\n        self.assertEqual(greeting.greet(\"x\"), \"Hello, x\")\n\nif __name__ == \"__main__\":\n    unittest.main()\n",
    ),
    (
        "package.json",
        "{ \"name\": \"greeting\", \"version\": \"0.1.0\", \"private\": true, \"scripts\": { \"test\": \"node --test\" } }\n",
    ),
    ("greeting.js", "module.exports = (name) => `Hello, ${name}`;\n"),
    (
        "greeting.test.js",
        "const test = require('node:test');\nconst assert = require('node:assert');\nconst greet = require('./greeting.js');\ntest('greets', () => assert.strictEqual(greet('x'), 'Hello, x'));\n",
    ),
    ("greeting.c", "#include <stdio.h>\nint main(void) { puts(\"Hello\"); return 0; }\n"),
    (
        "Makefile",
        "check: greeting.c\n\tmkdir -p build\n\tcc -o build/greeting greeting.c\n\tbuild/greeting | grep -q Hello\n",
    ),
    ("config.yml", "name: value\n"),
    ("build/artefact", "made\n"),
];
