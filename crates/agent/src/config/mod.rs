//! What the agent is told: by the lab in the initramfs, and by anyone on the
//! kernel's [command line](Words).
//!
//! `/firstlight/agent.conf` is text, one `key = value` a line. Its first line is
//! `firstlight_agent_config = 1`. Empty lines and lines that start with `#` say
//! nothing. A key that is not known, or is given twice, is an error: a trial
//! must not run on other figures than the ones that were asked for.

mod error;
mod figures;
mod first_light;
mod lines;
mod out;
mod trial;
mod values;
mod version;
mod words;

pub use error::ConfigError;
pub use first_light::{Endpoint, FirstLight};
pub use out::Out;
pub use storage::{Model, Storage};
pub use trial::{AgentConfig, Board, Place, Root};
pub use values::SECTOR_BYTES;
pub use version::VERSION;
pub use words::{KEYS, Recording, Sampling, Words};

/// Where the file lies in the initramfs.
pub const PATH: &str = "/firstlight/agent.conf";

/// Where the modules lie in the initramfs; they are loaded in lexical order.
pub const MODULES: &str = "/firstlight/modules";
