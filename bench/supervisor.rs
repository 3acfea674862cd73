//! What watching costs a command: the same work in the same jail, unwatched, by notifications, with reads, traced; in turn,
//! medians side by side. `empty` is the floor: a supervisor that is handed the same calls and says "go on" to each without a
//! look, which is what the kernel alone takes for them.
//!
//! `cargo bench --bench supervisor [-- ROUNDS] [least] [WAY…] [NAME…]`, on a tmpfs where there is one; `least` prints the
//! shortest times in place of the medians: those of a machine that does nothing else, where it does. `own µs` is the part of
//! a call's cost that is swbox's own time on a CPU, which other work on the machine moves least. Budgets (`docs/architecture.md`,
//! "What costs what"): untar 2.5 × and 8 µs of swbox's own for each call that is handed over, make 1.03 ×, programs 1.12 ×, git,
//! find and grep 1.05 ×.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Command;

use swbox::jail::seccomp::Watching;
use swbox::jail::{Begun, Capture, Exit, JailPlan, Observer, Scene, launch_observed, plan, probe};
use swbox::policy::{NetworkRight, Rights, WorkspaceRight};
use swbox::profile::resolve::StateJail;
use swbox::profile::{HostFacts, Task, builtin, resolve};
use swbox::supervisor::notify::{Settings, Watcher};
use swbox::supervisor::trace::Tracer;
use swbox::supervisor::{Observed, Seen, Sink, Verdict};
use swbox::sys::seccomp::{Reply, receive, reply, take_turns};

type Failure = Box<dyn std::error::Error>;

/// Name, what is done before each round, the work.
const WORK: [(&str, &str, &str); 7] = [
    ("start and end", "true", "true"),
    ("untar 3000 files", "rm -rf out; mkdir out", "tar xf files.tar -C out"),
    ("make, 16 units", "rm -f units/*.o units/all", "make -s -C units"),
    ("500 programs", "true", "i=0; while [ $i -lt 500 ]; do /bin/true; i=$((i+1)); done"),
    (
        "git status",
        "true",
        "i=0; while [ $i -lt 5 ]; do git -C repository status --porcelain; i=$((i+1)); done",
    ),
    ("find", "true", "i=0; while [ $i -lt 10 ]; do find repository >/dev/null; i=$((i+1)); done"),
    (
        "grep -r",
        "true",
        "i=0; while [ $i -lt 5 ]; do grep -rc nothing repository >/dev/null; i=$((i+1)); done",
    ),
];

const SETUP: &str = r#"
mkdir repository units source
for d in $(seq 0 29); do mkdir -p repository/d$d source/d$d
  for f in $(seq 0 99); do echo "line $f of $d" > repository/d$d/f$f; done
  cp repository/d$d/* source/d$d
done
tar cf files.tar -C source . && rm -rf source
for u in $(seq 0 15); do
  { echo '#include <stdio.h>'; for n in $(seq 0 60); do echo "int f${u}_$n(int a) { int s = 0; for (int i = 0; i < a; i++) s += i * $n; return s; }"; done; } > units/u$u.c
done
echo 'int main(void) { return 0; }' > units/main.c
printf 'OBJECTS = main.o %s\nall: $(OBJECTS)\n\tcc -o $@ $(OBJECTS)\n%%.o: %%.c\n\tcc -O1 -c -o $@ $<\n' "$(for u in $(seq 0 15); do printf 'u%s.o ' $u; done)" > units/Makefile
cd repository && git init -q && git -c user.name=b -c user.email=b@example.org add -A && git -c user.name=b -c user.email=b@example.org commit -qm x
"#;

#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    Off,
    Empty,
    Notify,
    Reads,
    Trace,
}

const WAYS: [(How, &str); 5] = [
    (How::Off, "off"),
    (How::Empty, "empty"),
    (How::Notify, "notify"),
    (How::Reads, "reads"),
    (How::Trace, "trace"),
];

/// Says "go on" to what a watcher would be handed.
struct Empty<'a> {
    watcher: Watcher<'a>,
    listener: Option<OwnedFd>,
}

impl Observer for Empty<'_> {
    fn watching(&self, plan: &JailPlan) -> Watching {
        self.watcher.watching(plan)
    }

    fn required(&self) -> bool {
        true
    }

    fn prepare(&mut self, _: Scene<'_>) {}

    fn begin(&mut self, begun: Begun) -> io::Result<()> {
        self.listener = begun.listener;
        self.source().map_or(Ok(()), take_turns)
    }

    fn source(&self) -> Option<BorrowedFd<'_>> {
        self.listener.as_ref().map(AsFd::as_fd)
    }

    fn ready(&mut self) -> io::Result<()> {
        let Some(listener) = self.source() else { return Ok(()) };
        // Waits there, which is the least: until the last process is gone (Linux 6.11).
        while let Some(call) = receive(listener)? {
            reply(listener, call.id, Reply::Continue)?;
        }
        Ok(())
    }

    fn end(&mut self) {
        self.listener = None;
    }
}

struct Quiet;

impl Sink for Quiet {
    fn observed(&mut self, _: i32, _: &Observed) -> Verdict {
        Verdict::Go
    }
}

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let rounds = words.iter().find_map(|word| word.parse().ok()).unwrap_or(15);
    let is_way = |word: &str| WAYS.iter().any(|(_, way)| *way == word);
    let chosen = |way: &str| words.iter().any(|word| word == way) || !words.iter().any(|word| is_way(word));
    let ways: Vec<_> =
        WAYS.iter().filter(|(how, way)| *how == How::Off || chosen(way)).map(|(how, _)| *how).collect();
    let least = words.iter().any(|word| word == "least");
    let other = |word: &&String| word.parse::<usize>().is_err() && !is_way(word) && *word != "least";
    let names: Vec<_> = words.iter().filter(other).collect();
    let base = if Path::new("/dev/shm").is_dir() { PathBuf::from("/dev/shm") } else { std::env::temp_dir() };
    let place = base.join(format!("swbox-bench-{}", std::process::id()));
    std::fs::create_dir(&place)?;
    let result = measure(&place, rounds, least, &ways, &names);
    std::fs::remove_dir_all(&place)?;
    result
}

fn measure(place: &Path, rounds: usize, least: bool, ways: &[How], names: &[&String]) -> Result<(), Failure> {
    shell(place, SETUP)?;
    let mut table = format!(
        "{:<18} {:>10} {:>18} {:>18} {:>18} {:>18} {:>9} {:>9} {:>9}\n",
        "work", "off ms", "empty", "notify", "reads", "trace", "calls", "µs/call", "own µs"
    );
    for (name, before, work) in WORK {
        if !names.is_empty() && !names.iter().any(|wanted| name.contains(wanted.as_str())) {
            continue;
        }
        let plan = planned(place, work)?;
        let mut times = [const { Vec::new() }; 5];
        let mut own = [const { Vec::new() }; 5];
        let mut calls = 0;
        for round in 0..rounds {
            for turn in 0..ways.len() {
                // Each way comes first as often as the others.
                let how = ways[(turn + round) % ways.len()];
                shell(place, before)?;
                let before = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
                let (time, seen) = run(&plan, how)?;
                let after = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
                times[how as usize].push(time);
                own[how as usize].push(milliseconds(after) - milliseconds(before));
                if how == How::Notify {
                    calls = seen.calls;
                }
            }
        }
        let choose = |mut times: Vec<f64>| {
            times.sort_by(f64::total_cmp);
            let at = if least { 0 } else { times.len() / 2 };
            times.get(at).copied().unwrap_or(f64::NAN)
        };
        let [off, empty, notify, reads, trace] = times.map(choose);
        let [own_off, _, own_notify, ..] = own.map(choose);
        let cell = |time: f64| format!("{time:.2} ({:.2} ×)", time / off);
        let each = |more: f64| more * 1e3 / f64::from(u32::try_from(calls).unwrap_or(u32::MAX));
        let (all, own) = (each(notify - off), each(own_notify - own_off));
        table += &format!(
            "{name:<18} {off:>10.2} {:>18} {:>18} {:>18} {:>18} {calls:>9} {all:>9.1} {own:>9.1}\n",
            cell(empty),
            cell(notify),
            cell(reads),
            cell(trace)
        );
    }
    std::io::stdout().write_all(table.as_bytes())?;
    Ok(())
}

fn milliseconds(time: rustix::time::Timespec) -> f64 {
    std::time::Duration::try_from(time).unwrap_or_default().as_secs_f64() * 1e3
}

/// Runs a script of the host.
fn shell(place: &Path, script: &str) -> Result<(), Failure> {
    let done = Command::new("bash").args(["-c", script]).current_dir(place).status()?;
    if done.success() { Ok(()) } else { Err(format!("{script}: {done}").into()) }
}

/// One launch: milliseconds from the command's exec to its end (of nothing, from the call to the return).
fn run(plan: &JailPlan, how: How) -> Result<(f64, Seen), Failure> {
    let mut quiet = Quiet;
    let settings = Settings { reads: how == How::Reads, required: true, ..Settings::default() };
    let begun = std::time::Instant::now();
    let (outcome, seen) = match how {
        How::Off => (launch_observed(plan, Capture::Keep(1 << 20), None)?, Seen::default()),
        How::Empty => {
            let mut empty = Empty { watcher: Watcher::new(settings, &mut quiet), listener: None };
            (launch_observed(plan, Capture::Keep(1 << 20), Some(&mut empty))?, Seen::default())
        }
        How::Notify | How::Reads => {
            let mut watcher = Watcher::new(settings, &mut quiet);
            let outcome =
                launch_observed(plan, Capture::Keep(1 << 20), Some(&mut watcher as &mut dyn Observer))?;
            (outcome, watcher.into_seen())
        }
        How::Trace => {
            let mut tracer = Tracer::new(settings, &mut quiet);
            let outcome =
                launch_observed(plan, Capture::Keep(1 << 20), Some(&mut tracer as &mut dyn Observer))?;
            (outcome, tracer.into_seen())
        }
    };
    let whole = begun.elapsed();
    if outcome.exit != Exit::Code(0) {
        return Err(format!("{:?} {:?}", outcome.exit, outcome.output).into());
    }
    let idle = plan.argv.last().is_some_and(|last| last == "true");
    let time = if idle { whole } else { outcome.duration };
    Ok((time.as_secs_f64() * 1e3, seen))
}

/// A writable state with the base profile.
fn planned(workspace: &Path, work: &str) -> Result<JailPlan, Failure> {
    let rights = Rights {
        workspace: WorkspaceRight::Write,
        git_write: false,
        network: NetworkRight::Loopback,
        narrowed: Vec::new(),
    };
    let profile = builtin::find("base").ok_or("no base profile")?.profile()?;
    let home = PathBuf::from(std::env::var_os("HOME").unwrap_or_else(|| "/tmp".into()));
    let facts = HostFacts { home, env: std::env::vars_os().collect(), ..HostFacts::default() };
    let task = Task {
        workspace,
        cwd: workspace,
        pwd: workspace,
        rights: &rights,
        executes: false,
        blocked_env: &[],
        env_overrides: &[],
        state: &StateJail::default(),
        timeout: None,
    };
    let spec = resolve(&profile, &facts, &task);
    Ok(plan(&spec, &probe(), &["sh", "-c", work].map(OsString::from))?)
}
