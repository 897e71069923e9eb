//! Every finding there is: what holds for all of its kind, as data.

mod application;
mod command_line;
mod kernel;
mod loader;
mod storage;
mod userspace;

use super::rule::Rule;
use std::sync::LazyLock;

/// Every finding there is, by id.
pub static CATALOGUE: LazyLock<Vec<&'static Rule>> = LazyLock::new(|| {
    let groups = [
        application::RULES,
        command_line::RULES,
        kernel::RULES,
        loader::RULES,
        storage::RULES,
        userspace::RULES,
    ];
    let mut all: Vec<&'static Rule> = groups.into_iter().flatten().collect();
    all.sort_by_key(|r| r.id);
    all
});
