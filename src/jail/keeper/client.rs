//! Finding, starting and asking a keeper, from outside every jail.
//!
//! Danger: only a process that listens under the session's name in the store's own directory is taken for its keeper.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::protocol::{Answer, Ask, receive, send};
use super::start::{self, Marked};
use crate::sys::peer::peer;

/// How long a keeper may take to end.
const PATIENCE: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };

/// Where the keeper of a session listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    directory: PathBuf,
    name: String,
}

impl Place {
    /// The place of the session `name` below the store's directory.
    pub fn new(store: &Path, name: &str) -> Self {
        Self { directory: store.join("keepers"), name: name.to_owned() }
    }

    /// Whether a keeper may listen here; where the name is free there is none.
    pub fn is_taken(&self) -> bool {
        let found = self.directory.join(&self.name).symlink_metadata();
        !matches!(found, Err(error) if error.kind() == io::ErrorKind::NotFound)
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The directory, made where it does not exist.
    pub(super) fn open(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match rustix::fs::open(&self.directory, flags, Mode::empty()) {
            Err(Errno::NOENT) => {
                std::fs::DirBuilder::new().mode(0o700).recursive(true).create(&self.directory)?;
                Ok(rustix::fs::open(&self.directory, flags, Mode::empty())?)
            }
            opened => Ok(opened?),
        }
    }

    /// The address: by the directory's descriptor, since a socket's path may not be long.
    fn address(&self, directory: &OwnedFd) -> io::Result<SocketAddrUnix> {
        Ok(SocketAddrUnix::new(format!("/proc/self/fd/{}/{}", directory.as_raw_fd(), self.name))?)
    }
}

/// A handle on a process; none on one that is gone.
fn handle(process: i32) -> Option<OwnedFd> {
    pidfd_open(Pid::from_raw(process)?, PidfdFlags::empty()).ok()
}

/// Waits for the end of a keeper, which is that of all other processes of its session; false where it does not come.
fn ended(handle: Option<&OwnedFd>) -> bool {
    let Some(handle) = handle else { return true };
    poll(&mut [PollFd::new(handle, PollFlags::IN)], Some(&PATIENCE)).is_ok_and(|count| count > 0)
}

/// Whether the processes of a session whose keeper answers no more have ended with it; waits for that.
pub fn has_ended(keeper: i32) -> bool {
    ended(handle(keeper).as_ref())
}

/// A connection to a keeper.
#[derive(Debug)]
pub struct Keeper {
    socket: OwnedFd,
    /// Its process id.
    pub process: i32,
}

/// A job as its keeper sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobSeen {
    /// Its id.
    pub job: String,
    /// Its command.
    pub shown: String,
    /// How many processes it has; none where it has ended.
    pub processes: usize,
}

/// What a job wrote since its command ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Output {
    /// Its first and last bytes.
    pub text: String,
    /// Bytes between them that were not kept.
    pub dropped: u64,
}

/// A keeper that was asked to let a command join, and has perhaps answered.
#[derive(Debug)]
pub struct Entering {
    socket: OwnedFd,
    process: i32,
}

/// What a command needs to join its session.
#[derive(Debug)]
pub struct Entered {
    pub(in crate::jail) socket: OwnedFd,
    /// User, network, IPC, PID.
    pub(in crate::jail) spaces: [OwnedFd; 4],
    pub(in crate::jail) tree: OwnedFd,
    /// The keeper's process.
    pub process: i32,
}

/// What a command of a session left running. Dropped, it is ended.
#[derive(Debug)]
pub struct Left {
    socket: OwnedFd,
    pipes: Vec<OwnedFd>,
    listener: Option<OwnedFd>,
    /// The keeper's process.
    pub process: i32,
}

fn socket() -> io::Result<OwnedFd> {
    Ok(rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

fn ask(socket: &OwnedFd, ask: &Ask) -> io::Result<Answer> {
    send(socket.as_fd(), ask, &[])?;
    answer(socket).map(|(answer, _)| answer)
}

fn answer(socket: &OwnedFd) -> io::Result<(Answer, Vec<OwnedFd>)> {
    receive(socket.as_fd())?.ok_or_else(|| io::ErrorKind::ConnectionReset.into())
}

fn processes(answer: &Answer) -> io::Result<usize> {
    match answer {
        Answer::Processes { count } => Ok(*count),
        _ => Err(unexpected()),
    }
}

fn unexpected() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "an answer that does not fit")
}

impl Keeper {
    /// The keeper that lives.
    pub fn find(place: &Place) -> io::Result<Option<Self>> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match rustix::fs::open(&place.directory, flags, Mode::empty()) {
            Ok(directory) => Self::connect(place, &directory),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn connect(place: &Place, directory: &OwnedFd) -> io::Result<Option<Self>> {
        let socket = socket()?;
        match rustix::net::connect(&socket, &place.address(directory)?) {
            Ok(()) => {
                let process = peer(socket.as_fd())?;
                Ok(Some(Self { socket, process }))
            }
            Err(Errno::NOENT | Errno::CONNREFUSED) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The keeper that lives, or a new one, whose tmpfs holds `size` bytes and which holds `marked`, where it can.
    ///
    /// # Errors
    /// A host that does not give the namespaces, a directory that cannot be written.
    pub fn start(place: &Place, size: Option<u64>, marked: &Marked) -> io::Result<Self> {
        let directory = place.open()?;
        // Of two that start one at once the second finds the first one's.
        rustix::fs::flock(&directory, FlockOperation::LockExclusive)?;
        if let Some(keeper) = Self::connect(place, &directory)? {
            return Ok(keeper);
        }
        match rustix::fs::unlinkat(&directory, place.name(), AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        let listener = socket()?;
        rustix::io::ioctl_fionbio(&listener, true)?;
        rustix::net::bind(&listener, &place.address(&directory)?)?;
        start::start(place, listener, size, marked)?;
        Self::connect(place, &directory)?.ok_or_else(|| io::ErrorKind::ConnectionRefused.into())
    }

    /// Asks it to let a command join. `master` is for whom the session works: its process id, when it began, its pidfd.
    ///
    /// # Errors
    /// A keeper that has ended.
    pub fn enter(self, master: Option<(i32, u64, OwnedFd)>) -> io::Result<Entering> {
        let beside: Vec<_> = master.iter().map(|(_, _, handle)| handle.as_fd()).collect();
        let named = master.as_ref().map(|(id, born, _)| (*id, *born));
        send(self.socket.as_fd(), &Ask::Enter { master: named }, &beside)?;
        Ok(Entering { socket: self.socket, process: self.process })
    }

    /// Its jobs: all that live, and the last ones that have ended.
    ///
    /// # Errors
    /// A keeper that ends meanwhile.
    pub fn jobs(&self) -> io::Result<Vec<JobSeen>> {
        let Answer::Jobs { jobs } = ask(&self.socket, &Ask::List)? else { return Err(unexpected()) };
        let seen = jobs.into_iter();
        Ok(seen.map(|one| JobSeen { job: one.job, shown: one.shown, processes: one.processes }).collect())
    }

    /// What a job wrote since its command ended; `None` for one that is not known.
    ///
    /// # Errors
    /// A keeper that ends meanwhile.
    pub fn output(&self, job: &str) -> io::Result<Option<Output>> {
        match ask(&self.socket, &Ask::Output { job: job.to_owned() })? {
            Answer::Output { text, dropped } => Ok(Some(Output { text, dropped })),
            Answer::Unknown => Ok(None),
            _ => Err(unexpected()),
        }
    }

    /// Signals every process of a job, KILL until there is none; how many are left, `None` for one that is not known.
    ///
    /// # Errors
    /// A keeper that ends meanwhile.
    pub fn signal(&self, job: &str, signal: i32) -> io::Result<Option<usize>> {
        match ask(&self.socket, &Ask::Signal { job: job.to_owned(), signal })? {
            Answer::Unknown => Ok(None),
            answer => processes(&answer).map(Some),
        }
    }

    /// Ends it and all that it holds.
    ///
    /// # Errors
    /// One that does not end.
    pub fn quit(self) -> io::Result<()> {
        let handle = handle(self.process);
        match ask(&self.socket, &Ask::Quit) {
            Err(error)
                if matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe) => {}
            Err(error) => return Err(error),
            Ok(_) => return Err(unexpected()),
        }
        if ended(handle.as_ref()) { Ok(()) } else { Err(io::ErrorKind::TimedOut.into()) }
    }
}

impl Entering {
    /// Waits for its answer.
    ///
    /// # Errors
    /// A keeper that ends meanwhile.
    pub fn entered(self) -> io::Result<Entered> {
        let (answer, mut beside) = answer(&self.socket)?;
        let (Answer::Spaces, Some(tree)) = (answer, beside.pop()) else { return Err(unexpected()) };
        let spaces = beside.try_into().map_err(|_| unexpected())?;
        Ok(Entered { socket: self.socket, spaces, tree, process: self.process })
    }
}

impl Entered {
    /// From the first process inside, in its own mount namespace: what runs there is the command. Gives that one's number.
    pub(in crate::jail) fn begin(&self) -> io::Result<u64> {
        let space = rustix::fs::open("/proc/self/ns/mnt", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        send(self.socket.as_fd(), &Ask::Begin, &[space.as_fd()])?;
        Ok(rustix::fs::fstat(&space)?.st_ino)
    }

    /// What the command left: nothing, or processes that go on until they are kept or ended.
    /// `pipes` are those that they may write to, `listener` is where their watched calls arrive.
    pub(in crate::jail) fn left(
        &self,
        pipes: Vec<OwnedFd>,
        listener: Option<OwnedFd>,
    ) -> io::Result<Option<Left>> {
        let count = processes(&ask(&self.socket, &Ask::Left)?)?;
        if count == 0 {
            return Ok(None);
        }
        let socket = self.socket.try_clone()?;
        Ok(Some(Left { socket, pipes, listener, process: self.process }))
    }

    /// Ends all that the command left.
    pub(in crate::jail) fn end(&self) -> io::Result<()> {
        processes(&ask(&self.socket, &Ask::End)?).map(drop)
    }
}

impl Left {
    /// Where its watched calls arrive, for somebody who goes on watching; else its keeper lets them through.
    pub fn listener(&mut self) -> &mut Option<OwnedFd> {
        &mut self.listener
    }

    /// Gives it a name, by which it is known as a job; it still ends with this value.
    ///
    /// # Errors
    /// A keeper that is gone, and with it the processes.
    pub fn name(&self, job: &str, shown: &str) -> io::Result<()> {
        let beside: Vec<_> = self.pipes.iter().chain(&self.listener).map(AsFd::as_fd).collect();
        let watched = self.listener.is_some();
        let asked = Ask::Name { job: job.to_owned(), shown: shown.to_owned(), watched };
        send(self.socket.as_fd(), &asked, &beside)?;
        processes(&answer(&self.socket)?.0).map(drop)
    }

    /// Lets the job that was named go on; how many processes it has.
    ///
    /// # Errors
    /// A keeper that is gone, and with it the processes.
    pub fn keep(self) -> io::Result<usize> {
        processes(&ask(&self.socket, &Ask::Keep)?)
    }

    /// Ends it.
    ///
    /// # Errors
    /// A keeper that is gone, and with it the processes.
    pub fn end(self) -> io::Result<()> {
        processes(&ask(&self.socket, &Ask::End)?).map(drop)
    }
}
