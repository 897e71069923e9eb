//! The capture of a trial: the agent's payload, the console, and what only the
//! host knows.

use crate::boot::{Boot, HostMark};
use crate::error::{LabError, io_error};
use crate::hex::hex;
use agent::capture::{
    self, CaptureError, ClockInfo, Limits, MANIFEST, Manifest, MarkInfo, Member, NoteInfo,
    SourceFile, note,
};
use record::{Nanos, mark};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::Path;

/// The console's file in a capture.
pub const CONSOLE: &str = "console.log";

/// The name of the clock that runs from reset, as the agent writes it.
const COUNTER: &str = "counter";

/// The digest of a boot: SHA-256 over console and payload, each after its length.
#[must_use]
pub fn digest(boot: &Boot) -> String {
    let payload = boot.payload.as_deref().unwrap_or_default();
    digest_of(&[&boot.console, payload])
}

/// The digest of a stored capture: over the names and contents of its members.
#[must_use]
pub fn digest_of_stored(members: &[Member]) -> String {
    let parts = members.iter().flat_map(|(n, b)| [n.as_bytes(), b]);
    digest_of(&parts.collect::<Vec<_>>())
}

fn digest_of(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hex(&hash.finalize())
}

/// The last time that the target read, in nanoseconds of virtual time since reset.
#[must_use]
pub fn end_of_stored(members: &[Member]) -> Option<u64> {
    let manifest = capture::manifest(members).ok()?;
    manifest.clocks.iter().find_map(end_of)
}

/// The last reading of the clock that runs from reset.
fn end_of(clock: &ClockInfo) -> Option<u64> {
    let last = clock.readings.iter().map(|r| r.ticks).max();
    (clock.name == COUNTER)
        .then(|| nanoseconds(last?, clock.hz))
        .flatten()
}

/// The members of a trial's capture, the manifest first, and the last time that
/// the target read. `recording`: the words of `cmdline` that only recording put there. `exact`: the counter counts instructions.
///
/// # Errors
/// If the payload is no capture.
pub fn members(
    boot: &Boot,
    machine: &str,
    (cmdline, recording): (&str, &[String]),
    exact: bool,
) -> Result<(Vec<Member>, Option<u64>), CaptureError> {
    let (mut manifest, mut files) = match &boot.payload {
        Some(tar) => {
            let members = capture::read_tar(tar.as_slice(), Limits::default())?;
            let manifest = capture::manifest(&members)?;
            (manifest, members.into_iter().skip(1).collect())
        }
        None => (empty(cmdline), Vec::new()),
    };
    machine.clone_into(&mut manifest.machine);
    recording.clone_into(&mut manifest.recording);
    let mut end = None;
    for clock in manifest.clocks.iter_mut().filter(|c| c.name == COUNTER) {
        if exact {
            "virtual".clone_into(&mut clock.kind);
        }
        end = end_of(clock);
    }
    if end.is_some() {
        let mut marks = host_marks(boot);
        if let Some(loading) = &boot.loading {
            loading.charge(&mut marks);
            manifest.notes.push(loading.note());
        }
        manifest.marks.splice(0..0, marks);
    }
    // The kernel's log by its own way holds all that the console has of it.
    let logged = manifest.sources.iter().any(|s| s.file.contains("kmsg"));
    manifest.sources.push(SourceFile {
        name: "console".into(),
        format: if logged { "none" } else { "kernel-log" }.into(),
        file: CONSOLE.into(),
        clock: String::new(),
    });
    files.retain(|(name, _): &Member| name != CONSOLE);
    files.push((CONSOLE.into(), boot.console.clone()));
    for evidence in &boot.evidence {
        manifest.sources.push(SourceFile {
            name: evidence.name.clone(),
            format: evidence.format.into(),
            file: evidence.file.clone(),
            clock: String::new(),
        });
        files.push((evidence.file.clone(), evidence.bytes.clone()));
    }
    let mut text = serde_json::to_vec_pretty(&manifest)?;
    text.push(b'\n');
    files.insert(0, (MANIFEST.into(), text));
    Ok((files, end))
}

/// Ticks of a clock of `hz` ticks a second, in nanoseconds.
fn nanoseconds(ticks: u64, hz: u64) -> Option<u64> {
    let ns = u128::from(ticks) * 1_000_000_000;
    u64::try_from(ns.checked_div(u128::from(hz))?).ok()
}

/// Why the agent handed out a capture without first light, if it did.
#[must_use]
pub fn gave_up(members: &[Member]) -> Option<String> {
    let manifest = capture::manifest(members).ok()?;
    if manifest.marks.iter().any(|m| m.name == mark::FIRST_LIGHT) {
        return None;
    }
    let mut notes = manifest.notes.into_iter();
    notes.find(|n| n.kind == note::GAVE_UP).map(|n| n.text)
}

/// When first light came after power-on, as the capture in `folder` says it.
#[must_use]
pub fn first_light(folder: &Path) -> Option<Nanos> {
    mark_at(folder, mark::FIRST_LIGHT)
}

/// When the mark `name` came after power-on, as the capture in `folder` says it. The counter
/// runs from reset; where loading is charged, power-on is that much earlier.
#[must_use]
pub fn mark_at(folder: &Path, name: &str) -> Option<Nanos> {
    let bytes = fs::read(folder.join(MANIFEST)).ok()?;
    let manifest: Manifest = serde_json::from_slice(&bytes).ok()?;
    let find = |name: &str| {
        let mut marks = manifest.marks.iter();
        let mark = marks.find(|m| m.name == name && m.clock == COUNTER)?;
        Some(mark.at_ns)
    };
    let power_on = find(mark::POWER_ON).unwrap_or(0);
    Some(Nanos(find(name)?.saturating_sub(power_on)))
}

/// Puts what recording costs into the manifest of the capture in `folder`, in
/// place of what was said before.
///
/// # Errors
/// If the manifest cannot be read or written.
pub fn state_recording(folder: &Path, text: &str) -> Result<(), LabError> {
    let path = folder.join(MANIFEST);
    let bytes = fs::read(&path).map_err(io_error(&path, "cannot be read"))?;
    let damaged = |e: serde_json::Error| LabError::Output {
        path: path.clone(),
        why: format!("not a capture manifest: {e}; remove the trial to boot it again"),
    };
    let mut manifest: Manifest = serde_json::from_slice(&bytes).map_err(damaged)?;
    manifest.notes.retain(|n| n.kind != note::RECORDING);
    manifest.notes.push(NoteInfo {
        kind: note::RECORDING.to_owned(),
        text: text.to_owned(),
    });
    let mut text = serde_json::to_vec_pretty(&manifest).map_err(damaged)?;
    text.push(b'\n');
    if text == bytes {
        return Ok(());
    }
    let beside = folder.join("manifest.json.new");
    fs::write(&beside, &text)
        .and_then(|()| ::capture::beside::rename(&beside, &path))
        .map_err(io_error(&path, "cannot be written"))
}

/// The marks before anything runs on the target that could make them.
fn host_marks(boot: &Boot) -> Vec<MarkInfo> {
    let info = |mark: &HostMark| MarkInfo {
        name: mark.name.clone(),
        clock: COUNTER.into(),
        at_ns: i64::try_from(mark.at_ns).unwrap_or(i64::MAX),
        begins: mark.begins.map(|p| p.as_str().to_owned()),
    };
    if boot.marks.is_empty() {
        // Where the firmware ends is not known, so no phase begins here.
        return vec![info(&HostMark {
            name: mark::POWER_ON.to_owned(),
            at_ns: 0,
            begins: None,
        })];
    }
    boot.marks.iter().map(info).collect()
}

/// The manifest of a boot that handed nothing out.
fn empty(cmdline: &str) -> Manifest {
    Manifest {
        firstlight_capture: capture::VERSION,
        taken_by: concat!("firstlight lab ", env!("CARGO_PKG_VERSION")).into(),
        machine: String::new(),
        kernel: String::new(),
        cmdline: cmdline.to_owned(),
        clocks: Vec::new(),
        marks: Vec::new(),
        sources: Vec::new(),
        recording: Vec::new(),
        own_devices: Vec::new(),
        notes: Vec::new(),
    }
}

/// Writes `members` as a folder. [`crate::store::Store`] sees to it that they are on the disk
/// before anything says that the trial is whole.
///
/// # Errors
/// If that cannot be written.
pub fn write(folder: &Path, members: &[Member]) -> Result<(), LabError> {
    for (name, bytes) in members {
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(io_error(parent, "cannot be created"))?;
        }
        fs::write(&path, bytes).map_err(io_error(&path, "cannot be written"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{digest, members};
    use crate::boot::{Boot, Evidence, HostMark};
    use agent::capture::{
        ClockInfo, Manifest, MarkInfo, NoteInfo, Reading, SourceFile, manifest, write_tar,
    };
    use record::Phase;

    fn payload() -> Vec<u8> {
        let reading = |ticks| Reading {
            ticks,
            other: "monotonic".into(),
            other_ns: 5,
            error_ns: 1,
        };
        let manifest = Manifest {
            machine: "on the target".into(),
            clocks: vec![ClockInfo {
                name: "counter".into(),
                kind: "counter".into(),
                hz: 62_500_000,
                readings: vec![reading(70), reading(90)],
            }],
            sources: vec![SourceFile {
                name: "kernel log".into(),
                format: "kernel-log".into(),
                file: "kmsg".into(),
                clock: String::new(),
            }],
            ..super::empty("quiet")
        };
        let files = [
            (
                "manifest.json".into(),
                serde_json::to_vec(&manifest).unwrap(),
            ),
            ("kmsg".to_owned(), b"6,0,0,-;x\n".to_vec()),
        ];
        let mut tar = Vec::new();
        write_tar(&mut tar, &files).unwrap();
        tar
    }

    fn boot() -> Boot {
        Boot {
            console: b"hello\n".to_vec(),
            payload: Some(payload()),
            marks: vec![
                HostMark::begins("power-on", 0, Phase::Firmware),
                HostMark::begins("decompression-start", 10, Phase::Decompression),
                HostMark::begins("kernel-entry", 20, Phase::Kernel),
            ],
            evidence: vec![Evidence {
                name: "loader".into(),
                file: "loader.txt".into(),
                format: "loader-console",
                bytes: b"U-Boot\n".to_vec(),
            }],
            ..Boot::default()
        }
    }

    #[test]
    fn a_capture_without_first_light_says_why() {
        let say = |first_light: bool| {
            let mut manifest = super::empty("quiet");
            manifest.notes.push(NoteInfo {
                kind: "gave-up".into(),
                text: "first light, file:/x, did not come".into(),
            });
            if first_light {
                manifest.marks.push(MarkInfo {
                    name: "first-light".into(),
                    clock: "counter".into(),
                    at_ns: 5,
                    begins: None,
                });
            }
            let bytes = serde_json::to_vec(&manifest).unwrap();
            super::gave_up(&[("manifest.json".into(), bytes)])
        };
        assert_eq!(say(false).unwrap(), "first light, file:/x, did not come");
        // Only what came after it was given up.
        assert_eq!(say(true), None);
    }

    #[test]
    fn the_host_adds_its_marks_and_the_console() {
        let recording = ["trace_event=block:*".to_owned()];
        let cmdline = ("quiet trace_event=block:*", &recording[..]);
        let (members, end) = members(&boot(), "pc", cmdline, true).unwrap();
        assert_eq!(manifest(&members).unwrap().recording, recording);
        assert_eq!(end, Some(90 * 16));
        let names: Vec<_> = members.iter().map(|m| m.0.as_str()).collect();
        assert_eq!(
            names,
            ["manifest.json", "kmsg", "console.log", "loader.txt"]
        );
        let manifest = manifest(&members).unwrap();
        assert_eq!(manifest.machine, "pc");
        assert_eq!(manifest.clocks[0].kind, "virtual");
        assert_eq!(manifest.sources[2].format, "loader-console");
        let console = &manifest.sources[1];
        assert_eq!(
            (console.file.as_str(), console.format.as_str()),
            ("console.log", "none")
        );
        let marks: Vec<_> = manifest
            .marks
            .iter()
            .map(|m| (m.name.as_str(), m.at_ns, m.begins.as_deref()))
            .collect();
        let expected = [
            ("power-on", 0, Some("firmware")),
            ("decompression-start", 10, Some("decompression")),
            ("kernel-entry", 20, Some("kernel")),
        ];
        assert_eq!(marks, expected);
    }

    #[test]
    fn without_stages_no_phase_is_claimed() {
        let boot = Boot {
            marks: Vec::new(),
            ..boot()
        };
        let (members, _) = members(&boot, "pc", ("", &[]), true).unwrap();
        let marks = manifest(&members).unwrap().marks;
        assert_eq!(marks.len(), 1);
        assert_eq!(marks[0].begins, None);
    }

    #[test]
    fn a_failed_boot_has_its_console_as_kernel_log() {
        let boot = Boot {
            payload: None,
            ..boot()
        };
        let (members, end) = members(&boot, "pc", ("quiet", &[]), true).unwrap();
        let manifest = manifest(&members).unwrap();
        assert_eq!((end, manifest.marks.len()), (None, 0));
        assert_eq!(manifest.sources[0].format, "kernel-log");
        assert_eq!(manifest.cmdline, "quiet");
    }

    #[test]
    fn the_digest_knows_where_console_and_payload_part() {
        let of = |console: &[u8], payload: Option<&[u8]>| {
            digest(&Boot {
                console: console.to_vec(),
                payload: payload.map(<[u8]>::to_vec),
                ..Boot::default()
            })
        };
        assert_ne!(of(b"ab", Some(b"c")), of(b"a", Some(b"bc")));
        assert_eq!(of(b"ab", None), of(b"ab", Some(b"")));
        // Computed with sha256sum over the 16 + 3 bytes.
        let expected = "43ee655579de01ca739b3f95c1c2d3f46d353b2c0df818064ea594506cdb2617";
        assert_eq!(of(b"ab", Some(b"c")), expected);
    }
}
