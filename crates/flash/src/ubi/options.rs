//! What is known about an image, and what is asked.

use super::cost::Profile;
use super::device::Device;
use crate::jffs2::Spare;
use std::collections::BTreeSet;

/// What is known about the image, and what is asked.
#[derive(Clone, Debug)]
pub struct Options {
    /// Size of an erase block, bytes; `None` finds it.
    pub erase_size: Option<u32>,
    /// Spare bytes.
    pub spare: Spare,
    /// Numbers of the blocks that the device says are bad.
    pub bad_blocks: BTreeSet<u64>,
    /// The chip that the image is for, if it is known.
    pub device: Option<Device>,
    /// Blocks of the chip, if it is known to be larger than the image: the rest
    /// is taken as erased.
    pub chip_blocks: Option<u64>,
    /// The chip to estimate times for; `None` takes the one that fits the
    /// place of the headers.
    pub profile: Option<Profile>,
    /// Whether the data of static volumes is read and checked.
    pub check_static: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            erase_size: None,
            spare: Spare::Detect,
            bad_blocks: BTreeSet::new(),
            device: None,
            chip_blocks: None,
            profile: None,
            check_static: true,
        }
    }
}
