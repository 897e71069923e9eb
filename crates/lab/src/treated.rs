//! Images and folders that are treated before they are booted.

use crate::error::{LabError, io_error};
use std::fs;
use std::path::Path;
use treat::FileTreatment;
use treat::files::{Applied, Journal, Target};

/// Treats an image, as `firstlight treat apply` does.
pub(crate) fn treat(
    name: &str,
    treatments: &[FileTreatment],
    bytes: &mut Vec<u8>,
) -> Result<(), LabError> {
    for treatment in treatments {
        let cannot = |why: &str| LabError::Image {
            name: name.to_owned(),
            treatment: treatment.to_string(),
            why: why.to_owned(),
        };
        *bytes = match treatment.on_image(bytes) {
            Some(Ok(new)) if new.description.is_empty() => {
                return Err(cannot("the treatment is already applied"));
            }
            Some(Ok(new)) => new.bytes,
            Some(Err(e)) => return Err(cannot(&e.to_string())),
            None => return Err(cannot("the treatment does not apply to images")),
        };
    }
    Ok(())
}

/// Treats the root in `folder`, as `firstlight treat apply` does, and keeps nothing of how it
/// was before.
pub(crate) fn treat_folder(folder: &Path, treatments: &[FileTreatment]) -> Result<(), LabError> {
    if treatments.is_empty() {
        return Ok(());
    }
    let cannot = |treatment: &FileTreatment, why: String| LabError::Image {
        name: "the root".to_owned(),
        treatment: treatment.to_string(),
        why,
    };
    for treatment in treatments {
        let target = Target::open(folder).map_err(|e| cannot(treatment, e.to_string()))?;
        let go_on = &mut |_: &str| Ok(());
        let applied = Journal::open(&target, go_on)
            .and_then(|mut journal| journal.apply(treatment, None, go_on))
            .map_err(|e| cannot(treatment, e.to_string()))?;
        if let (_, Applied::Already) = applied {
            return Err(cannot(treatment, "the treatment is already applied".into()));
        }
        let side = target.side();
        fs::remove_dir_all(&side).map_err(io_error(&side, "cannot be removed"))?;
    }
    Ok(())
}
