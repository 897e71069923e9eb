//! The kernel's log: the ring, and what the journal has kept of it.

use super::gathered::Gathered;
use super::programs::run;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;

/// The ring's name in a capture.
pub(super) const KMSG: &str = "kmsg";

impl Gathered {
    pub(super) fn kernel_log(&mut self) {
        let has_ring = match kmsg() {
            Ok(kmsg) => {
                // The first record has the number 0, unless the ring has wrapped.
                let whole = kmsg.split(|b| *b == b',').nth(1) == Some(b"0");
                self.add("kernel log", "kernel-log", KMSG, "printk", kmsg);
                if whole {
                    return;
                }
                true
            }
            Err(why) => {
                let is_root = rustix::process::geteuid().is_root();
                let advice = advice(why.kind(), is_root);
                self.missing("the kernel log", &format!("/dev/kmsg: {why}"), advice);
                false
            }
        };
        // The journal may still have what the ring has lost.
        let ask = ["-k", "-b", "-o", "short-monotonic", "--no-pager", "-q"];
        match run("journalctl", &ask) {
            Ok(bytes) if !bytes.is_empty() => {
                let (format, clock) = ("kernel-log", "monotonic");
                self.add(
                    "kernel log of the journal",
                    format,
                    "journal-kernel.txt",
                    clock,
                    bytes,
                );
            }
            Ok(_) => {}
            // Without the ring, the reason is given already.
            Err(_) if !has_ring => {}
            Err(why) => self.missing(
                "the start of the kernel log",
                &format!("journalctl: {why}"),
                "boot with a larger `log_buf_len=` or join the group systemd-journal",
            ),
        }
    }
}

/// How to get at `/dev/kmsg` where opening or reading it fails in this way. Containers lack
/// the device, or the right to open it.
fn advice(kind: io::ErrorKind, is_root: bool) -> &'static str {
    match (kind, is_root) {
        (io::ErrorKind::NotFound, _) => {
            "if this is a container, run this on its host or give it the device"
        }
        (_, true) => "if this is a container, run this on its host or give it CAP_SYSLOG",
        (_, false) => "run as root or run `sysctl kernel.dmesg_restrict=0`",
    }
}

/// The kernel log, record by record, as `/dev/kmsg` gives it.
pub(super) fn kmsg() -> io::Result<Vec<u8>> {
    let nonblock = rustix::fs::OFlags::NONBLOCK.bits();
    let mut file = File::options()
        .read(true)
        .custom_flags(nonblock.cast_signed())
        .open("/dev/kmsg")?;
    let mut all = Vec::new();
    // A read gives one record, and fails if it does not fit.
    let mut record = vec![0; 64 << 10];
    loop {
        match file.read(&mut record) {
            Ok(0) => return Ok(all),
            Ok(n) => all.extend(record.iter().take(n)),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(all),
            // The ring has overtaken the reader, who goes on behind the gap:
            // the numbers of the records tell.
            Err(e) if e.raw_os_error() == Some(rustix::io::Errno::PIPE.raw_os_error()) => {}
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::advice;
    use std::io::ErrorKind::{NotFound, PermissionDenied};

    #[test]
    fn root_is_not_told_to_run_as_root() {
        for (kind, is_root, expected) in [
            (NotFound, false, "give it the device"),
            (NotFound, true, "give it the device"),
            (PermissionDenied, true, "give it CAP_SYSLOG"),
            (PermissionDenied, false, "run as root"),
        ] {
            assert!(
                advice(kind, is_root).contains(expected),
                "{kind}, {is_root}"
            );
        }
    }
}
