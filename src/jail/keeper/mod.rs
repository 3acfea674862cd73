//! The keeper of a session: one process that holds what the session's commands share. It is pid 1 of the session's PID
//! namespace, and holds its user, IPC and network namespace (loopback up) and a tmpfs with the directories that are
//! the session's. A command joins the namespaces and gets copies of the tmpfs's mounts; its view of files, its Landlock
//! domain and its filter are its own, those of the state that it was started in.
//!
//! The keeper itself is in no jail: it runs no code of a command, listens on a socket in the store's directory, which no
//! jail shows, and refuses whoever asks from inside its PID namespace. With it the kernel ends every process of the
//! session and frees all else; what is left of it in the file system is the name of its socket.
//!
//! What belongs to a command is told by its mount namespace, which nothing in it can leave: so the keeper knows what a
//! command has left running, and can end all of it.
//!
//! Danger: what a command leaves behind runs on with the rights that it had. Unless somebody has asked for that to go on
//! as a job and has written it down, the keeper ends it when the command's launcher is gone.

mod client;
mod processes;
mod protocol;
mod serve;
mod start;

pub(super) use processes::signal_in;

pub use client::{Entered, Entering, JobSeen, Keeper, Left, Output, Place, has_ended};
pub use start::Marked;
