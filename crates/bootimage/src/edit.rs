//! Changes to an image, as plain data: what to put where, and what was there.

use rawimage::Part;
use std::io::{self, Write};

/// Bytes of an image that become others, at the same place and length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Where, bytes from the start of the image.
    pub offset: u64,
    /// What is there.
    pub before: Vec<u8>,
    /// What will be there.
    pub after: Vec<u8>,
}

/// Edits that belong together, with what they mean.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    /// In the order in which a device must be written: the new copy first, what
    /// makes it the valid one last.
    pub edits: Vec<Edit>,
    /// What is done, a sentence each.
    pub description: Vec<String>,
}

/// Why a patch cannot be applied or undone.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PatchError {
    /// The image is not the one that the patch was made for.
    #[error("the bytes at {offset} have changed since they were read; run the command again")]
    Changed {
        /// Where.
        offset: u64,
    },
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Patch {
    /// What takes this patch back.
    #[must_use]
    pub fn inverse(&self) -> Self {
        let edits = self.edits.iter().rev().map(|e| Edit {
            offset: e.offset,
            before: e.after.clone(),
            after: e.before.clone(),
        });
        Self {
            edits: edits.collect(),
            description: vec!["the earlier bytes are restored".to_owned()],
        }
    }

    /// Changes an image in memory. If it is not the right one, nothing is
    /// changed.
    ///
    /// # Errors
    /// [`PatchError::Changed`].
    pub fn apply(&self, image: &mut [u8]) -> Result<(), PatchError> {
        let range = |e: &Edit| {
            let start = usize::try_from(e.offset).ok()?;
            Some(start..start.checked_add(e.before.len())?)
        };
        for edit in &self.edits {
            let there = range(edit).and_then(|r| image.get(r));
            if there != Some(edit.before.as_slice()) || edit.before.len() != edit.after.len() {
                let offset = edit.offset;
                return Err(PatchError::Changed { offset });
            }
        }
        for edit in &self.edits {
            if let Some(there) = range(edit).and_then(|r| image.get_mut(r)) {
                there.copy_from_slice(&edit.after);
            }
        }
        Ok(())
    }

    /// Copies an image, changed. Memory is a few pages, whatever its size.
    ///
    /// # Errors
    /// [`PatchError::Changed`], or what reading and writing say.
    pub fn copy(&self, image: &Part<'_>, out: &mut dyn Write) -> Result<(), PatchError> {
        let mut edits: Vec<&Edit> = self.edits.iter().collect();
        edits.sort_by_key(|e| e.offset);
        let mut at = 0;
        for edit in edits {
            copy_range(image, at, edit.offset.saturating_sub(at), out)?;
            let there = image.read(edit.offset, edit.before.len())?;
            if there != edit.before || edit.offset < at || edit.before.len() != edit.after.len() {
                let offset = edit.offset;
                return Err(PatchError::Changed { offset });
            }
            out.write_all(&edit.after)?;
            at = edit.offset + there.len() as u64;
        }
        copy_range(image, at, image.len().saturating_sub(at), out)?;
        Ok(())
    }
}

fn copy_range(image: &Part<'_>, start: u64, length: u64, out: &mut dyn Write) -> io::Result<()> {
    io::copy(&mut image.part(start, length).cursor(), &mut &mut *out)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patch() -> Patch {
        let edit = |offset, before: &[u8], after: &[u8]| Edit {
            offset,
            before: before.to_vec(),
            after: after.to_vec(),
        };
        Patch {
            edits: vec![edit(6, b"gh", b"GH"), edit(1, b"b", b"B")],
            description: Vec::new(),
        }
    }

    #[test]
    fn a_patch_and_its_inverse_are_the_identity() {
        let mut image = *b"abcdefghij";
        patch().apply(&mut image).unwrap();
        assert_eq!(&image, b"aBcdefGHij");
        let copied = image;
        let mut out = Vec::new();
        let image_read = &copied[..];
        let whole = Part::whole(&image_read).unwrap();
        patch().inverse().copy(&whole, &mut out).unwrap();
        assert_eq!(out, b"abcdefghij");
        patch().inverse().apply(&mut image).unwrap();
        assert_eq!(&image, b"abcdefghij");
    }

    #[test]
    fn another_image_is_left_alone() {
        let mut image = *b"abcdefgXij";
        let refused = patch().apply(&mut image).unwrap_err();
        assert!(refused.to_string().contains("at 6"), "{refused}");
        assert_eq!(&image, b"abcdefgXij");
    }
}
