//! The kernel of an experiment.

use crate::error::LabError;
use std::path::PathBuf;

/// Where the kernel comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// Debian's kernel package as it is, from the cache.
    Debian,
    /// A file of the user, with the folder of its modules.
    File {
        /// The kernel image: a bzImage, a zImage or an Image.
        image: PathBuf,
        /// A folder such as `/lib/modules/6.1.0-56-amd64`, if modules are
        /// needed that are not built in.
        modules: Option<PathBuf>,
        /// The description of the board, where the machine needs one: `arm9`.
        device_tree: Option<PathBuf>,
    },
    /// The one that the lab builds for `arm9`.
    Built {
        /// Lines of its configuration beyond the lab's own.
        lines: Vec<String>,
    },
}

impl Kernel {
    /// What is said where only `arm9` has a kernel of the lab's.
    pub(crate) fn not_built() -> LabError {
        LabError::Bug {
            why: "a kernel build for a machine with a Debian kernel".into(),
        }
    }
}
