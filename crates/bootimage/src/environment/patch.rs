//! Changing variables, as `fw_setenv` does.

use super::copies::{Copy, Environment, Header, Scheme};
use super::data::{Change, Data};
use super::error::Error;
use super::find::read;
use crate::edit::{Edit, Patch};
use rawimage::Endian;
use rawimage::bytes::Part;

/// Plans changes to an environment.
///
/// A single copy is changed in place. Of two copies the inactive one is written
/// and gets the flags that make it active; the other one keeps its variables.
/// Everything that is not named stays as it is to the byte.
///
/// # Errors
/// The variables do not fit, or the second copy is needed and not known.
pub fn patch(
    image: &Part<'_>,
    environment: &Environment,
    changes: &[Change],
) -> Result<Patch, Error> {
    let (Some(active), Some(data)) = (environment.active(), environment.data()) else {
        return Err(Error::NoOther { offset: 0 });
    };
    let changed = data.with(changes)?;
    let mut patch = Patch::default();
    for change in changes {
        patch.description.push(sentence(data, change));
    }
    let endian = active.endian.unwrap_or(Endian::Little);
    let second = environment.copies.get(1 - environment.active.min(1));
    match (active.header, second) {
        (Header::Plain, _) => {
            patch
                .edits
                .push(edit(image, active, active.header, endian, &changed)?);
        }
        (Header::Flags(_), Some(other)) => {
            let scheme = environment.scheme.unwrap_or(Scheme::Serial);
            redundant(image, (active, other), scheme, endian, &changed, &mut patch)?;
        }
        // The image is this one copy, to be written to flash by itself.
        (Header::Flags(flags), None) if active.offset == 0 && active.size == image.len() => {
            patch
                .edits
                .push(edit(image, active, active.header, endian, &changed)?);
            patch.description.push(format!(
                "the image is one of two copies: it is changed in place and keeps its flags \
                 {flags}"
            ));
        }
        (Header::Flags(_), None) => {
            let offset = active.offset;
            return Err(Error::NoOther { offset });
        }
    }
    Ok(patch)
}

/// Writes the inactive copy, and makes it the active one.
fn redundant(
    image: &Part<'_>,
    (active, other): (&Copy, &Copy),
    scheme: Scheme,
    endian: Endian,
    data: &Data,
    patch: &mut Patch,
) -> Result<(), Error> {
    let now = active.header.flags().unwrap_or(0);
    let next = match scheme {
        Scheme::Boolean => 1,
        Scheme::Serial => now.wrapping_add(1),
    };
    patch
        .edits
        .push(edit(image, other, Header::Flags(next), endian, data)?);
    patch.description.push(format!(
        "the copy at byte {} is written and becomes active with flags {next}; the copy at byte {} \
         keeps its variables",
        other.offset, active.offset
    ));
    if scheme == Scheme::Boolean {
        // On NOR flash this byte alone is written, when the new copy is whole.
        patch.edits.push(Edit {
            offset: active.offset + 4,
            before: vec![now],
            after: vec![0],
        });
        patch.description.push(format!(
            "the flags of the copy at byte {} become 0 (obsolete)",
            active.offset
        ));
    }
    Ok(())
}

/// A whole copy becomes another one.
fn edit(
    image: &Part<'_>,
    copy: &Copy,
    header: Header,
    endian: Endian,
    data: &Data,
) -> Result<Edit, Error> {
    let mut after = endian.put32(crc32fast::hash(data.bytes())).to_vec();
    after.extend(header.flags());
    after.extend(data.bytes());
    Ok(Edit {
        offset: copy.offset,
        before: read(image, copy.offset, copy.size)?,
        after,
    })
}

fn sentence(data: &Data, change: &Change) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let name = text(change.name());
    match (change, data.get(change.name())) {
        (Change::Set(_, value), Some(old)) if old == *value => {
            format!("{name} is already `{}`", text(value))
        }
        (Change::Set(_, value), Some(old)) => {
            format!("{name} becomes `{}` (was `{}`)", text(value), text(&old))
        }
        (Change::Set(_, value), None) => {
            format!("{name} becomes `{}` (was not set)", text(value))
        }
        (Change::Unset(_), Some(old)) => format!("{name} is removed (was `{}`)", text(&old)),
        (Change::Unset(_), None) => format!("{name} is not set, so nothing changes"),
    }
}
