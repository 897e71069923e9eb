//! What takes longer to take, or can be taken only once: the trace rings, the
//! journal.

use super::gathered::{Gathered, Large};
use super::programs::run_at_most;
use crate::capture::note;
use crate::trace::{Tracefs, write_dat};
use rustix::fs::{MemfdFlags, Mode, OFlags, memfd_create, open};
use std::fs::File;
use std::io;
use std::path::Path;

/// The most of the journal that is taken: the start of the boot comes first.
const MOST_JOURNAL_BYTES: u64 = 32 << 20;

impl Gathered {
    /// Adds what firmware and loader left behind, the journal, and the trace
    /// rings. Large files lie in the folder `beside` until they are written, or
    /// in memory.
    pub fn more(&mut self, beside: Option<&Path>) {
        self.firmware();
        self.journal();
        self.journal_of_units();
        self.trace(beside);
    }

    fn journal(&mut self) {
        if !Path::new("/run/systemd/journal").is_dir() {
            return;
        }
        let ask = ["-b", "-o", "short-monotonic", "--no-pager", "-q"];
        match run_at_most("journalctl", &ask, MOST_JOURNAL_BYTES) {
            Ok((bytes, whole)) => {
                // The kernel's own lines in it are read from the kernel's log.
                self.add("journal", "none", "journal.txt", "monotonic", bytes);
                if !whole {
                    let limit = MOST_JOURNAL_BYTES >> 20;
                    let text = format!("the journal was truncated to its first {limit} MiB");
                    self.note(note::CUT, text);
                }
            }
            Err(why) => self.missing(
                "the journal",
                &format!("journalctl: {why}"),
                "run as root or join the group systemd-journal",
            ),
        }
    }

    /// Adds what process 1 wrote into the journal, with the fields that say of
    /// which unit: it alone knows the units of an initramfs.
    fn journal_of_units(&mut self) {
        if !Path::new("/run/systemd/journal").is_dir() {
            return;
        }
        const FIELDS: &str = "--output-fields=MESSAGE,MESSAGE_ID,UNIT,JOB_TYPE,JOB_RESULT,PRIORITY,\
            SYSLOG_IDENTIFIER,_PID,_TRANSPORT,_BOOT_ID,_SOURCE_REALTIME_TIMESTAMP,\
            _SOURCE_MONOTONIC_TIMESTAMP,KERNEL_USEC,INITRD_USEC,USERSPACE_USEC";
        let ask = ["-b", "-o", "json", FIELDS, "--no-pager", "-q", "_PID=1"];
        // Where it fails, the whole journal failed too, which is said already.
        if let Ok((bytes, _)) = run_at_most("journalctl", &ask, MOST_JOURNAL_BYTES)
            && !bytes.is_empty()
        {
            let name = "systemd in the journal";
            self.add(
                name,
                "systemd-journal",
                "journal-systemd.json",
                "monotonic",
                bytes,
            );
        }
    }

    /// Adds the trace rings, if they hold anything. What they held is gone from
    /// them then.
    pub fn trace(&mut self, beside: Option<&Path>) {
        const WHAT: &str = "the trace buffers";
        let trace = match Tracefs::find() {
            Ok(trace) => trace,
            // A kernel without them.
            Err(e) if matches!(e.kind(), io::ErrorKind::NotFound) => return,
            Err(e) if e.raw_os_error() == Some(rustix::io::Errno::NODEV.raw_os_error()) => return,
            Err(e) => return self.missing(WHAT, &e, "run as root"),
        };
        if let Err(e) = self.take(&trace, beside) {
            let advice = "check whether `trace-cmd extract` works on this machine";
            self.missing(WHAT, &e, advice);
        }
    }

    fn take(&mut self, trace: &Tracefs, beside: Option<&Path>) -> io::Result<()> {
        if !trace.holds_events()? {
            return Ok(());
        }
        let was_on = trace.is_on()?;
        trace.switch(false)?;
        let mut content = nameless(beside)?;
        let taken = write_dat(trace, &mut content);
        if was_on {
            trace.switch(true)?;
        }
        let taken = taken?;
        for why in &taken.missing {
            self.missing("part of the trace", why, "some events may be unreadable");
        }
        if taken.lost > 0 {
            let (lost, held) = (taken.lost, taken.events);
            self.note(
                note::CUT,
                format!(
                    "the trace buffers contained {held} events and had lost {lost} older ones; \
                     record fewer events or boot with a larger firstlight.buffer_kb= or \
                     trace_buf_size="
                ),
            );
        }
        let large = Large {
            file: "trace.dat".into(),
            content,
            length: taken.bytes,
        };
        self.add_large("trace", "trace.dat", "", large);
        Ok(())
    }
}

/// A file without a name, which goes when it is closed: in `folder`, or in memory.
fn nameless(folder: Option<&Path>) -> io::Result<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let on_disk = folder.and_then(|f| open(f, flags, Mode::RUSR | Mode::WUSR).ok());
    Ok(match on_disk {
        Some(file) => file,
        // Not every file system can do that.
        None => memfd_create("firstlight", MemfdFlags::CLOEXEC)?,
    }
    .into())
}
