//! Kinds of processors.

use std::fmt;

/// A kind of processor that the agent is built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Arch {
    /// 64-bit PC processors.
    X86_64,
    /// 64-bit ARM.
    Aarch64,
    /// 32-bit ARM from ARMv7 on, with a floating-point unit.
    Armv7,
    /// 32-bit ARM from ARMv5TE on, without one.
    Armv5,
    /// 64-bit RISC-V with the extensions of Linux distributions (RV64GC).
    Riscv64,
}

impl Arch {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::X86_64,
        Self::Aarch64,
        Self::Armv7,
        Self::Armv5,
        Self::Riscv64,
    ];

    /// Its name: `x86_64`, `aarch64`, `armv7`, `armv5` or `riscv64`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
            Self::Armv7 => "armv7",
            Self::Armv5 => "armv5",
            Self::Riscv64 => "riscv64",
        }
    }

    /// The one whose kernel calls itself `machine`, as `uname -m` says it.
    #[must_use]
    pub fn of_machine(machine: &str) -> Option<Self> {
        match machine {
            "x86_64" => Some(Self::X86_64),
            "aarch64" => Some(Self::Aarch64),
            // 32-bit programs on a 64-bit kernel see it as armv8l.
            "armv7l" | "armv8l" => Some(Self::Armv7),
            "riscv64" => Some(Self::Riscv64),
            "armv5tejl" | "armv5tel" | "armv6l" => Some(Self::Armv5),
            _ => None,
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A kind of ARM processor, by Debian's name of the architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArmArch {
    /// 32 bits: ARMv7 with a floating-point unit.
    Armhf,
    /// 64 bits.
    Arm64,
}

impl ArmArch {
    /// Debian's name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Armhf => "armhf",
            Self::Arm64 => "arm64",
        }
    }
}
