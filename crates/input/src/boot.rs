//! From inputs to the record of one boot.

use crate::bytes::Bytes;
use crate::error::{On, Result, refuse};
use crate::types::{Capture, HERE, Input, STDIN};
use crate::{Reading, Say, folder, names, several};
use agent::capture;
use agent::here::Gathered;
use record::{Record, Recorder};
use sources::{Source, serial};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// Says which columns and rows of the table `path` hold no boots.
pub fn say_left_out(path: &Path, left_out: &[String], say: &Say) {
    if !left_out.is_empty() {
        let shown = path.display();
        say(format!("{shown}: no times: {}", left_out.join(", ")));
    }
}

/// The evidence of one boot: of this machine's last one without any path, of the files in
/// a folder that is no capture.
///
/// # Errors
/// One of them cannot be read, or they are of several boots.
pub fn of_one_boot(paths: &[PathBuf], say: &Say) -> Result<Vec<Input>> {
    if paths.is_empty() {
        return Ok(vec![here()?]);
    }
    if paths.iter().filter(|p| *p == Path::new(STDIN)).count() > 1 {
        refuse!("standard input (-) can be read only once");
    }
    let paths = folder::expanded(paths, say)?;
    let inputs = paths
        .iter()
        .map(|p| crate::read(p))
        .collect::<Result<Vec<_>>>()?;
    let captures = inputs.iter().filter(|i| matches!(i, Input::Capture(_)));
    let captures = captures.count();
    if captures > 1 {
        refuse!(
            "{captures} captures are {captures} boots; give one, or compare two with \
             `firstlight diff BASE --against NEW`"
        );
    }
    Ok(inputs)
}

/// This machine's last boot.
fn here() -> Result<Input> {
    let gathered = ::capture::here::gather();
    if gathered.manifest.sources.iter().all(|s| s.format == "none") {
        let why: Vec<&str> = gathered.notes().collect();
        refuse!(
            "this machine's last boot cannot be read: {}; name a log or a capture",
            why.join("; ")
        );
    }
    Ok(of_gathered(gathered))
}

/// What was gathered on this machine, as the capture that it could be kept as.
fn of_gathered(gathered: Gathered) -> Input {
    Input::Capture(Box::new(Capture {
        path: PathBuf::from(HERE),
        manifest: gathered.manifest,
        members: gathered.members,
    }))
}

/// The record of the boot that the paths hold the evidence of.
///
/// # Errors
/// As [`boot_into`].
pub fn boot(paths: &[PathBuf], reading: &Reading, say: &Say) -> Result<Record> {
    boot_into(Recorder::new(), paths, reading, say)
}

/// The same, kept by a recorder that may not keep all.
///
/// # Errors
/// As [`of_one_boot`], or nothing in them is the first light that was named.
pub fn boot_into(
    recorder: Recorder,
    paths: &[PathBuf],
    reading: &Reading,
    say: &Say,
) -> Result<Record> {
    record_into(recorder, &of_one_boot(paths, say)?, reading)
}

/// One record of several inputs, which stay to be looked at.
///
/// # Errors
/// They are of several boots, or nothing in them is the first light that was named.
pub fn record_from(inputs: &[Input], reading: &Reading) -> Result<Record> {
    record_into(Recorder::new(), inputs, reading)
}

fn record_into(mut recorder: Recorder, inputs: &[Input], reading: &Reading) -> Result<Record> {
    let virtual_time = |i: &Input| match i {
        Input::Capture(c) => c.manifest.clocks.iter().any(|k| k.kind == "virtual"),
        Input::Raw(_) => false,
    };
    if inputs.len() > 1 && inputs.iter().any(&virtual_time) {
        refuse!(
            "a capture in virtual time is given with other inputs; virtual and wall time are never \
             mixed: give that capture alone, or compare with `firstlight diff`"
        );
    }
    let serial = reading
        .stages
        .as_deref()
        .map(serial_with_stages)
        .transpose()?;
    let serial = serial.as_ref().map(|s| s as &dyn Source);
    let mut raw = Vec::new();
    for (input, name) in inputs.iter().zip(names::of_inputs(inputs)) {
        match input {
            Input::Raw(file) => raw.push((file, name)),
            Input::Capture(capture) => read_capture(capture, serial, &mut recorder)?,
        }
    }
    let files = raw.iter().map(|(r, name)| (r.source, &**name, &*r.bytes));
    let maps: Vec<&Bytes> = raw.iter().map(|(r, _)| &r.bytes).collect();
    let files: Vec<_> = files.collect();
    several::check(&files, serial, reading.boot)?;
    Bytes::bounded(&maps, || {
        read_by_source(files, serial, reading.boot, &mut recorder);
    });
    let record = recorder.finish();
    several::one_boot(&record)?;
    if let Some(wanted) = &reading.first_light
        && analysis::first_light(&record, &reading.options()).is_none()
    {
        refuse!("--first-light `{wanted}` matched no mark, unit or line of the input");
    }
    Ok(record)
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
            refuse!(
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
    read_by_source(files, serial, None, recorder);
    Ok(())
}

/// Reads files, those of one format together: they may be parts of one stream.
/// A serial log is read with the user's own stages, if there are any. Of a log of several
/// boots the one that the user chose is read, or the last.
fn read_by_source(
    files: Vec<(&'static dyn Source, &str, &[u8])>,
    serial: Option<&dyn Source>,
    boot: Option<NonZeroUsize>,
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
        let source = own.unwrap_or(source);
        match boot {
            None => source.read_all(&inputs, recorder),
            Some(boot) => {
                for input in inputs {
                    match source.boots(input.bytes).get(boot.get() - 1) {
                        Some(range) => source.read_boot(input, range.clone(), recorder),
                        None => source.read(input, recorder),
                    }
                }
            }
        }
    }
}

fn serial_with_stages(path: &Path) -> Result<serial::SerialWithStages> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).on(|| format!("{shown}: cannot be read"))?;
    let stages =
        serial::stages_from_toml(&text).on(|| format!("{shown}: not a table of stages"))?;
    let all = stages.before(serial::Stages::builtin());
    Ok(serial::Serial::with_stages(all))
}
