//! The capture as a tar: written the same way every time, read with distrust.

use super::{MANIFEST, Manifest, VERSION};
use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use tar::EntryType;

/// How much [`read_tar`] takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes of one member.
    pub member_bytes: u64,
    /// The most bytes of all members.
    pub total_bytes: u64,
    /// The most members, folders included.
    pub members: usize,
}

impl Default for Limits {
    /// 256 MiB a member, 1 GiB in all, 10,000 members.
    fn default() -> Self {
        Self {
            member_bytes: 256 << 20,
            total_bytes: 1 << 30,
            members: 10_000,
        }
    }
}

/// Long names and other extensions of a tar may take this many bytes each.
const EXTENSION_BYTES: u64 = 64 << 10;

/// Why a capture cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The bytes are not a tar, or it is damaged or cut.
    #[error(
        "the capture is not a valid tar archive after {members} members: {why}; capture or copy \
         it again"
    )]
    NotTar {
        /// How many members could be read.
        members: usize,
        /// What the tar reader says.
        why: io::Error,
    },
    /// A member has fewer bytes than its header says.
    #[error(
        "the capture is truncated: `{member}` should have {expected} bytes but has {found}; \
         capture or copy it again"
    )]
    Cut {
        /// Its name.
        member: String,
        /// What the header says, in bytes.
        expected: u64,
        /// What is there, in bytes.
        found: u64,
    },
    /// A member would lie outside the capture.
    #[error(
        "the capture member `{member}` has an unsafe name (absolute or with `..`), so the capture \
         was not read; Firstlight does not write such captures"
    )]
    Name {
        /// Its name.
        member: String,
    },
    /// A member is a link, a device or the like.
    #[error(
        "the capture member `{member}` is not a regular file (tar type `{kind}`), so the capture \
         was not read; Firstlight does not write such captures"
    )]
    Kind {
        /// Its name.
        member: String,
        /// The type byte of its header.
        kind: char,
    },
    /// A name is there twice.
    #[error("the capture contains `{member}` twice; remove one of them")]
    Twice {
        /// The name.
        member: String,
    },
    /// A member, or all of them, or their number, is over the limit.
    #[error(
        "the capture is too large: its {what} {found} at `{member}`, above the limit of {limit}; \
         capture again with less data"
    )]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// The member at which it was seen.
        member: String,
        /// What the header says, in bytes, or members.
        found: u64,
        /// The limit, in bytes, or members.
        limit: u64,
    },
    /// A member's size stands in a pax extension.
    #[error(
        "the capture member `{member}` uses a pax size extension, which is not supported; repack \
         the capture with `tar --format=gnu`"
    )]
    PaxSize {
        /// Its name.
        member: String,
    },
    /// The manifest is not the first member.
    #[error(
        "not a capture: it begins with {found} instead of `manifest.json`; repack it with \
         `manifest.json` first"
    )]
    NoManifest {
        /// What comes first instead.
        found: String,
    },
    /// The manifest is not what it should be.
    #[error("manifest.json of the capture is invalid: {0}; capture or copy it again")]
    Manifest(#[from] serde_json::Error),
    /// The capture is of a later format.
    #[error(
        "the capture has format version {found}, but this program supports versions up to \
         {VERSION}; update the program"
    )]
    Version {
        /// The version.
        found: u32,
    },
}

/// A file of a capture: its name and its bytes.
pub type Member = (String, Vec<u8>);

/// Writes a capture as a tar, member by member: the same bytes for the same
/// members.
pub struct Writer<W: Write>(tar::Builder<W>);

impl<W: Write> Writer<W> {
    /// Writes into `out`.
    #[must_use]
    pub fn new(out: W) -> Self {
        Self(tar::Builder::new(out))
    }

    /// Writes a member.
    ///
    /// # Errors
    /// If it cannot be written, or the name is one that [`read_tar`] refuses.
    pub fn member(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.copy(name, bytes, bytes.len() as u64)
    }

    /// Writes a member of `length` bytes, which are read from `from`.
    ///
    /// # Errors
    /// As [`Self::member`], and if `from` has fewer bytes.
    pub fn copy(&mut self, name: &str, from: impl Read, length: u64) -> io::Result<()> {
        if plain(name.as_bytes()).as_deref() != Some(name) {
            let why = format!("`{name}` is not a valid name for a capture member");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let mut header = tar::Header::new_gnu();
        header.set_size(length);
        header.set_mode(0o644);
        header.set_mtime(0);
        let mut from = Counted {
            from: from.take(length),
            bytes: 0,
        };
        self.0.append_data(&mut header, name, &mut from)?;
        match from.bytes == length {
            true => Ok(()),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Writes the end.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(self) -> io::Result<W> {
        let mut out = self.0.into_inner()?;
        out.flush()?;
        Ok(out)
    }
}

/// Counts what is read.
struct Counted<R> {
    from: R,
    bytes: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let n = self.from.read(to)?;
        self.bytes += n as u64;
        Ok(n)
    }
}

/// Writes `members` as a tar: the same bytes for the same members.
///
/// # Errors
/// If `out` cannot be written, or a name is one that [`read_tar`] refuses.
pub fn write_tar(out: impl Write, members: &[Member]) -> io::Result<()> {
    let mut tar = Writer::new(out);
    for (name, bytes) in members {
        tar.member(name, bytes)?;
    }
    tar.finish()?;
    Ok(())
}

/// Reads all members of a tar, in their order.
///
/// Memory grows with the bytes that are there, never with what a header claims.
///
/// # Errors
/// If the bytes are not a whole tar, if a member is not a plain file inside the
/// capture, or if a limit is passed.
pub fn read_tar(from: impl Read, limits: Limits) -> Result<Vec<Member>, CaptureError> {
    let mut archive = tar::Archive::new(from);
    let mut members: Vec<Member> = Vec::new();
    let mut names = BTreeSet::new();
    let (mut total, mut seen) = (0u64, 0usize);
    let mut long_name = None;
    let not_tar = |members| move |why| CaptureError::NotTar { members, why };
    // Raw: the reader's own handling of long names takes any length.
    let entries = archive.entries().map_err(not_tar(0))?.raw(true);
    for entry in entries {
        let mut entry = entry.map_err(not_tar(members.len()))?;
        let header = entry.header().clone();
        let short = header.path_bytes().into_owned();
        let kind = header.entry_type();
        let size = header.size().map_err(not_tar(members.len()))?;
        let shown = String::from_utf8_lossy(&short).into_owned();
        seen += 1;
        within(
            "number of members is",
            &shown,
            seen as u64,
            limits.members as u64,
        )?;
        if matches!(
            kind,
            EntryType::GNULongName | EntryType::XHeader | EntryType::XGlobalHeader
        ) {
            within("extension header size is", &shown, size, EXTENSION_BYTES)?;
            let bytes = take(&mut entry, size, &shown)?;
            match kind {
                EntryType::GNULongName => {
                    long_name = Some(bytes.strip_suffix(b"\0").unwrap_or(&bytes).to_vec());
                }
                EntryType::XHeader => {
                    let pax = pax(&bytes).map_err(not_tar(members.len()))?;
                    let named = pax.path.as_deref().map(String::from_utf8_lossy);
                    let named = named.as_deref().unwrap_or(&shown);
                    if let Some(size) = pax.size {
                        // Only a member over 8 GiB needs its size there.
                        within("size of one member is", named, size, limits.member_bytes)?;
                        return Err(CaptureError::PaxSize {
                            member: short_of(named),
                        });
                    }
                    long_name = pax.path;
                }
                _ => {}
            }
            continue;
        }
        let name = long_name.take().unwrap_or(short);
        let shown = || String::from_utf8_lossy(&name).chars().take(200).collect();
        match kind {
            EntryType::Regular | EntryType::Continuous => {}
            EntryType::Directory => continue,
            _ => {
                return Err(CaptureError::Kind {
                    member: shown(),
                    kind: char::from(kind.as_byte()),
                });
            }
        }
        let name = plain(&name).ok_or_else(|| CaptureError::Name { member: shown() })?;
        if !names.insert(name.clone()) {
            return Err(CaptureError::Twice { member: name });
        }
        within("size of one member is", &name, size, limits.member_bytes)?;
        total = total.saturating_add(size);
        within("size is", &name, total, limits.total_bytes)?;
        let bytes = take(&mut entry, size, &name)?;
        members.push((name, bytes));
    }
    Ok(members)
}

/// The manifest of a capture whose members were read.
///
/// # Errors
/// If it is not there, not first, not JSON of its form, or of a later version.
pub fn manifest(members: &[Member]) -> Result<Manifest, CaptureError> {
    match members.first() {
        Some((name, bytes)) if name == MANIFEST => {
            let manifest: Manifest = serde_json::from_slice(bytes)?;
            match manifest.firstlight_capture {
                0..=VERSION => Ok(manifest),
                found => Err(CaptureError::Version { found }),
            }
        }
        Some((name, _)) => Err(CaptureError::NoManifest {
            found: format!("`{name}`"),
        }),
        None => Err(CaptureError::NoManifest {
            found: "its end".into(),
        }),
    }
}

fn within(what: &'static str, member: &str, found: u64, limit: u64) -> Result<(), CaptureError> {
    if found <= limit {
        return Ok(());
    }
    Err(CaptureError::TooLarge {
        what,
        member: short_of(member),
        found,
        limit,
    })
}

/// A member's name as it is shown: bounded.
fn short_of(member: &str) -> String {
    member.chars().take(200).collect()
}

fn take(entry: &mut impl Read, size: u64, member: &str) -> Result<Vec<u8>, CaptureError> {
    let mut bytes = Vec::new();
    let cut = |found: usize| CaptureError::Cut {
        member: member.into(),
        expected: size,
        found: found as u64,
    };
    if entry.take(size).read_to_end(&mut bytes).is_err() || bytes.len() as u64 != size {
        return Err(cut(bytes.len()));
    }
    Ok(bytes)
}

/// What a pax extension says about the member behind it.
#[derive(Default)]
struct Pax {
    path: Option<Vec<u8>>,
    size: Option<u64>,
}

fn pax(bytes: &[u8]) -> io::Result<Pax> {
    let mut pax = Pax::default();
    for extension in tar::PaxExtensions::new(bytes) {
        let extension = extension?;
        let value = extension.value_bytes();
        match extension.key_bytes() {
            b"path" => pax.path = Some(value.to_vec()),
            b"size" | b"GNU.sparse.realsize" => {
                let number = std::str::from_utf8(value).ok().and_then(|v| v.parse().ok());
                pax.size = Some(number.unwrap_or(u64::MAX));
            }
            _ => {}
        }
    }
    Ok(pax)
}

/// `name` without `./`, if it stays inside the capture.
fn plain(name: &[u8]) -> Option<String> {
    let name = std::str::from_utf8(name).ok()?;
    let name = name.trim_start_matches("./");
    let inside = |part: &str| !matches!(part, "" | "." | "..");
    let good = name.split('/').all(inside) && !name.contains(['\0', '\\']);
    good.then(|| name.to_owned())
}
