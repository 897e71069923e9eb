//! From the input of one boot to its row.

use super::archive::plain;
use super::format::is_manifest;
use super::limit::MOST_LOG_BYTES;
use super::unit::{Member, Unit};
use crate::Input;
use crate::Reading;
use crate::error::{On, Result, refuse};
use crate::history::store::of_file;
use crate::history::times;
use crate::open::{read_named_within, read_within};
use ::history::{At, Content, Part};
use analysis::{FleetRow, FleetSource, FleetTimes};
use record::ClockKind;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// How many digits of the hash name a boot: 128 bits.
const ID_DIGITS: usize = 32;

/// The row of a boot. What cannot be read is a row too, with the reason.
pub fn row(unit: Unit, reading: &Reading) -> (FleetSource, FleetRow) {
    let mut source = FleetSource::default();
    // One input out of a million must not cost the others their rows.
    let read = catch_unwind(AssertUnwindSafe(|| read(unit, reading, &mut source)));
    let row = match read {
        Ok(Ok(row)) => row,
        Ok(Err(error)) => FleetRow::bad(crate::sentence(&error)),
        Err(_) => FleetRow::bad("the reader failed on this input; please report it".to_owned()),
    };
    if source.boot_id.is_empty() {
        source.boot_id = named(&[digest(source.source.as_bytes())]);
    }
    (source, row)
}

fn read(unit: Unit, reading: &Reading, source: &mut FleetSource) -> Result<FleetRow> {
    let (inputs, left_out) = match unit {
        Unit::Bad { name, reason } => {
            source.source = name;
            refuse!("{reason}");
        }
        Unit::Entry { store, path } => return of_entry(&store, &path, source),
        Unit::Paths {
            name,
            paths,
            left_out,
        } => {
            source.source = name;
            source.written = paths.iter().filter_map(written).max();
            let read: Result<Vec<Input>> = paths
                .iter()
                .map(|p| read_within(p, MOST_LOG_BYTES))
                .collect();
            if read.is_err() {
                source.boot_id = of_files(&paths);
            }
            (read?, left_out)
        }
        Unit::Members { name, members } => {
            source.source = name;
            let newest = members.iter().filter_map(|m| m.written).max();
            source.written = newest.and_then(|s| i64::try_from(s).ok()?.checked_mul(1_000_000_000));
            (of_members(&source.source, members, &mut source.boot_id)?, 0)
        }
    };
    let mut digests = Vec::new();
    for input in &inputs {
        let files: Vec<&[u8]> = match input {
            Input::Raw(raw) => vec![&raw.bytes],
            Input::Capture(c) => c.members.iter().map(|m| m.1.as_slice()).collect(),
        };
        source.bytes += files.iter().map(|f| f.len() as u64).sum::<u64>();
        digests.extend(files.into_iter().map(digest));
    }
    source.boot_id = named(&digests);
    let record = crate::record_from(&inputs, reading)?;
    let mut row = analysis::fleet_row(&record, &reading.options());
    if left_out > 0 {
        row.doubts.insert("files_left_out".to_owned(), left_out);
    }
    Ok(row)
}

/// The row of an entry of a history, which is called `STORE/LABEL/NAME`: so a pattern of names
/// gives a release.
fn of_entry(store: &Path, path: &Path, source: &mut FleetSource) -> Result<FleetRow> {
    source.source = path.display().to_string();
    source.boot_id = of_files(&[path.to_owned()]);
    source.bytes = std::fs::metadata(path).map_or(0, |m| m.len());
    let Content::Entry(entry) = of_file(path, Part::Whole)? else {
        refuse!("{}: is no boot but a remark of a history", path.display());
    };
    let name = path.file_name().unwrap_or_default();
    let named = store.join(entry.label()).join(name);
    source.source = named.display().to_string();
    let at = match entry.at {
        Some(At::Date(seconds)) => seconds.checked_mul(1_000_000_000),
        _ => None,
    };
    source.written = at;
    let known = ClockKind::ALL.into_iter();
    let clock = entry.clock.as_deref();
    let environment = &entry.environment;
    Ok(FleetRow::of_times(&FleetTimes {
        at,
        machine: environment.machine.clone(),
        kernel: environment.kernel.clone(),
        clock: known.into_iter().find(|k| Some(k.as_str()) == clock),
        zero: entry.zero.clone().unwrap_or_default(),
        times: times(&entry),
    }))
}

/// The inputs that members of an archive are; the id of those that cannot be read.
fn of_members(name: &str, members: Vec<Member>, id: &mut String) -> Result<Vec<Input>> {
    let manifest = members.iter().find(|m| is_manifest(Path::new(&m.name)));
    if let Some(manifest) = manifest {
        let base = plain(Path::new(&manifest.name));
        let base = base.parent().unwrap_or(Path::new("")).to_owned();
        let mut files = Vec::new();
        for mut member in members {
            let mut bytes = Vec::new();
            member
                .file
                .read_to_end(&mut bytes)
                .on(|| "a member".to_owned())?;
            let file = plain(Path::new(&member.name));
            let file = file.strip_prefix(&base).unwrap_or(&file);
            files.push((file.to_string_lossy().into_owned(), bytes));
        }
        *id = named(&files.iter().map(|f| digest(&f.1)).collect::<Vec<_>>());
        return Ok(vec![crate::capture_of(Path::new(name), files)?]);
    }
    let mut inputs = Vec::new();
    for member in members {
        let mut copy = member.file.try_clone().on(|| "a member".to_owned())?;
        match read_named_within(member.file, Path::new(&member.name), MOST_LOG_BYTES) {
            Ok(input) => inputs.push(input),
            Err(error) => {
                let mut bytes = Vec::new();
                let again = std::io::Seek::rewind(&mut copy);
                again.and_then(|()| copy.read_to_end(&mut bytes)).ok();
                *id = named(&[digest(&bytes)]);
                return Err(error);
            }
        }
    }
    Ok(inputs)
}

/// When a file was written, in nanoseconds since 1970.
fn written(path: &PathBuf) -> Option<i64> {
    let modified = std::fs::metadata(path).ok()?.modified().ok()?;
    let since = modified.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_nanos()).ok()
}

fn digest(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// The id of files that hold no boot; empty if they cannot be read at all.
fn of_files(paths: &[PathBuf]) -> String {
    let hashed = |path: &PathBuf| {
        let mut hash = Sha256::new();
        let mut file = std::fs::File::open(path).ok()?;
        let mut buffer = vec![0; 1 << 16];
        loop {
            match file.read(&mut buffer).ok()? {
                0 => return Some(hash.finalize().into()),
                n => hash.update(buffer.get(..n)?),
            }
        }
    };
    let digests: Option<Vec<[u8; 32]>> = paths.iter().map(hashed).collect();
    digests.map(|d| named(&d)).unwrap_or_default()
}

/// The id of a boot with files of these digests: of one file its own SHA-256, of several
/// the SHA-256 of their sorted digests. Names and order of the files do not matter.
fn named(digests: &[[u8; 32]]) -> String {
    let of_all = match digests {
        [one] => *one,
        several => {
            let mut sorted = several.to_vec();
            sorted.sort_unstable();
            digest(&sorted.concat())
        }
    };
    let mut id = String::new();
    for byte in of_all.iter().take(ID_DIGITS / 2) {
        write!(id, "{byte:02x}").ok();
    }
    id
}
