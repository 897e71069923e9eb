//! An archive of many boots: its folders hold a boot each, or its files do.

use super::format::{self, Format, Judge};
use super::unit::{Give, Member, Unit};
use crate::error::Result;
use crate::tar_magic;
use rawimage::compression::Compression;
use sources::SNIFF_BYTES;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::path::{Component, Path, PathBuf};
use tar::{Archive, Entry};

/// The largest member that is unpacked, bytes.
const MOST_BYTES: u64 = 256 << 20;

/// The most files that a folder of an archive may have; each is kept open.
const MOST_MEMBERS: usize = 256;

/// The stream of a tar that holds boots; `None` if the file is something else, such as
/// one capture.
pub fn open(path: &Path) -> Option<Box<dyn Read>> {
    let mut head = Vec::new();
    stream(path)?
        .take(SNIFF_BYTES as u64)
        .read_to_end(&mut head)
        .ok();
    if !tar_magic(&head) || sources::is_archive_of_others(&head) {
        return None;
    }
    let mut archive = Archive::new(head.as_slice());
    let first = archive.entries().ok()?.next()?.ok()?;
    let name = first.path().ok()?.into_owned();
    (!is_capture(&name)).then(|| stream(path))?
}

/// Whether an archive that begins with this member is one capture.
fn is_capture(first: &Path) -> bool {
    let is_top = first.parent().is_none_or(|p| p.as_os_str().is_empty());
    is_top && format::is_manifest(first)
}

/// The bytes of a file, unpacked if gzip or zstd packed it.
fn stream(path: &Path) -> Option<Box<dyn Read>> {
    let mut file = BufReader::new(File::open(path).ok()?);
    let packed = Compression::detect(file.fill_buf().ok()?);
    unpacked_stream(packed, file).ok()
}

/// A stream, unpacked if gzip or zstd packed it.
fn unpacked_stream(
    packed: Option<Compression>,
    stream: impl BufRead + 'static,
) -> io::Result<Box<dyn Read>> {
    Ok(match packed {
        Some(Compression::Zstd) => Box::new(zstd::Decoder::with_buffer(stream)?),
        Some(Compression::Gzip) => Box::new(flate2::bufread::MultiGzDecoder::new(stream)),
        _ => Box::new(stream),
    })
}

/// Whether a stream that begins so is an archive, or packed as one may be. What a packed one
/// is shows only when it is unpacked.
pub fn may_be_one(head: &[u8]) -> bool {
    let packed = Compression::detect(head);
    matches!(packed, Some(Compression::Zstd | Compression::Gzip)) || tar_magic(head)
}

/// Gives the boots of an archive that is not in a file.
pub fn each_of_stream(mut stream: impl BufRead + 'static, give: &mut Give<'_>) -> Result<()> {
    let path = Path::new("standard input");
    let packed = stream.fill_buf().map(Compression::detect);
    match packed.and_then(|packed| unpacked_stream(packed, stream)) {
        Ok(unpacked) => each(path, unpacked, give),
        Err(e) => give(Folder::new(path).damaged(&e)),
    }
}

/// Gives the boots of an archive, in its order.
pub fn each(path: &Path, stream: Box<dyn Read>, give: &mut Give<'_>) -> Result<()> {
    let mut archive = Archive::new(stream);
    let mut folder = Folder::new(path);
    let entries = match archive.entries() {
        Ok(entries) => entries,
        Err(e) => return give(folder.damaged(&e)),
    };
    for entry in entries {
        let mut entry = match entry {
            Ok(entry) => entry,
            Err(e) => {
                folder.flush(give)?;
                return give(folder.damaged(&e));
            }
        };
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let name = match entry.path() {
            Ok(name) => name.into_owned(),
            Err(e) => return give(folder.damaged(&e)),
        };
        match unpacked(&mut entry, &name) {
            Ok(member) => folder.add(&name, member, give)?,
            Err(reason) => give(Unit::Bad {
                name: folder.shown(&name),
                reason,
            })?,
        }
    }
    folder.flush(give)
}

fn unpacked(entry: &mut Entry<'_, impl Read>, name: &Path) -> Result<Member, String> {
    let size = entry.size();
    if size > MOST_BYTES {
        return Err(format!(
            "{size} bytes are more than a member of an archive may have ({MOST_BYTES})"
        ));
    }
    let written = entry.header().mtime().ok();
    let mut file = tempfile::tempfile().map_err(|e| format!("no temporary file: {e}"))?;
    let copied = std::io::copy(entry, &mut file).and_then(|n| file.rewind().map(|()| n));
    match copied {
        Ok(n) if n == size => Ok(Member {
            name: name.display().to_string(),
            file,
            written,
        }),
        Ok(n) => Err(format!("the archive ends after {n} of {size} bytes")),
        Err(e) => Err(format!("cannot be unpacked: {e}")),
    }
}

/// A path in an archive without what says nothing: `./a` is `a`.
pub(super) fn plain(path: &Path) -> PathBuf {
    let is_name = |c: &Component<'_>| matches!(c, Component::Normal(_));
    path.components().filter(is_name).collect()
}

/// The members of one folder of an archive, while they come.
struct Folder<'a> {
    archive: &'a Path,
    name: PathBuf,
    judge: Judge,
    members: Vec<(Member, Format)>,
    /// Whether each of its files is a boot.
    apart: bool,
    /// The folder of a capture, which has all that is below it.
    capture: Option<PathBuf>,
}

impl<'a> Folder<'a> {
    fn new(archive: &'a Path) -> Self {
        Self {
            archive,
            name: PathBuf::new(),
            judge: Judge::default(),
            members: Vec::new(),
            apart: false,
            capture: None,
        }
    }

    fn shown(&self, member: &Path) -> String {
        format!("{}:{}", self.archive.display(), member.display())
    }

    fn damaged(&self, error: &std::io::Error) -> Unit {
        Unit::Bad {
            name: self.archive.display().to_string(),
            reason: format!("the archive is damaged: {error}"),
        }
    }

    fn add(&mut self, path: &Path, mut member: Member, give: &mut Give<'_>) -> Result<()> {
        let is_below = |c: &PathBuf| plain(path).starts_with(plain(c));
        if !self.capture.as_ref().is_some_and(is_below) {
            let folder = path.parent().unwrap_or(Path::new(""));
            if folder != self.name {
                self.flush(give)?;
                self.name = folder.to_owned();
            }
            if format::is_manifest(path) {
                self.capture = Some(folder.to_owned());
            }
        }
        if self.capture.is_some() {
            self.members.push((member, Format::Unknown));
            return Ok(());
        }
        let format = format::of_file(&mut member.file, path);
        self.apart |= self.judge.add(format) || self.members.len() >= MOST_MEMBERS;
        self.members.push((member, format));
        if self.apart {
            self.one_each(give)?;
        }
        Ok(())
    }

    /// Gives each member as a boot.
    fn one_each(&mut self, give: &mut Give<'_>) -> Result<()> {
        for (member, _) in std::mem::take(&mut self.members) {
            give(Unit::Members {
                name: self.shown(Path::new(&member.name)),
                members: vec![member],
            })?;
        }
        Ok(())
    }

    /// Ends the folder.
    fn flush(&mut self, give: &mut Give<'_>) -> Result<()> {
        let members = std::mem::take(&mut self.members);
        self.judge = Judge::default();
        self.apart = false;
        let capture = self.capture.take().is_some();
        let known = members.iter().any(|(_, f)| *f != Format::Unknown);
        if !capture && !known {
            self.members = members;
            return self.one_each(give);
        }
        let kept = members
            .into_iter()
            .filter(|(_, format)| capture || *format != Format::Unknown);
        give(Unit::Members {
            name: self.shown(&self.name),
            members: kept.map(|(member, _)| member).collect(),
        })
    }
}
