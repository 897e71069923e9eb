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

use super::gdb::Gdb;
use crate::error::LabError;
use serde::{Deserialize, Serialize};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Child;
use std::time::Duration;

/// Instants in nanoseconds of virtual time since reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stages {
    /// The kernel image begins to unpack itself; absent if it was handed over
    /// unpacked.
    pub decompression_start_ns: Option<u64>,
    /// The first instruction of the kernel proper.
    pub kernel_entry_ns: u64,
}

/// Addresses at which stages begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entries {
    /// The decompressor's entry, if the kernel unpacks itself.
    pub decompressor: Option<u64>,
    /// The kernel's entry.
    pub kernel: u64,
}

/// No answer of QEMU may take longer: a decompression takes 4 to 10 s.
const PATIENCE: Duration = Duration::from_secs(120);

/// How long a boot runs before it is stopped to look at its clock, at first.
const FIRST_LOOK: Duration = Duration::from_millis(20);

/// Measures the stages. `start` starts a recording QEMU with its debugger stub
/// on the socket it is given.
///
/// # Errors
/// If QEMU does not start, or does not come by the entries.
pub fn measure(
    entries: Entries,
    cpu_shift: u8,
    folder: &Path,
    start: &dyn Fn(&Path) -> Result<Child, LabError>,
) -> Result<Stages, LabError> {
    let boot = |name: &str| -> Result<Boot, LabError> {
        let socket = folder.join(name);
        let child = start(&socket)?;
        // From here on QEMU is ended on every way out.
        let mut boot = Boot { child, gdb: None };
        boot.gdb = Some(Gdb::connect(&socket, PATIENCE)?);
        Ok(boot)
    };
    let mut first = boot("stages")?;
    let gdb = first.gdb()?;
    let decompressor = match entries.decompressor {
        None => None,
        Some(address) => {
            gdb.run_to(address)?;
            Some(executed(gdb)?)
        }
    };
    gdb.run_to(entries.kernel)?;
    let kernel = executed(gdb)?;
    drop(first);
    let idle = idle_ns(
        boot("idle")?.gdb()?,
        decompressor.unwrap_or(kernel),
        cpu_shift,
    )?;
    let at = |instructions: u64| (instructions << cpu_shift).saturating_add(idle);
    Ok(Stages {
        decompression_start_ns: decompressor.map(at),
        kernel_entry_ns: at(kernel),
    })
}

/// How long the machine was idle up to the first moment that we can stop at
/// after `after` instructions.
fn idle_ns(gdb: &mut Gdb<UnixStream>, after: u64, cpu_shift: u8) -> Result<u64, LabError> {
    let mut pause = FIRST_LOOK;
    loop {
        gdb.resume()?;
        std::thread::sleep(pause);
        gdb.stop()?;
        let instructions = executed(gdb)?;
        if instructions > after {
            // The instruction that reads the counter counts itself.
            let busy = (instructions + 1) << cpu_shift;
            return Ok(gdb.time_stamp_counter()?.saturating_sub(busy));
        }
        pause = pause.saturating_mul(2).min(Duration::from_secs(1));
    }
}

/// How many instructions the machine has executed.
fn executed(gdb: &mut Gdb<UnixStream>) -> Result<u64, LabError> {
    let said = gdb.monitor("info replay")?;
    instruction_count(&said).ok_or_else(|| {
        LabError::Debugger(format!(
            "`info replay` said `{}`, which holds no instruction count",
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
    use super::instruction_count;

    #[test]
    fn the_count_is_taken_from_the_monitors_words() {
        let said = "Recording execution '/tmp/x = 3/rr': instruction count = 15938224\r\n";
        assert_eq!(instruction_count(said), Some(15_938_224));
        assert_eq!(instruction_count("Not recording or replaying.\n"), None);
        assert_eq!(instruction_count("instruction count = ?"), None);
    }
}
