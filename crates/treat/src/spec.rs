//! What is booted, as plain values.

use crate::cmdline::CommandLine;
use ::rawimage::Compression;
use std::collections::BTreeMap;
use std::fmt;

/// In which form the kernel is handed to the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KernelForm {
    /// The image as it was built: it unpacks itself.
    #[default]
    Image,
    /// The kernel proper, unpacked beforehand.
    Uncompressed,
    /// The kernel proper in memory, entered as a hypervisor enters it, with no firmware
    /// before it.
    Direct,
}

impl KernelForm {
    /// Every form.
    pub const ALL: [Self; 3] = [Self::Image, Self::Uncompressed, Self::Direct];

    /// The word used in treatments and in every output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Uncompressed => "uncompressed",
            Self::Direct => "direct",
        }
    }

    /// The form that [`Self::as_str`] names so.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.as_str() == word)
    }
}

/// What is booted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BootSpec {
    /// The form of the kernel.
    pub kernel: KernelForm,
    /// The kernel command line.
    pub cmdline: CommandLine,
    /// What the boot loader's environment holds beyond, or instead of, what the
    /// machine puts there; `None`: the variable is taken away.
    pub environment: BTreeMap<String, Option<String>>,
    /// What is done about reading.
    pub reading: Reading,
    /// What is done about the initramfs.
    pub initramfs: Initramfs,
    /// The configuration that the kernel is built with, in place of one that was
    /// built before: fragments, each laid over those before it.
    pub build: Vec<String>,
    /// Treatments of the files that a board boots from.
    pub files: Vec<String>,
}

/// What is done about reading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// The access list that a prefetcher in the initramfs reads ahead.
    pub prefetch: Option<String>,
    /// The access list in whose order the root is laid out.
    pub order: Option<Order>,
}

/// How a root is laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// The access list.
    pub list: String,
    /// Whether what the kernel reads around a fault stays in one piece.
    pub read_around: bool,
}

impl Order {
    /// From `LIST[,read-around]`.
    pub(crate) fn parse(text: &str) -> Self {
        let (list, read_around) = match text.strip_suffix(READ_AROUND) {
            Some(list) => (list, true),
            None => (text, false),
        };
        Self {
            list: list.to_owned(),
            read_around,
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let option = if self.read_around { READ_AROUND } else { "" };
        write!(f, "{}{option}", self.list)
    }
}

/// The option of an `order=`.
const READ_AROUND: &str = ",read-around";

/// What is done about the initramfs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Initramfs {
    /// How it is packed; `None`: as it was.
    pub packing: Option<Compression>,
    /// Whether its modules lose their signatures.
    pub unsigned: bool,
}
