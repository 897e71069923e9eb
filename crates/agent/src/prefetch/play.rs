//! The prefetcher.

use super::pieces::{first_content, metadata, open_window, windows};
use super::probe::Probe;
use super::reader::Reader;
use super::settings::{Order, Played, Settings, Step};
use crate::access::AccessList;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Instant;
use storage::prefetch::{
    AHEAD_BYTES, AHEAD_US, DISK_IN_FLIGHT_BYTES, DISK_INFILL_BYTES, IN_FLIGHT_BYTES,
};

/// Of a list whose files are mostly others, nothing is believed.
const MOST_STALE_PERCENT: u64 = 50;

/// If so many bytes were looked at, and this part of them was in memory before
/// the prefetcher came, it comes too late to help.
const LATE_AFTER_BYTES: u64 = 8 << 20;
const LATE_PERCENT: u64 = 90;

/// If so many bytes are there as soon as they were asked for, the device is memory.
const AT_ONCE_BYTES: u64 = 256 << 10;

/// What is said then, and where the first reads were answered as they were asked for.
const AT_ONCE: &str = "prefetching saves nothing, because the device answers immediately";

/// Each time that so much was read, it is asked what memory there is: the answer costs.
const MEMORY_BYTES: u64 = 4 << 20;

/// Reads what `list` says, and comes back when all is asked for.
///
/// # Errors
/// If the kernel refuses what no kernel refuses; a list that cannot be played is
/// told in [`Played::stopped`].
pub fn play(list: &AccessList, settings: &Settings) -> io::Result<Played> {
    play_and_tell(list, settings, &mut |_| {})
}

/// As [`play`]; calls `told` with each step that is reached.
///
/// # Errors
/// As [`play`], or if the root cannot be entered.
pub fn play_and_tell(
    list: &AccessList,
    settings: &Settings,
    told: &mut dyn FnMut(Step),
) -> io::Result<Played> {
    let mut begun = Begun(Some(told));
    let mut played = Played::default();
    let machine = rustix::system::uname();
    let machine = machine.machine().to_string_lossy().into_owned();
    if list.machine != machine {
        let of = &list.machine;
        played.stopped = Some(format!(
            "the list was recorded on {of}, but this machine is {machine}; record a list here"
        ));
        return Ok(played);
    }
    if settings.idle {
        crate::sys::idle_io(true).ok();
    }
    let turns = turns(&settings.root);
    let infill_bytes = match turns {
        true => settings.infill_bytes.max(DISK_INFILL_BYTES),
        false => settings.infill_bytes,
    };
    let in_flight_bytes = settings.in_flight_bytes.unwrap_or(match turns {
        true => DISK_IN_FLIGHT_BYTES,
        false => IN_FLIGHT_BYTES,
    });
    let mut settings = Settings {
        infill_bytes,
        order: settings.order.or(turns.then_some(Order::Physical)),
        ..settings.clone()
    };
    let mut reader = Reader::new(list.entries.len(), &settings, in_flight_bytes);
    played.ring = reader.ring.is_some();
    let most_files = allow_files(list.entries.len());
    let mut windows = windows(list, &settings, most_files, infill_bytes);
    let mut probe = Probe::new(list.page_bytes);
    let start = Instant::now();
    let mut is_first = true;
    let mut unasked = 0;
    while let Some(mut window) = windows.pop_front() {
        if reader.open() >= most_files / 2 {
            reader.finish()?;
            reader.close();
        }
        // What the files' names and places are read from comes first; the device is
        // still busy with the content of the window before.
        metadata(
            &window,
            list,
            &settings,
            &mut reader,
            &mut played,
            &mut probe,
        );
        if is_first && settings.enter {
            std::env::set_current_dir(&settings.root)?;
            rustix::process::chroot(".")?;
            settings.root = "/".into();
            // Who is told may move the root at once, and then its path is gone.
            begun.tell(Step::Asked);
        }
        first_content(
            &mut window,
            list,
            &settings,
            &mut reader,
            &mut played,
            &mut probe,
        );
        if probe.is_memory() {
            played.stopped = Some(AT_ONCE.to_owned());
            break;
        }
        let pieces = open_window(&window, list, &settings, &mut reader, &mut played);
        for piece in pieces {
            if piece.bytes > unasked {
                unasked = MEMORY_BYTES;
                if let Some(why) = short_of_memory(&settings) {
                    played.stopped = Some(why);
                    break;
                }
            }
            unasked -= piece.bytes.min(unasked);
            // Behind the boot, or not far enough ahead of it: what is in flight may
            // hold it up, but what is not there yet will.
            let elapsed = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
            let is_ahead = window.start_us > elapsed.saturating_add(AHEAD_US);
            reader.most_bytes = match is_ahead {
                true => in_flight_bytes.min(AHEAD_BYTES),
                false => in_flight_bytes,
            };
            if reader.would_wait(piece.bytes) {
                reader.send()?;
                begun.call();
            }
            reader.read(piece)?;
        }
        reader.send()?;
        begun.call();
        let read_bytes = reader.counted(&mut played);
        if is_first && read_bytes >= AT_ONCE_BYTES && reader.is_idle() {
            played.stopped = Some(AT_ONCE.to_owned());
        }
        is_first = false;
        if played.stopped.is_none() {
            played.stopped = useless(&played);
        }
        if played.stopped.is_some() {
            break;
        }
    }
    reader.finish()?;
    reader.counted(&mut played);
    Ok(played)
}

/// Who is told; of the last step at the latest when this goes.
struct Begun<'a>(Option<&'a mut dyn FnMut(Step)>);

impl Begun<'_> {
    fn tell(&mut self, step: Step) {
        if let Some(told) = &mut self.0 {
            told(step);
        }
    }

    fn call(&mut self) {
        self.tell(Step::Begun);
        self.0 = None;
    }
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        self.call();
    }
}

/// Why it is of no use to go on, if so.
fn useless(played: &Played) -> Option<String> {
    let known = played.files + played.stale;
    if played.stale * 100 > known * MOST_STALE_PERCENT && known >= 8 {
        return Some(format!(
            "{} of the first {known} files have changed since the recording; record the list again",
            played.stale
        ));
    }
    let seen = played.bytes + played.resident_bytes;
    let is_late = seen >= LATE_AFTER_BYTES && played.resident_bytes * 100 >= seen * LATE_PERCENT;
    is_late.then(|| {
        "prefetching came too late, because nearly all data was in memory already".to_owned()
    })
}

/// How many files may be open, if `wanted` would be best.
fn allow_files(wanted: usize) -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let best = (wanted as u64).saturating_mul(2) + 64;
    let most = limit.maximum.map_or(best, |m| m.min(best));
    let now = limit.current.unwrap_or(most);
    let raised = Rlimit {
        current: Some(most.max(now)),
        maximum: limit.maximum,
    };
    let now = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => most.max(now),
        Err(_) => now,
    };
    usize::try_from(now)
        .unwrap_or(usize::MAX)
        .saturating_sub(32)
        .max(16)
}

/// Whether the device below `root` charges for distance.
fn turns(root: &Path) -> bool {
    let Ok(device) = fs::metadata(root).map(|m| m.dev()) else {
        return false;
    };
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    // A partition has its queue at the disk's.
    [".", ".."].iter().any(|up| {
        let path = format!("/sys/dev/block/{major}:{minor}/{up}/queue/rotational");
        fs::read_to_string(path).is_ok_and(|t| t.trim() == "1")
    })
}

/// Why no more should be read, if so.
fn short_of_memory(settings: &Settings) -> Option<String> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().ok()?;
    (kib.saturating_mul(1024) < settings.floor_bytes).then(|| {
        format!(
            "only {kib} KiB of memory are available, below the limit of {} KiB (--floor)",
            settings.floor_bytes >> 10
        )
    })
}
