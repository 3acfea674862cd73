//! From a call that failed, with the errno that the kernel gave, to what the jail refused: nothing, where an ordinary
//! system would have failed as well.
//!
//! Danger: the same errno comes from the jail and from ordinary permissions, a missing file or the host's own mounts.

use rustix::fs::{Dir, FileType, Mode, OFlags, StatVfsMountFlags};

use crate::supervisor::call::{Address, Name, Opening, Removal, Renaming, Wish};
use crate::supervisor::ground::{
    Ground, host_address, host_has, host_has_abstract, host_has_program, host_has_socket, host_mount,
    host_mount_point, host_same_mount, is_host,
};
use crate::supervisor::observed::{Act, Denial, Target};
use crate::supervisor::resolve::{Lost, Place, Task};
use crate::supervisor::touched::State;

/// A name of a call and where it led when the call began.
pub(in crate::supervisor) type Led = Result<Place, Lost>;

/// What the jail refused of `wish`, if it was the jail.
pub(in crate::supervisor) fn refused(
    ground: &Ground,
    task: &Task,
    wish: &Wish,
    led: &[Led],
    errno: i32,
    by_filter: bool,
) -> Option<Denial> {
    if fails_anyway(wish, led) {
        return None;
    }
    let case = Case { ground, task, errno, by_filter };
    match wish {
        Wish::Open(_, opening) => case.file(open_act(opening, led.first()?), led.first()?),
        Wish::Truncate(_) => case.file(Act::Write, led.first()?),
        Wish::Make(_) => case.file(Act::Create, led.first()?),
        Wish::Remove(..) => case.file(Act::Remove, led.first()?),
        Wish::Metadata(_) => case.file(Act::Metadata, led.first()?),
        Wish::Execute(_) => case.file(Act::Exec, led.first()?),
        Wish::Rename(..) => case.pair(Act::Rename, Act::Rename, led),
        Wish::Link(..) => {
            let there = led.first()?.as_ref().is_ok_and(|place| place.stat.is_some());
            if !there {
                None
            } else {
                let apart = || case.apart(Act::Create, led).map(|led| case.denial(Act::Create, led));
                case.file(Act::Create, led.get(1)?).or_else(|| (errno == libc::EXDEV).then(apart)?)
            }
        }
        Wish::Socket(family) => case.socket(*family),
        Wish::Connect(address) => case.address(Act::Connect, address, led.first()),
        Wish::Bind(address) => case.address(Act::Bind, address, led.first()),
    }
}

/// What an open is about.
fn open_act(opening: &Opening, led: &Led) -> Act {
    let exists = led.as_ref().is_ok_and(|place| place.stat.is_some());
    match opening {
        Opening { nameless: true, .. } => Act::Create,
        Opening { create: true, .. } if !exists => Act::Create,
        Opening { write: true, .. } => Act::Write,
        _ => Act::Read,
    }
}

/// Whether a call fails by what it asks for, jail or none.
fn fails_anyway(wish: &Wish, led: &[Led]) -> bool {
    let place = |at: usize| led.get(at).and_then(|led| led.as_ref().ok());
    let is_directory = |place: &Place| place.kind() == Some(FileType::Directory);
    match wish {
        Wish::Remove(name, how) => place(0).is_some_and(|place| {
            let wrong = place.stat.is_some() && is_directory(place) != (*how == Removal::Directory);
            wrong || ends_in_dots(name) || is_directory(place) && holds_names(place)
        }),
        Wish::Rename(one, other, how) => {
            if ends_in_dots(one) || ends_in_dots(other) {
                return true;
            }
            let (Some(from), Some(to)) = (place(0), place(1)) else { return false };
            let taken = to.stat.is_some();
            let into_itself = |one: &Place, other: &Place| {
                is_directory(one) && one.path != other.path && other.path.starts_with(&one.path)
            };
            match how {
                _ if into_itself(from, to) => true,
                Renaming::Exchange => into_itself(to, from),
                Renaming::New => taken,
                Renaming::Replace => {
                    taken && (is_directory(from) != is_directory(to) || is_directory(to) && holds_names(to))
                }
            }
        }
        _ => false,
    }
}

/// Whether a name ends in `.` or `..`, or is the root: no such name can be removed or moved.
fn ends_in_dots(name: &Name) -> bool {
    let end = name.text.split(|byte| *byte == b'/').rfind(|part| !part.is_empty());
    end.is_none_or(|end| matches!(end, b"." | b".."))
}

/// Whether a directory is not empty; one that cannot be read counts as empty.
fn holds_names(place: &Place) -> bool {
    let Some(parent) = &place.parent else { return false };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let name = if place.name.is_empty() { std::ffi::OsStr::new(".") } else { &place.name };
    let opened = rustix::fs::openat(parent, name, flags, Mode::empty()).and_then(Dir::new);
    opened
        .is_ok_and(|names| names.flatten().any(|entry| !matches!(entry.file_name().to_bytes(), b"." | b"..")))
}

struct Case<'a> {
    ground: &'a Ground,
    task: &'a Task,
    errno: i32,
    by_filter: bool,
}

impl Case<'_> {
    fn denial(&self, act: Act, led: &Led) -> Denial {
        let path = match led {
            Ok(place) => &place.path,
            Err(lost) => &lost.path,
        };
        let cause = self.ground.cause(act, path);
        Denial { act, target: Target::Path(path.clone()), cause, errno: self.errno, inferred: false }
    }

    fn file(&self, act: Act, led: &Led) -> Option<Denial> {
        self.blames(act, led).then(|| self.denial(act, led))
    }

    /// The first of two names that is to blame; of two that could be, one outside of what is granted.
    fn pair(&self, first: Act, second: Act, led: &[Led]) -> Option<Denial> {
        let [from, to] = led else { return None };
        let missing = |place: &Place| {
            place.stat.is_none()
                && (self.errno != libc::ENOENT
                    || self.ground.in_workspace(&place.path)
                    || !host_has(&place.path))
        };
        if from.as_ref().is_ok_and(missing) {
            return None;
        }
        let sides = [(first, from), (second, to)];
        let mut blamed = sides.iter().filter(|(act, led)| match led {
            // The new name need not be there.
            Err(lost) if std::ptr::eq(*led, to) => self.hides(Act::Create, lost),
            _ => self.blames(*act, led),
        });
        let Some(only) = blamed.next() else {
            let apart = || self.apart(first, led).map(|led| self.denial(first, led));
            return (self.errno == libc::EXDEV).then(apart)?;
        };
        let chosen = match blamed.next() {
            Some(other) if self.granted(only.1) && !self.granted(other.1) => other,
            _ => only,
        };
        Some(self.denial(chosen.0, chosen.1))
    }

    /// Of two names of the workspace that the host has on one mount and the jail on two, the one in the directory that the
    /// jail holds apart.
    fn apart<'l>(&self, act: Act, led: &'l [Led]) -> Option<&'l Led> {
        let [from, to] = led else { return None };
        let (Ok(one), Ok(other)) = (from, to) else { return None };
        let own = self.ground.in_workspace(&one.path) && self.ground.in_workspace(&other.path);
        let parents = one.path.parent().zip(other.path.parent());
        let together = own && parents.is_some_and(|(one, other)| host_same_mount(one, other));
        let permitted =
            |place: &Place| self.ground.permitted(self.task, act, &place.path, place.stat.is_some());
        // On one mount it is the file system that says so: a layer does of directories that lie below it.
        let two = mount_of(one).zip(mount_of(other)).is_some_and(|(one, other)| one != other);
        if !two || !together || !permitted(one) || !permitted(other) {
            return None;
        }
        Some(if self.ground.holds_apart(&other.path) { to } else { from })
    }

    /// Whether the domain lets names be made and removed where this leads.
    fn granted(&self, led: &Led) -> bool {
        led.as_ref().is_ok_and(|place| self.ground.changes_names(&place.path))
    }

    /// Whether the jail is why this name failed.
    fn blames(&self, act: Act, led: &Led) -> bool {
        let place = match led {
            Ok(place) => place,
            Err(lost) => return self.hides(act, lost),
        };
        let path = &place.path;
        // A device that is not there is one that programs try in passing: /dev/tty.
        let passing = path.starts_with("/dev") && self.errno == libc::ENOENT;
        if path.starts_with("/proc") || passing || place.parent.is_none() {
            return false;
        }
        let exists = place.stat.is_some();
        if !exists && matches!(act, Act::Write | Act::Remove | Act::Metadata) && self.errno != libc::ENOENT {
            // Without the jail there would be nothing to do it to.
            return false;
        }
        match self.errno {
            _ if self.by_filter => true,
            libc::EROFS => {
                read_only(place)
                    && self.ground.permitted(self.task, act, path, exists)
                    && !host_mount(path, StatVfsMountFlags::RDONLY)
            }
            libc::EACCES if self.ground.is_secret(path) => true,
            // The jail refuses these by its mounts and its filter alone.
            libc::EACCES if act == Act::Metadata => false,
            libc::EACCES => {
                self.ground.permitted(self.task, act, path, exists)
                    && !(act == Act::Exec && host_mount(path, StatVfsMountFlags::NOEXEC))
                    && !(act == Act::Exec && place.kind() == Some(FileType::Directory))
            }
            libc::EBUSY => {
                matches!(act, Act::Remove | Act::Rename) && is_mount_point(place) && !host_mount_point(path)
            }
            libc::EXDEV => {
                self.ground.permitted(self.task, act, path, exists)
                    && (!self.granted(led)
                        || read_only(place) && !host_mount(path, StatVfsMountFlags::RDONLY))
            }
            libc::ENOENT if !exists && act != Act::Exec && act != Act::Create => {
                host_has(path) && !self.ground.in_workspace(path)
            }
            _ => false,
        }
    }

    /// Whether a name leads nowhere because the jail has not what the host has.
    fn hides(&self, act: Act, lost: &Lost) -> bool {
        if self.errno != libc::ENOENT || self.ground.in_workspace(&lost.path) {
            return false;
        }
        match act {
            Act::Exec => host_has_program(&lost.path),
            Act::Create | Act::Bind | Act::Connect => lost.path.parent().is_some_and(host_has),
            _ => host_has(&lost.path),
        }
    }

    fn socket(&self, family: i32) -> Option<Denial> {
        let named = match family {
            libc::AF_INET => "ipv4",
            libc::AF_INET6 => "ipv6",
            // For whom it is meant would have been told by its connect; the C library tries name services by such a
            // one at the start of half of all programs.
            _ => return None,
        };
        self.by_filter.then(|| Denial {
            act: Act::Connect,
            target: Target::Address(named.to_owned()),
            cause: self.ground.network_cause(),
            errno: self.errno,
            inferred: false,
        })
    }

    /// Whether a socket of the abstract name space was refused because it is the host's.
    fn refuses_abstract(&self, name: &[u8]) -> bool {
        match self.errno {
            libc::EPERM => true,
            // The command's own network has other names.
            libc::ECONNREFUSED => self.ground.own_network && host_has_abstract(name),
            _ => false,
        }
    }

    fn address(&self, act: Act, address: &Address, led: Option<&Led>) -> Option<Denial> {
        match address {
            Address::Path(_) => {
                let led = led?;
                let path = match led {
                    Ok(place) => &place.path,
                    Err(lost) => &lost.path,
                };
                let unreachable = matches!(self.errno, libc::ECONNREFUSED | libc::ENOENT | libc::EACCES);
                // The host's own, reached and without a listener, refuses everybody.
                let own = led.as_ref().is_ok_and(|place| place.stat.is_some_and(|stat| is_host(path, &stat)));
                let hidden = act == Act::Connect && unreachable && !own && host_has_socket(path);
                (hidden || (act == Act::Bind && self.blames(Act::Create, led))).then(|| self.denial(act, led))
            }
            Address::Abstract(name) => self.refuses_abstract(name).then(|| Denial {
                act,
                target: Target::Abstract(name.clone()),
                cause: self.ground.network_cause(),
                errno: self.errno,
                inferred: false,
            }),
            Address::Ip(ip) => {
                let refused = match self.errno {
                    libc::EACCES => self.ground.no_tcp,
                    libc::ENETUNREACH | libc::EHOSTUNREACH => {
                        self.ground.own_network && !ip.ip().is_loopback()
                    }
                    // An address that the host has not either is refused everywhere.
                    libc::EADDRNOTAVAIL => {
                        self.ground.own_network && !ip.ip().is_loopback() && host_address(ip.ip())
                    }
                    _ => self.by_filter,
                };
                refused.then(|| Denial {
                    act,
                    target: Target::Address(ip.to_string()),
                    cause: self.ground.network_cause(),
                    errno: self.errno,
                    inferred: false,
                })
            }
            Address::Other => None,
        }
    }
}

/// The command's mount that the directory of a place is on.
fn mount_of(place: &Place) -> Option<u64> {
    let found = State::at(place.parent.as_ref()?, std::ffi::OsStr::new("")).ok()??;
    Some(found.mount)
}

/// Whether a mount of the command's begins at the place.
fn is_mount_point(place: &Place) -> bool {
    let Some(parent) = &place.parent else { return false };
    State::at(parent, &place.name).is_ok_and(|found| found.is_some_and(|state| state.mount_root))
}

/// Whether the mount that holds the place, or that lies over it, is read-only as the command sees it.
fn read_only(place: &Place) -> bool {
    let Some(parent) = &place.parent else { return false };
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let own = rustix::fs::openat(parent, &place.name, flags, Mode::empty()).ok();
    [Some(parent), own.as_ref()].into_iter().flatten().any(|file| {
        rustix::fs::fstatvfs(file).is_ok_and(|found| found.f_flag.contains(StatVfsMountFlags::RDONLY))
    })
}
