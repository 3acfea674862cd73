//! Commands that fight the supervisor: none gets more by it, and none takes swbox's memory or time.

use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

use swbox::jail::Exit;
use swbox::supervisor::notify::Settings;
use swbox::supervisor::{Observed, Verdict as Judgement};

use crate::check;
use crate::kit::{Case, Jail, Place, Verdict, own};

pub(crate) const CASES: &[Case] = &[
    Case { name: "hostile: arguments that change under the exec", needs: "cc", run: flipping },
    Case { name: "hostile: a storm of refused calls is bounded in memory", needs: "python3", run: storm },
    Case { name: "hostile: processes that begin processes", needs: "namespaces", run: bomb },
    Case { name: "hostile: descriptors are closed and asked for", needs: "python3", run: thief },
    Case { name: "hostile: signals while calls wait", needs: "python3", run: signals },
    Case {
        name: "hostile: calls that block in the kernel block nobody else",
        needs: "namespaces",
        run: blocked,
    },
    Case { name: "hostile: names that change under the call", needs: "python3", run: names },
    Case { name: "hostile: where a listener is in force already", needs: "python3", run: nested },
];

/// The first word with which this program launches a watched command below a listener of its own.
pub(crate) const BELOW: &str = "below-a-listener";

fn python(jail: &Jail, script: &str) -> (crate::kit::Done, swbox::supervisor::Seen) {
    jail.watch(Settings::default(), &["python3", "-c", script], |_| Judgement::Go).unwrap()
}

/// The program that is compiled from `source`.
fn compiled(place: &Place, source: &str, name: &str) -> Option<PathBuf> {
    let text = place.write(&format!("{name}.c"), source);
    let program = place.workspace().join(name);
    let built = Command::new("cc").args(["-O1", "-pthread", "-o"]).arg(&program).arg(text).status();
    built.is_ok_and(|status| status.success()).then_some(program)
}

fn flipping() -> Verdict {
    let place = Place::new();
    let Some(program) = compiled(&place, include_str!("flip.c"), "flip") else {
        return Verdict::Skipped("no C compiler".to_owned());
    };
    let target = place.write(
        "w/target.c",
        "#include <stdio.h>\nint main(int n, char **a) { return a[1][0] == 's' ? puts(a[1]), 7 : 0; }\n",
    );
    let target_program = place.workspace().join("target");
    let built = Command::new("cc").arg("-o").arg(&target_program).arg(target).status();
    check!(built.is_ok_and(|status| status.success()), "cc");
    let judge = |what: &Observed| match what {
        Observed::Program(program) if program.argv.get(1).is_some_and(|word| word != b"public") => {
            let of_flip = program.argv.first().is_some_and(|word| word.ends_with(b"/flip"));
            if of_flip { Judgement::Go } else { Judgement::Stop }
        }
        _ => Judgement::Go,
    };
    let (program, target) = (program.display().to_string(), target_program.display().to_string());
    let jail = Jail::write(&place.workspace());
    let (done, _) = jail
        .watch(Settings { required: true, ..Settings::default() }, &[&program, "2000", &target], judge)
        .unwrap();
    // Neither the argument nor an exit code of 7 came through; some of each were seen.
    let counts: Vec<u32> = done.out.split(' ').filter_map(|word| word.parse().ok()).collect();
    check!(done.ok() && done.out.ends_with("flipped\n"), "{}", done.all());
    check!(counts.len() == 2 && counts[0] + counts[1] == 2000 && counts[0] > 0, "{}", done.all());
    Verdict::Passed
}

/// Resident memory of this process in KiB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_ascii_whitespace().next().unwrap().parse().unwrap()
}

fn storm() -> Verdict {
    let place = Place::new();
    let before = resident();
    let script = "import os\nfor i in range(100_000):\n  try: os.mkdir(f'{i}')\n  except OSError as e: assert e.errno == 30";
    let (done, seen) = python(&Jail::read(&place.workspace()), script);
    check!(done.ok(), "{}", done.all());
    check!(seen.denials.len() == 10_000 && seen.dropped == 90_000, "{} {}", seen.denials.len(), seen.dropped);
    let more = resident().saturating_sub(before);
    check!(more < 64 * 1024, "{more} KiB more");
    // The same thing is one thing however often it is done.
    let script = "import os\nfor i in range(20_000):\n  try: os.mkdir('x')\n  except OSError: pass";
    let (_, seen) = python(&Jail::read(&place.workspace()), script);
    check!(seen.denials.len() == 1 && seen.denials[0].times == 20_000, "{:?}", seen.denials);
    Verdict::Passed
}

fn bomb() -> Verdict {
    let place = Place::new();
    let jail = Jail::write(&place.workspace()).with(|spec| {
        spec.limits.processes = Some(400);
        spec.limits.timeout = Some(Duration::from_secs(5));
    });
    let script = "f() { echo x > $$.$1; f 1 2>/dev/null | f 2 2>/dev/null & }; f 0; sleep 60";
    let (done, _) = jail.watch_sh(script);
    check!(done.outcome.exit == Exit::Timeout, "{:?}", done.outcome.exit);
    Verdict::Passed
}

fn thief() -> Verdict {
    let place = Place::new();
    let script = r#"
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def call(*a):
    r = libc.syscall(*a)
    return -ctypes.get_errno() if r == -1 else r
print([f for f in range(3, 64) if os.path.exists(f'/proc/self/fd/{f}') and 'seccomp' in os.readlink(f'/proc/self/fd/{f}')])
print(call(438, call(434, 1, 0), 3, 0))
def stolen(name):
    try: return os.open(f'/proc/1/fd/{name}', os.O_PATH)
    except OSError: return None
print([f for f in map(stolen, range(64)) if f is not None])
libc.prctl(38, 1, 0, 0, 0)
print(call(317, 1, 8, 0))
os.closerange(3, 1024)
os.mkdir('made')
"#;
    let (done, seen) = python(&Jail::write(&place.workspace()), script);
    check!(done.out == "[]\n-1\n[]\n-1\n", "{}", done.all());
    check!(seen.touched.len() == 1, "{:?}", seen.touched);
    Verdict::Passed
}

fn signals() -> Verdict {
    let place = Place::new();
    let script = r#"
import os, signal
count = 0
def tick(*_):
    global count
    count += 1
signal.signal(signal.SIGALRM, tick)
# As most programs have it: a call that a signal comes upon is made again.
signal.siginterrupt(signal.SIGALRM, False)
signal.setitimer(signal.ITIMER_REAL, 0.0002, 0.0002)
for i in range(3000): os.mkdir(f'd{i}')
signal.setitimer(signal.ITIMER_REAL, 0)
print(count > 0)
"#;
    let (done, seen) = python(&Jail::write(&place.workspace()), script);
    check!(done.out == "True\n", "{}", done.all());
    check!(seen.touched.len() == 3000 && seen.denials.is_empty(), "{}", seen.touched.len());
    Verdict::Passed
}

fn blocked() -> Verdict {
    let place = Place::new();
    let script = "mkfifo p; (echo through > p) & kill -STOP $!; echo x > a; rm a; kill -CONT $!; cat p; wait";
    let (done, _) = Jail::write(&place.workspace()).watch_sh(script);
    check!(done.out == "through\n", "{}", done.all());
    Verdict::Passed
}

fn names() -> Verdict {
    let place = Place::new();
    place.write("outside/f", "kept");
    let outside = place.path("outside");
    let script = format!(
        r#"
import ctypes, os, threading
libc = ctypes.CDLL(None)
inside, outside = b'here\0', b'{}/f\0'
name = ctypes.create_string_buffer(inside.ljust(len(outside), b'\0'))
stop = False
def flip():
    while not stop:
        ctypes.memmove(name, outside, len(outside))
        ctypes.memmove(name, inside, len(inside))
t = threading.Thread(target=flip); t.start()
for i in range(3000):
    f = libc.open(name, os.O_WRONLY | os.O_CREAT, 0o600)
    if f >= 0: os.write(f, b'x'); os.close(f)
stop = True; t.join()
print(os.path.exists('here'))
"#,
        outside.display()
    );
    let jail = Jail::write(&place.workspace()).with(|spec| {
        spec.binds.push(swbox::profile::Bind {
            path: outside.clone(),
            writable: false,
            exec: false,
            optional: false,
        });
    });
    let (done, _) = python(&jail, &script);
    check!(done.out == "True\n", "{}", done.all());
    check!(std::fs::read_to_string(outside.join("f")).unwrap() == "kept", "written outside");
    Verdict::Passed
}

/// The kernel has one listener for a chain of filters: whoever insists on it runs unwatched and the report says so, or not at
/// all; swbox itself traces.
fn nested() -> Verdict {
    let place = Place::new();
    for (required, wanted) in [("no", "ran true\n"), ("yes", "setup_seccomp\n")] {
        let output = Command::new(own()).args([BELOW, required]).arg(place.workspace()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        check!(said == wanted, "{required}: {said} {}", String::from_utf8_lossy(&output.stderr));
    }
    let law = place.write(
        "law.json",
        r#"{"id": "law", "initial": "work", "states": {
            "work": {"allowed_tools": ["Read", "Write", "Bash"], "on": {"END": "failed"}}, "failed": {"type": "final"}},
            "rules": [{"prefix": "git push", "decision": "forbid", "justification": "nothing leaves"}]}"#,
    );
    let swbox = |observe: &str, line: &str| {
        let mut command = Command::new(own());
        command.args([BELOW, "swbox"]).arg(place.workspace());
        command.args(["exec", "--json", "--observe", observe, "--workflow"]).arg(&law).args(["-c", line]);
        // Of the caller's own tools an ordinary user may see nothing.
        command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", place.path(""));
        let output = command.output().unwrap();
        let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        (output.status.code(), said)
    };
    // What is explicit does not become something else; what is not is seen by tracing, and judged.
    let (code, said) = swbox("auto", "python3 -c 'open(\"made\", \"w\")'");
    check!(code == Some(0) && said["observed"]["mode"] == "trace", "{said}");
    check!(said["touched"]["files"][0]["path"] == "made", "{said}");
    let forbidden = "python3 -c 'import os; os.execvp(\"git\", [\"git\", \"push\"])'";
    let (code, said) = swbox("auto", forbidden);
    check!(code == Some(126) && said["stopped"]["code"] == "rule_forbid", "{said}");
    let (code, said) = swbox("notify", "true");
    check!(code == Some(125) && said["error"]["code"] == "listener_taken", "{said}");
    Verdict::Passed
}

/// [`BELOW`]: `REQUIRED WORKSPACE`, or `swbox WORKSPACE ARGUMENT…` for the program itself.
pub(crate) fn below(words: &[String]) -> ExitCode {
    let [required, workspace, arguments @ ..] = words else { return ExitCode::from(2) };
    rustix::thread::set_no_new_privs(true).unwrap();
    let allow = libc::sock_filter { code: 6, jt: 0, jf: 0, k: libc::SECCOMP_RET_ALLOW };
    let _listener = swbox::sys::seccomp::install_listening(&[allow]).unwrap();
    assert!(swbox::supervisor::notify::is_taken(), "a listener that is not seen");
    if required == "swbox" {
        let mut swbox = Command::new(env!("CARGO_BIN_EXE_swbox"));
        let status = swbox.args(arguments).current_dir(workspace).status().unwrap();
        return status
            .code()
            .and_then(|code| u8::try_from(code).ok())
            .map_or(ExitCode::FAILURE, ExitCode::from);
    }
    let jail = Jail::read(std::path::Path::new(workspace));
    let settings = Settings { required: required == "yes", ..Settings::default() };
    match jail.watch(settings, &["true"], |_| Judgement::Go) {
        Ok((done, _)) => {
            let said = done.outcome.degraded.iter().any(|why| why.starts_with("unobserved"));
            println!("ran {}", done.ok() && said);
        }
        Err(problem) => println!("{}", problem.code),
    }
    ExitCode::SUCCESS
}
