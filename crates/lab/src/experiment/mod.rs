//! The experiment file: what is booted, and which variants of it.

mod factors;
mod file;
mod mode;
mod possible;
mod quick;
mod reader;
mod recording;

pub use crate::arch::ArmArch;
pub use mode::{Mode, Sampling};
pub use quick::Quick;
pub use recording::Recording;

use crate::arm9::board::{in_place, sized};
use crate::artifacts::Form;
use crate::error::LabError;
use crate::treated::treat;
use agent::config::FirstLight;
use capture::board::Board;
use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use storage::Profile;
use treat::{BootSpec, CommandLine, FileTreatment, Treatment};

/// The version of the format that this program reads.
pub const VERSION: u32 = 1;

/// The variable that has the loader's commands.
const BOOTCMD: &str = "bootcmd";

/// The variant without treatments.
pub const BASELINE: &str = "baseline";

/// An experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// Its file's name without `.toml`, for the reader.
    pub name: String,
    /// What all variants share.
    pub base: Base,
    /// The baseline first, then the file's variants in their order, then every
    /// combination of its factors' levels.
    pub variants: Vec<Variant>,
}

/// What all variants share.
#[derive(Clone, Debug, PartialEq)]
pub struct Base {
    /// What it boots on.
    pub platform: Platform,
    /// How time passes.
    pub mode: Mode,
    /// The memory of the machine, in MiB.
    pub memory_mb: u32,
    /// An instruction takes 2 to the power of this many nanoseconds.
    pub cpu_shift: u8,
    /// What the root appears to lie on.
    pub storage: Profile,
    /// The kernel.
    pub kernel: Kernel,
    /// The root filesystem.
    pub root: Root,
    /// The kernel command line of the baseline, with the words that recording
    /// needs.
    pub cmdline: CommandLine,
    /// What is recorded, and by which of these words.
    pub recording: Recording,
    /// What ends the boot.
    pub first_light: FirstLight,
    /// A trial whose console shows a later time, in seconds of the kernel's
    /// clock, is ended.
    pub limit_virtual_s: Option<u32>,
    /// A trial that takes longer, in seconds of the host, is ended.
    pub limit_wall_s: u32,
    /// How many boots each variant gets, if nobody says otherwise.
    pub ensemble: NonZeroU32,
}

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

/// Where the root filesystem comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Root {
    /// The boot ends in the initramfs.
    None,
    /// A minimal Debian, made by this program, from the cache.
    DebianMinimal,
    /// An ext4 image of the user.
    Image(PathBuf),
    /// An image that this program makes of a folder of the user.
    Tree {
        /// The folder.
        folder: PathBuf,
        /// The filesystem.
        form: Form,
        /// Whether Debian's busybox is put into it.
        busybox: bool,
    },
    /// A folder of the user that is a part of the initramfs.
    Initramfs {
        /// The folder.
        folder: PathBuf,
        /// How the initramfs is packed; `None`: not at all.
        packing: Option<FileTreatment>,
        /// Whether Debian's busybox is put into it.
        busybox: bool,
    },
}

impl Root {
    /// What `mount -t` takes.
    #[must_use]
    pub const fn fstype(&self) -> &'static str {
        match self {
            Self::Tree { form, .. } => form.fstype(),
            Self::Initramfs { .. } => "rootfs",
            Self::None | Self::DebianMinimal | Self::Image(_) => "ext4",
        }
    }

    /// Whether Debian's busybox is put into it.
    pub(crate) const fn busybox(&self) -> bool {
        match self {
            Self::Tree { busybox, .. } | Self::Initramfs { busybox, .. } => *busybox,
            Self::None | Self::DebianMinimal | Self::Image(_) => false,
        }
    }

    /// Packs the initramfs `archive`, if it is the root and to be packed.
    pub(crate) fn pack(&self, archive: &mut Vec<u8>) -> Result<(), LabError> {
        match self {
            Self::Initramfs {
                packing: Some(packing),
                ..
            } => treat("initramfs", std::slice::from_ref(packing), archive),
            _ => Ok(()),
        }
    }
}

/// A named set of treatments.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// Its name: letters, digits, `-`, `_`, `.`.
    pub name: String,
    /// What is changed, in order.
    pub treatments: Vec<Treatment>,
    /// What is booted.
    pub spec: BootSpec,
}

impl Experiment {
    /// What the machine's loader can do about a finding that has no treatment for all
    /// loaders.
    #[must_use]
    pub fn loader_treatment(&self, finding: &str) -> Option<Treatment> {
        let Platform::Arm9 { nand: Some(nand) } = &self.base.platform else {
            return None;
        };
        let bootcmd = nand.get(BOOTCMD).map(String::as_str);
        let value = match finding {
            "loader-whole-partition" => sized(bootcmd)?,
            "moved-kernel" => in_place(bootcmd)?,
            _ => return None,
        };
        Some(Treatment::SetVariable {
            name: BOOTCMD.to_owned(),
            value,
        })
    }

    /// Reads an experiment's file. Paths in it are relative to its folder.
    ///
    /// # Errors
    /// One sentence with file and line.
    pub fn read(path: &Path) -> Result<Self, LabError> {
        let text = std::fs::read_to_string(path).map_err(|source| LabError::ReadExperiment {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(&path.to_string_lossy(), &text)
    }

    /// Reads an experiment from its text; `path` is named in errors, and paths
    /// in the text are relative to its folder.
    ///
    /// # Errors
    /// One sentence with file and line.
    pub fn parse(path: &str, text: &str) -> Result<Self, LabError> {
        let at = |span: &std::ops::Range<usize>, why: String| {
            let before = text.get(..span.start).unwrap_or(text);
            LabError::Experiment {
                name: path.to_owned(),
                line: before.matches('\n').count() + 1,
                why,
            }
        };
        let file: file::File = toml::from_str(text).map_err(|e| {
            let why = e.message().replace('\n', ", ");
            at(&e.span().unwrap_or(0..0), why)
        })?;
        let version = file.firstlight_experiment;
        if *version.get_ref() != VERSION {
            let found = version.get_ref();
            let why = format!(
                "the experiment has version {found}, but this program supports version {VERSION}; \
                 update the file or the program"
            );
            return Err(at(&version.span(), why));
        }
        let reader = reader::Reader { path, at: &at };
        let (base, baseline) = reader.base(file.base)?;
        let mut variants = vec![baseline];
        let combined = factors::variants(&file.factor).map_err(|(span, why)| at(&span, why))?;
        for variant in file.variant.into_iter().chain(combined) {
            let next = reader.variant(&variant, &base, &variants)?;
            variants.push(next);
        }
        let stem = Path::new(path).file_stem().unwrap_or_default();
        Ok(Self {
            name: stem.to_string_lossy().into_owned(),
            base,
            variants,
        })
    }

    /// The same experiment with nothing recorded, since recording takes time.
    #[must_use]
    pub fn unrecorded(&self) -> Self {
        let mut all = self.clone();
        let recording = std::mem::take(&mut all.base.recording);
        all.base.cmdline = recording
            .without(BootSpec {
                cmdline: all.base.cmdline,
                ..BootSpec::default()
            })
            .cmdline;
        for variant in &mut all.variants {
            variant.spec = recording.without(std::mem::take(&mut variant.spec));
        }
        all
    }
}
