//! What a watched call asks for, as its registers and its caller's memory have it: one form for the calls of every age.
//!
//! Danger: memory is read once, and the caller may have changed it when the kernel reads it. What is decoded here is told,
//! never granted.

mod address;
mod how;

use std::io::IoSliceMut;
use std::os::fd::BorrowedFd;

use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::Pid;
use rustix::fs::ResolveFlags;

pub use self::address::Address;
use self::how::How;
use super::resolve::Last;

/// The longest name that the kernel takes, with its end.
const LONGEST: usize = 4096;

/// Reads do not go over the end of a page, behind which there may be nothing.
const PAGE: u64 = 4096;

/// A file that a call names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// Where a relative name begins; what is meant itself when the text is empty.
    pub fd: i32,
    /// The name as it was written; empty for the descriptor itself.
    pub text: Vec<u8>,
    /// What of a link at its end.
    pub last: Last,
    /// Where it must not lead, as `openat2` is told; nothing in all other calls.
    pub resolve: ResolveFlags,
}

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opening {
    /// For reading.
    pub read: bool,
    /// For writing, or it is emptied.
    pub write: bool,
    /// It is made if it is not there.
    pub create: bool,
    /// It is emptied.
    pub truncate: bool,
    /// It must be new.
    pub exclusive: bool,
    /// It must be a directory.
    pub directory: bool,
    /// A file without a name in the directory.
    pub nameless: bool,
}

/// What a call would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    /// Opens a file.
    Open(Name, Opening),
    /// Changes a file's length.
    Truncate(Name),
    /// Makes a directory, link, socket, FIFO or device.
    Make(Name),
    /// Removes a name; of a directory or of anything else.
    Remove(Name, Removal),
    /// Gives another name.
    Rename(Name, Name, Renaming),
    /// Gives a second name.
    Link(Name, Name),
    /// Changes mode, owner, times or attributes.
    Metadata(Name),
    /// Makes a socket of this family.
    Socket(i32),
    /// Connects, or sends to an address without connecting.
    Connect(Address),
    /// Gives a socket its address.
    Bind(Address),
    /// Runs a program.
    Execute(Name),
}

/// What is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// Not a directory.
    File,
    /// An empty directory.
    Directory,
}

/// What becomes of what has the new name already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renaming {
    /// It is replaced.
    Replace,
    /// Then it fails.
    New,
    /// They change places.
    Exchange,
}

/// Why a call cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unreadable {
    /// There is nothing at the address: the kernel will say EFAULT.
    Nothing,
    /// The memory is closed to the supervisor.
    Closed,
    /// Longer than the kernel takes.
    Long,
}

impl Unreadable {
    /// A short word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Nothing => "fault",
            Self::Closed => "memory",
            Self::Long => "long",
        }
    }
}

/// The memory of a thread.
#[derive(Debug, Clone, Copy)]
pub struct Memory<'a> {
    thread: i32,
    /// Its file in `/proc`, which spares the kernel to look for the thread and whether it may be read.
    file: Option<BorrowedFd<'a>>,
}

impl<'a> Memory<'a> {
    /// Of the thread with this number.
    pub const fn of(thread: i32) -> Self {
        Self { thread, file: None }
    }

    /// Of a thread whose file in `/proc` is open, since it began its program.
    pub const fn open(thread: i32, file: Option<BorrowedFd<'a>>) -> Self {
        Self { thread, file }
    }

    /// Fills `buffer` from `address` on.
    fn fill(self, address: u64, buffer: &mut [u8]) -> Result<(), Unreadable> {
        let wanted = buffer.len();
        // Where that gives less, who asks by number hears why.
        if self.file.is_some_and(|file| rustix::io::pread(file, &mut *buffer, address) == Ok(wanted)) {
            return Ok(());
        }
        let base = usize::try_from(address).map_err(|_| Unreadable::Nothing)?;
        let remote = [RemoteIoVec { base, len: wanted }];
        match process_vm_readv(Pid::from_raw(self.thread), &mut [IoSliceMut::new(buffer)], &remote) {
            Ok(read) if read == wanted => Ok(()),
            Ok(_) | Err(nix::Error::EFAULT) => Err(Unreadable::Nothing),
            Err(_) => Err(Unreadable::Closed),
        }
    }

    /// The bytes at `address`.
    pub fn bytes(self, address: u64, length: usize) -> Result<Vec<u8>, Unreadable> {
        let mut buffer = vec![0; length];
        self.fill(address, &mut buffer)?;
        Ok(buffer)
    }

    /// The string at `address`, without its end.
    pub fn string(self, mut address: u64) -> Result<Vec<u8>, Unreadable> {
        let mut text = Vec::new();
        let mut part = [0; 256];
        while text.len() < LONGEST {
            // Most names are short: what is left of the page, but not all of it.
            let left = (PAGE - address % PAGE).min(256);
            let part = part.get_mut(..usize::try_from(left).unwrap_or(1)).unwrap_or_default();
            self.fill(address, part)?;
            if let Some(end) = part.iter().position(|byte| *byte == 0) {
                text.extend_from_slice(part.get(..end).unwrap_or_default());
                return if text.len() < LONGEST { Ok(text) } else { Err(Unreadable::Long) };
            }
            text.extend_from_slice(part);
            address = address.wrapping_add(left);
        }
        Err(Unreadable::Long)
    }

    /// A number of 64 bits at `address`.
    fn number(self, address: u64) -> Result<u64, Unreadable> {
        let mut bytes = [0; 8];
        self.fill(address, &mut bytes)?;
        Ok(u64::from_ne_bytes(bytes))
    }
}

/// A call's registers and its caller's memory.
struct Call<'a> {
    arguments: [u64; 6],
    memory: Memory<'a>,
}

impl Call<'_> {
    fn argument(&self, at: usize) -> u64 {
        self.arguments.get(at).copied().unwrap_or_default()
    }

    /// An argument that is an `int`.
    fn int(&self, at: usize) -> i32 {
        u32::try_from(self.argument(at) & 0xFFFF_FFFF).unwrap_or_default().cast_signed()
    }

    fn flag(&self, at: usize, flag: i32) -> bool {
        self.int(at) & flag != 0
    }

    /// The name whose address is argument `text`, relative to the descriptor in argument `fd`.
    fn at(&self, fd: usize, text: usize, last: Last) -> Result<Name, Unreadable> {
        Ok(Name { fd: self.int(fd), ..self.here(text, last)? })
    }

    /// The name whose address is argument `text`, relative to the working directory.
    fn here(&self, text: usize, last: Last) -> Result<Name, Unreadable> {
        match self.memory.string(self.argument(text))? {
            // It names nothing: ENOENT.
            empty if empty.is_empty() => Err(Unreadable::Nothing),
            text => Ok(Name::here(&text, last)),
        }
    }

    /// As [`Call::at`], where a null address means the descriptor itself.
    fn at_or_descriptor(&self, fd: usize, text: usize, last: Last) -> Result<Name, Unreadable> {
        match self.argument(text) {
            0 if self.int(fd) == libc::AT_FDCWD => Err(Unreadable::Nothing),
            0 => Ok(self.descriptor(fd)),
            _ => self.at(fd, text, last),
        }
    }

    /// As [`Call::at`], where a flag says that no name means the descriptor itself.
    fn at_or_empty(&self, fd: usize, text: usize, last: Last, flags: usize) -> Result<Name, Unreadable> {
        if !self.flag(flags, libc::AT_EMPTY_PATH) {
            return self.at(fd, text, last);
        }
        if self.argument(text) == 0 || self.memory.string(self.argument(text))?.is_empty() {
            return Ok(self.descriptor(fd));
        }
        self.at(fd, text, last)
    }

    fn descriptor(&self, fd: usize) -> Name {
        Name { fd: self.int(fd), ..Name::here(b"", Last::Follow) }
    }

    /// What of a link, by a flag that says that it is not followed.
    fn unless(&self, flags: usize, flag: i32) -> Last {
        if self.flag(flags, flag) { Last::Keep } else { Last::Follow }
    }

    /// What the structure at argument `how`, of the size in argument `size`, asks for; nothing where it is refused.
    fn how(&self, how: usize, size: usize) -> Result<Option<(i32, ResolveFlags)>, Unreadable> {
        if self.argument(size) < How::SIZE {
            return Ok(None);
        }
        let at = |field: u64| self.memory.number(self.argument(how).wrapping_add(8 * field));
        Ok(How { flags: at(0)?, mode: at(1)?, resolve: at(2)? }.checked())
    }

    fn address(&self, address: usize, length: usize) -> Result<Address, Unreadable> {
        // The kernel takes no longer one.
        let length = usize::try_from(self.int(length)).unwrap_or_default().min(128);
        let bytes = self.memory.bytes(self.argument(address), length)?;
        Ok(address::read(&bytes))
    }
}

/// How `flags` of open(2) open.
fn opening(flags: i32) -> Opening {
    let access = flags & libc::O_ACCMODE;
    let names_only = flags & libc::O_PATH != 0;
    let truncate = !names_only && flags & libc::O_TRUNC != 0;
    Opening {
        read: !names_only && access != libc::O_WRONLY,
        write: !names_only && (access != libc::O_RDONLY || truncate),
        create: !names_only && flags & libc::O_CREAT != 0,
        truncate,
        exclusive: flags & libc::O_EXCL != 0,
        directory: flags & libc::O_DIRECTORY != 0,
        nameless: !names_only && flags & libc::O_TMPFILE == libc::O_TMPFILE,
    }
}

/// Whether open(2) with these flags follows a link at the end.
fn open_follows(flags: i32) -> Last {
    let new = flags & (libc::O_CREAT | libc::O_EXCL) == libc::O_CREAT | libc::O_EXCL;
    if new || flags & libc::O_NOFOLLOW != 0 { Last::Keep } else { Last::Follow }
}

/// What the call `number` of the native machine asks for; `None` for one that changes nothing.
///
/// # Errors
/// When the memory that it points to cannot be read.
pub fn read(number: i64, arguments: [u64; 6], memory: Memory<'_>) -> Result<Option<Wish>, Unreadable> {
    use Last::{Follow, Keep};
    let call = Call { arguments, memory };
    #[cfg(target_arch = "x86_64")]
    if let Some(wish) = old(number, &call)? {
        return Ok(Some(wish));
    }
    let open =
        |name: Name, flags: i32| Wish::Open(Name { last: open_follows(flags), ..name }, opening(flags));
    let metadata = |flags| {
        let last = call.unless(flags, libc::AT_SYMLINK_NOFOLLOW);
        call.at_or_empty(0, 1, last, flags).map(Wish::Metadata)
    };
    let removal = |directory| if directory { Removal::Directory } else { Removal::File };
    let wish = match number {
        libc::SYS_openat => open(call.at(0, 1, Follow)?, call.int(2)),
        libc::SYS_openat2 => {
            let Some((flags, resolve)) = call.how(2, 3)? else { return Ok(None) };
            open(Name { resolve, ..call.at(0, 1, Follow)? }, flags)
        }
        libc::SYS_truncate => Wish::Truncate(call.here(0, Follow)?),
        libc::SYS_mkdirat | libc::SYS_mknodat => Wish::Make(call.at(0, 1, Keep)?),
        libc::SYS_symlinkat => Wish::Make(call.at(1, 2, Keep)?),
        libc::SYS_unlinkat => Wish::Remove(call.at(0, 1, Keep)?, removal(call.flag(2, libc::AT_REMOVEDIR))),
        libc::SYS_renameat => Wish::Rename(call.at(0, 1, Keep)?, call.at(2, 3, Keep)?, Renaming::Replace),
        libc::SYS_renameat2 => {
            let flags = u32::try_from(call.argument(4) & 0xFFFF_FFFF).unwrap_or_default();
            let how = match flags {
                _ if flags & libc::RENAME_EXCHANGE != 0 => Renaming::Exchange,
                _ if flags & libc::RENAME_NOREPLACE != 0 => Renaming::New,
                _ => Renaming::Replace,
            };
            Wish::Rename(call.at(0, 1, Keep)?, call.at(2, 3, Keep)?, how)
        }
        libc::SYS_linkat => {
            let last = if call.flag(4, libc::AT_SYMLINK_FOLLOW) { Follow } else { Keep };
            Wish::Link(call.at_or_empty(0, 1, last, 4)?, call.at(2, 3, Keep)?)
        }
        libc::SYS_fchmod | libc::SYS_fchown | libc::SYS_fsetxattr | libc::SYS_fremovexattr => {
            Wish::Metadata(call.descriptor(0))
        }
        libc::SYS_fchmodat => Wish::Metadata(call.at(0, 1, Follow)?),
        libc::SYS_utimensat if call.argument(1) == 0 => Wish::Metadata(call.at_or_descriptor(0, 1, Follow)?),
        FCHMODAT2 | libc::SYS_utimensat => metadata(3)?,
        libc::SYS_fchownat | FILE_SETATTR => metadata(4)?,
        SETXATTRAT | REMOVEXATTRAT => metadata(2)?,
        libc::SYS_setxattr | libc::SYS_removexattr => Wish::Metadata(call.here(0, Follow)?),
        libc::SYS_lsetxattr | libc::SYS_lremovexattr => Wish::Metadata(call.here(0, Keep)?),
        libc::SYS_socket => Wish::Socket(call.int(0)),
        libc::SYS_connect => Wish::Connect(call.address(1, 2)?),
        libc::SYS_sendto if call.argument(4) != 0 => Wish::Connect(call.address(4, 5)?),
        libc::SYS_bind => Wish::Bind(call.address(1, 2)?),
        libc::SYS_execve => Wish::Execute(call.here(0, Follow)?),
        libc::SYS_execveat => {
            Wish::Execute(call.at_or_empty(0, 1, call.unless(4, libc::AT_SYMLINK_NOFOLLOW), 4)?)
        }
        _ => return Ok(None),
    };
    Ok(Some(wish))
}

impl Name {
    /// A name that counts from the working directory.
    pub fn here(path: &[u8], last: Last) -> Self {
        Self { fd: libc::AT_FDCWD, text: path.to_vec(), last, resolve: ResolveFlags::empty() }
    }
}

impl Wish {
    /// The files that the call names, in its order.
    pub fn names(&self) -> Vec<Name> {
        match self {
            Self::Open(name, _)
            | Self::Truncate(name)
            | Self::Make(name)
            | Self::Remove(name, _)
            | Self::Metadata(name)
            | Self::Execute(name) => vec![name.clone()],
            Self::Rename(from, to, _) | Self::Link(from, to) => vec![from.clone(), to.clone()],
            Self::Connect(Address::Path(path)) => vec![Name::here(path, Last::Follow)],
            Self::Bind(Address::Path(path)) => vec![Name::here(path, Last::Keep)],
            Self::Connect(_) | Self::Bind(_) | Self::Socket(_) => Vec::new(),
        }
    }
}

/// Whether the call sets or removes an extended attribute, of which only the time of a file's last change tells.
pub fn sets_attributes(number: i64) -> bool {
    matches!(
        number,
        libc::SYS_setxattr
            | libc::SYS_lsetxattr
            | libc::SYS_fsetxattr
            | libc::SYS_removexattr
            | libc::SYS_lremovexattr
            | libc::SYS_fremovexattr
            | SETXATTRAT
            | REMOVEXATTRAT
    )
}

/// Calls that are younger than the C library's list.
const FCHMODAT2: i64 = 452;
const SETXATTRAT: i64 = 463;
const REMOVEXATTRAT: i64 = 466;
const FILE_SETATTR: i64 = 469;

/// The calls that only older machines have.
#[cfg(target_arch = "x86_64")]
fn old(number: i64, call: &Call<'_>) -> Result<Option<Wish>, Unreadable> {
    use Last::{Follow, Keep};
    let wish = match number {
        libc::SYS_open => {
            let flags = call.int(1);
            Wish::Open(call.here(0, open_follows(flags))?, opening(flags))
        }
        libc::SYS_creat => {
            let flags = libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC;
            Wish::Open(call.here(0, Follow)?, opening(flags))
        }
        libc::SYS_mkdir | libc::SYS_mknod => Wish::Make(call.here(0, Keep)?),
        libc::SYS_symlink => Wish::Make(call.here(1, Keep)?),
        libc::SYS_rmdir => Wish::Remove(call.here(0, Keep)?, Removal::Directory),
        libc::SYS_unlink => Wish::Remove(call.here(0, Keep)?, Removal::File),
        libc::SYS_rename => Wish::Rename(call.here(0, Keep)?, call.here(1, Keep)?, Renaming::Replace),
        libc::SYS_link => Wish::Link(call.here(0, Keep)?, call.here(1, Keep)?),
        libc::SYS_chmod | libc::SYS_chown | libc::SYS_utime | libc::SYS_utimes => {
            Wish::Metadata(call.here(0, Follow)?)
        }
        libc::SYS_lchown => Wish::Metadata(call.here(0, Keep)?),
        libc::SYS_futimesat => Wish::Metadata(call.at_or_descriptor(0, 1, Follow)?),
        _ => return Ok(None),
    };
    Ok(Some(wish))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> Memory<'static> {
        Memory::of(i32::try_from(std::process::id()).unwrap())
    }

    fn address<T: ?Sized>(of: &T) -> u64 {
        u64::try_from(std::ptr::from_ref(of).addr()).unwrap()
    }

    #[test]
    fn strings_end_where_they_end() {
        let long = [vec![b'a'; 3000], vec![0; 1]].concat();
        assert_eq!(own().string(address(long.as_slice())).unwrap().len(), 3000);
        assert_eq!(own().string(address(c"".to_bytes_with_nul())), Ok(Vec::new()));
        // Wherever the parts begin that it is read in.
        for before in 0..256 {
            let (fits, long) = (LONGEST - 1, LONGEST);
            for (length, read) in [(fits, Ok(vec![b'a'; fits])), (long, Err(Unreadable::Long))] {
                let text = [vec![b'b'; before], vec![b'a'; length], vec![0; 1]].concat();
                assert_eq!(own().string(address(&text[before..])), read, "{before} {length}");
            }
        }
        let endless = vec![b'a'; 3 * LONGEST];
        assert_eq!(own().string(address(endless.as_slice())), Err(Unreadable::Long));
        assert_eq!(own().string(8), Err(Unreadable::Nothing));
        assert_eq!(own().bytes(u64::MAX, 1), Err(Unreadable::Nothing));
    }

    #[test]
    fn by_its_file_it_reads_the_same() {
        let file = std::fs::File::open("/proc/self/mem").unwrap();
        let with_file = Memory::open(own().thread, Some(std::os::fd::AsFd::as_fd(&file)));
        let text = c"some/name";
        assert_eq!(with_file.string(address(text.to_bytes_with_nul())), Ok(b"some/name".to_vec()));
        assert_eq!(with_file.string(8), Err(Unreadable::Nothing));
        // Of a process that is gone nothing is read there, and whoever has the number is asked.
        let nothing = std::fs::File::open("/dev/null").unwrap();
        let without = Memory::open(own().thread, Some(std::os::fd::AsFd::as_fd(&nothing)));
        assert_eq!(without.string(address(text.to_bytes_with_nul())), Ok(b"some/name".to_vec()));
    }

    #[test]
    fn opens_by_their_flags() {
        let name = c"x";
        let at = address(name.to_bytes_with_nul());
        let here = i64::from(libc::AT_FDCWD).cast_unsigned();
        let open = |flags: i32| {
            let flags = u64::from(flags.cast_unsigned());
            match read(libc::SYS_openat, [here, at, flags, 0, 0, 0], own()) {
                Ok(Some(Wish::Open(name, opening))) => (name, opening),
                other => panic!("{other:?}"),
            }
        };
        let (name, plain) = open(libc::O_RDONLY);
        assert_eq!(name, Name::here(b"x", Last::Follow));
        assert!(plain.read && !plain.write && !plain.create);
        let (name, new) = open(libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL);
        assert!(name.last == Last::Keep && new.create && new.write && !new.read && new.exclusive);
        assert!(open(libc::O_RDONLY | libc::O_TRUNC).1.write);
        assert!(open(libc::O_RDWR | libc::O_TMPFILE).1.nameless && !open(libc::O_DIRECTORY).1.nameless);
        let (name, path) = open(libc::O_PATH | libc::O_NOFOLLOW | libc::O_RDWR);
        assert!(name.last == Last::Keep && !path.read && !path.write);
    }

    #[test]
    fn openat2_is_read_from_memory() {
        let (flags, mode) = (u64::try_from(libc::O_CREAT | libc::O_WRONLY).unwrap(), 0o644);
        let (memory, name) = ([flags, mode, 0x10], c"x");
        let here = i64::from(libc::AT_FDCWD).cast_unsigned();
        let arguments = |size| [here, address(name), address(&memory), size, 0, 0];
        match read(libc::SYS_openat2, arguments(24), own()) {
            Ok(Some(Wish::Open(name, opening))) => {
                assert!(name.resolve == ResolveFlags::IN_ROOT && opening.create);
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(read(libc::SYS_openat2, arguments(16), own()), Ok(None));
    }

    #[test]
    fn a_name_that_is_empty_is_the_descriptor_only_where_that_is_said() {
        let (empty, name) = (address(c"".to_bytes_with_nul()), address(c"x".to_bytes_with_nul()));
        let flag = u64::try_from(libc::AT_EMPTY_PATH).unwrap();
        let mode = |text, flags| read(FCHMODAT2, [5, text, 0o600, flags, 0, 0], own());
        let own_descriptor = Name { fd: 5, ..Name::here(b"", Last::Follow) };
        for text in [empty, 0] {
            assert_eq!(mode(text, flag), Ok(Some(Wish::Metadata(own_descriptor.clone()))));
            assert_eq!(mode(text, 0), Err(Unreadable::Nothing));
        }
        assert_eq!(
            mode(name, flag),
            Ok(Some(Wish::Metadata(Name { fd: 5, ..Name::here(b"x", Last::Follow) })))
        );
        // Times by a descriptor have no name at all.
        let times = |fd: i32| {
            let fd = i64::from(fd).cast_unsigned();
            read(libc::SYS_utimensat, [fd, 0, 0, 0, 0, 0], own())
        };
        assert_eq!(times(5), Ok(Some(Wish::Metadata(own_descriptor))));
        assert_eq!(times(libc::AT_FDCWD), Err(Unreadable::Nothing));
        assert_eq!(read(libc::SYS_unlinkat, [5, empty, 0, 0, 0, 0], own()), Err(Unreadable::Nothing));
    }

    #[test]
    fn what_is_not_watched_is_nothing() {
        assert_eq!(read(libc::SYS_read, [0; 6], own()), Ok(None));
        assert_eq!(read(libc::SYS_sendto, [3, 8, 1, 0, 0, 0], own()), Ok(None));
        assert_eq!(read(libc::SYS_mkdirat, [0, 8, 0, 0, 0, 0], own()), Err(Unreadable::Nothing));
    }
}
