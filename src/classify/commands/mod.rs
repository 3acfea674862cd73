//! What swbox knows of programs: one file a family, each a `ROWS` table. How to add a row: [`spec`](super::spec).

pub mod archive;
pub mod build;
pub mod builtin;
pub mod check;
pub mod cloud;
pub mod cluster;
pub mod container;
pub mod crypto;
pub mod database;
pub mod file;
pub mod git;
mod git_options;
pub mod help;
pub mod infrastructure;
pub mod interpreter;
pub mod kubernetes;
pub mod language;
pub mod machine;
pub mod media;
pub mod misc;
pub mod network;
pub mod node;
pub mod packages;
pub mod privilege;
pub mod probe;
pub mod python;
pub mod remote;
pub mod rust;
pub mod search;
pub mod server;
pub mod storage;
pub mod system;
pub mod text;
pub mod toolchain;
pub mod wrapper;

use super::spec::Row;

/// Every family. A program stands in one row only (a test holds this). For the compiler: the program has them
/// [packed](super::packed), so no code may name this or a `ROWS`.
pub(super) const FAMILIES: &[&[Row]] = &[
    text::ROWS,
    search::ROWS,
    language::ROWS,
    builtin::ROWS,
    wrapper::ROWS,
    privilege::ROWS,
    file::ROWS,
    git::ROWS,
    interpreter::ROWS,
    archive::ROWS,
    build::ROWS,
    toolchain::ROWS,
    check::ROWS,
    cloud::ROWS,
    container::ROWS,
    crypto::ROWS,
    database::ROWS,
    infrastructure::ROWS,
    kubernetes::ROWS,
    media::ROWS,
    misc::ROWS,
    help::ROWS,
    cluster::ROWS,
    network::ROWS,
    probe::ROWS,
    server::ROWS,
    node::ROWS,
    packages::ROWS,
    python::ROWS,
    remote::ROWS,
    rust::ROWS,
    storage::ROWS,
    system::ROWS,
    machine::ROWS,
];
