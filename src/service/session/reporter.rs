//! How many tests a run ran, read from what a known test program wrote.
//!
//! Danger: the output is the program's, and what the tests themselves print is in it. A number counts only where the
//! program is known by the declared command, all of its output was seen, and the line is where that program puts it. The
//! status speaks of success; this says only that there was something to succeed.

use serde_json::Value;

use crate::jail::{Captured, Outcome};

/// A test program.
struct Reporter {
    /// Whether a command starts it.
    runs: fn(&[&str]) -> bool,
    /// The tests that it says it ran, passed and failed ones; skipped ones were not run.
    count: fn(&str) -> Option<u32>,
}

/// The test programs whose reports are known.
const REPORTERS: &[Reporter] = &[
    Reporter { runs: |argv| cargo(argv).is_some_and(|verb| matches!(verb, "test" | "t")), count: libtest },
    Reporter { runs: |argv| cargo(argv) == Some("nextest"), count: nextest },
    Reporter { runs: |argv| program(argv, &["pytest", "py.test"]) || module(argv, "pytest"), count: pytest },
    Reporter { runs: |argv| module(argv, "unittest"), count: unittest },
    Reporter { runs: |argv| program(argv, &["node"]) && argv.contains(&"--test"), count: node },
    Reporter { runs: |argv| script(argv, "jest"), count: jest },
    Reporter { runs: |argv| script(argv, "vitest"), count: vitest },
    Reporter { runs: |argv| program(argv, &["go"]) && argv.get(1) == Some(&"test"), count: go },
];

/// The tests of a run of `command`; none where its program is not known, its output was not wholly seen, or does not say.
pub(super) fn tests_of(command: &[String], outcome: &Outcome) -> Option<u32> {
    let (out, err) = outcome.output.as_ref()?;
    let text = |stream: &Captured| {
        (stream.dropped() == 0).then(|| {
            let bytes = [stream.head.as_slice(), stream.tail.as_slice()].concat();
            String::from_utf8_lossy(&bytes).into_owned()
        })
    };
    tests(command, &(text(out)? + "\n" + &text(err)?))
}

fn tests(command: &[String], output: &str) -> Option<u32> {
    let argv: Vec<&str> = command.iter().map(String::as_str).collect();
    let reporter = REPORTERS.iter().find(|reporter| (reporter.runs)(&argv))?;
    (reporter.count)(&plain(output))
}

/// Without colours and carriage returns.
fn plain(output: &str) -> String {
    let mut text = String::with_capacity(output.len());
    let mut rest = output.chars();
    while let Some(next) = rest.next() {
        match next {
            '\u{1b}' => while rest.next().is_some_and(|part| !part.is_ascii_alphabetic()) {},
            '\r' => {}
            next => text.push(next),
        }
    }
    text
}

fn base(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

fn program(argv: &[&str], names: &[&str]) -> bool {
    argv.first().is_some_and(|first| names.contains(&base(first)))
}

/// `cargo`'s own command, past a toolchain.
fn cargo<'a>(argv: &[&'a str]) -> Option<&'a str> {
    let words = argv.get(1..).filter(|_| program(argv, &["cargo"]))?;
    words.iter().copied().find(|word| !word.starts_with(['+', '-']))
}

/// `python3 -m NAME`.
fn module(argv: &[&str], name: &str) -> bool {
    let python = argv.first().is_some_and(|first| base(first).starts_with("python"));
    python && argv.iter().position(|word| *word == "-m").is_some_and(|at| argv.get(at + 1) == Some(&name))
}

/// A program of node's by its name, or by `npx`.
fn script(argv: &[&str], name: &str) -> bool {
    program(argv, &[name]) || (program(argv, &["npx"]) && argv.get(1) == Some(&name))
}

/// The number in front of a word: `12 passed`.
fn before(text: &str, word: &str) -> Option<u32> {
    let parts: Vec<&str> =
        text.split(|part: char| part.is_whitespace() || part == ',' || part == ';').collect();
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.windows(2).find(|pair| pair[1] == word).and_then(|pair| pair[0].parse().ok())
}

/// The sum of those that are said, none where none is.
fn sum(text: &str, words: &[&str]) -> Option<u32> {
    let found: Vec<u32> = words.iter().filter_map(|word| before(text, word)).collect();
    (!found.is_empty()).then(|| found.into_iter().fold(0, u32::saturating_add))
}

fn last<'t>(output: &'t str, begins: &str) -> Option<&'t str> {
    output.lines().rev().find_map(|line| line.strip_prefix(begins))
}

/// One line for each test binary.
fn libtest(output: &str) -> Option<u32> {
    let lines = output.lines().filter_map(|line| line.strip_prefix("test result: "));
    let mut all = None;
    for line in lines {
        let (_, counts) = line.split_once(". ")?;
        all = Some(u32::saturating_add(all.unwrap_or(0), sum(counts, &["passed", "failed"])?));
    }
    all
}

fn nextest(output: &str) -> Option<u32> {
    let line = output.lines().rev().find(|line| line.trim_start().starts_with("Summary ["))?;
    let (_, counts) = line.split_once(']')?;
    sum(counts.split(':').next()?, &["tests", "test"])
}

/// The last line alone: `==== 3 passed, 1 skipped in 0.02s ====`.
fn pytest(output: &str) -> Option<u32> {
    let last = output.lines().rev().find(|line| {
        let line = line.trim_matches([' ', '=']);
        line.split_once(" in ")
            .is_some_and(|(_, time)| time.starts_with(|first: char| first.is_ascii_digit()))
    });
    let line = last?.trim_matches([' ', '=']);
    if line.starts_with("no tests ran") {
        return Some(0);
    }
    sum(line, &["passed", "failed", "xfailed", "xpassed"])
}

fn unittest(output: &str) -> Option<u32> {
    let line = last(output, "Ran ")?;
    let ran = sum(line, &["tests", "test"])?;
    let end = output.lines().rev().find(|line| line.starts_with("OK") || line.starts_with("FAILED"))?;
    let skipped = end.split_once("skipped=").map(|(_, rest)| {
        rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap_or(u32::MAX)
    });
    Some(ran.saturating_sub(skipped.unwrap_or(0)))
}

/// Both of its reporters end with a block of counts: `# pass 3`, `ℹ pass 3`.
fn node(output: &str) -> Option<u32> {
    let count = |name: &str| {
        let said = ["# ", "ℹ "].iter().find_map(|mark| last(output, &format!("{mark}{name} ")))?;
        said.trim().parse::<u32>().ok()
    };
    Some(count("pass")?.saturating_add(count("fail")?))
}

fn jest(output: &str) -> Option<u32> {
    sum(last(output, "Tests: ")?, &["passed", "failed"])
}

fn vitest(output: &str) -> Option<u32> {
    let line = output.lines().rev().find_map(|line| line.trim_start().strip_prefix("Tests  "))?;
    let (counts, _) = line.split_once('(')?;
    sum(counts, &["passed", "failed"])
}

/// With `-json` one event a line, with `-v` one line a test; otherwise it does not say how many.
fn go(output: &str) -> Option<u32> {
    let mut all: Option<u32> = None;
    for line in output.lines() {
        let counts = if line.starts_with('{') {
            let event: Value = serde_json::from_str(line).ok()?;
            let over = matches!(event["Action"].as_str(), Some("pass" | "fail"));
            over && event["Test"].as_str().is_some_and(|name| !name.contains('/'))
        } else {
            line.starts_with("--- PASS: ") || line.starts_with("--- FAIL: ")
        };
        if counts {
            all = Some(all.unwrap_or(0).saturating_add(1));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::tests as count;

    fn of(command: &str, output: &str) -> Option<u32> {
        let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
        count(&words, output)
    }

    #[test]
    fn known_reports_are_counted() {
        let cargo = "running 2 tests\ntest a ... ok\ntest b ... ignored\n\n\
            test result: ok. 1 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n\
            test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n";
        let node = "✔ adds (0.5ms)\nℹ tests 4\nℹ suites 0\nℹ pass 2\nℹ fail 1\nℹ cancelled 0\nℹ skipped 1\n";
        for (command, output, tests) in [
            ("cargo test", cargo, 4),
            ("cargo +nightly t --workspace", cargo, 4),
            ("cargo nextest run", "     Summary [   0.5s] 12 tests run: 12 passed, 3 skipped\n", 12),
            ("pytest -q", "...\n3 passed in 0.01s\n", 3),
            ("python3 -m pytest", "=== 1 failed, 2 passed, 1 skipped, 1 xfailed in 0.12s ===\n", 4),
            (
                "/usr/bin/pytest",
                "\u{1b}[32m==== \u{1b}[1m5 passed\u{1b}[0m in 61.10s (0:01:01) ====\u{1b}[0m\n",
                5,
            ),
            ("pytest", "=== no tests ran in 0.00s ===\n", 0),
            ("python3 -m unittest", "..s\n---\nRan 3 tests in 0.001s\n\nOK (skipped=1)\n", 2),
            ("python3.12 -m unittest -v", "Ran 1 test in 0.001s\n\nFAILED (failures=1)\n", 1),
            ("node --test", node, 3),
            ("node --test x.mjs", "TAP version 13\n# tests 3\n# pass 3\n# fail 0\n", 3),
            ("npx jest --ci", "Tests:       1 failed, 2 skipped, 5 passed, 8 total\nTime: 1 s\n", 6),
            ("npx vitest run", " Test Files  1 passed (1)\n      Tests  1 failed | 2 passed (3)\n", 3),
            (
                "go test -v ./...",
                "=== RUN   TestA\n--- PASS: TestA (0.00s)\n    --- PASS: TestA/x (0.00s)\nok  \tx\t0.1s\n",
                1,
            ),
            (
                "go test -json ./...",
                "{\"Action\":\"run\",\"Test\":\"TestA\"}\n{\"Action\":\"pass\",\"Test\":\"TestA\"}\n\
                 {\"Action\":\"pass\",\"Test\":\"TestA/x\"}\n{\"Action\":\"pass\",\"Package\":\"x\"}\n",
                1,
            ),
        ] {
            assert_eq!(of(command, output), Some(tests), "{command}\n{output}");
        }
    }

    #[test]
    fn what_is_not_known_is_no_number() {
        let cargo = "test result: ok. 9 passed; 0 failed; 0 ignored\n";
        for (command, output) in [
            // Another program, or a wrapper that may print anything.
            ("make test", cargo),
            ("echo cargo test", cargo),
            ("sh -c cargo", cargo),
            ("cargo run", cargo),
            ("npm test", "Tests:       5 passed, 5 total\n"),
            ("python3 tests.py", "Ran 3 tests in 0.001s\n\nOK\n"),
            // Its own line, but not as it writes it.
            ("cargo test", "  test result: ok. 9 passed; 0 failed\n"),
            ("cargo test", "test result: ok\n"),
            ("cargo test", ""),
            ("pytest", "9 passed\n"),
            ("python3 -m unittest", "Ran 3 tests in 0.001s\n"),
            ("node --test", "# pass 3\n"),
            ("go test ./...", "ok  \tx\t0.1s\n"),
            ("go test -json ./...", "{\"Action\":\"pass\",\"Test\":\"TestA\"}\n{not json\n"),
        ] {
            assert_eq!(of(command, output), None, "{command}\n{output}");
        }
    }
}
