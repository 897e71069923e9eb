//! From what the user named to the record of one boot.

mod bytes;
mod folder;
mod kernel_image;
mod line;
mod packed;
pub mod table;

use crate::args::Reading;
use agent::capture::{self, Limits, Manifest};
use anyhow::{Context, Result, bail};
use bytes::Bytes;
pub use line::line;
use record::{Record, Recorder};
use sources::{SNIFF_BYTES, Sniff, Source, serial};
use std::fs::File;
use std::io::{Read, Seek};
use std::path::{Component, Path, PathBuf};

/// The largest raw file that is read, in bytes. Logs are far smaller; what is
/// larger is not a log, or not of one boot.
const MAX_RAW_BYTES: u64 = 1 << 30;

/// What one path turned out to be.
pub enum Input {
    /// A capture: the manifest, and the members that it names.
    Capture(Box<Capture>),
    /// A raw file, and the source that knows it.
    Raw(Raw),
}

pub struct Capture {
    pub path: PathBuf,
    pub manifest: Manifest,
    members: Vec<(String, Vec<u8>)>,
}

pub struct Raw {
    name: String,
    source: &'static dyn Source,
    bytes: Bytes,
}

/// Reads a path: a capture in a tar (plain or zstd) or a directory, or a raw
/// file in a format that is recognised by its first bytes.
pub fn read(path: &Path) -> Result<Input> {
    let shown = path.display();
    if path.is_dir() {
        return read_directory(path);
    }
    let mut file = File::open(path).with_context(|| format!("{shown}: cannot be opened"))?;
    let length = file.metadata().map(|m| m.len()).unwrap_or(0);
    let mut head = Vec::new();
    let mut start = Read::by_ref(&mut file).take(SNIFF_BYTES as u64);
    start
        .read_to_end(&mut head)
        .with_context(|| format!("{shown}: cannot be read"))?;
    if head.is_empty() {
        let name = shown.to_string();
        if let Some(source) = sources::SOURCES.iter().find(|s| s.may_be_empty(&name)) {
            let (source, bytes) = (*source, Bytes::Read(head));
            return Ok(Input::Raw(Raw {
                name,
                source,
                bytes,
            }));
        }
        bail!("{shown}: the file is empty; expected a capture or a log of one boot");
    }
    if !sources::is_archive_of_others(&head)
        && let Some(stream) = tar_stream(&head, &mut file)?
    {
        let members = capture::read_tar(stream, Limits::default())
            .with_context(|| format!("{shown}: not a capture that can be read"))?;
        return whole_capture(path, members);
    }
    let image: &'static dyn Source = &kernel_image::KERNEL_IMAGE;
    let image = Some(image).filter(|i| i.sniff(&head) == Sniff::Yes);
    let utf16 = head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff]);
    let Some(source) = sources::sniff(&head).or(image).filter(|_| !utf16) else {
        let name = shown.to_string();
        if let Some(log) = packed::log(&name, &head, file)? {
            return Ok(Input::Raw(log));
        }
        bail!("{shown}: {}", unknown_format(&head));
    };
    if length > MAX_RAW_BYTES && !source.is_bounded() {
        bail!(
            "{shown}: {length} bytes are more than a log of one boot has; expected at most \
             {MAX_RAW_BYTES}; cut it to the boot that you want to see"
        );
    }
    let bytes =
        Bytes::of(file, head, length, path).with_context(|| format!("{shown}: cannot be read"))?;
    Ok(Input::Raw(Raw {
        name: shown.to_string(),
        source,
        bytes,
    }))
}

/// Everything in `file` from its start, decompressed, if it is the tar of a capture.
fn tar_stream<'a>(head: &[u8], file: &'a mut File) -> Result<Option<Box<dyn Read + 'a>>> {
    let is_tar = tar_magic(head);
    let is_packed = packed::is_zstd(head) && packed::holds_capture(file)?;
    if !is_tar && !is_packed {
        return Ok(None);
    }
    file.rewind()?;
    Ok(Some(if is_tar {
        Box::new(file)
    } else {
        Box::new(zstd::Decoder::new(file)?)
    }))
}

/// Whether these bytes begin a tar. POSIX ustar and GNU tar: the magic stands at byte 257
/// of the first header.
fn tar_magic(head: &[u8]) -> bool {
    head.get(257..262) == Some(b"ustar")
}

/// A capture in a directory: only the files that its manifest names are read,
/// and only such as lie inside it.
fn read_directory(path: &Path) -> Result<Input> {
    let shown = path.display();
    if !path.join(capture::MANIFEST).is_file() {
        bail!(
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
            bail!("{shown}: not a regular file inside the capture; expected one");
        }
        let mut bytes = Vec::new();
        let opened = File::open(&file).with_context(|| format!("{shown}: cannot be opened"))?;
        opened
            .take(limits.member_bytes + 1)
            .read_to_end(&mut bytes)
            .with_context(|| format!("{shown}: cannot be read"))?;
        if bytes.len() as u64 > limits.member_bytes {
            bail!(
                "{shown}: larger than a capture's file may be ({} bytes)",
                limits.member_bytes
            );
        }
        Ok((name.to_owned(), bytes))
    };
    let mut members = vec![read(capture::MANIFEST)?];
    let manifest = sources::capture::manifest(&members[0].1)
        .with_context(|| format!("{shown}: its {}", capture::MANIFEST))?;
    for file in &manifest.sources {
        members.push(read(&file.file)?);
    }
    whole_capture(path, members)
}

fn whole_capture(path: &Path, mut members: Vec<(String, Vec<u8>)>) -> Result<Input> {
    let shown = path.display();
    let at = members
        .iter()
        .position(|(name, _)| name == capture::MANIFEST);
    let Some(at) = at else {
        bail!(
            "{shown}: an archive without {}; expected a capture",
            capture::MANIFEST
        );
    };
    let (_, manifest_bytes) = members.remove(at);
    let manifest = sources::capture::manifest(&manifest_bytes)
        .with_context(|| format!("{shown}: its {}", capture::MANIFEST))?;
    Ok(Input::Capture(Box::new(Capture {
        path: path.to_owned(),
        manifest,
        members,
    })))
}

/// What stands there, for a file in no format that we know.
fn unknown_format(head: &[u8]) -> String {
    let formats: Vec<&str> = sources::SOURCES.iter().map(|s| s.name()).collect();
    let found = match head
        .iter()
        .position(|b| !matches!(b, b'\t' | b'\n' | b'\r' | 0x1b | 0x20..))
    {
        Some(at) => format!("byte {at} is 0x{:02x}, which no log has", head[at]),
        None => "it is text of another kind".to_owned(),
    };
    format!(
        "in no format that is known here: {found}; expected a capture or one of {}",
        formats.join(", ")
    )
}

/// The record of the boot that the paths hold the evidence of.
pub fn boot(paths: &[PathBuf], reading: &Reading) -> Result<Record> {
    boot_into(Recorder::new(), paths, reading)
}

/// The same, kept by a recorder that may not keep all.
pub fn boot_into(recorder: Recorder, paths: &[PathBuf], reading: &Reading) -> Result<Record> {
    let paths = folder::expanded(paths)?;
    let inputs = paths.iter().map(|p| read(p)).collect::<Result<Vec<_>>>()?;
    record_into(recorder, &inputs, reading)
}

/// One record of several inputs.
pub fn record_of(inputs: Vec<Input>, reading: &Reading) -> Result<Record> {
    record_from(&inputs, reading)
}

/// One record of several inputs, which stay to be looked at.
pub fn record_from(inputs: &[Input], reading: &Reading) -> Result<Record> {
    record_into(Recorder::new(), inputs, reading)
}

fn record_into(mut recorder: Recorder, inputs: &[Input], reading: &Reading) -> Result<Record> {
    let virtual_time = |i: &Input| match i {
        Input::Capture(c) => c.manifest.clocks.iter().any(|k| k.kind == "virtual"),
        Input::Raw(_) => false,
    };
    if inputs.len() > 1 && inputs.iter().any(&virtual_time) {
        bail!(
            "a capture in virtual time stands beside other inputs; virtual and wall time are \
             never mixed: give that capture alone, or compare with `firstlight diff`"
        );
    }
    let serial = reading
        .stages
        .as_deref()
        .map(serial_with_stages)
        .transpose()?;
    let serial = serial.as_ref().map(|s| s as &dyn Source);
    let mut raw = Vec::new();
    for input in inputs {
        match input {
            Input::Raw(file) => raw.push(file),
            Input::Capture(capture) => read_capture(capture, serial, &mut recorder)?,
        }
    }
    let files = raw.iter().map(|r| (r.source, &*r.name, &*r.bytes));
    let maps: Vec<&Bytes> = raw.iter().map(|r| &r.bytes).collect();
    Bytes::bounded(&maps, || {
        read_by_source(files.collect(), serial, &mut recorder);
    });
    Ok(recorder.finish())
}

fn read_capture(
    capture: &Capture,
    serial: Option<&dyn Source>,
    recorder: &mut Recorder,
) -> Result<()> {
    let source = recorder.source(capture::MANIFEST, sources::capture::FORMAT);
    sources::capture::apply(&capture.manifest, source, recorder);
    let mut files = Vec::new();
    for file in &capture.manifest.sources {
        let Some((name, bytes)) = capture.members.iter().find(|(n, _)| *n == file.file) else {
            bail!(
                "{}: its manifest names {}, which is not in it",
                capture.path.display(),
                file.file
            );
        };
        let reader = match file.format.as_str() {
            "none" => None,
            "" => sources::sniff(bytes),
            format => {
                let known = sources::named(format);
                if known.is_none() {
                    sources::capture::unread(file, source, recorder);
                }
                known
            }
        };
        if let Some(reader) = reader {
            files.push((reader, name.as_str(), bytes.as_slice()));
        }
    }
    read_by_source(files, serial, recorder);
    Ok(())
}

/// Reads files, those of one format together: they may be parts of one stream.
/// A serial log is read with the user's own stages, if there are any.
fn read_by_source(
    files: Vec<(&'static dyn Source, &str, &[u8])>,
    serial: Option<&dyn Source>,
    recorder: &mut Recorder,
) {
    let mut formats: Vec<(&'static dyn Source, Vec<sources::Input<'_>>)> = Vec::new();
    for (source, name, bytes) in files {
        let input = sources::Input { name, bytes };
        match formats.iter_mut().find(|f| f.0.name() == source.name()) {
            Some((_, inputs)) => inputs.push(input),
            None => formats.push((source, vec![input])),
        }
    }
    for (source, inputs) in formats {
        let own = serial.filter(|s| s.name() == source.name());
        own.unwrap_or(source).read_all(&inputs, recorder);
    }
}

fn serial_with_stages(path: &Path) -> Result<serial::SerialWithStages> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).with_context(|| format!("{shown}: cannot be read"))?;
    let stages = serial::stages_from_toml(&text)
        .with_context(|| format!("{shown}: not a table of stages"))?;
    let all = stages.before(serial::Stages::builtin());
    Ok(serial::Serial::with_stages(all))
}

/// What was gathered on this machine, as the capture that it could be kept as.
pub fn gathered(gathered: agent::here::Gathered) -> Input {
    Input::Capture(Box::new(Capture {
        path: PathBuf::from("this machine"),
        manifest: gathered.manifest,
        members: gathered.members,
    }))
}
