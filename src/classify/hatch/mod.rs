//! Escape hatches: programs whose operands are languages of their own.

pub mod awk;
pub mod find;
pub mod git;
pub mod interpreter;
pub mod sed;
pub mod wrapper;
