//! Which treatments change an image as a whole.

use super::ext;
use super::images::{
    ImageError, NewImage, moved, remove_variable, repacked, set_variable, skip_check, summaries,
    tree_bootdelay,
};
use super::parse::FileTreatment;
use crate::treatment::Treatment as Boot;

impl FileTreatment {
    /// What its target is, if that is one image that is changed as a whole.
    #[must_use]
    pub const fn image_kind(&self) -> Option<&'static str> {
        match self {
            Self::Boot(Boot::SetVariable { .. } | Boot::RemoveVariable(_)) => {
                Some("a U-Boot environment")
            }
            Self::Initramfs(_) => Some("an initramfs"),
            Self::JffsSummaries => Some("a JFFS2 image"),
            Self::UbiSkipCheck(_) => Some("a UBI image"),
            Self::UimageLoad(_) => Some("a legacy U-Boot image (uImage)"),
            Self::TreeBootdelay(_) => Some("a device tree"),
            Self::Ext(_) => Some("an ext2, ext3 or ext4 image"),
            _ => None,
        }
    }

    /// Changes an image in memory; `None` if this is no treatment of an image.
    ///
    /// # Errors
    /// It is an image of another kind, or cannot be changed so.
    pub fn on_image(&self, bytes: &[u8]) -> Option<Result<NewImage, ImageError>> {
        Some(match self {
            Self::Boot(Boot::SetVariable { name, value }) => set_variable(bytes, name, value),
            Self::Boot(Boot::RemoveVariable(name)) => remove_variable(bytes, name),
            Self::Initramfs(method) => repacked(bytes, *method),
            Self::JffsSummaries => summaries(bytes),
            Self::UbiSkipCheck(volume) => skip_check(bytes, volume),
            Self::UimageLoad(address) => moved(bytes, *address),
            Self::TreeBootdelay(delay) => tree_bootdelay(bytes, *delay),
            Self::Ext(change) => ext::treated(bytes, *change),
            _ => return None,
        })
    }
}
