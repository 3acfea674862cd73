//! What a supervisor sees of a command, and that seeing changes nothing.

use swbox::supervisor::notify::Settings;
use swbox::supervisor::{Observed, Seen, Verdict as Judgement};

use crate::check;
use crate::kit::{Case, Jail, Place, Verdict};

pub(crate) const CASES: &[Case] = &[
    Case { name: "supervised: programs with their arguments", needs: "namespaces", run: programs },
    Case { name: "supervised: a program is stopped by its arguments", needs: "namespaces", run: stopped },
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
