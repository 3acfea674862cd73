//! What swbox knows of programs: one file a family, each a `ROWS` table. How to add a row: [`spec`](super::spec).

pub mod builtin;
pub mod file;
pub mod git;
pub mod interpreter;
pub mod language;
pub mod search;
pub mod text;
pub mod wrapper;

use super::spec::Row;

/// Every family. A program stands in one row only (a test holds this).
pub static FAMILIES: &[&[Row]] = &[
    text::ROWS,
    search::ROWS,
    language::ROWS,
    builtin::ROWS,
    wrapper::ROWS,
    file::ROWS,
    git::ROWS,
    interpreter::ROWS,
];
