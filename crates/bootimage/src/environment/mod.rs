//! The environment of U-Boot: variables with a checksum, once or twice.
//!
//! A copy is a CRC-32 in the byte order of the machine, a byte of flags if there
//! are two copies, and the variables. Of two copies one is active; a change is
//! written to the other one, so that at any moment one of them is whole.
//!
//! Sources: U-Boot's `include/env_internal.h`, `env/common.c`, `env/flash.c`,
//! `tools/env/fw_env.c`, and libubootenv.

mod copies;
mod data;
mod error;
mod find;
mod look;
mod patch;
mod proposal;
mod script;

pub use copies::{Copy, Environment, Header, Scheme};
pub use data::{Change, Data, Difference, Variable, diff};
pub use error::Error;
pub use find::LARGEST;
pub use look::{Look, check_changed, find_any, look};
pub use patch::patch;
pub use proposal::{Proposal, Proposals, proposals, verifies};
pub use rawimage::Endian;

use find::Place;
use rawimage::bytes::{Part, be32, le32};

/// What is known of an environment before it is looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Where it begins.
    pub offset: Option<u64>,
    /// Its size with its header, bytes: `CONFIG_ENV_SIZE`.
    pub size: Option<u64>,
    /// Where its second copy begins, whatever is there now.
    pub redundant: Option<u64>,
    /// How its flags are read.
    pub scheme: Option<Scheme>,
}

/// Refuses changes that turn off the check of signatures of a FIT image: where
/// U-Boot is told not to verify, it passes over them as well
/// (`boot/image-fit.c`). A script that sets `verify` counts too. `fit` names the
/// image, for the message.
///
/// # Errors
/// [`Error::SignedFit`].
pub fn refuse_unsafe(changes: &[Change], fit: &super::fit::Fit, name: &str) -> Result<(), Error> {
    if !fit.is_signed() {
        return Ok(());
    }
    for change in changes {
        let Change::Set(variable, value) = change else {
            continue;
        };
        let off = match variable.as_slice() {
            b"verify" if !verifies(Some(value)) => Some(value.clone()),
            _ => script::sets(value, "verify").filter(|v| !verifies(Some(v))),
        };
        if let Some(off) = off {
            return Err(Error::SignedFit {
                value: String::from_utf8_lossy(&off).into_owned(),
                fit: name.to_owned(),
            });
        }
    }
    Ok(())
}

/// The environments of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// In the order of their places; at least one.
    pub environments: Vec<Environment>,
    /// The search ended at this byte, because what looked like environments
    /// and were none took too long.
    pub gave_up: Option<u64>,
}

/// Finds the environments of an image: all, or the one that the options name.
///
/// Memory is at most 6 MiB, and time is bounded, whatever the image holds.
///
/// # Errors
/// There is none, or the options contradict the image.
pub fn find(image: &Part<'_>, options: &Options) -> Result<Found, Error> {
    let place = Place {
        offset: options.offset,
        size: options.size,
    };
    if let Some(offset) = options.offset.filter(|o| *o >= image.len()) {
        let length = image.len();
        return Err(Error::BehindTheEnd { offset, length });
    }
    let search = find::search(image, place)?;
    if search.copies.is_empty() {
        return Err(none(image, options, search.gave_up)?);
    }
    let environments = match options.redundant {
        Some(other) => {
            let [copy] = <[Copy; 1]>::try_from(search.copies).map_err(|copies| Error::Several {
                offsets: copies.iter().map(|c| c.offset).collect(),
            })?;
            vec![with_other(image, copy, other, options.scheme)?]
        }
        None => grouped(search.copies, options.scheme),
    };
    Ok(Found {
        environments,
        gave_up: search.gave_up,
    })
}

/// Copies of one size with flags belong together, two and two.
fn grouped(copies: Vec<Copy>, scheme: Option<Scheme>) -> Vec<Environment> {
    let mut environments: Vec<Environment> = Vec::new();
    for copy in copies {
        let waits = environments.last_mut().filter(|e| {
            let first = e.copies.first();
            e.copies.len() == 1
                && first.is_some_and(|f| {
                    f.header.flags().is_some()
                        && copy.header.flags().is_some()
                        && (f.size, f.endian) == (copy.size, copy.endian)
                })
        });
        match waits {
            Some(environment) => {
                let first = environment.copies.remove(0);
                *environment = pair(first, copy, scheme);
            }
            None => environments.push(Environment {
                scheme: scheme.filter(|_| copy.header.flags().is_some()),
                scheme_is_a_guess: false,
                copies: vec![copy],
                active: 0,
            }),
        }
    }
    environments
}

/// Two copies, of which at least one is whole.
fn pair(first: Copy, second: Copy, scheme: Option<Scheme>) -> Environment {
    let flags = [&first, &second].map(|c| c.header.flags().unwrap_or(0));
    let (guess, certain) = guess(flags);
    let used = scheme.unwrap_or(guess);
    let active = match (first.is_whole(), second.is_whole()) {
        (true, true) => used.active(flags),
        (false, true) => 1,
        _ => 0,
    };
    Environment {
        copies: vec![first, second],
        active,
        scheme: Some(used),
        scheme_is_a_guess: scheme.is_none() && !certain,
    }
}

/// How two flags are most likely meant, and whether that is certain.
///
/// 1 and 0 are what NOR flash always shows; as serial numbers they are rare, and
/// a change that is written for the one is read rightly as the other. 1 and 1
/// are what `mkenvimage` writes for either.
fn guess(flags: [u8; 2]) -> (Scheme, bool) {
    match flags {
        [1, 0] | [0, 1] => (Scheme::Boolean, true),
        [0 | 1 | 255, 0 | 1 | 255] => (Scheme::Serial, false),
        _ => (Scheme::Serial, true),
    }
}

/// The environment whose other copy is at a place that was given, whole or not.
fn with_other(
    image: &Part<'_>,
    copy: Copy,
    other: u64,
    scheme: Option<Scheme>,
) -> Result<Environment, Error> {
    if copy.header == Header::Plain {
        return Err(Error::NotRedundant {
            offset: copy.offset,
        });
    }
    let apart = copy.offset.abs_diff(other);
    let inside = other
        .checked_add(copy.size)
        .is_some_and(|e| e <= image.len());
    if apart < copy.size || !inside {
        return Err(Error::NoRoomForOther {
            offset: other,
            size: copy.size,
        });
    }
    let bytes = find::read(image, other, copy.size)?;
    let second = at(&bytes, other, copy.endian);
    let (first, second) = if other < copy.offset {
        (second, copy)
    } else {
        (copy, second)
    };
    Ok(pair(first, second, scheme))
}

/// The copy that `bytes` are, whole or not.
fn at(bytes: &[u8], offset: u64, endian: Option<Endian>) -> Copy {
    let crc = match endian {
        Some(Endian::Big) => be32(bytes, 0),
        _ => le32(bytes, 0),
    };
    let data = bytes.get(5..).unwrap_or_default();
    let whole = crc == Some(crc32fast::hash(data));
    Copy {
        offset,
        size: bytes.len() as u64,
        header: Header::Flags(bytes.get(4).copied().unwrap_or(0)),
        endian: endian.filter(|_| whole),
        crc: crc.unwrap_or(0),
        data: Data::new(data.to_vec()).filter(|_| whole),
    }
}

/// Why there is none.
fn none(image: &Part<'_>, options: &Options, gave_up: Option<u64>) -> Result<Error, Error> {
    let (Some(offset), Some(size)) = (options.offset, options.size) else {
        let barebox = super::barebox::find(image).map_err(Error::Length)?;
        return Ok(Error::None {
            offset: options.offset,
            length: image.len(),
            gave_up,
            barebox: barebox.first().map(|b| b.offset),
        });
    };
    let bytes = find::read(image, offset, size)?;
    if (bytes.len() as u64) < size {
        let length = image.len();
        return Ok(Error::BehindTheEnd { offset, length });
    }
    let sum = |begin: usize| crc32fast::hash(bytes.get(begin..).unwrap_or_default());
    Ok(Error::WrongChecksum {
        offset,
        size,
        stored: le32(&bytes, 0).unwrap_or(0),
        plain: sum(4),
        flags: sum(5),
    })
}
