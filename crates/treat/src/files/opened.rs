//! What is treated: a folder, a file, or the root in a filesystem's image, which is
//! mounted as long as that takes.

use super::error::FileError;
use super::journal::Journal;
use super::parse::FileTreatment;
use super::tree::Target;
use crate::mounted::{MountError, Mounted, loop_device};
use disk::{State, facts};
use rawimage::Part;
use std::fs::File;
use std::path::Path;

/// Why a target cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// As a folder or a file.
    #[error(transparent)]
    File(#[from] FileError),
    /// As an image.
    #[error(transparent)]
    Mount(#[from] MountError),
    /// The image cannot be treated as it is.
    #[error("{0}")]
    Unfit(String),
}

/// A target, and the image that it is in.
pub struct Opened {
    // Before the image: it cannot be unmounted while something in it is open.
    target: Target,
    mounted: Option<Mounted>,
}

impl Opened {
    /// Opens what the user named. An image of ext2, ext3 or ext4 is mounted, unless
    /// `treatment` changes images as a whole; to be read alone, if nothing is to be
    /// `changed` and no earlier run has left something to finish. Without a treatment, the
    /// last one of the journal says what is opened; if nothing can be undone, the file.
    ///
    /// # Errors
    /// There is nothing that can be treated, or the image cannot be mounted.
    pub fn new(
        path: &Path,
        treatment: Option<&FileTreatment>,
        changed: bool,
    ) -> Result<Self, OpenError> {
        let (begun, last) = Journal::begun_and_last(&Target::open(path)?)?;
        let is_whole = |t: &FileTreatment| t.image_kind().is_some();
        let was_whole = |t: String| FileTreatment::parse(&t).is_ok_and(|t| is_whole(&t));
        let begun = begun.map(was_whole);
        let whole = match treatment {
            Some(treatment) => is_whole(treatment),
            None => begun.or(last.map(was_whole)).unwrap_or(changed),
        };
        if let Some(other) = begun.filter(|b| *b != whole) {
            // It is finished where it was begun.
            let opened = Self::of(path, other, true, true)?;
            Journal::open(&opened.target, &mut |_| Ok(()))?;
            opened.close()?;
        }
        Self::of(path, whole, changed, begun == Some(whole))
    }

    /// The file itself, if it is changed as a `whole`.
    fn of(path: &Path, whole: bool, changed: bool, begun: bool) -> Result<Self, OpenError> {
        let target = Target::open(path)?;
        if whole || target.file().is_none() || !is_root(path, begun)? {
            let mounted = None;
            return Ok(Self { target, mounted });
        }
        if let Some(device) = loop_device(path) {
            return Err(OpenError::Unfit(format!(
                "{}: /dev/{device} has it already, perhaps since a run was killed; `umount \
                 /dev/{device}`, or name the folder where it is mounted",
                path.display()
            )));
        }
        let why = "and what is in it can be treated only so (or as a folder)";
        let options = match changed || begun {
            true => "loop,nosuid,nodev,noexec,noatime",
            false => "ro,noload,loop,nosuid,nodev,noexec",
        };
        let mounted = Mounted::new(path, options, why)?;
        let target = Target::within(path, mounted.folder())?;
        let mounted = Some(mounted);
        Ok(Self { target, mounted })
    }

    /// What is treated.
    #[must_use]
    pub const fn target(&self) -> &Target {
        &self.target
    }

    /// Says that all is done, and in the image.
    ///
    /// # Errors
    /// The image cannot be unmounted.
    pub fn close(self) -> Result<(), MountError> {
        let Self { target, mounted } = self;
        drop(target);
        mounted.map_or(Ok(()), Mounted::close)
    }
}

/// Whether a file is an image that can be mounted to be changed.
fn is_root(path: &Path, begun: bool) -> Result<bool, OpenError> {
    let shown = path.display();
    let Ok(file) = File::open(path) else {
        return Ok(false);
    };
    // What is no filesystem is a file like others.
    let found = Part::whole(&file).ok().and_then(|p| facts(&p).ok());
    // A FAT is no root.
    let found = found.flatten().filter(|f| !f.is_fat());
    let Some(facts) = found else {
        return Ok(false);
    };
    match facts.state {
        State::Clean => Ok(true),
        // What an earlier run began is finished when the filesystem's journal is replayed.
        State::NeedsRecovery if begun => Ok(true),
        State::ReadOnly => Err(OpenError::Unfit(format!(
            "{shown}: a {} is made as a whole; unpack it, treat the folder, and make it again",
            facts.filesystem
        ))),
        state => Err(OpenError::Unfit(format!(
            "{shown}: an {} image, and {}; `e2fsck {shown}` puts it in order; nothing was changed",
            facts.filesystem,
            state.name()
        ))),
    }
}
