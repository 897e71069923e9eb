//! Treatments of a board's files, beside those that the lab itself can do.

use treat::{FileTreatment, TreatError, Treatment};

/// A treatment of a board from its text. What the lab does not know is a treatment of the
/// files that the board boots from, such as `menu-timeout=0`.
///
/// # Errors
/// A clause: it is neither.
pub fn treatment(text: &str) -> Result<Treatment, String> {
    match Treatment::parse(text) {
        Err(TreatError::Unknown { .. }) => match FileTreatment::parse(text) {
            Ok(known) => Ok(Treatment::OfFiles(known.to_string())),
            Err(e) => Err(e.to_string()),
        },
        other => other.map_err(|e| e.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_lab_does_not_know_is_of_files() {
        assert_eq!(
            treatment("menu-timeout=0"),
            Ok(Treatment::OfFiles("menu-timeout=0".to_owned()))
        );
        assert_eq!(
            treatment("cmdline+=quiet"),
            Ok(Treatment::AddWord("quiet".to_owned()))
        );
        assert!(treatment("menu-timeout=soon").is_err());
        assert!(treatment("nonsense").is_err());
    }
}
