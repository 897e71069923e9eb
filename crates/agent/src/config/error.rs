//! Why a configuration cannot be used.

use super::version::{VERSION, VERSION_KEY};

/// Why a configuration cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The file is of another kind or version.
    #[error(
        "line 1 of the agent's configuration is `{found}` instead of `{VERSION_KEY} = {VERSION}`; \
         use the agent and the lab of the same release"
    )]
    Version {
        /// The first line.
        found: String,
    },
    /// A line is not `key = value`.
    #[error("line {line} of the agent's configuration is `{found}`; write `key = value`")]
    Shape {
        /// Counted from 1.
        line: usize,
        /// The line.
        found: String,
    },
    /// No such key.
    #[error(
        "line {line} of the agent's configuration has the unknown key `{key}`; remove the line"
    )]
    UnknownKey {
        /// Counted from 1.
        line: usize,
        /// The key.
        key: String,
    },
    /// A key is given again.
    #[error("line {line} of the agent's configuration repeats `{key}`; remove one of the lines")]
    Twice {
        /// Counted from 1.
        line: usize,
        /// The key.
        key: String,
    },
    /// A key that this configuration needs is not there.
    #[error("the agent's configuration lacks `{key}`; add a line `{key} = ...`")]
    Missing {
        /// The key.
        key: &'static str,
    },
    /// A value is not what its key takes.
    #[error("line {line} of the agent's configuration: `{key}` is `{found}`; write {expected}")]
    Value {
        /// Counted from 1.
        line: usize,
        /// The key.
        key: String,
        /// The values that the key accepts, in words.
        expected: &'static str,
        /// The value.
        found: String,
    },
    /// The payload and the root have the same size, by which the agent tells them apart.
    #[error(
        "`out_size` and `root_size` are both {size}, but the agent finds devices by size; make \
         one of them larger"
    )]
    SameSize {
        /// The size of both, in bytes.
        size: u64,
    },
    /// The root lies where no storage can be modelled.
    #[error("`storage.model` works only with `root = pmem`; set it to `none`")]
    NothingToModel,
    /// A board's counter whose speed is not known, or is none of a register of 32
    /// bits.
    #[error(
        "`counter_at` needs the counter's ticks per second as `counter_hz`, from 1 to \
         4294967295, not {hz}"
    )]
    CounterSpeed {
        /// `counter_hz`.
        hz: u64,
    },
    /// A disk's shortest seek is longer than its longest.
    #[error(
        "`storage.seek_min_ns` is {min}, which exceeds `storage.seek_max_ns`, {max}; swap them"
    )]
    SeekOrder {
        /// `storage.seek_min_ns`.
        min: u64,
        /// `storage.seek_max_ns`.
        max: u64,
    },
}
