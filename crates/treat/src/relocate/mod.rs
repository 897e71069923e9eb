//! Files of a mounted ext4 put one behind the other, in the order in which they are
//! read.
//!
//! The kernel exchanges their blocks with those of a file without a name
//! (`EXT4_IOC_MOVE_EXT`), journalled: at any moment each file is whole, and nobody
//! sees another content, owner, mode or time.

mod error;
mod files;
mod for_now;
mod layout;
mod mover;
mod place;

pub use error::Error;
pub use files::Skipped;
pub use for_now::ForNow;
pub use layout::Layout;

use files::Wanted;
use layout::layout;
use std::path::Path;

/// Files that were put elsewhere, or would be.
#[derive(Clone, Debug)]
pub struct Relocation {
    /// How many.
    pub files: u64,
    /// Their length, bytes.
    pub bytes: u64,
    /// How they lay.
    pub before: Layout,
    /// How they lie; `None` if nothing was to be changed.
    pub after: Option<Layout>,
    /// What stays where it is.
    pub skipped: Vec<Skipped>,
}

/// What is done, for who waits.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// Looking where the files lie.
    Looking,
    /// Moving this one, of so many.
    Moving(usize, usize),
    /// Checking where they lie now.
    Checking,
}

/// Puts the files of `list`, whose paths begin at `root`, in that order; without
/// `apply` it says only how they lie. `list_name` is the list's, for errors.
///
/// # Errors
/// `root` is no ext4, none of the files can be moved, or the system says.
pub fn relocate(
    root: &Path,
    list: &[Vec<u8>],
    list_name: &Path,
    apply: bool,
    tell: &dyn Fn(Step),
) -> Result<Relocation, Error> {
    let shown = root.display().to_string();
    let root = place::open(root)?;
    place::check(&root, &shown)?;
    tell(Step::Looking);
    let (wanted, mut skipped) = files::find(&root, &shown, list, apply)?;
    if wanted.is_empty() {
        let reason = skipped
            .first()
            .map_or("none is there", |s| s.reason.as_str());
        let why = format!(
            "none of the {} files in {} can be put elsewhere: {reason}",
            list.len(),
            list_name.display()
        );
        return Err(Error::unusable(&shown, why));
    }
    let before = layout(Wanted::all_extents(&wanted));
    let mut after = None;
    if apply {
        let moving = |number| tell(Step::Moving(number + 1, wanted.len()));
        skipped.extend(mover::apply(&root, &shown, &wanted, &moving)?.skipped);
        tell(Step::Checking);
        rustix::fs::syncfs(&root).map_err(Error::io(&shown, "cannot be synced"))?;
        let now = files::look_again(wanted.clone());
        let now = now.map_err(Error::io(&shown, "its files cannot be looked at"))?;
        after = Some(layout(Wanted::all_extents(&now)));
    }
    Ok(Relocation {
        files: wanted.len() as u64,
        bytes: wanted.iter().map(Wanted::bytes).sum(),
        before,
        after,
        skipped,
    })
}
