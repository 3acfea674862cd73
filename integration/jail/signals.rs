//! Signals, pipelines and standard input: swbox behaves like the command that it runs.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Signal;

use crate::check;
use crate::kit::{Case, Place, Running, Verdict, launcher, script};

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "TERM, HUP, USR1, USR2, INT sent to swbox reach the command once",
        needs: "userns",
        run: forwarded,
    },
    Case {
        name: "a command that ends by a forwarded signal is told as such",
        needs: "userns",
        run: ended_by,
    },
    Case { name: "in a pipeline: SIGPIPE, standard input, order", needs: "userns", run: pipelines },
    Case { name: "dispositions and mask are the caller's", needs: "userns", run: dispositions },
    Case { name: "a signal that was ignored by the caller stays ignored", needs: "userns", run: ignored },
];

fn forwarded() -> Verdict {
    let place = Place::new();
    let trap = "for s in TERM HUP USR1 USR2 INT; do trap \"echo got $s\" $s; done; echo ready; \
                while :; do sleep 0.05; [ -e go ] && break; done; echo end";
    let mut child =
        Running::start(launcher("write", &place.workspace(), &["sh", "-c", trap]).stdout(Stdio::piped()));
    let mut lines = BufReader::new(child.0.stdout.take().unwrap()).lines().map_while(Result::ok);
    check!(lines.next().as_deref() == Some("ready"), "it did not start");
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let inherited = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    let inherited = u64::from_str_radix(inherited.trim(), 16).unwrap();
    for (signal, name) in [
        (Signal::TERM, "TERM"),
        (Signal::HUP, "HUP"),
        (Signal::USR1, "USR1"),
        (Signal::USR2, "USR2"),
        (Signal::INT, "INT"),
    ] {
        // A shell cannot trap what was ignored when it started (`nohup` ignores HUP): as under bash, nothing happens.
        if inherited & 1 << (signal.as_raw() - 1) != 0 {
            continue;
        }
        child.signal(signal);
        let line = lines.next();
        check!(line == Some(format!("got {name}")), "{name}: {line:?}");
    }
    std::thread::sleep(Duration::from_millis(100));
    std::fs::write(place.path("w/go"), "").unwrap();
    let rest: Vec<_> = lines.collect();
    check!(rest == ["end"], "{rest:?}");
    check!(child.wait().success(), "exit");
    Verdict::Passed
}

fn ended_by() -> Verdict {
    let place = Place::new();
    let mut child = Running::start(
        launcher("read", &place.workspace(), &["sh", "-c", "echo ready; exec sleep 60"])
            .stdout(Stdio::piped()),
    );
    let mut line = String::new();
    BufReader::new(child.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    child.signal(Signal::TERM);
    let status = child.wait();
    check!(status.code() == Some(128 + 15), "{status:?}");
    Verdict::Passed
}

fn pipelines() -> Verdict {
    let place = Place::new();
    for (line, wanted) in [
        ("$JAIL yes | head -1; echo ${PIPESTATUS[0]}", "y\n141\n"),
        ("echo in | $JAIL cat", "in\n"),
        ("printf '1\\n2\\n' | ($JAIL true; cat)", "1\n2\n"),
        ("printf '1\\n2\\n3\\n' | ($JAIL sh -c 'read a; echo \"got $a\"'; wc -l | tr -d ' ')", "got 1\n2\n"),
        ("seq 20000 | $JAIL cat | $JAIL tail -1", "20000\n"),
        ("$JAIL sh -c 'echo out; echo err >&2' 2>/dev/null", "out\n"),
        ("$JAIL sh -c 'echo a > /dev/stdout; echo b > /dev/fd/1; echo c > /proc/self/fd/1'", "a\nb\nc\n"),
        ("$JAIL sh -c 'echo to-file > /dev/stdout' > f; cat f", "to-file\n"),
        ("$JAIL bash -c 'cat <(echo sub) <<< here'", "sub\n"),
        ("$JAIL true <&-; echo $?; $JAIL echo x >&-; $JAIL sh -c 'echo x' 2>&-", "0\nx\n"),
    ] {
        let output = script("read", &place.workspace(), line, &[]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        check!(text == wanted, "{line}: {text:?} {}", String::from_utf8_lossy(&output.stderr));
    }
    Verdict::Passed
}

fn dispositions() -> Verdict {
    let place = Place::new();
    let show = "grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status";
    let bare = script("read", &place.workspace(), "sh -c \"$1\"", &[show]).stdout;
    let jailed = script("read", &place.workspace(), "$JAIL sh -c \"$1\"", &[show]);
    let (bare, text) =
        (String::from_utf8_lossy(&bare).into_owned(), String::from_utf8_lossy(&jailed.stdout).into_owned());
    check!(bare == text, "{bare} is not {text} {}", String::from_utf8_lossy(&jailed.stderr));
    Verdict::Passed
}

fn ignored() -> Verdict {
    let place = Place::new();
    let line = "trap '' HUP; $JAIL sh -c 'kill -HUP $$; echo alive'";
    let output = script("read", &place.workspace(), line, &[]);
    check!(output.stdout == b"alive\n", "{}", String::from_utf8_lossy(&output.stderr));
    let line = "trap '' CHLD; $JAIL sh -c 'sh -c \"exit 3\"; exit $?'; echo $?";
    let output = script("read", &place.workspace(), line, &[]);
    check!(output.stdout == b"3\n", "SIGCHLD: {}", String::from_utf8_lossy(&output.stderr));
    Verdict::Passed
}
