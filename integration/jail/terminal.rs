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
def send(text): os.write(tty, text.encode())
def wait(text, seconds=10):
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
# Ctrl-C ends the command, and 130 is told.
send(f"{jail} sleep 100; echo code=$?\n"); time.sleep(0.7); send('\x03'); wait('code=130'); prompt()
# A command that catches it goes on.
send(f"{jail} bash -c 'trap \"echo cau\"\"ght\" INT; sleep 100; echo went-\"\"on'\n"); time.sleep(0.7); send('\x03'); wait('caught'); wait('went-on'); prompt()
# Ctrl-Z stops, jobs shows it, fg continues, twice.
send(f"{jail} sh -c 'sleep 1; echo fini\"\"shed'; echo code=$?\n"); time.sleep(0.5); send('\x1a'); wait('Stopped'); prompt()
send("jobs\n"); wait('Stopped'); prompt()
time.sleep(1.5)
send("fg\n"); wait('finished'); prompt()
send(f"{jail} sleep 3; echo x\n"); time.sleep(0.5); send('\x1a'); wait('Stopped'); prompt()
send("fg\n"); time.sleep(0.5); send('\x1a'); wait('Stopped'); prompt()
send("bg\n"); prompt()
send("wait; echo do\"\"ne\n"); wait('done'); prompt()
# What is typed reaches the command, and what it leaves the shell.
send(f"{jail} sh -c 'read a; echo \"[$a]\"'\n"); time.sleep(0.5); send("typed\n"); wait('[typed]'); prompt()
send("echo still-\"\"here\n"); wait('still-here')
# An interactive shell inside has job control of its own.
send(f"{jail} bash --norc --noprofile -i\n"); time.sleep(0.7)
send("sleep 50\n"); time.sleep(0.5); send('\x1a'); wait('Stopped')
send("kill %1; exit\n"); time.sleep(0.3); send("exit\n"); time.sleep(0.3)
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
open('/tmp/swjail-inject.py', 'w').write(inject)
send(f"cp /tmp/swjail-inject.py {jail.split()[-1]}/i.py; {jail} python3 i.py; echo code=$?\n"); wait('code=1'); prompt()
send("echo after\n"); wait('after'); 
if 'injected' in seen: print('INJECTED'); sys.exit(1)
os.unlink('/tmp/swjail-inject.py')
"#,
        "read",
    )
}

fn raw_mode() -> Verdict {
    drive(
        r#"
prompt()
raw = "import tty, termios, os, sys; f = 0; o = termios.tcgetattr(f); tty.setraw(f); os.write(1, b'key?'); k = os.read(f, 1); termios.tcsetattr(f, 0, o); print('got', k)"
open(jail.split()[-1] + '/r.py', 'w').write(raw)
send(f"{jail} python3 r.py\n"); wait('key?'); send('\x03'); wait("got b'\\x03'"); prompt()
"#,
        "read",
    )
}
