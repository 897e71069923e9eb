//! The root filesystem of an experiment.

use crate::artifacts::Form;
use crate::error::LabError;
use crate::treated::treat;
use std::path::PathBuf;
use treat::FileTreatment;

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
