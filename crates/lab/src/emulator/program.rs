//! The programs of QEMU.

/// Which of QEMU's programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its name.
    pub name: &'static str,
    /// The Debian package that has it.
    pub package: &'static str,
    /// The files of its own that a guest runs.
    pub roms: &'static [&'static str],
}
