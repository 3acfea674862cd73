//! Escape hatches: programs whose operands are languages of their own.

pub mod archive;
pub mod awk;
pub mod build;
pub mod cloud;
pub mod container;
pub mod database;
pub mod find;
pub mod git;
pub mod interpreter;
pub mod launcher;
pub mod media;
pub mod sed;
pub mod wrapper;
