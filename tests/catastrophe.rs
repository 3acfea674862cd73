//! The catastrophe check against the main path: two readings of one line that share no code must agree.
//!
//! Lines are put together from verbs, flags, targets and frames at random. Where the main path finds an `rm -r` whose
//! target is the root or the home, the check must find it; where the check finds one, the main path must at least say
//! that it cannot see. `SWBOX_FUZZ_LINES` sets the number of lines.

#![allow(clippy::unwrap_used, clippy::panic)]

use swbox::classify::{ClassifiedSegment, Environment, OpClass, Subject, catastrophe, classify_line};
use swbox::shell::Trust;

/// A small generator of its own (xorshift), so that a seed is a line for ever.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).unwrap()
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

const VERBS: &[&str] = &[
    "rm",
    "\\rm",
    "r\\m",
    "'rm'",
    "\"rm\"",
    "r''m",
    "/bin/rm",
    "/usr/bin/rm",
    "$'rm'",
    "$'\\x72m'",
    "rm",
    "rm",
    "r\\\nm",
    "command rm",
    "X=rm; $X",
    "echo rm",
    "git rm",
    "ls",
    "rmdir",
    "grep rm",
];
const FLAGS: &[&str] = &[
    "-rf",
    "-fr",
    "-r -f",
    "-R -f",
    "--recursive --force",
    "--rec -f",
    "-rf --",
    "-vrf",
    "'-rf'",
    "-r'f'",
    "-rf -v",
    "-f",
    "-v",
    "--",
    "-rf --no-preserve-root",
    "-r",
    "$'-rf'",
];
// A pattern in quotes is left to the corpus: the main path names the same path for it.
const TARGETS: &[&str] = &[
    "/",
    "/*",
    "//",
    "/.",
    "/./",
    "/tmp/..",
    "/usr/../*",
    "~",
    "~/",
    "~/*",
    "$HOME",
    "${HOME}",
    "\"$HOME\"",
    "\"$HOME\"/",
    "\"${HOME}\"/*",
    "'/'",
    "\"/\"",
    "\\/",
    "$'/'",
    "{/,}",
    "/{,}",
    "{/tmp/x,/}",
    "/.*",
    "/tmp/x",
    "./build",
    "build",
    "~/.cache",
    "\"$HOME/x\"",
    "'~'",
    "'$HOME'",
    "/etc",
    "*",
    "..",
    "$X",
    "$(mktemp -d)",
    "/tmp/*",
    "~root",
    "\"$1\"",
];
const FRAMES: &[(&str, &str)] = &[
    ("", ""),
    ("", ""),
    ("ls; ", ""),
    ("ls && ", " && ls"),
    ("false || ", ""),
    ("(", ")"),
    ("{ ", "; }"),
    ("echo $(", ")"),
    ("echo \"$(", ")\""),
    ("x=$(", ")"),
    ("if true; then ", "; fi"),
    ("for i in 1 2; do ", "; done"),
    ("while false; do ", "; done"),
    ("case x in x) ", ";; esac"),
    ("f() { ", "; }; f"),
    ("! ", ""),
    ("time ", ""),
    ("sudo ", ""),
    ("sudo -u root ", ""),
    ("env A=1 ", ""),
    ("timeout 9 ", ""),
    ("nice -n 5 ", ""),
    ("nohup ", " &"),
    ("setsid ", ""),
    ("stdbuf -oL ", ""),
    ("ionice -c 3 ", ""),
    ("ls | ", ""),
    ("cat <<EOF\n$(", ")\nEOF"),
    ("diff <(", ") x"),
    ("", " > /dev/null 2>&1"),
    ("2>/dev/null ", ""),
    ("A=1 ", ""),
    ("[[ $(", ") == x ]]"),
    ("echo ${x:-$(", ")}"),
    ("ls\n", "\nls"),
    ("cat <<'EOF'\n", "\nEOF"),
    ("echo '", "'"),
    ("# ", ""),
    ("cat > f <<EOF\n", "\nEOF"),
    ("git commit -m '", "'"),
    ("xargs ", " < /dev/null"),
    ("find . -exec ", " \\;"),
    ("coproc ", ""),
    ("echo `", "`"),
    ("exec ", ""),
    ("builtin command ", ""),
    ("busybox ", ""),
];
/// Frames that hand the line to a shell as one quoted string.
const STRINGS: &[(&str, &str)] = &[
    ("sh -c '", "'"),
    ("bash -c '", "'"),
    ("bash -lc '", "'"),
    ("eval '", "'"),
    ("bash <<'EOF'\n", "\nEOF"),
    ("ssh host '", "'"),
    ("trap '", "' EXIT"),
    ("sudo bash -c '", "'"),
    ("bash <<< '", "'"),
    ("su -c '", "'"),
    ("find . -exec sh -c '", "' \\;"),
];

fn line(random: &mut Random) -> String {
    let mut text = format!("{} {} {}", random.pick(VERBS), random.pick(FLAGS), random.pick(TARGETS));
    if random.below(6) == 0 {
        text = format!("{text} {}", random.pick(TARGETS));
    }
    for _ in 0..random.below(4) {
        let frames = if random.below(5) == 0 && !text.contains('\'') { STRINGS } else { FRAMES };
        let (before, after) = frames[random.below(frames.len())];
        text = format!("{before}{text}{after}");
    }
    text
}

const HOME: &str = "/home/dev";

/// Whether the main path reads a segment as the removal of the root or the home.
fn is_catastrophe(segment: &ClassifiedSegment) -> bool {
    let is_recursive = segment.argv.iter().skip(1).take_while(|word| *word != "--").any(|word| {
        match word.strip_prefix("--") {
            Some(long) => !long.is_empty() && "recursive".starts_with(long),
            None => word.starts_with('-') && word.contains(['r', 'R']),
        }
    });
    let hits = segment.ops.iter().any(|op| match &op.subject {
        Subject::Path(path) if op.class == OpClass::Destructive => {
            let mut parts: Vec<&str> = Vec::new();
            for part in path.split('/') {
                match part {
                    "" | "." => {}
                    ".." => drop(parts.pop()),
                    _ => parts.push(part),
                }
            }
            let is_all = |part: &&str| part.contains('*') && part.trim_matches(['*', '.']).is_empty();
            parts.iter().all(is_all)
                || (parts.len() >= 2 && parts[..2] == ["home", "dev"] && parts[2..].iter().all(is_all))
                || parts == ["home"]
        }
        _ => false,
    });
    segment.program == "rm" && is_recursive && hits
}

#[test]
fn both_paths_agree() {
    let lines = std::env::var("SWBOX_FUZZ_LINES").ok().and_then(|text| text.parse().ok()).unwrap_or(6_000);
    let seed = std::env::var("SWBOX_FUZZ_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    let environment =
        Environment { cwd: "/work/project".into(), home: HOME.into(), ..Environment::default() };
    let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ seed);
    let (mut found, mut missed, mut alone) = (0, Vec::new(), Vec::new());
    for _ in 0..lines {
        let text = line(&mut random);
        let check = catastrophe::find(&text).is_some();
        let main = classify_line(&text, &environment);
        let seen = main.segments.iter().any(is_catastrophe);
        found += usize::from(check);
        if seen && !check && main.trust == Trust::Trusted {
            missed.push(text.clone());
        }
        // What only run time knows (`$HOME`, a flag in a variable) is a removal to the main path, of something unknown.
        let removes = main
            .segments
            .iter()
            .any(|segment| segment.program == "rm" && segment.classes.contains(OpClass::Destructive));
        if check && !removes && main.opaque.is_none() && main.trust == Trust::Trusted {
            alone.push(text);
        }
    }
    missed.sort_by_key(String::len);
    alone.sort_by_key(String::len);
    missed.truncate(20);
    alone.truncate(20);
    println!("{lines} lines, {found} catastrophes");
    assert!(found > lines / 20, "only {found} of {lines}");
    assert!(missed.is_empty(), "missed by the check:\n{missed:#?}");
    assert!(alone.is_empty(), "seen by the check alone:\n{alone:#?}");
}

/// Frames in which a line is data, whatever it says.
const DATA: &[(&str, &str)] = &[
    ("echo '", "'"),
    ("git commit -m '", "'"),
    ("grep -rn '", "' ."),
    ("x='", "'; echo \"$x\""),
    ("printf '%s\\n' '", "' > notes.md"),
    ("cat > f.sh <<'EOF'\n", "\nEOF\n"),
    (": <<'X'\n", "\nX\n"),
    ("tee f <<'END' >/dev/null\n", "\nEND\n"),
    ("[[ \"$y\" == '", "' ]]"),
    ("gh issue create --title '", "' --body x"),
    ("python3 -c 'print(1)' '", "'"),
    ("cat <<-'EOF' | grep x\n", "\nEOF\n"),
];
/// Removals that are none of the shapes.
const HARMLESS: &[&str] = &[
    "rm -rf ./build",
    "rm -rf /tmp/x",
    "rm -rf ~/.cache/pip",
    "rm -rf \"$HOME/proj/dist\"",
    "rm -rf *",
    "rm -rf \"$dir\"",
    "rm -f /",
    "rm -rf -- '~'",
    "rm -rf /var/lib/apt/lists/*",
    "rm -rf .",
    "shutdown -h now",
    "chown -R root /",
    "docker rm -f c",
    "cd /tmp && rm -rf *",
    "D=/; D=/tmp/x; rm -rf $D",
    "rm -rf \"${D:-/tmp/x}\"",
    "f() { g & }; f",
    "a | b &",
];

#[test]
fn data_and_harmless_removals_are_no_catastrophe() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let mut alarms = Vec::new();
    for _ in 0..6_000 {
        let mut text = if random.below(2) == 0 {
            random.pick(HARMLESS).to_owned()
        } else {
            let dangerous =
                format!("rm {} {}", random.pick(&FLAGS[..4]), random.pick(&["/", "~", "/*", "$HOME"]));
            let (before, after) = DATA[random.below(DATA.len())];
            format!("{before}{dangerous}{after}")
        };
        for _ in 0..random.below(3) {
            let (before, after) = FRAMES[random.below(FRAMES.len())];
            // A frame in quotes would end at the quotes inside; one that is a word list would read a newline as its end.
            if (before.contains('\'') && text.contains('\''))
                || (!before.contains('\n') && text.contains('\n'))
            {
                continue;
            }
            text = format!("{before}{text}{after}");
        }
        if catastrophe::find(&text).is_some() {
            alarms.push(text);
        }
    }
    alarms.sort_by_key(String::len);
    alarms.truncate(20);
    assert!(alarms.is_empty(), "{alarms:#?}");
}
