//! The system calls that no command gets, as data, compiled to one seccomp program.
//!
//! Danger: seccomp sees numbers and registers, never what a pointer points to. No row here judges a path, and none may
//! ever be answered by reading the memory of the command. What the table does not name is allowed, so a number that
//! nobody has reviewed ([`rule::Arch::newest`]) answers ENOSYS instead: a new kernel opens nothing.
//!
//! Pure: a [`FilterSpec`] goes in, instructions come out; `sys::seccomp` installs them.

use std::collections::BTreeMap;

use assemble::{RETURN, Rows};

mod assemble;
#[cfg(test)]
mod interpret;
pub mod rule;
mod table;
#[cfg(test)]
mod tests;

pub use rule::{Answer, Arch, Entry};

/// How a filter hands a call over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handover {
    /// To the reader of a listener.
    Listener,
    /// To the tracer, by a stop.
    Tracer,
}

/// What that is changed by a descriptor is watched, beside modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Descriptors {
    /// Owners, attributes and times.
    All,
    /// Times.
    Times,
    /// Nothing: where files are written, it is mostly the one that was just written.
    Nothing,
}

/// What of a command is watched, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watching {
    /// Opens for reading too.
    pub reads: bool,
    /// Changes by a descriptor.
    pub descriptors: Descriptors,
    /// The way.
    pub how: Handover,
}

/// Which sockets the command may create.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sockets {
    /// No `socket()` at all; `socketpair(AF_UNIX)` stays.
    None,
    /// AF_UNIX only.
    Unix,
    /// AF_UNIX, TCP and UDP over IPv4 and IPv6 (whose reach a network namespace or the host decides), route netlink.
    Ip,
}

/// What the filter has to hold beside the rows that are closed always. Each field that asks for more closes more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct FilterSpec {
    /// Sockets.
    pub sockets: Sockets,
    /// chmod, chown, utimes, xattr and inode flags answer EPERM: where no read-only mount holds them.
    pub deny_metadata: bool,
    /// The command sees processes that are not its own (no PID namespace): their scheduling and limits are closed.
    pub shared_processes: bool,
    /// Signals to the own process group (`kill 0`) reach processes outside, as no Landlock scope (ABI 6) holds them.
    pub shared_group: bool,
    /// The command shares System V IPC and message queues with the host (no IPC namespace): they are closed.
    pub shared_ipc: bool,
    /// ptrace and process_vm_* among the command's own processes (debuggers, LeakSanitizer).
    pub debug: bool,
}

/// The rows that are in force under `spec`, in table order, for `explain` and the documentation.
pub fn closed(spec: FilterSpec, arch: Arch) -> impl Iterator<Item = &'static Entry> {
    table::entries().filter(move |entry| entry.number(arch).is_some() && entry.when.holds(spec))
}

/// All rows as a Markdown table.
pub fn markdown() -> String {
    let mut text =
        String::from("| call | x86-64 | aarch64 | when | answer | why |\n|---|---|---|---|---|---|\n");
    let number = |number: Option<u32>| number.map_or_else(|| "–".to_owned(), |number| number.to_string());
    for entry in table::entries() {
        let (x86_64, aarch64) = (number(entry.x86_64), number(entry.aarch64));
        let answer = if entry.cases.is_empty() {
            entry.otherwise.name().to_owned()
        } else {
            format!("by arguments, else {}", entry.otherwise.name())
        };
        let (name, when, reason) = (entry.name, entry.when.name(), entry.reason);
        text.push_str(&format!("| {name} | {x86_64} | {aarch64} | {when} | {answer} | {reason} |\n"));
    }
    text
}

/// The rows of a command that is watched, beside those that close something.
pub fn watched(reads: bool, descriptors: Descriptors, arch: Arch) -> impl Iterator<Item = &'static Entry> {
    table::watched(reads, descriptors).filter(move |entry| entry.number(arch).is_some())
}

/// The program that holds `spec` on `arch`.
pub fn compile(spec: FilterSpec, arch: Arch) -> Vec<libc::sock_filter> {
    let mut rows: Vec<_> = closed(spec, arch)
        .filter_map(|entry| {
            Some((entry.number(arch)?, Rows { closed: Some(entry), watched: None, told: false }))
        })
        .collect();
    rows.sort_unstable_by_key(|(number, _)| *number);
    assemble::program(&rows, arch)
}

/// The program that holds `spec` on `arch` and hands calls to a watcher, all opens too when it asks for `reads`.
///
/// Danger: some refusals are the watcher's to give ([`refusal`]); its going away is one too, with ENOSYS.
pub fn compile_watched(spec: FilterSpec, watching: Watching, arch: Arch) -> Vec<libc::sock_filter> {
    let mut all = BTreeMap::new();
    for entry in closed(spec, arch) {
        if let Some(number) = entry.number(arch) {
            all.insert(number, Rows { closed: Some(entry), watched: None, told: table::told(entry) });
        }
    }
    for entry in watched(watching.reads, watching.descriptors, arch) {
        if let Some(number) = entry.number(arch) {
            let none = Rows { closed: None, watched: None, told: false };
            all.entry(number).or_insert(none).watched = Some(entry);
        }
    }
    let mut program = assemble::program(&all.into_iter().collect::<Vec<_>>(), arch);
    if watching.how == Handover::Tracer {
        for instruction in program.iter_mut().filter(|i| i.code == RETURN && i.k == Answer::Watch.ret()) {
            instruction.k = libc::SECCOMP_RET_TRACE;
        }
    }
    program
}

/// The errno that the table has for a call that a program of [`compile_watched`] handed over: then the watcher must give
/// it. `None` where the kernel may go on.
pub fn refusal(spec: FilterSpec, arch: Arch, call: u32, arguments: [u64; 6]) -> Option<i32> {
    Refusals::new(spec, arch).of(call, arguments)
}

/// What [`refusal`] says, laid out for many calls.
#[derive(Debug, Clone, Default)]
pub struct Refusals(Vec<(u32, &'static Entry)>);

impl Refusals {
    /// Of the table under `spec`.
    pub fn new(spec: FilterSpec, arch: Arch) -> Self {
        let numbered = closed(spec, arch).filter_map(|entry| Some((entry.number(arch)?, entry)));
        let mut rows: Vec<_> = numbered.collect();
        rows.sort_unstable_by_key(|(number, _)| *number);
        Self(rows)
    }

    /// The errno for a call that was handed over.
    pub fn of(&self, call: u32, arguments: [u64; 6]) -> Option<i32> {
        let at = self.0.binary_search_by_key(&call, |(number, _)| *number).ok()?;
        match self.0.get(at)?.1.answer(arguments) {
            Answer::Allow => None,
            answer => Some(answer.errno().unwrap_or(libc::EPERM)),
        }
    }
}
