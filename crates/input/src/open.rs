//! From a path to what it turns out to be.

use crate::bytes::{self, Bytes, MAX_RAW_BYTES};
use crate::error::{Error, On, Result, refuse};
use crate::looks::Looks;
use crate::packed;
use crate::pasted::{Pasted, page};
use crate::types::{Capture, Input, Raw, STDIN};
use agent::capture::{self, Limits};
use sources::{SNIFF_BYTES, Source};
use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::fs::FileTypeExt;
use std::path::{Component, Path, PathBuf};

/// Reads a path: a capture in a tar (plain or zstd) or a directory, or a raw
/// file in a format that is recognised by its first bytes.
pub fn read(path: &Path) -> Result<Input> {
    read_within(path, MAX_RAW_BYTES)
}

/// The same, but a log may have at most `most` bytes, also unpacked.
pub(crate) fn read_within(path: &Path, most: u64) -> Result<Input> {
    if path.is_dir() {
        return read_directory(path);
    }
    let (file, shown) = file(path)?;
    read_named_within(file, &shown, most)
}

/// Opens a path so that it can be read twice, and gives what to call it. A pipe, and
/// standard input, are copied first.
pub fn file(path: &Path) -> Result<(File, PathBuf)> {
    if path == Path::new(STDIN) {
        let shown = PathBuf::from("standard input");
        return Ok((spooled(&mut std::io::stdin().lock(), &shown)?, shown));
    }
    let shown = path.display();
    let mut file = File::open(path).on(|| format!("{shown}: cannot be opened"))?;
    let kind = file.metadata().map(|m| m.file_type());
    if kind.is_ok_and(|k| k.is_fifo()) {
        file = spooled(&mut file, path)?;
    }
    Ok((file, path.to_owned()))
}

/// What can be read only once, as a file.
fn spooled(input: &mut dyn Read, path: &Path) -> Result<File> {
    let shown = path.display();
    let mut file = tempfile::tempfile().on(|| format!("no temporary file for {shown}"))?;
    let length =
        std::io::copy(&mut input.take(MAX_RAW_BYTES + 1), &mut file).on(|| shown.to_string())?;
    if length > MAX_RAW_BYTES {
        refuse!("{shown}: more than {MAX_RAW_BYTES} bytes; write them to a file and name it");
    }
    file.rewind()?;
    Ok(file)
}

/// Reads an open file that the user calls `path`, such as a member of an archive.
pub fn read_named(file: File, path: &Path) -> Result<Input> {
    read_named_within(file, path, MAX_RAW_BYTES)
}

/// The same, but a log may have at most `most` bytes, also unpacked.
pub(crate) fn read_named_within(mut file: File, path: &Path, most: u64) -> Result<Input> {
    let shown = path.display();
    let length = file.metadata().map(|m| m.len()).unwrap_or(0);
    // With room for the rest of the file, so that what was read need not move.
    let mut head = Vec::with_capacity(bytes::kept(length).unwrap_or(SNIFF_BYTES));
    let mut start = Read::by_ref(&mut file).take(SNIFF_BYTES as u64);
    start
        .read_to_end(&mut head)
        .on(|| format!("{shown}: cannot be read"))?;
    let name = shown.to_string();
    let unknown = |found: &str| format!("{name}: {found}");
    match Looks::of(&head) {
        Looks::Empty => {
            if let Some(source) = sources::SOURCES.iter().find(|s| s.may_be_empty(&name)) {
                let (source, bytes) = (*source, Bytes::Read(head));
                return Ok(Input::Raw(Raw {
                    name,
                    source,
                    bytes,
                }));
            }
            refuse!("{name}: the file is empty; expected a capture or a log of one boot")
        }
        Looks::Tar => {
            file.rewind()?;
            archive(path, file)
        }
        Looks::Known(source, Some(pasted)) => copied(name, source, &pasted, file, most),
        Looks::Known(source, None) => {
            if length > most && !source.is_bounded() {
                refuse!(
                    "{name}: {length} bytes are more than a log of one boot has; expected at most \
                     {most}; cut it to the boot that you want to see"
                );
            }
            let bytes = Bytes::of(file, head, length, path);
            let bytes = bytes.on(|| format!("{shown}: cannot be read"))?;
            Ok(Input::Raw(Raw {
                name,
                source,
                bytes,
            }))
        }
        Looks::Packed => {
            if packed::is_zstd(&head) && packed::holds_capture(&mut file)? {
                file.rewind()?;
                return archive(path, zstd::Decoder::new(file)?);
            }
            match packed::log(&name, &head, file, most)? {
                Some(log) => Ok(Input::Raw(log)),
                None => Err(Error::Unusable(unknown(&unknown_format(&head)))),
            }
        }
        Looks::Page => of_page(name, file, most),
        Looks::Unknown => Err(Error::Unusable(unknown(&unknown_format(&head)))),
    }
}

/// The capture in a tar.
fn archive(path: &Path, stream: impl Read) -> Result<Input> {
    let members = capture::read_tar(stream, Limits::default())
        .on(|| format!("{}: not a capture that can be read", path.display()))?;
    capture_of(path, members)
}

/// A log that was copied from a page, without what the page put into it.
fn copied(
    name: String,
    source: &'static dyn Source,
    pasted: &Pasted,
    file: File,
    most: u64,
) -> Result<Input> {
    let bytes = Bytes::Read(pasted.plain(&whole(file, most)?));
    Ok(Input::Raw(Raw {
        name,
        source,
        bytes,
    }))
}

/// The log that a saved page shows. Offsets of evidence are those in its text.
fn of_page(name: String, file: File, most: u64) -> Result<Input> {
    let mut logs = page::logs(&whole(file, most)?);
    match logs.pop() {
        Some(log) if logs.is_empty() => Ok(Input::Raw(Raw {
            name,
            source: log.source,
            bytes: Bytes::Read(log.text),
        })),
        Some(log) => {
            logs.push(log);
            let each = logs.iter().map(|log| {
                let lines = log.text.split(|b| *b == b'\n').count();
                format!("{} of {lines} lines", log.source.name())
            });
            refuse!(
                "{name}: this HTML page shows {} logs ({}); save the text of one of them as a \
                 file, and give that",
                logs.len(),
                each.collect::<Vec<_>>().join(", ")
            )
        }
        None => refuse!(
            "{name}: this is an HTML page without a log in a block of code; give the capture or \
             the logs that it shows"
        ),
    }
}

/// At most `most` bytes of a file, from its start.
fn whole(mut file: File, most: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A capture in a directory: only the files that its manifest names are read,
/// and only such as lie inside it.
fn read_directory(path: &Path) -> Result<Input> {
    let shown = path.display();
    if !path.join(capture::MANIFEST).is_file() {
        refuse!(
            "{shown}: a directory without {}; expected a capture, or name the files in it",
            capture::MANIFEST
        );
    }
    let limits = Limits::default();
    let read = |name: &str| -> Result<(String, Vec<u8>)> {
        let file = path.join(name);
        let shown = file.display();
        let inside = Path::new(name)
            .components()
            .all(|c| matches!(c, Component::Normal(_)));
        if !inside || !std::fs::symlink_metadata(&file).is_ok_and(|m| m.is_file()) {
            refuse!("{shown}: not a regular file inside the capture; expected one");
        }
        let mut bytes = Vec::new();
        let opened = File::open(&file).on(|| format!("{shown}: cannot be opened"))?;
        opened
            .take(limits.member_bytes + 1)
            .read_to_end(&mut bytes)
            .on(|| format!("{shown}: cannot be read"))?;
        if bytes.len() as u64 > limits.member_bytes {
            refuse!(
                "{shown}: larger than a capture's file may be ({} bytes)",
                limits.member_bytes
            );
        }
        Ok((name.to_owned(), bytes))
    };
    let mut members = vec![read(capture::MANIFEST)?];
    let manifest = sources::capture::manifest(&members[0].1)
        .on(|| format!("{shown}: its {}", capture::MANIFEST))?;
    for file in &manifest.sources {
        members.push(read(&file.file)?);
    }
    capture_of(path, members)
}

/// The capture that these members are.
pub fn capture_of(path: &Path, mut members: Vec<(String, Vec<u8>)>) -> Result<Input> {
    let shown = path.display();
    let at = members
        .iter()
        .position(|(name, _)| name == capture::MANIFEST);
    let Some(at) = at else {
        refuse!(
            "{shown}: an archive without {}; expected a capture",
            capture::MANIFEST
        );
    };
    let (_, manifest_bytes) = members.remove(at);
    let manifest = sources::capture::manifest(&manifest_bytes)
        .on(|| format!("{shown}: its {}", capture::MANIFEST))?;
    Ok(Input::Capture(Box::new(Capture {
        path: path.to_owned(),
        manifest,
        members,
    })))
}

/// Why a file of unknown format is refused.
fn unknown_format(head: &[u8]) -> String {
    if let Some(what) = sources::document(head) {
        return format!("this is {what}, not a log; give the capture or the logs that it shows");
    }
    let looks = match head
        .iter()
        .position(|b| !matches!(b, b'\t' | b'\n' | b'\r' | 0x1b | 0x20..))
    {
        Some(at) => format!("byte {at} is 0x{:02x}, so it is no log", head[at]),
        None => "looks like unrelated text".to_owned(),
    };
    format!("unknown format ({looks}); `firstlight help formats` lists what can be read")
}
