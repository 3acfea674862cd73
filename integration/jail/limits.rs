//! Limits: each holds, and where it can be known the outcome names it.

use std::time::{Duration, Instant};

use swbox::jail::{Exit, LimitHit};

use crate::check;
use crate::kit::{Case, Jail, Place, Verdict, eventually, processes_with};

pub(crate) const CASES: &[Case] = &[
    Case { name: "the wall clock ends the whole tree", needs: "userns", run: wall_clock },
    Case { name: "a command that ends on TERM is not killed", needs: "userns", run: asked_first },
    Case { name: "file size, CPU, open files, memory, core", needs: "userns", run: resources },
    Case { name: "processes are bounded, also for user 0", needs: "userns", run: processes },
];

fn wall_clock() -> Verdict {
    let place = Place::new();
    let jail =
        Jail::write(&place.workspace()).with(|spec| spec.limits.timeout = Some(Duration::from_millis(300)));
    let begun = Instant::now();
    let done = jail.sh("trap '' TERM; (trap '' TERM; setsid sleep 31.4159 & exec 1>&- 2>&-; wait) & echo before; sleep 31.4159; sleep 31.4159");
    let took = begun.elapsed();
    check!(done.outcome.exit == Exit::Timeout, "{:?}", done.outcome.exit);
    check!(done.outcome.limit == Some(LimitHit::Timeout), "{:?}", done.outcome.limit);
    check!(took > Duration::from_secs(2) && took < Duration::from_secs(25), "{took:?}");
    check!(done.out == "before\n", "what was written before is kept: {}", done.all());
    check!(eventually(|| processes_with("31.4159") == 0), "something is left");
    Verdict::Passed
}

fn asked_first() -> Verdict {
    let place = Place::new();
    let jail =
        Jail::write(&place.workspace()).with(|spec| spec.limits.timeout = Some(Duration::from_secs(3)));
    let begun = Instant::now();
    let done = jail.sh("trap 'echo bye; exit 3' TERM; sleep 60 & wait");
    check!(done.outcome.exit == Exit::Timeout && done.out == "bye\n", "{}", done.all());
    check!(begun.elapsed() < Duration::from_secs(40), "{:?}", begun.elapsed());
    Verdict::Passed
}

fn resources() -> Verdict {
    let place = Place::new();
    let jail = |change: fn(&mut swbox::profile::Limits)| {
        Jail::write(&place.workspace()).with(|spec| change(&mut spec.limits))
    };
    let done = jail(|limits| limits.file_size = Some(1 << 20)).sh("exec head -c 4M /dev/zero > big");
    check!(done.outcome.limit == Some(LimitHit::FileSize), "{}", done.all());
    check!(std::fs::metadata(place.path("w/big")).unwrap().len() == 1 << 20, "the file is bigger");
    let done = jail(|limits| limits.cpu = Some(1)).sh("while :; do :; done");
    check!(done.outcome.limit == Some(LimitHit::Cpu), "{}", done.all());
    let done = jail(|limits| limits.open_files = Some(20))
        .sh("ulimit -n; python3 -c 'f = [open(\"/dev/null\") for i in range(40)]'");
    check!(done.out == "20\n" && done.err.contains("Too many open files"), "{}", done.all());
    check!(
        done.outcome.limit == Some(LimitHit::OpenFiles) && done.outcome.limit_inferred,
        "{:?}",
        done.outcome
    );
    let done = jail(|limits| limits.memory = Some(64 << 20)).sh("python3 -c 'b = bytearray(256 << 20)'");
    check!(done.err.contains("MemoryError"), "{}", done.all());
    check!(done.outcome.limit == Some(LimitHit::Memory) && done.outcome.limit_inferred, "{:?}", done.outcome);
    // A program that does not mind the signal is told by an error.
    let done = jail(|limits| limits.file_size = Some(1 << 20))
        .sh("python3 -c 'open(\"big\", \"wb\").write(bytes(4 << 20))'");
    check!(done.outcome.limit == Some(LimitHit::FileSize), "{:?} {}", done.outcome, done.all());
    // The twin: a command that says the same and has no such limit.
    let done = jail(|_| {}).sh("echo MemoryError >&2; exit 1");
    check!(done.outcome.limit.is_none(), "{:?}", done.outcome);
    let mut brief = jail(|_| {});
    brief.keep = 1000;
    let done = brief.sh("head -c 5000 /dev/zero; exit 3");
    check!(
        done.outcome.limit == Some(LimitHit::Output) && !done.outcome.limit_inferred,
        "{:?}",
        done.outcome
    );
    let done = jail(|_| {}).sh("ulimit -c; ulimit -v; ulimit -Hc");
    check!(done.out == "0\nunlimited\n0\n", "{}", done.all());
    Verdict::Passed
}

fn processes() -> Verdict {
    let place = Place::new();
    let fork = "import os, time
made = 0
try:
    while made < 2000:
        if os.fork() == 0: time.sleep(30)
        made += 1
except OSError:
    print('bounded', made < 600)
    raise
else: print('not bounded')";
    let jail = Jail::write(&place.workspace()).with(|spec| spec.limits.processes = Some(310));
    let done = jail.launch(&["python3", "-c", fork]).unwrap();
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    if crate::kit::is_root() && release.as_str() < "6.14" {
        return Verdict::Skipped("user 0 is bounded from Linux 6.14".to_owned());
    }
    check!(done.out.starts_with("bounded True"), "{}", done.all());
    check!(
        done.outcome.limit == Some(LimitHit::Processes) && done.outcome.limit_inferred,
        "{:?}",
        done.outcome
    );
    let host: u64 = std::fs::read_to_string("/proc/sys/kernel/pid_max").unwrap().trim().parse().unwrap();
    check!(host > 310, "the host's own bound was changed to {host}");
    Verdict::Passed
}
