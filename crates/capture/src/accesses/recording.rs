//! One program, run and recorded.

use super::error::RecordingError;
use super::event::{lost, parse};
use super::kernel::{drop_caches, put};
use super::mounts::{Mount, mounts};
use super::names::{Names, bytes, changed_since};
use super::owner::Owner;
use super::session::Session;
use super::settings::Settings;
use super::sweep::Places;
use super::touched::{Key, Touched};
use agent::access::{AccessList, Entry, Identity, is_plain};
use agent::before_exec::announce;
use agent::resident::resident;
use agent::trace::Tracefs;
use rustix::fs::statfs;
use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How the program is recorded.
#[derive(Clone, Debug)]
pub struct Options {
    /// Leave what is in memory there.
    pub keep_cache: bool,
    /// End the recording after this time, and leave the program running.
    pub limit: Option<Duration>,
}

/// What came of it.
#[derive(Debug)]
pub struct Recorded {
    /// What was read.
    pub list: AccessList,
    /// How the program ended; `None` if it still runs.
    pub status: Option<ExitStatus>,
    /// What the list lacks, a sentence each.
    pub notes: Vec<String>,
    /// From the program's start to its end.
    pub elapsed: Duration,
}

/// How often the rings and the opens are emptied.
const ROUND: Duration = Duration::from_millis(10);

/// Runs `command` and records what it and its children read.
/// `interrupted` becomes true when the user wants it to end.
///
/// # Errors
/// If the kernel cannot record, another recording runs, or the program cannot be
/// started.
pub fn record(
    mut command: Command,
    title: &str,
    options: &Options,
    interrupted: &AtomicBool,
) -> Result<Recorded, RecordingError> {
    if !rustix::process::geteuid().is_root() {
        return Err(RecordingError::NotRoot);
    }
    let page = u64::try_from(rustix::param::page_size()).unwrap_or(4096);
    let mounts = mounts()?;
    let owner = Owner::this().ok_or(RecordingError::Nobody)?;
    let tracefs = Tracefs::find().map_err(|why| RecordingError::Tracefs { why })?;
    let (mut settings, swept) = Settings::begin(&owner, &Places::here(Some(&tracefs)))?;
    let place = Session::place(&tracefs, &owner)?;
    let read_ahead = read_ahead_files();
    settings.note(&read_ahead, &place)?;
    let session = Session::make(tracefs, place)?;
    let mut names = Names::watch(mounts);
    let mut notes: Vec<String> = swept.sentence().into_iter().chain(swept.failed).collect();
    if !session.tells_touches {
        notes.push(
            "this kernel has no events for accessed pages (Linux 6.12 and later do): the list holds \
             every page that was read from storage, which may be slightly more"
                .to_owned(),
        );
    }
    for file in &read_ahead {
        put(file, "0").map_err(RecordingError::refused(file, "0"))?;
    }
    // Only one page at a time comes into memory now. What is there already would
    // hide touches.
    rustix::fs::sync();
    match options.keep_cache {
        true => notes.push(
            "caches were kept: pages of mapped files that were already in memory may be missing"
                .to_owned(),
        ),
        false => drop_caches()?,
    }
    let (pids, on) = session.begin()?;
    announce(&mut command, pids, on);

    let own = own_files();
    let start_ns = since_1970_ns();
    let zero_us = monotonic_us();
    let begun = Instant::now();
    let child = command.spawn();
    let program = command.get_program().to_string_lossy().into_owned();
    // It holds files of the instance, which could not be removed.
    drop(command);
    let mut child = child.map_err(|why| RecordingError::Start { program, why })?;
    names.inherited(child.id());
    let gathered = Mutex::new((names, Touched::new(page, !session.tells_touches)));
    let ended = AtomicBool::new(false);
    let mut lines = session.lines()?;
    let status = thread::scope(|scope| -> Result<Option<ExitStatus>, RecordingError> {
        let collector = scope.spawn(|| -> Result<(), RecordingError> {
            loop {
                let last = ended.load(Ordering::Acquire);
                let Ok(mut both) = gathered.lock() else {
                    return Ok(());
                };
                let (names, touched) = &mut *both;
                names.gather();
                let mut take = |line: &str| match parse(line, page) {
                    Some(event) => {
                        let key = (event.device, event.inode);
                        if !own.contains(&key) {
                            let device = names.mount_of_block_device(key).is_some();
                            touched.take(&event, device);
                        }
                    }
                    None => touched.lost += lost(line).unwrap_or(0),
                };
                let drained = lines.drain(&mut take);
                drained.map_err(|why| RecordingError::Trace { why })?;
                drop(both);
                if last {
                    return Ok(());
                }
                thread::sleep(ROUND);
            }
        });
        let status = wait(&mut child, options.limit, interrupted);
        let off = session.end();
        ended.store(true, Ordering::Release);
        let collected = collector.join();
        let status = status?;
        off?;
        match collected {
            Ok(done) => done?,
            Err(_) => return Err(RecordingError::Reader),
        }
        Ok(status)
    })?;
    let elapsed = begun.elapsed();
    drop(lines);
    settings.restore()?;
    let (mut names, touched) = gathered.into_inner().map_err(|_| RecordingError::Reader)?;
    names.gather();
    names.unwatch();
    let mut list = AccessList {
        recordings: 1,
        page_bytes: u32::try_from(page).unwrap_or(4096),
        machine: rustix::system::uname()
            .machine()
            .to_string_lossy()
            .into_owned(),
        title: title.to_owned(),
        directories: names.directories_of(&touched.pids),
        ..AccessList::default()
    };
    if touched.lost > 0 {
        notes.push(format!(
            "the kernel dropped {} events because its trace buffers were full, so some pages are \
             missing; record again while the machine is less busy",
            touched.lost
        ));
    }
    entries(
        &mut list, &mut names, &touched, zero_us, start_ns, &mut notes,
    );
    Ok(Recorded {
        list,
        status,
        notes,
        elapsed,
    })
}

/// The read-ahead of every device that files come from.
fn read_ahead_files() -> Vec<PathBuf> {
    let devices = fs::read_dir("/sys/class/bdi")
        .into_iter()
        .flatten()
        .flatten();
    let mut files: Vec<PathBuf> = devices.map(|d| d.path().join("read_ahead_kb")).collect();
    files.retain(|f| fs::read_to_string(f).is_ok_and(|text| text.trim() != "0"));
    files.sort();
    files
}

/// Between its birth and its program the child is still this program.
fn own_files() -> HashSet<Key> {
    use std::os::unix::fs::MetadataExt;
    let meta = fs::metadata("/proc/self/exe");
    let key = meta.map(|m| {
        (
            (rustix::fs::major(m.dev()), rustix::fs::minor(m.dev())),
            m.ino(),
        )
    });
    key.into_iter().collect()
}

fn since_1970_ns() -> i128 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |d| i128::try_from(d.as_nanos()).unwrap_or(i128::MAX))
}

/// The clock that the trace has, too.
fn monotonic_us() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    seconds * 1_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0) / 1000
}

/// Waits for the program's end, the limit, or somebody who does not want to wait.
fn wait(
    child: &mut std::process::Child,
    limit: Option<Duration>,
    interrupted: &AtomicBool,
) -> Result<Option<ExitStatus>, RecordingError> {
    let begun = Instant::now();
    let waited = |why| RecordingError::Wait { why };
    loop {
        if let Some(status) = child.try_wait().map_err(waited)? {
            return Ok(Some(status));
        }
        if limit.is_some_and(|l| begun.elapsed() >= l) {
            return Ok(None);
        }
        if interrupted.load(Ordering::Relaxed) {
            // A terminal told the program too; others only told us.
            if let Some(pid) = rustix::process::Pid::from_raw(child.id().cast_signed()) {
                rustix::process::kill_process(pid, rustix::process::Signal::TERM).ok();
            }
            return Ok(Some(child.wait().map_err(waited)?));
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// Makes entries of what was touched.
fn entries(
    list: &mut AccessList,
    names: &mut Names,
    touched: &Touched,
    zero_us: u64,
    start_ns: i128,
    notes: &mut Vec<String>,
) {
    let page = u64::from(list.page_bytes);
    let wanted: HashSet<Key> = touched.files.keys().copied().collect();
    let devices: HashSet<Key> = wanted
        .iter()
        .filter(|k| names.mount_of_block_device(**k).is_some())
        .copied()
        .collect();
    names.search(&wanted.difference(&devices).copied().collect());
    let mut programs: HashMap<&str, u32> = HashMap::new();
    let (mut nameless, mut written) = (0u64, 0u64);
    let mut found = Vec::new();
    for (key, pages) in &touched.files {
        let (path, identity) = if let Some(mount) = names.mount_of_block_device(*key) {
            match filesystem(mount) {
                Some(identity) => (bytes(&mount.place), identity),
                None => continue,
            }
        } else if let Some(name) = names.files.get(key) {
            if changed_since(&name.path, start_ns).unwrap_or(true) {
                written += 1;
                continue;
            }
            (bytes(&name.path), name.identity)
        } else {
            nameless += 1;
            continue;
        };
        if !is_plain(&path) {
            nameless += 1;
            continue;
        }
        let size = match identity {
            Identity::File { size, .. } | Identity::Device { size, .. } => size,
        };
        let name = names.files.get(key).map(|n| &n.path);
        let in_memory = match (pages.has_around(), name) {
            (true, Some(path)) => File::open(path)
                .and_then(|f| resident(f, size, list.page_bytes))
                .unwrap_or_default(),
            _ => Vec::new(),
        };
        let ranges = pages.ranges(size.div_ceil(page), zero_us, &in_memory);
        if ranges.is_empty() {
            continue;
        }
        let program = pages.first.as_ref().map_or("", |(_, name)| name);
        found.push((path, identity, program, ranges));
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    for (path, identity, program, ranges) in found {
        let number = *programs.entry(program).or_insert_with(|| {
            list.programs.push(program.to_owned());
            u32::try_from(list.programs.len() - 1).unwrap_or(u32::MAX)
        });
        list.entries.push(Entry {
            path,
            identity,
            program: number,
            ranges,
        });
    }
    list.entries
        .sort_by(|a, b| (a.is_device(), &a.path).cmp(&(b.is_device(), &b.path)));
    list.entries
        .dedup_by(|a, b| (a.is_device(), &a.path) == (b.is_device(), &b.path));
    if nameless > 0 {
        notes.push(format!(
            "{} since been deleted or cannot be reached from this mount namespace; skipped",
            files_have(nameless)
        ));
    }
    if written > 0 {
        notes.push(format!(
            "{} changed or been deleted during the recording; skipped",
            files_have(written)
        ));
    }
}

/// `1 file has`, `2 files have`.
fn files_have(count: u64) -> String {
    match count {
        1 => "1 file has".to_owned(),
        n => format!("{n} files have"),
    }
}

/// How a filesystem is known again.
pub fn filesystem(mount: &Mount) -> Option<Identity> {
    let (major, minor) = mount.device;
    let sectors = fs::read_to_string(format!("/sys/dev/block/{major}:{minor}/size")).ok()?;
    Some(Identity::Device {
        size: sectors.trim().parse::<u64>().ok()?.checked_mul(512)?,
        kind: statfs(&mount.place).ok()?.f_type as u64,
        // The kernel's two words; the C structure hides them.
        number: rustix::fs::statvfs(&mount.place).ok()?.f_fsid,
    })
}
