//! The `firstlight` command.
fn main() {}
