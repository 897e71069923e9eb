//! When firmware and decompression end.
//!
//! Nothing on a stock machine says when the kernel image was entered and when it
//! had unpacked itself. QEMU's debugger stub can stop there. But a stop moves
//! the virtual clock: the stopped processor counts as idle, and an idle machine
//! jumps to its next timer (seen: 40 ms). So the stops happen in boots of their
//! own, with the same inputs, that record how many instructions were executed
//! (`-icount ...,rr=record`), a number that no stop moves. Idle time is in the
//! virtual time but not in that number; a stop asked for from outside, which
//! does not move the clock, tells how much idle time there was.

use super::gdb::{AARCH64, ARM, ARM9, Gdb, Processor, X86_64};
use crate::artifacts::Cache;
use crate::error::{LabError, io_error};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Child;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// What is measured on the way from reset to the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The kind of processor.
    pub processor: &'static Processor,
    /// Addresses of instructions, in the order in which they are first come by:
    /// the kernel image's first, the kernel's own last.
    pub waypoints: Vec<u64>,
    /// The data register of the serial port, if what is written to it before the
    /// first waypoint is of interest.
    pub console: Option<u64>,
}

/// A kind of processor, as a plan names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CpuKind {
    /// x86-64.
    X86_64,
    /// 32-bit ARM with a generic timer.
    Arm,
    /// The ARM926 of versatilepb.
    Arm9,
    /// 64-bit ARM.
    Aarch64,
}

impl CpuKind {
    /// What the debugger has to know of it.
    #[must_use]
    pub const fn processor(self) -> &'static Processor {
        match self {
            Self::X86_64 => &X86_64,
            Self::Arm => &ARM,
            Self::Arm9 => &ARM9,
            Self::Aarch64 => &AARCH64,
        }
    }
}

/// Why there are none in real time.
pub const NOT_IN_REAL_TIME: &str = "real time does not count instructions, so firmware and \
    decompression cannot be distinguished";

/// Instants in nanoseconds of virtual time since reset.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stages {
    /// One for each waypoint.
    pub passed_ns: Vec<u64>,
    /// What was written to the console before the first waypoint.
    pub lines: Vec<Line>,
}

/// A line of the console.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// When its first byte was written, in nanoseconds of virtual time since reset.
    pub at_ns: u64,
    /// When its last byte was written; `None` in what an earlier version measured.
    #[serde(default)]
    pub ended_ns: Option<u64>,
    /// Its text, without the line's end.
    pub text: String,
}

/// No answer of QEMU may take longer: a decompression takes 4 to 10 s.
const PATIENCE: Duration = Duration::from_secs(120);

/// How long a boot runs before it is stopped to look at its clock, at first.
const FIRST_LOOK: Duration = Duration::from_millis(20);

/// The least and the most that it runs from one look to the next.
const SHORTEST_LOOK: Duration = Duration::from_millis(2);
const LONGEST_LOOK: Duration = Duration::from_secs(1);

/// A loader that writes more bytes than this to the console is not followed.
const MOST_BYTES: usize = 64 * 1024;

/// Stages that are known, or are measured once while others that need them wait.
#[derive(Debug)]
pub struct KnownStages {
    cache: Cache,
    known: Mutex<BTreeMap<String, Once>>,
}

type Once = Arc<OnceLock<Result<Stages, String>>>;

impl KnownStages {
    /// Those that `cache` keeps.
    #[must_use]
    pub fn new(cache: &Cache) -> Self {
        Self {
            cache: cache.clone(),
            known: Mutex::default(),
        }
    }

    /// The stages of the boot that `key` stands for: from the cache, or from
    /// `measure`, which is given a folder for its files.
    ///
    /// # Errors
    /// If they cannot be measured, in a sentence.
    pub fn get(
        &self,
        key: &str,
        measure: impl FnOnce(&Path) -> Result<Stages, LabError>,
    ) -> Result<Stages, String> {
        let once = {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(known.entry(key.to_owned()).or_default())
        };
        let measured = || {
            let file = self.cache.path(&format!("stages/{key}.json"));
            let stored = fs::read(&file).ok();
            if let Some(stages) = stored.and_then(|b| serde_json::from_slice(&b).ok()) {
                return Ok(stages);
            }
            let anew = || -> Result<Stages, LabError> {
                // A short path: names of sockets have at most 107 bytes.
                let tmp = std::env::temp_dir();
                let folder = tempfile::Builder::new().prefix("firstlight-").tempdir();
                let folder =
                    folder.map_err(io_error(&tmp, "cannot create a temporary folder in it"))?;
                let stages = measure(folder.path())?;
                let text = serde_json::to_vec(&stages)
                    .map_err(|e| LabError::Bug { why: e.to_string() })?;
                self.cache.write(&file, &text)?;
                Ok(stages)
            };
            anew().map_err(|e| format!("cannot distinguish the phases before the kernel: {e}"))
        };
        once.get_or_init(measured).clone()
    }
}

/// Measures the stages. `start` starts a recording QEMU with its debugger stub
/// on the socket it is given.
///
/// # Errors
/// If QEMU does not start, or does not come by the waypoints.
pub fn measure(
    route: &Route,
    cpu_shift: u8,
    folder: &Path,
    start: &dyn Fn(&Path) -> Result<Child, LabError>,
) -> Result<Stages, LabError> {
    let boot = |name: &str| -> Result<Boot, LabError> {
        let socket = folder.join(name);
        let child = start(&socket)?;
        // From here on QEMU is ended on every way out.
        let mut boot = Boot { child, gdb: None };
        boot.gdb = Some(Gdb::connect(&socket, PATIENCE, route.processor)?);
        Ok(boot)
    };
    let mut first = boot("stages")?;
    let gdb = first.gdb()?;
    let mut passed = Vec::new();
    for address in &route.waypoints {
        gdb.run_to(*address, None, &mut |_| Ok(()))?;
        passed.push(executed(gdb)?);
    }
    drop(first);
    let Some(&image) = passed.first() else {
        let why = "a route without waypoints".to_owned();
        return Err(LabError::Bug { why });
    };
    let idle = idle_ns(boot("idle")?.gdb()?, image, cpu_shift)?;
    let at = |instructions: u64| (instructions << cpu_shift).saturating_add(idle);
    let lines = match (route.console, route.waypoints.first()) {
        (Some(register), Some(address)) => {
            let socket = folder.join("console");
            let mut boot = boot("console")?;
            let written = written(boot.gdb()?, register, *address, image)?;
            drop(boot);
            let console = super::console_of(&socket);
            let bytes = fs::read(&console).map_err(io_error(&console, "cannot be read"))?;
            lines(&bytes, &written, at)?
        }
        _ => Vec::new(),
    };
    Ok(Stages {
        passed_ns: passed.into_iter().map(at).collect(),
        lines,
    })
}

/// The instruction count at each write to `register` before `address`, which is
/// come by after `expected` instructions.
fn written(
    gdb: &mut Gdb<UnixStream>,
    register: u64,
    address: u64,
    expected: u64,
) -> Result<Vec<u64>, LabError> {
    let mut counts = Vec::new();
    gdb.run_to(address, Some(register), &mut |gdb| {
        if counts.len() == MOST_BYTES {
            let why = format!("the loader wrote more than {MOST_BYTES} bytes to the console");
            return Err(LabError::Debugger(why));
        }
        counts.push(executed(gdb)?);
        Ok(())
    })?;
    match executed(gdb)? {
        same if same == expected => Ok(counts),
        other => Err(LabError::Debugger(format!(
            "the boot took {other} instructions with console timing and {expected} without, \
             because the loader waits for a timer that the timing affects"
        ))),
    }
}

/// The lines of `bytes`, of which each was written at the instruction that
/// `counts` has at its place.
fn lines(bytes: &[u8], counts: &[u64], at: impl Fn(u64) -> u64) -> Result<Vec<Line>, LabError> {
    if bytes.len() != counts.len() {
        return Err(LabError::Debugger(format!(
            "the loader wrote {} bytes to the serial port, but {} arrived",
            counts.len(),
            bytes.len()
        )));
    }
    let mut lines = Vec::new();
    let mut begin = 0;
    for line in bytes.split_inclusive(|b| *b == b'\n') {
        let text = crate::console::plain(line);
        // Before the text come the line ends of those who write them first.
        let blank = line.iter().take_while(|b| b.is_ascii_control()).count();
        if let (false, Some(count)) = (text.is_empty(), counts.get(begin + blank)) {
            let last = counts.get(begin + line.len() - 1);
            lines.push(Line {
                at_ns: at(*count),
                ended_ns: last.map(|count| at(*count)),
                text,
            });
        }
        begin += line.len();
    }
    Ok(lines)
}

/// How long the machine was idle up to the first moment that we can stop at
/// after `after` instructions.
fn idle_ns(gdb: &mut Gdb<UnixStream>, after: u64, cpu_shift: u8) -> Result<u64, LabError> {
    let mut pause = FIRST_LOOK;
    let mut ran = Duration::ZERO;
    loop {
        gdb.resume()?;
        std::thread::sleep(pause);
        gdb.stop()?;
        ran += pause;
        let instructions = executed(gdb)?;
        if instructions > after {
            // The instruction that reads the counter counts itself.
            let busy = (instructions + 1) << cpu_shift;
            let (counter, tick) = gdb.counter_ns()?;
            let idle = counter.saturating_sub(busy);
            // The counter may be a tick ahead of what we know it to count.
            return Ok(if idle < tick { 0 } else { idle });
        }
        // Not much further than `after`: what is idle later does not count.
        let left = (after - instructions) as f64 / instructions.max(1) as f64;
        let left = Duration::try_from_secs_f64(ran.as_secs_f64() * left).unwrap_or(LONGEST_LOOK);
        pause = left.clamp(SHORTEST_LOOK, LONGEST_LOOK);
    }
}

/// How many instructions the machine has executed.
fn executed(gdb: &mut Gdb<UnixStream>) -> Result<u64, LabError> {
    let said = gdb.monitor("info replay")?;
    instruction_count(&said).ok_or_else(|| {
        LabError::Debugger(format!(
            "`info replay` printed `{}`, which contains no instruction count",
            said.trim()
        ))
    })
}

fn instruction_count(said: &str) -> Option<u64> {
    let (_, count) = said.split_once("instruction count = ")?;
    let digits = count.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

/// A QEMU that ends when nobody looks at it any more.
struct Boot {
    child: Child,
    gdb: Option<Gdb<UnixStream>>,
}

impl Boot {
    fn gdb(&mut self) -> Result<&mut Gdb<UnixStream>, LabError> {
        let missing = || LabError::Debugger("no connection".into());
        self.gdb.as_mut().ok_or_else(missing)
    }
}

impl Drop for Boot {
    fn drop(&mut self) {
        // It may have ended by itself, and then there is nothing to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::{instruction_count, lines};

    #[test]
    fn lines_have_the_time_of_their_first_letter() {
        let bytes = b"\r\nU-Boot 1\r\n\r\n  DRAM: ok\r\nlast";
        let counts: Vec<u64> = (0..bytes.len() as u64).map(|i| i * 10).collect();
        let found = lines(bytes, &counts, |n| n * 2).unwrap();
        let found: Vec<_> = found
            .iter()
            .map(|l| (l.at_ns, l.ended_ns, l.text.as_str()))
            .collect();
        assert_eq!(
            found,
            [
                (40, Some(220), "U-Boot 1"),
                (280, Some(500), "  DRAM: ok"),
                (520, Some(580), "last")
            ]
        );
        assert!(lines(bytes, &counts[1..], |n| n).is_err());
    }

    #[test]
    fn the_count_is_taken_from_the_monitors_words() {
        let said = "Recording execution '/tmp/x = 3/rr': instruction count = 15938224\r\n";
        assert_eq!(instruction_count(said), Some(15_938_224));
        assert_eq!(instruction_count("Not recording or replaying.\n"), None);
        assert_eq!(instruction_count("instruction count = ?"), None);
    }
}
