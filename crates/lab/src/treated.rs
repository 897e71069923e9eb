//! Images that are treated before they are booted.

use crate::error::LabError;
use treat::FileTreatment;

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
