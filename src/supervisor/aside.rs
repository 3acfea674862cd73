//! A process of its own that goes on watching what a command left running when its launcher is gone.
//!
//! Danger: it is a copy of the launcher, and outlives it. Every descriptor that it does not need is closed, standard
//! streams and the store's among them: whoever holds those would keep a harness waiting, or all others from writing.
//! It never returns to the launcher's code, so nothing there is dropped twice.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::{Mode, OFlags};

use crate::sys::peer::close_all_but;
use crate::sys::process::{Memory, exit_now, set_name, spawn_into};

/// Bytes of an order.
const ORDER: usize = 256;

/// The process, as its launcher has it. It waits for its order, and ends where none comes.
#[derive(Debug)]
pub struct Aside {
    order: OwnedFd,
    /// Its process id.
    pub process: i32,
}

impl Aside {
    /// Starts it: `watch` runs there, with `listener` and the text of the order.
    ///
    /// # Errors
    /// Where no process can be made. Must be called by a process with one thread.
    pub fn start(listener: &OwnedFd, watch: &mut dyn FnMut(&str)) -> io::Result<Self> {
        let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
        let pipe = || rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC);
        let ((orders, order), (answers, answer)) = (pipe()?, pipe()?);
        let mut own = Some((orders, answer));
        let mut aside = || -> i32 {
            if let Some((orders, answer)) = own.take()
                && close_all_but(&[listener.as_raw_fd(), orders.as_raw_fd(), answer.as_raw_fd()]).is_ok()
            {
                set_name(c"swbox-watcher");
                crate::sys::arguments::show("swbox-watcher");
                let id = rustix::process::getpid().as_raw_pid();
                if rustix::io::write(&answer, &id.to_ne_bytes()) == Ok(4) {
                    drop(answer);
                    read_order(&orders).iter().for_each(|order| watch(order));
                }
            }
            exit_now(0)
        };
        let mut middle = || -> i32 {
            let made = detach(&null).and_then(|()| spawn_into(0, Memory::Copied, &mut aside));
            // Before that is dropped, which would end it.
            exit_now(i32::from(made.is_err()))
        };
        let code = spawn_into(0, Memory::Copied, &mut middle)?.wait()?;
        drop(own);
        let mut id = [0; 4];
        let count = rustix::io::retry_on_intr(|| rustix::io::read(&answers, &mut id))?;
        if code != 0 || count != id.len() {
            return Err(io::Error::other("no process could be made for it"));
        }
        Ok(Self { order, process: i32::from_ne_bytes(id) })
    }

    /// Lets it watch.
    ///
    /// # Errors
    /// One that has ended: what it was to watch can do nothing that is watched any more.
    pub fn go(self, order: &str) -> io::Result<()> {
        rustix::io::write(&self.order, order.as_bytes())?;
        Ok(())
    }
}

/// The order, where one comes.
fn read_order(from: &OwnedFd) -> Option<String> {
    let mut order = [0; ORDER];
    let count =
        rustix::io::retry_on_intr(|| rustix::io::read(from, &mut order)).ok().filter(|count| *count > 0)?;
    String::from_utf8(order.get(..count)?.to_vec()).ok()
}

fn detach(null: &OwnedFd) -> io::Result<()> {
    rustix::process::setsid()?;
    rustix::stdio::dup2_stdin(null)?;
    rustix::stdio::dup2_stdout(null)?;
    rustix::stdio::dup2_stderr(null)?;
    Ok(())
}
