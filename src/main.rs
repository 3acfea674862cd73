//! The `swbox` program.

fn main() {}
