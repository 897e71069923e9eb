//! Archives in the forms that Linux unpacks: cpio "newc", and the same with
//! checksums.
//!
//! Each entry has a header of 110 characters: a magic number and 13 fields of 8
//! hexadecimal digits; then the name with a NUL, then the content, each padded
//! to a multiple of 4 bytes. Source: Linux' `init/initramfs.c` and
//! `Documentation/driver-api/early-userspace/buffer-format.rst`.

use rawimage::bytes::read_full;
use std::io::{self, Read};

/// The length of a header, bytes.
pub const HEADER: usize = 110;
/// Linux passes over entries with a longer name: `PATH_MAX`.
pub const LONGEST_NAME: u32 = 4096;
/// The name of the entry that ends an archive.
pub const TRAILER: &[u8] = b"TRAILER!!!";

/// The type bits of a mode.
pub const TYPE: u32 = 0o170_000;

/// An entry of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name, without the NUL.
    pub name: Vec<u8>,
    /// The inode's number: entries of one number are links to one file.
    pub ino: u32,
    /// Type and rights.
    pub mode: u32,
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
    /// How many names the file has.
    pub links: u32,
    /// When it was changed, seconds since 1970.
    pub mtime: u32,
    /// The length of its content, bytes.
    pub size: u32,
    /// The device that it is, if it is one: major and minor number.
    pub device: (u32, u32),
    /// The sum of its bytes, if the archive has such sums.
    pub checksum: Option<u32>,
    /// Where its header begins, bytes from the start of the archive.
    pub offset: u64,
}

impl Entry {
    /// Whether it ends the archive.
    #[must_use]
    pub fn is_trailer(&self) -> bool {
        self.name == TRAILER
    }

    /// What it is, as `ls` writes it: `d`, `-`, `l`, `c`, `b`, `p`, `s`.
    #[must_use]
    pub fn letter(&self) -> char {
        match self.mode & TYPE {
            0o040_000 => 'd',
            0o100_000 => '-',
            0o120_000 => 'l',
            0o020_000 => 'c',
            0o060_000 => 'b',
            0o010_000 => 'p',
            0o140_000 => 's',
            _ => '?',
        }
    }
}

/// Why an archive cannot be read further.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no header where one should be.
    #[error("no entry at byte {offset} of the archive (expected 070701 or 070702, found {found})")]
    Magic {
        /// Where, bytes from the start of the archive.
        offset: u64,
        /// What is there.
        found: String,
    },
    /// A field is not a number.
    #[error("the header at byte {offset} of the archive contains an invalid hexadecimal number")]
    Number {
        /// Where the header begins.
        offset: u64,
    },
    /// A name is too long, or not there.
    #[error(
        "the name of the entry at byte {offset} has {length} bytes, expected 1 to {LONGEST_NAME}"
    )]
    Name {
        /// Where the header begins.
        offset: u64,
        /// How long it should be.
        length: u32,
    },
    /// The archive ends inside an entry.
    #[error("the archive ends at byte {offset}, inside an entry")]
    Cut {
        /// Where it ends.
        offset: u64,
    },
    /// Unpacking or reading failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Reads entries off the front of an archive.
pub struct Reader<R> {
    input: R,
    offset: u64,
    /// What of the last entry was not read yet, with its padding.
    left: u64,
}

impl<R: Read> Reader<R> {
    /// Reads from `input` on.
    pub fn new(input: R) -> Self {
        Self {
            input,
            offset: 0,
            left: 0,
        }
    }

    /// How far it came, bytes.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// What it reads from.
    pub fn get_ref(&self) -> &R {
        &self.input
    }

    /// Gives back what it reads from.
    pub fn into_inner(self) -> R {
        self.input
    }

    /// Skips what is left of the last entry, then zeros if `zeros` is set, and
    /// reads the next header. `None` at the end.
    ///
    /// # Errors
    /// The archive is damaged, or cannot be read.
    pub fn next(&mut self, zeros: bool) -> Result<Option<Entry>, Error> {
        self.skip_rest()?;
        let mut header = [0; HEADER];
        // A header begins at a multiple of 4: zeros are skipped in such steps.
        let mut there = 0;
        while there == 0 {
            there = self.fill(&mut header[..4])?;
            if there == 0 {
                return Ok(None);
            }
            if zeros && header[..there].iter().all(|b| *b == 0) {
                there = 0;
            }
        }
        let offset = self.offset - there as u64;
        if there == 4 {
            there += self.fill(&mut header[4..])?;
        }
        let magic = &header[..6];
        let checked = match magic {
            b"070701" => false,
            b"070702" => true,
            other => {
                let other = &other[..there.min(6)];
                let found = match other {
                    b"070707" => "070707 (the old cpio format; create the archive with `cpio -H \
                        newc`)"
                        .to_owned(),
                    other => String::from_utf8_lossy(other).escape_debug().to_string(),
                };
                return Err(Error::Magic { offset, found });
            }
        };
        if there < HEADER {
            return Err(Error::Cut {
                offset: self.offset,
            });
        }
        let field = |i: usize| {
            let digits = header.get(6 + 8 * i..14 + 8 * i);
            digits.and_then(hexadecimal).ok_or(Error::Number { offset })
        };
        let length = field(11)?;
        if length == 0 || length > LONGEST_NAME {
            return Err(Error::Name { offset, length });
        }
        let size = field(6)?;
        let mut name = vec![0; length as usize];
        self.exact(&mut name)?;
        // The header is 2 bytes longer than a multiple of 4.
        let padding = (2 + 4 - (length as usize & 3)) & 3;
        self.exact(&mut [0; 3][..padding])?;
        let end = name.iter().position(|b| *b == 0).unwrap_or(name.len());
        name.truncate(end);
        self.left = u64::from(size).next_multiple_of(4);
        Ok(Some(Entry {
            name,
            ino: field(0)?,
            mode: field(1)?,
            uid: field(2)?,
            gid: field(3)?,
            links: field(4)?,
            mtime: field(5)?,
            size,
            device: (field(9)?, field(10)?),
            checksum: match checked {
                true => Some(field(12)?),
                false => None,
            },
            offset,
        }))
    }

    /// Hands out the entry's content, a piece at a time.
    ///
    /// # Errors
    /// The archive is cut, or cannot be read.
    pub fn content(&mut self, entry: &Entry, with: &mut dyn FnMut(&[u8])) -> Result<(), Error> {
        let mut left = u64::from(entry.size).min(self.left);
        let mut buffer = [0; 8192];
        while left > 0 {
            let take = usize::try_from(left).unwrap_or(8192).min(8192);
            let piece = &mut buffer[..take];
            self.exact(piece)?;
            with(piece);
            left -= take as u64;
            self.left -= take as u64;
        }
        Ok(())
    }

    /// The sum of the bytes of the entry's content, which is read by this.
    ///
    /// # Errors
    /// The archive is cut, or cannot be read.
    pub fn sum(&mut self, entry: &Entry) -> Result<u32, Error> {
        let mut sum = 0_u32;
        self.content(entry, &mut |piece| {
            let add = |s: u32, b: &u8| s.wrapping_add(u32::from(*b));
            sum = piece.iter().fold(sum, add);
        })?;
        Ok(sum)
    }

    fn skip_rest(&mut self) -> Result<(), Error> {
        let mut buffer = [0; 8192];
        while self.left > 0 {
            let take = usize::try_from(self.left).unwrap_or(8192).min(8192);
            let padding = self.left <= 3;
            let there = self.fill(&mut buffer[..take])?;
            self.left -= there as u64;
            if there < take {
                // The padding of the last entry may be missing: Linux asks for
                // it only when something follows.
                if padding || self.left <= 3 {
                    self.left = 0;
                    return Ok(());
                }
                return Err(Error::Cut {
                    offset: self.offset,
                });
            }
        }
        Ok(())
    }

    fn fill(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let there = read_full(&mut self.input, buf)?;
        self.offset += there as u64;
        Ok(there)
    }

    fn exact(&mut self, buf: &mut [u8]) -> Result<(), Error> {
        let wanted = buf.len();
        if self.fill(buf)? < wanted {
            return Err(Error::Cut {
                offset: self.offset,
            });
        }
        Ok(())
    }
}

fn hexadecimal(digits: &[u8]) -> Option<u32> {
    let mut number = 0_u32;
    for digit in digits {
        number = number << 4 | char::from(*digit).to_digit(16)?;
    }
    Some(number)
}
