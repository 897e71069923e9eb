//! Two boots of the same inputs, compared to the byte.

use crate::capture::CONSOLE;
use crate::console;
use crate::error::LabError;
use crate::files::below;
use crate::trial::Trial;
use std::fs;
use std::path::Path;

/// Two boots of the same inputs, compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExactCheck {
    /// The variant.
    pub variant: String,
    /// The digests of both.
    pub digests: [String; 2],
    /// Where they first differ; `None`: nowhere.
    pub difference: Option<Difference>,
}

/// The first place at which two captures differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The file in the capture.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The byte of the file, counted from 0.
    pub byte: usize,
    /// The line in the first boot and in the second; empty where one has ended.
    pub lines: [String; 2],
}

/// Compares two trials in the output folder `out`.
///
/// # Errors
/// If their captures cannot be read.
pub fn compare(out: &Path, first: &Trial, second: &Trial) -> Result<ExactCheck, LabError> {
    let difference = match first.digest == second.digest {
        true => None,
        false => Some(difference(
            &out.join(&first.capture),
            &out.join(&second.capture),
        )?),
    };
    Ok(ExactCheck {
        variant: first.id.variant.clone(),
        digests: [first.digest.clone(), second.digest.clone()],
        difference,
    })
}

/// The first difference: in the console, else in the first file by name.
fn difference(first: &Path, second: &Path) -> Result<Difference, LabError> {
    let mut names = below(first)?;
    names.extend(below(second)?);
    names.sort_by_key(|n| (n != CONSOLE, n.clone()));
    names.dedup();
    for name in names {
        // A file that is not there differs from its first byte.
        let read = |folder: &Path| fs::read(folder.join(&name)).unwrap_or_default();
        if let Some(difference) = first_difference(&name, &read(first), &read(second)) {
            return Ok(difference);
        }
    }
    Err(LabError::Bug {
        why: "two digests of the same content differ".into(),
    })
}

fn first_difference(file: &str, a: &[u8], b: &[u8]) -> Option<Difference> {
    if a == b {
        return None;
    }
    let byte = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let start = a[..byte]
        .iter()
        .rposition(|c| *c == b'\n')
        .map_or(0, |i| i + 1);
    let line = |bytes: &[u8]| {
        let rest = bytes.get(start..).unwrap_or_default();
        console::plain(rest.split(|c| *c == b'\n').next().unwrap_or(rest))
    };
    Some(Difference {
        file: file.to_owned(),
        line: a[..start].iter().filter(|c| **c == b'\n').count() + 1,
        byte,
        lines: [line(a), line(b)],
    })
}

#[cfg(test)]
mod tests {
    use super::first_difference;

    #[test]
    fn the_first_difference_has_its_line_and_byte() {
        assert_eq!(first_difference("x", b"a\nb", b"a\nb"), None);
        let d = first_difference("x", b"a\nbcd\ne", b"a\nbXd\nf").unwrap();
        assert_eq!((d.line, d.byte), (2, 3));
        assert_eq!(d.lines, ["bcd", "bXd"]);
        let d = first_difference("x", b"a\n", b"").unwrap();
        assert_eq!((d.line, d.byte), (1, 0));
        assert_eq!(d.lines, ["a", ""]);
    }
}
