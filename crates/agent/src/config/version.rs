//! The first line of the configuration file, which says the version of its format.

/// The version of the format that this program writes and reads.
pub const VERSION: u32 = 1;

/// The key of the first line.
pub(super) const VERSION_KEY: &str = "firstlight_agent_config";
