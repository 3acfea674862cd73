//! From a call that failed, with the errno that the kernel gave, to what the jail refused: nothing, where an ordinary
//! system would have failed as well.
//!
//! Danger: the same errno comes from the jail and from ordinary permissions, a missing file or the host's own mounts.

use rustix::fs::{FileType, Mode, OFlags, StatVfsMountFlags};

use crate::supervisor::call::{Address, Opening, Wish};
use crate::supervisor::ground::{Ground, host_has, host_has_socket, host_mount, host_mount_point, is_host};
use crate::supervisor::observed::{Act, Denial, Target};
use crate::supervisor::resolve::{Lost, Place, Task};

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
            if there { case.file(Act::Create, led.get(1)?) } else { None }
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
        if from.as_ref().is_ok_and(|place| place.stat.is_none()) && self.errno != libc::ENOENT {
            return None;
        }
        let sides = [(first, from), (second, to)];
        let mut blamed = sides.iter().filter(|(act, led)| self.blames(*act, led));
        let only = blamed.next()?;
        let chosen = match blamed.next() {
            Some(other) if self.granted(only.1) && !self.granted(other.1) => other,
            _ => only,
        };
        Some(self.denial(chosen.0, chosen.1))
    }

    /// Whether the domain lets names be made and removed where this leads.
    fn granted(&self, led: &Led) -> bool {
        led.as_ref().is_ok_and(|place| self.ground.changes_names(&place.path))
    }

    /// Whether the jail is why this name failed.
    fn blames(&self, act: Act, led: &Led) -> bool {
        let place = match led {
            Ok(place) => place,
            Err(lost) => {
                // It is hidden: the host has what the jail has not. Programs are looked for in many places.
                let hidden = self.errno == libc::ENOENT && act != Act::Exec;
                return hidden
                    && lost.path.parent().is_some_and(host_has)
                    && !self.ground.in_workspace(&lost.path);
            }
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
            libc::EBUSY => matches!(act, Act::Remove | Act::Rename) && exists && !host_mount_point(path),
            libc::EXDEV => self.ground.permitted(self.task, act, path, exists) && !self.granted(led),
            libc::ENOENT if !exists && act != Act::Exec && act != Act::Create => {
                host_has(path) && !self.ground.in_workspace(path)
            }
            _ => false,
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
            Address::Abstract(name) => (self.errno == libc::EPERM).then(|| Denial {
                act,
                target: Target::Abstract(name.clone()),
                cause: self.ground.network_cause(),
                errno: self.errno,
                inferred: false,
            }),
            Address::Ip(ip) => {
                let refused = match self.errno {
                    libc::EACCES => self.ground.no_tcp,
                    libc::ENETUNREACH | libc::EHOSTUNREACH | libc::EADDRNOTAVAIL => {
                        self.ground.own_network && !ip.ip().is_loopback()
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

/// Whether the mount that holds the place, or that lies over it, is read-only as the command sees it.
fn read_only(place: &Place) -> bool {
    let Some(parent) = &place.parent else { return false };
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let own = rustix::fs::openat(parent, &place.name, flags, Mode::empty()).ok();
    [Some(parent), own.as_ref()].into_iter().flatten().any(|file| {
        rustix::fs::fstatvfs(file).is_ok_and(|found| found.f_flag.contains(StatVfsMountFlags::RDONLY))
    })
}
