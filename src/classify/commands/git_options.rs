//! Options that several subcommands of git share.

use crate::classify::op::OpClass::{FileRead, GitRead, GitWrite};
use crate::classify::opacity::Cause;
use crate::classify::spec::{OptionSpec, Role, opt};

/// Options of everything that prints a diff.
pub(super) const DIFF: &[OptionSpec<'static>] = &[
    opt("", "output").role(Role::Write),
    opt("", "ext-diff").opaque(Cause::ExecOption),
    opt("O", "").value(),
    opt("", "no-index").adds(&[FileRead]),
    opt("", "since").value(),
    opt("", "until").value(),
    opt("SGn", "").value(),
];

/// Programs on the other side of a connection.
pub(super) const REMOTE: &[OptionSpec<'static>] = &[
    opt("", "upload-pack").value().opaque(Cause::ExecOption),
    opt("", "receive-pack").value().opaque(Cause::ExecOption),
    opt("", "exec").value().opaque(Cause::ExecOption),
];

/// Nothing is changed.
pub(super) const DRY_RUN: &[OptionSpec<'static>] = &[opt("n", "dry-run").drops(&[GitWrite]).adds(&[GitRead])];

/// How branches are joined.
pub(super) const STRATEGY: &[OptionSpec<'static>] = &[
    opt("sXmS", "").value(),
    opt("F", "file").role(Role::Read),
    opt("", "strategy").value().opaque(Cause::ExecOption).except(&[
        "ort",
        "recursive",
        "resolve",
        "octopus",
        "ours",
        "subtree",
    ]),
];
