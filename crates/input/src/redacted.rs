//! Inputs without what identifies a machine or a person.

use crate::bytes::Bytes;
use crate::error::{On, Result, refuse};
use crate::opened;
use crate::types::{Capture, Input, Raw};
use agent::capture::{Manifest, NoteInfo};
use inspect::kernel_image::KERNEL_IMAGE;
use redact::Redactor;
use sources::Source;
use std::path::PathBuf;

/// The kind of a capture's note that says what was replaced.
const NOTE: &str = "redacted";

/// Learns the names in `input`. Learn all inputs before the first is redacted.
///
/// # Errors
/// If a manifest cannot be written as JSON, or a file is compressed in a way that cannot be
/// redacted.
pub fn learn(redactor: &mut Redactor, input: &Input) -> Result<()> {
    match input {
        Input::Raw(raw) if raw.source.name() == KERNEL_IMAGE.name() => refuse!(
            "{}: a kernel image is compressed and signed, and cannot be redacted; expected a \
             capture, a log or a page",
            raw.name
        ),
        Input::Raw(raw) => opened::learn(redactor, &raw.name, &raw.bytes)?,
        Input::Capture(capture) => {
            redactor.learn(&serde_json::to_vec(&capture.manifest)?);
            for (name, bytes) in &capture.members {
                opened::learn(redactor, name, bytes)?;
            }
        }
    }
    Ok(())
}

/// `input`, redacted. The manifest of a capture says what was replaced so far.
///
/// # Errors
/// If a manifest is no JSON afterwards, or a file cannot be redacted.
pub fn redacted(redactor: &mut Redactor, input: Input) -> Result<Input> {
    Ok(match input {
        Input::Raw(raw) => Input::Raw(Raw {
            name: text(redactor, &raw.name),
            bytes: Bytes::Read(opened::redacted(redactor, &raw.name, &raw.bytes)?),
            source: raw.source,
        }),
        Input::Capture(capture) => {
            let Capture {
                path,
                manifest,
                members,
            } = *capture;
            let members = members
                .into_iter()
                .map(|(name, bytes)| {
                    let bytes = opened::redacted(redactor, &name, &bytes)?;
                    Ok((name, bytes))
                })
                .collect::<Result<_>>()?;
            let manifest = redactor.redact(&serde_json::to_vec(&manifest)?);
            let mut manifest: Manifest = serde_json::from_slice(&manifest)
                .on(|| "the manifest is no JSON after redaction".to_owned())?;
            manifest.notes.extend(note(redactor));
            Input::Capture(Box::new(Capture {
                path: PathBuf::from(text(redactor, &path.display().to_string())),
                manifest,
                members,
            }))
        }
    })
}

/// All of `boots`, redacted together, and what was replaced.
///
/// # Errors
/// As [`redacted`].
pub fn all(boots: Vec<Vec<Input>>) -> Result<(Vec<Vec<Input>>, Redactor)> {
    let mut redactor = Redactor::default();
    for input in boots.iter().flatten() {
        learn(&mut redactor, input)?;
    }
    let mut one = |inputs: Vec<Input>| -> Result<Vec<Input>> {
        let inputs = inputs.into_iter();
        inputs.map(|i| redacted(&mut redactor, i)).collect()
    };
    let boots = boots.into_iter().map(&mut one).collect::<Result<_>>()?;
    Ok((boots, redactor))
}

/// `name`, redacted.
pub fn text(redactor: &mut Redactor, name: &str) -> String {
    String::from_utf8_lossy(&redactor.redact(name.as_bytes())).into_owned()
}

/// What was replaced, for the data quality of a capture.
fn note(redactor: &Redactor) -> Option<NoteInfo> {
    let counts = redactor.counts();
    let parts = counts.iter().map(|c| {
        let places = usize::try_from(c.places).unwrap_or(usize::MAX);
        format!(
            "{} in {}",
            c.kind.as_str(),
            record::counted(places, "place")
        )
    });
    let parts = parts.collect::<Vec<_>>().join(", ");
    (!parts.is_empty()).then(|| NoteInfo {
        kind: NOTE.to_owned(),
        text: format!("replaced before this capture was sent: {parts}"),
    })
}
