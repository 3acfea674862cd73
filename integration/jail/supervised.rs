//! What a supervisor sees of a command, and that seeing changes nothing.

use swbox::jail::Exit;
use swbox::supervisor::notify::Settings;
use swbox::supervisor::{Act, Cause, Denial, Observed, Seen, Target, Verdict as Judgement};

use crate::check;
use crate::kit::{Case, Jail, Place, Verdict, is_root};

pub(crate) const CASES: &[Case] = &[
    Case { name: "supervised: programs with their arguments", needs: "namespaces", run: programs },
    Case { name: "supervised: a program is stopped by its arguments", needs: "namespaces", run: stopped },
    Case { name: "supervised: who is silent after a storm is heard", needs: "namespaces", run: silence },
    Case { name: "supervised: traced, the same programs", needs: "namespaces", run: traced },
    Case { name: "supervised: traced, refusals with their errno", needs: "namespaces", run: refusals },
];

/// The argument lists of the programs that ran, in order.
fn lines(seen: &Seen) -> Vec<String> {
    let words = |argv: &[Vec<u8>]| {
        argv.iter().map(|word| String::from_utf8_lossy(word)).collect::<Vec<_>>().join(" ")
    };
    seen.programs.iter().map(|program| words(&program.what.argv)).collect()
}

fn programs() -> Verdict {
    let place = Place::new();
    for jail in [Jail::read(&place.workspace()), Jail::write(&place.workspace())] {
        let (done, seen) = jail.watch_sh("/bin/echo a 'b  c'; /usr/bin/env true; /bin/echo a 'b  c'");
        check!(done.ok() && done.out == "a b  c\na b  c\n", "{}", done.all());
        let lines = lines(&seen);
        check!(lines[1..] == ["/bin/echo a b  c", "/usr/bin/env true", "true"], "{lines:?}");
        check!(seen.programs[1].times == 2, "{:?}", seen.programs);
        check!(!done.outcome.degraded.iter().any(|why| why.starts_with("unobserved")), "{}", done.all());
    }
    Verdict::Passed
}

fn stopped() -> Verdict {
    let place = Place::new();
    let judge = |what: &Observed| match what {
        Observed::Program(program) if program.argv.iter().any(|word| word == b"secret") => Judgement::Stop,
        _ => Judgement::Go,
    };
    let script = "/bin/echo public; /bin/echo secret; echo $?";
    let jail = Jail::read(&place.workspace());
    let (done, seen) = jail.watch(Settings::default(), &["sh", "-c", script], judge).unwrap();
    check!(done.out == "public\n137\n", "{}", done.all());
    let stopped: Vec<_> = seen.programs.iter().filter(|program| program.what.stopped).collect();
    check!(stopped.len() == 1 && stopped[0].what.argv[1] == b"secret", "{:?}", seen.programs);
    Verdict::Passed
}

/// In a storm of calls the launcher waits where it hears nothing else: the wall clock and the output must get through.
fn silence() -> Verdict {
    let place = Place::new();
    let begun = std::time::Instant::now();
    let jail = Jail::write(&place.workspace())
        .with(|spec| spec.limits.timeout = Some(std::time::Duration::from_secs(5)));
    let storm = "i=0; while [ $i -lt 300 ]; do : > f$((i % 3)); i=$((i + 1)); done";
    // It reads what nobody writes, without another program.
    let (done, seen) = jail.watch_sh(&format!("mkfifo p; exec 3<>p; {storm}; echo before; read x <&3"));
    check!(done.outcome.exit == Exit::Timeout && done.out == "before\n", "{}", done.all());
    check!(begun.elapsed() < std::time::Duration::from_secs(40), "{:?}", begun.elapsed());
    check!(seen.calls > 300 && seen.touched.len() == 4, "{} {:?}", seen.calls, seen.touched);
    // Another program's memory in the same process: its own names are told, not the former one's.
    let next = format!("{storm}; exec sh -c 'for n in a b c d e f; do : > $n; done'");
    let (done, seen) = Jail::write(&place.workspace()).watch_sh(&next);
    check!(done.ok() && seen.touched.len() == 9, "{} {:?}", done.all(), seen.touched);
    Verdict::Passed
}

fn traced() -> Verdict {
    let place = Place::new();
    let script = "/bin/echo a 'b  c'; /usr/bin/env true; (sleep 0; /bin/echo x) & wait; /bin/echo a 'b  c'";
    for jail in [Jail::read(&place.workspace()), Jail::write(&place.workspace())] {
        let (done, seen) = jail.trace_sh(script);
        check!(done.ok() && done.out == "a b  c\nx\na b  c\n", "{}", done.all());
        let lines = lines(&seen);
        let wanted = ["/bin/echo a b  c", "/usr/bin/env true", "true", "sleep 0", "/bin/echo x"];
        check!(lines[1..] == wanted, "{lines:?}");
        check!(seen.programs[1].times == 2, "{:?}", seen.programs);
        check!(!done.outcome.degraded.iter().any(|why| why.starts_with("unobserved")), "{}", done.all());
    }
    let judge = |what: &Observed| match what {
        Observed::Program(program) if program.argv.iter().any(|word| word == b"secret") => Judgement::Stop,
        _ => Judgement::Go,
    };
    let jail = Jail::read(&place.workspace());
    let argv = ["sh", "-c", "/bin/echo public; /bin/echo secret; echo $?"];
    let (done, seen) = jail.trace(Settings::default(), &argv, judge).unwrap();
    check!(done.out == "public\n137\n", "{}", done.all());
    check!(seen.programs.iter().filter(|program| program.what.stopped).count() == 1, "{:?}", seen.programs);
    Verdict::Passed
}

fn refusals() -> Verdict {
    let place = Place::new();
    let jail = Jail::read(&place.workspace());
    let (done, seen) = jail.trace_sh("echo x > new; mkdir sub; rm none; cat none; echo x > /etc/new");
    let of = |denial: &Denial| (denial.act, denial.target.clone(), denial.cause, denial.errno);
    let denials: Vec<_> = seen.denials.iter().map(|counted| of(&counted.what)).collect();
    let at = |name: &str| Target::Path(place.path(name));
    let mut wanted = vec![
        (Act::Create, at("w/new"), Cause::Rights, libc::EROFS),
        (Act::Create, at("w/sub"), Cause::Rights, libc::EROFS),
    ];
    // Another user is refused without a jail as well.
    let etc = (Act::Create, Target::Path("/etc/new".into()), Cause::Outside, libc::EROFS);
    wanted.extend(is_root().then_some(etc));
    check!(denials == wanted, "{denials:?} {}", done.all());
    Verdict::Passed
}
