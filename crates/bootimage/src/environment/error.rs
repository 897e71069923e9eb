//! What can go wrong.

use std::io;

/// Why an environment cannot be read or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Reading failed.
    #[error("cannot read at byte {offset}: {source}")]
    Read {
        /// Where in the image.
        offset: u64,
        /// Why.
        source: io::Error,
    },
    /// The image could not be asked for its length, or not be searched.
    #[error("cannot read the image: {0}")]
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
        "no U-Boot environment of {size} bytes at byte {offset}: expected checksum {plain:08x}, \
         or {flags:08x} with flags, in either byte order, found {stored:08x} (little-endian); \
         check offset and size"
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
        "offset {offset} is past the end of the image, which has {length} bytes; pass a smaller \
         offset or size"
    )]
    BehindTheEnd {
        /// Where.
        offset: u64,
        /// The image's length.
        length: u64,
    },
    /// An environment cannot have that size.
    #[error("impossible environment size of {0} bytes; pass 8 bytes to 1 MiB")]
    ImpossibleSize(u64),
    /// There are several environments, and one was wanted.
    #[error(
        "the image contains several environments, at bytes {}; pass the offset of one",
        list(.offsets)
    )]
    Several {
        /// Where they are.
        offsets: Vec<u64>,
    },
    /// There is no environment, and one was wanted.
    #[error("there is no U-Boot environment")]
    Nowhere,
    /// An environment to compare is damaged.
    #[error("there is no whole environment to compare")]
    NotWhole,
    /// A variable is changed twice.
    #[error("`{0}` is to be changed twice; say what it is to be in the end")]
    Twice(String),
    /// What was written is not what was asked for.
    #[error("what was written does not read back as it should; nothing was changed")]
    NotAsWanted,
    /// The copy has no flags, so there is no other one.
    #[error(
        "the environment at byte {offset} has no flags, so it is not redundant; leave out the \
         second copy"
    )]
    NotRedundant {
        /// Where it is.
        offset: u64,
    },
    /// The other copy cannot be there.
    #[error(
        "a copy of {size} bytes at byte {offset} would overlap the other copy or the end of the \
         image; pass another offset"
    )]
    NoRoomForOther {
        /// Where it was said to be.
        offset: u64,
        /// How long it is.
        size: u64,
    },
    /// One of two copies was found, and a change goes to the other one.
    #[error(
        "only one copy of a redundant environment was found, at byte {offset}, and changes go to \
         the other copy; pass its offset"
    )]
    NoOther {
        /// Where the one is.
        offset: u64,
    },
    /// The variables do not fit.
    #[error(
        "the variables need {needed} bytes, but the environment has room for {room}; shorten or \
         remove a variable"
    )]
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
        "`{0}` is not a variable name; use one without blanks or `=` that does not begin with `#`"
    )]
    Name(String),
    /// An empty value.
    #[error("`{0}` has an empty value, with which U-Boot removes the variable; unset it instead")]
    EmptyValue(String),
    /// A NUL in a value.
    #[error("the value of `{0}` contains a NUL byte, which would truncate it; remove the byte")]
    Nul(String),
    /// The change would turn off the signatures of a FIT image.
    #[error(
        "`verify={value}` would turn off the signature check of the FIT image that is booted \
         ({fit}); to save time, use crc32 or a hardware hash instead of sha512 in the FIT image, \
         and each hash only once"
    )]
    SignedFit {
        /// The value.
        value: String,
        /// Which image.
        fit: String,
    },
}

fn beginning(offset: &Option<u64>) -> String {
    offset.map_or(String::new(), |o| format!(" from byte {o} on"))
}

fn ended(at: &Option<u64>) -> String {
    at.map_or(String::new(), |at| {
        format!("; the search stopped at byte {at} after too many candidates, so pass the offset")
    })
}

fn or_barebox(at: &Option<u64>) -> String {
    at.map_or(String::new(), |at| {
        format!("; a Barebox environment begins at byte {at}")
    })
}

fn list(offsets: &[u64]) -> String {
    let all: Vec<String> = offsets.iter().map(u64::to_string).collect();
    all.join(", ")
}
