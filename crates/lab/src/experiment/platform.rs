//! What an experiment boots on.

use crate::arch::ArmArch;
use capture::board::Board;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// What a trial boots on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Platform {
    /// An x86-64 q35.
    Pc,
    /// QEMU's board for ARM.
    ArmVirt {
        /// The kind of processor.
        arch: ArmArch,
        /// What starts the kernel.
        loader: Loader,
    },
    /// QEMU's versatilepb with an ARM926EJ-S.
    Arm9 {
        /// Variables of the loader that brings the kernel out of NAND flash, beyond the
        /// lab's own, or instead of them; `None`: the emulator starts the kernel.
        nand: Option<BTreeMap<String, String>>,
    },
    /// An earlier run's output folder, whose captures take the place of boots.
    Replay(PathBuf),
    /// A real board.
    Board(Box<Board>),
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pc => f.write_str("pc"),
            Self::Arm9 { nand: None } => f.write_str("arm9"),
            Self::Arm9 { nand: Some(_) } => f.write_str("arm9, NAND"),
            Self::ArmVirt { arch, loader } => {
                let with = match loader {
                    Loader::None => "",
                    Loader::UBoot { .. } => ", U-Boot",
                };
                write!(f, "arm-virt {}{with}", arch.as_str())
            }
            Self::Replay(folder) => write!(f, "replay of {}", folder.display()),
            Self::Board(board) => write!(f, "board {}", board.name),
        }
    }
}

/// What starts the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loader {
    /// The emulator itself.
    None,
    /// U-Boot, from flash memory.
    UBoot {
        /// The program; `None`: Debian's.
        program: Option<PathBuf>,
        /// Variables of its environment beyond the lab's own, or instead of them.
        environment: BTreeMap<String, String>,
    },
}
