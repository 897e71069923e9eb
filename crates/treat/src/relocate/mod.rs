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

pub use agent::extents::Extent;

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
    /// How they lie; `None` if nothing was to be changed, or nothing was.
    pub after: Option<Layout>,
    /// What reading them takes as they lay, in nanoseconds.
    pub reading_ns: u64,
    /// The same at the best of the new places that were found; `None` if none was looked for.
    pub reading_then_ns: Option<u64>,
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

/// Whether files are moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Apply {
    /// No: it is only looked how they lie.
    No,
    /// If they are read sooner then.
    IfSooner,
    /// Whatever the forecast says.
    Always,
}

/// Foretells how long reading files takes, in nanoseconds: whole, one after another, each
/// given by where its content lies, on a filesystem of so many bytes.
pub type Forecast<'a> = &'a dyn Fn(&[Vec<Extent>], u64) -> u64;

/// Puts the files of `list`, whose paths begin at `root`, in that order; with
/// [`Apply::IfSooner`] only if `forecast` says that they are read sooner then. `list_name`
/// is the list's, for errors.
///
/// # Errors
/// `root` is no ext4, none of the files can be moved, or the system says.
pub fn relocate(
    root: &Path,
    list: &[Vec<u8>],
    list_name: &Path,
    apply: Apply,
    forecast: Forecast<'_>,
    tell: &dyn Fn(Step),
) -> Result<Relocation, Error> {
    let shown = root.display().to_string();
    let root = place::open(root)?;
    place::check(&root, &shown)?;
    tell(Step::Looking);
    let (wanted, mut skipped) = files::find(&root, &shown, list, apply != Apply::No)?;
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
    let size = rustix::fs::fstatvfs(&root).map_err(Error::io(&shown, "cannot be asked"))?;
    let size = size.f_blocks.saturating_mul(size.f_frsize);
    let old: Vec<Vec<Extent>> = wanted.iter().map(|w| w.extents.clone()).collect();
    let mut done = Relocation {
        files: wanted.len() as u64,
        bytes: wanted.iter().map(Wanted::bytes).sum(),
        before: layout(Wanted::all_extents(&wanted)),
        after: None,
        reading_ns: forecast(&old, size),
        reading_then_ns: None,
        skipped: Vec::new(),
    };
    if apply != Apply::No {
        let rank = |space: &[Extent]| forecast(&mover::in_space(&wanted, space), size);
        let donor = mover::donor(&root, &shown, done.bytes, &rank)?;
        done.reading_then_ns = Some(donor.rank);
        if donor.rank < done.reading_ns || apply == Apply::Always {
            let moving = |number| tell(Step::Moving(number + 1, wanted.len()));
            skipped.extend(mover::apply(&root, &wanted, donor, &moving).skipped);
            tell(Step::Checking);
            rustix::fs::syncfs(&root).map_err(Error::io(&shown, "cannot be synced"))?;
            let now = files::look_again(wanted.clone());
            let now = now.map_err(Error::io(&shown, "its files cannot be looked at"))?;
            done.after = Some(layout(Wanted::all_extents(&now)));
        }
    }
    done.skipped = skipped;
    Ok(done)
}
