//! Captured output: bounded, whole in what is kept, never waited for in vain.

use std::time::{Duration, Instant};

use swbox::jail::Exit;

use crate::check;
use crate::kit::{Case, Jail, Place, Verdict};

pub(crate) const CASES: &[Case] = &[
    Case { name: "both streams, byte for byte", needs: "userns", run: streams },
    Case { name: "head and tail are kept, the rest is counted", needs: "userns", run: bounded },
    Case { name: "an endless writer costs no memory and ends with the clock", needs: "userns", run: endless },
    Case { name: "a background process does not keep the result waiting", needs: "userns", run: background },
];

fn streams() -> Verdict {
    let place = Place::new();
    let done = Jail::read(&place.workspace()).sh("printf 'a\\0b\\377'; printf err >&2");
    let (out, err) = done.outcome.output.clone().unwrap();
    check!([out.head, out.tail].concat() == b"a\0b\xff", "stdout");
    check!([err.head, err.tail].concat() == b"err", "stderr");
    let done = Jail::read(&place.workspace()).sh("test -t 1 || test -t 2 || echo pipe; cat");
    check!(done.out == "pipe\n", "{}", done.all());
    Verdict::Passed
}

fn bounded() -> Verdict {
    let place = Place::new();
    let mut jail = Jail::read(&place.workspace());
    jail.keep = 1000;
    let done = jail.sh("seq 100000; echo last");
    let (out, _) = done.outcome.output.clone().unwrap();
    check!(out.head.len() == 200 && out.tail.len() == 800, "{} and {}", out.head.len(), out.tail.len());
    check!(out.head.starts_with(b"1\n2\n") && out.tail.ends_with(b"100000\nlast\n"), "{}", done.out);
    check!(out.dropped() > 0 && out.total == 588_895 + 5, "{} of {}", out.dropped(), out.total);
    Verdict::Passed
}

fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap();
    status.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

fn endless() -> Verdict {
    let place = Place::new();
    let mut jail =
        Jail::read(&place.workspace()).with(|spec| spec.limits.timeout = Some(Duration::from_secs(1)));
    jail.keep = 64 << 10;
    let before = memory();
    let done = jail.sh("exec yes");
    check!(done.outcome.exit == Exit::Timeout, "{:?}", done.outcome.exit);
    let total = done.outcome.output.as_ref().unwrap().0.total;
    check!(total > 1 << 20, "only {total} bytes were drained");
    check!(memory() < before + (8 << 20), "memory grew from {before} to {}", memory());
    Verdict::Passed
}

fn background() -> Verdict {
    let place = Place::new();
    for script in [
        "echo important; sleep 60 &",
        "echo important; cd /tmp && nohup sleep 60 >x 2>&1 & ",
        "echo important; (setsid nohup sleep 60 </dev/null &)",
        "echo important; (while :; do echo noise >&2; done) & sleep 0.1",
    ] {
        let begun = Instant::now();
        let done = Jail::read(&place.workspace()).sh(script);
        check!(done.out.contains("important"), "{script}: {}", done.all());
        check!(begun.elapsed() < Duration::from_secs(40), "{script}: {:?}", begun.elapsed());
    }
    Verdict::Passed
}
