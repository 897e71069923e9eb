//! What is wrong with an image of a flash chip, and where.

/// Something wrong, or worth knowing, in one block, in neighbours, or in the
/// whole image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Problem<W> {
    /// The first block that has it; `None` is the whole image.
    pub block: Option<u64>,
    /// In how many blocks, one after the other.
    pub blocks: u64,
    /// What it is.
    pub what: W,
}

impl<W> Problem<W> {
    /// A problem of one block, or of the whole image.
    pub(crate) fn new(block: Option<u64>, what: W) -> Self {
        Self {
            block,
            blocks: 1,
            what,
        }
    }

    /// Whether the last problem of a list now reaches over `block` as well: if it
    /// ends before it, and `same` says that it is the same there.
    pub(crate) fn goes_on(
        list: &mut [Self],
        block: Option<u64>,
        same: impl FnOnce(&W) -> bool,
    ) -> bool {
        let (Some(last), Some(block)) = (list.last_mut(), block) else {
            return false;
        };
        let follows = last.block.map(|b| b + last.blocks) == Some(block);
        let goes_on = follows && same(&last.what);
        last.blocks += u64::from(goes_on);
        goes_on
    }
}
