//! The parts of a boot that findings are grouped by.

/// Where in the work on a boot a finding belongs. In this order it is best
/// done: what comes late in a boot first, so that measuring stays easy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// What the application does when it starts.
    Application,
    /// Init, units, scripts.
    Userspace,
    /// File systems and the devices under them.
    Storage,
    /// The kernel command line.
    CommandLine,
    /// The kernel, its configuration and its image.
    Kernel,
    /// What runs before the kernel.
    Loader,
}

impl Group {
    /// The word used in every output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Application => "application",
            Self::Userspace => "userspace",
            Self::Storage => "storage",
            Self::CommandLine => "command-line",
            Self::Kernel => "kernel",
            Self::Loader => "loader",
        }
    }
}
