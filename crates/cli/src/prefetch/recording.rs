//! One program, run and recorded.

use super::event::{lost, parse};
use super::mounts::{Mount, mounts};
use super::names::{Names, bytes, changed_since};
use super::session::Session;
use super::settings::{Settings, put};
use super::touched::{Key, Touched};
use agent::access::{AccessList, Entry, Identity, is_plain};
use agent::before_exec::announce;
use agent::resident::resident;
use anyhow::{Context, Result, bail};
use rustix::fs::statfs;
use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
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
    pub list: AccessList,
    /// How the program ended; `None` if it still runs.
    pub status: Option<ExitStatus>,
    /// What the list lacks, a sentence each.
    pub notes: Vec<String>,
    pub elapsed: Duration,
}

/// How often the rings and the opens are emptied.
const ROUND: Duration = Duration::from_millis(10);

/// Runs `command` and records what it and its children read.
pub fn record(mut command: Command, title: &str, options: &Options) -> Result<Recorded> {
    if !rustix::process::geteuid().is_root() {
        bail!("a recording reads the kernel's trace rings, which only root may; run it with sudo");
    }
    let page = u64::try_from(rustix::param::page_size()).unwrap_or(4096);
    let mounts = mounts()?;
    let mut settings = Settings::begin()?;
    let (tracefs, place) = Session::place()?;
    let read_ahead = read_ahead_files();
    settings.note(&read_ahead, &place)?;
    let session = Session::make(tracefs, place)?;
    let mut names = Names::watch(mounts);
    let mut notes = Vec::new();
    if !session.tells_touches {
        notes.push(
            "this kernel has no events for touched pages (Linux 6.12 and later have): the list \
             holds what came into memory, which was little more, since read-ahead was off"
                .to_owned(),
        );
    }
    for file in &read_ahead {
        put(file, "0").with_context(|| format!("{} does not take `0`", file.display()))?;
    }
    // Only one page at a time comes into memory now. What is there already would
    // hide touches.
    rustix::fs::sync();
    match options.keep_cache {
        true => notes.push(
            "caches were kept: of mapped files only what was not in memory is known to the page"
                .to_owned(),
        ),
        false => put(Path::new("/proc/sys/vm/drop_caches"), "3")
            .context("/proc/sys/vm/drop_caches: the caches cannot be dropped")?,
    }
    let (pids, on) = session.begin()?;
    announce(&mut command, pids, on);
    let interrupted = crate::interrupt::told()?;

    let own = own_files();
    let start_ns = since_1970_ns();
    let zero_us = monotonic_us();
    let begun = Instant::now();
    let child = command.spawn();
    let program = command.get_program().to_string_lossy().into_owned();
    // It holds files of the instance, which could not be removed.
    drop(command);
    let mut child = child.with_context(|| format!("{program}: cannot be started"))?;
    names.inherited(child.id());
    let gathered = Mutex::new((names, Touched::new(page, !session.tells_touches)));
    let ended = AtomicBool::new(false);
    let mut lines = session.lines()?;
    let status = thread::scope(|scope| -> Result<Option<ExitStatus>> {
        let collector = scope.spawn(|| -> Result<()> {
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
                lines.drain(&mut take).context("the trace cannot be read")?;
                drop(both);
                if last {
                    return Ok(());
                }
                thread::sleep(ROUND);
            }
        });
        let status = wait(&mut child, options.limit, &interrupted);
        let off = session.end();
        ended.store(true, Ordering::Release);
        let collected = collector.join();
        let status = status?;
        off?;
        match collected {
            Ok(done) => done?,
            Err(_) => bail!("the thread that reads the trace ended too early"),
        }
        Ok(status)
    })?;
    let elapsed = begun.elapsed();
    drop(lines);
    settings.restore()?;
    let (mut names, touched) = gathered
        .into_inner()
        .map_err(|_| anyhow::anyhow!("the thread that reads the trace ended too early"))?;
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
            "the kernel lost {} events: more came at once than its rings hold; the list lacks some \
             pages: record again while the machine does less",
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
) -> Result<Option<ExitStatus>> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child
            .try_wait()
            .context("the program cannot be waited for")?
        {
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
            return Ok(Some(child.wait()?));
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
            "{nameless} files that were read have no name any more, or lie where this program \
             cannot look; they are left out"
        ));
    }
    if written > 0 {
        notes.push(format!(
            "{written} files were written or removed while they were recorded, and are left out"
        ));
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
