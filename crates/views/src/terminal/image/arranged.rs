//! What `firstlight image order --for ext4` says.

use crate::words::{size, thousands};
use disk::ext::arrange::Arrangement;
use disk::ext::renumber::Renumbered;

/// An ext4 image that was arranged in the order of a list, of which `missing` files are
/// not in it; `out` is the new image.
#[must_use]
pub fn arranged(
    out: Option<&str>,
    found: &Arrangement,
    inodes: &Renumbered,
    missing: u64,
) -> String {
    let mut text = format!(
        "{} of {} files and directories, in the order of need: {} pieces now, {} then\n",
        size(found.moved_bytes()),
        found.inodes,
        found.runs_before,
        found.runs
    );
    text += &match (inodes.numbers.len(), inodes.kept_for) {
        (0, None) => String::new(),
        (count, None) => format!(
            "{} inodes, with new numbers: {}\n",
            thousands(count as u64),
            match inodes.runs {
                1 => "one behind the other".to_owned(),
                runs => format!("in {} pieces", thousands(runs)),
            }
        ),
        (_, Some(feature)) => {
            format!("Inodes stay where they are: the filesystem has the feature `{feature}`\n")
        }
    };
    if missing > 0 {
        text += &format!(
            "{} files of the list are not in the image, or have another size, and are left out\n",
            missing
        );
    }
    text += &match out {
        Some(path) => format!("{}: written\n", path),
        None => "Nothing was written: name the new image with -o.\n".to_owned(),
    };
    text
}
