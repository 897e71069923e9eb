//! What can go wrong.

use std::io;

/// Why an environment cannot be read or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Reading failed.
    #[error("reading at byte {offset} failed: {source}")]
    Read {
        /// Where in the image.
        offset: u64,
        /// Why.
        source: io::Error,
    },
    /// The image could not be asked for its length, or not be searched.
    #[error("the image could not be read: {0}")]
    Length(io::Error),
    /// There is no environment.
    #[error("no U-Boot environment in {length} bytes{}{}{}", beginning(.offset), ended(.gave_up), or_barebox(.barebox))]
    None {
        /// Where one was expected.
        offset: Option<u64>,
        /// The image's length.
        length: u64,
        /// Where the search ended early.
        gave_up: Option<u64>,
        /// Where the environment of Barebox is.
        barebox: Option<u64>,
    },
    /// The checksum at the given place and size is wrong.
    #[error(
        "no U-Boot environment of {size} bytes at byte {offset}: the checksum there is \
         {stored:08x} (read as little-endian), expected {plain:08x}, or {flags:08x} for a \
         redundant one, in either byte order"
    )]
    WrongChecksum {
        /// Where.
        offset: u64,
        /// The size that was given.
        size: u64,
        /// What is stored.
        stored: u32,
        /// What it must be without flags.
        plain: u32,
        /// What it must be behind flags.
        flags: u32,
    },
    /// The place is outside of the image.
    #[error(
        "byte {offset} and what should follow are behind the end of the image, which has {length} bytes"
    )]
    BehindTheEnd {
        /// Where.
        offset: u64,
        /// The image's length.
        length: u64,
    },
    /// An environment cannot have that size.
    #[error("an environment of {0} bytes is not possible: expected 8 bytes to 1 MiB")]
    ImpossibleSize(u64),
    /// There are several environments, and one was wanted.
    #[error(
        "there are several environments, at bytes {}: say which one with its offset",
        list(.offsets)
    )]
    Several {
        /// Where they are.
        offsets: Vec<u64>,
    },
    /// The copy has no flags, so there is no other one.
    #[error("the environment at byte {offset} has no flags: it is not one of two copies")]
    NotRedundant {
        /// Where it is.
        offset: u64,
    },
    /// The other copy cannot be there.
    #[error(
        "a copy of {size} bytes does not fit at byte {offset}: it would lie across the other one, or the end of the image"
    )]
    NoRoomForOther {
        /// Where it was said to be.
        offset: u64,
        /// How long it is.
        size: u64,
    },
    /// One of two copies was found, and a change goes to the other one.
    #[error(
        "only one copy of a redundant environment was found, at byte {offset}; \
         a change is written to the other one: say where that lies"
    )]
    NoOther {
        /// Where the one is.
        offset: u64,
    },
    /// The variables do not fit.
    #[error("the variables need {needed} bytes, and the environment has room for {room}")]
    TooLong {
        /// What they need.
        needed: usize,
        /// What there is.
        room: usize,
    },
    /// Not a change.
    #[error("`{0}` has no `=`; expected NAME=VALUE")]
    NoEquals(String),
    /// Not a name.
    #[error(
        "`{0}` is no name of a variable: it must not be empty, hold blanks or `=`, or begin with `#`"
    )]
    Name(String),
    /// An empty value.
    #[error(
        "`{0}` would get an empty value, and that is how U-Boot writes that it goes; unset it instead"
    )]
    EmptyValue(String),
    /// A NUL in a value.
    #[error("the value of `{0}` holds a NUL, which ends it")]
    Nul(String),
    /// The change would turn off the signatures of a FIT image.
    #[error(
        "`verify={value}` is refused: a FIT image with signatures is booted ({fit}), and this \
         would turn off the check of its signatures too; to save time, use crc32 or a hardware \
         hash instead of sha512 in the FIT, and each hash once"
    )]
    SignedFit {
        /// The value.
        value: String,
        /// Which image.
        fit: String,
    },
}

fn beginning(offset: &Option<u64>) -> String {
    offset.map_or(String::new(), |o| format!(", beginning at byte {o}"))
}

fn ended(at: &Option<u64>) -> String {
    at.map_or(String::new(), |at| {
        format!("; the search ended at byte {at}, after much that looked like one: give its offset")
    })
}

fn or_barebox(at: &Option<u64>) -> String {
    at.map_or(String::new(), |at| {
        format!("; there is an environment of Barebox at byte {at}")
    })
}

fn list(offsets: &[u64]) -> String {
    let all: Vec<String> = offsets.iter().map(u64::to_string).collect();
    all.join(", ")
}
