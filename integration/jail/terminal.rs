//! The terminal: the same session, job control, window size, and nothing typed that was not typed.

use std::ffi::OsStr;

use crate::check;
use crate::kit::{Case, Place, RUN, Verdict, own, python};

pub(crate) const CASES: &[Case] = &[
    Case { name: "tty: session, process group, size, keys, job control", needs: "userns", run: job_control },
    Case { name: "tty: characters cannot be pushed into the terminal", needs: "userns", run: injection },
    Case { name: "tty: a full-screen program can set it up", needs: "userns", run: raw_mode },
];

/// Drives an interactive bash of the host on a new terminal; `send` types, `wait` reads until a text appears.
const DRIVER: &str = r#"
import os, pty, sys, time, select, fcntl, termios, struct
jail = sys.argv[1]
pid, tty = pty.fork()
if pid == 0:
    os.environ.update(PS1='$ ', TERM='dumb', HISTFILE='')
    os.execvp('bash', ['bash', '--norc', '--noprofile', '-i'])
fcntl.ioctl(tty, termios.TIOCSWINSZ, struct.pack('HHHH', 33, 77, 0, 0))
seen = ''
work = jail.split()[-1]
def send(text): os.write(tty, text.encode())
def wait(text, seconds=60):
    global seen
    end = time.time() + seconds
    while text not in seen:
        if not select.select([tty], [], [], max(0, end - time.time()))[0]:
            print('TIMEOUT waiting for', repr(text), 'saw', repr(seen)); sys.exit(1)
        seen += os.read(tty, 4096).decode(errors='replace')
    seen = seen[seen.index(text) + len(text):]
def prompt(): wait('$ ')
"#;

fn drive(script: &str, right: &str) -> Verdict {
    let place = Place::new();
    let jail = format!("{} {RUN} {right} {}", own().display(), place.workspace().display());
    let Some(output) = python(&format!("{DRIVER}\n{script}\nprint('PASSED')"), &[OsStr::new(&jail)]) else {
        return Verdict::Skipped("no python3".to_owned());
    };
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    check!(text.contains("PASSED"), "{text}");
    Verdict::Passed
}

fn job_control() -> Verdict {
    drive(
        r#"
prompt()
send(f"stty size; {jail} stty size\n"); wait('33 77'); wait('33 77'); prompt()
send(f"{jail} sh -c 'test -e /dev/tty || echo no-\"\"tty' < /dev/null 2>/dev/null | cat\n"); wait('no-tty'); prompt()
send(f"{jail} sh -c 'test -t 0 && test -t 1 && ! test -e /dev/tty && echo is-a-\"\"tty'\n"); wait('is-a-tty'); prompt()
# Each key is sent when the command has said that it is ready for it: nothing here depends on how fast the machine is.
# (A shell says "ready" before it forks what follows, and loses a key in between, jailed or not.)
open(work + '/c.py', 'w').write("""
import os, signal, sys, time
def say(*words): os.write(1, ''.join(words).encode() + b'\\n')
if 'int' in sys.argv: signal.signal(signal.SIGINT, lambda *_: say('cau', 'ght'))
signal.signal(signal.SIGCONT, lambda *_: say('conti', 'nued'))
say('rea', 'dy')
while not os.path.exists(sys.argv[1]): time.sleep(0.05)
say('fini', 'shed')
""")
def go(name): open(f"{work}/{name}", 'w').close()
# Ctrl-C ends the command and the loop around it, and 130 is told.
send(f"for i in 1 2; do {jail} sh -c 'echo rea\"\"dy; exec sleep 100'; done\n"); wait('ready'); send('\x03'); prompt()
send("echo code=$?\n"); wait('code=130'); prompt()
# A command that catches it goes on.
send(f"{jail} python3 c.py go1 int\n"); wait('ready'); send('\x03'); wait('caught'); go('go1'); wait('finished'); prompt()
# Ctrl-Z stops, jobs shows it, fg continues.
send(f"{jail} python3 c.py go2\n"); wait('ready'); send('\x1a'); wait('Stopped'); prompt()
send("jobs\n"); wait('Stopped'); prompt()
send("fg\n"); wait('continued'); go('go2'); wait('finished'); prompt()
# Twice, and then in the background.
send(f"{jail} python3 c.py go3\n"); wait('ready'); send('\x1a'); wait('Stopped'); prompt()
send("fg\n"); wait('continued'); send('\x1a'); wait('Stopped'); prompt()
send("bg\n"); wait('continued'); go('go3'); wait('finished')
send("wait; echo do\"\"ne\n"); wait('done'); prompt()
# What is typed reaches the command, and what it leaves the shell.
send(f"{jail} sh -c 'echo rea\"\"dy; read a; echo \"[$a]\"'\n"); wait('ready'); send("typed\n"); wait('[typed]'); prompt()
send("echo still-\"\"here\n"); wait('still-here')
# An interactive shell inside has job control of its own.
send(f"{jail} bash --norc --noprofile -i\n"); wait('bash-')
send("sh -c 'echo rea\"\"dy; exec sleep 50'\n"); wait('ready'); send('\x1a'); wait('Stopped')
send("kill -9 %1; while jobs %1; do sleep 0.1; done; echo gon\"\"e\n"); wait('gone'); send("exit\n"); wait('exit'); prompt()
send("echo ba\"\"ck\n"); wait('back')
"#,
        "write",
    )
}

fn injection() -> Verdict {
    drive(
        r#"
prompt()
inject = "import fcntl, termios, sys\nfor c in 'echo inje' + 'cted\\n': fcntl.ioctl(0, termios.TIOCSTI, c)"
open(work + '/i.py', 'w').write(inject)
send(f"{jail} python3 i.py; echo code=$?\n"); wait('code=1'); prompt()
send("echo after\n"); wait('after'); 
if 'injected' in seen: print('INJECTED'); sys.exit(1)
"#,
        "read",
    )
}

fn raw_mode() -> Verdict {
    drive(
        r#"
prompt()
raw = "import tty, termios, os, sys; f = 0; o = termios.tcgetattr(f); tty.setraw(f); os.write(1, b'key?'); k = os.read(f, 1); termios.tcsetattr(f, 0, o); print('got', k)"
open(work + '/r.py', 'w').write(raw)
send(f"{jail} python3 r.py\n"); wait('key?'); send('\x03'); wait("got b'\\x03'"); prompt()
"#,
        "read",
    )
}
