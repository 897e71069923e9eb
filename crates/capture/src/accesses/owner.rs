//! Whose something is: a process that is not mistaken for a later one of the same
//! number.

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The inode number of the namespace of process numbers that sees all processes:
/// `PROC_PID_INIT_INO` of `include/linux/proc_ns.h`.
const ALL_PROCESSES: u64 = 0xefff_fffc;

/// A process, told from all others of this boot and of every other one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Its number.
    pid: u32,
    /// When it started, in clock ticks since the boot: field 22 of
    /// `/proc/PID/stat` (proc(5)).
    start: u64,
    /// The namespace that the number is of (pid_namespaces(7)).
    namespace: u64,
    /// The boot's id, without its dashes.
    boot: String,
}

impl Owner {
    /// This process; `None` without `/proc`.
    pub fn this() -> Option<Self> {
        let pid = std::process::id();
        Some(Self {
            pid,
            start: started(pid)?,
            namespace: namespace(Path::new("/proc/self"))?,
            boot: boot()?,
        })
    }

    /// The owner that [`Display`](fmt::Display) wrote.
    pub fn read(text: &str) -> Option<Self> {
        let mut words = text.split('-');
        let owner = Self {
            pid: words.next()?.parse().ok()?,
            start: words.next()?.parse().ok()?,
            namespace: words.next()?.parse().ok()?,
            boot: words.next()?.to_owned(),
        };
        let whole = words.next().is_none()
            && owner.boot.len() == 32
            && owner.boot.bytes().all(|b| b.is_ascii_hexdigit());
        whole.then_some(owner)
    }

    /// Whether the process has certainly ended. One that cannot be seen from here,
    /// in another container, may live.
    pub fn is_dead(&self) -> bool {
        let (Some(own), Some(boot)) = (namespace(Path::new("/proc/self")), boot()) else {
            return false;
        };
        if self.boot != boot {
            return true;
        }
        if self.namespace == own {
            return started(self.pid) != Some(self.start);
        }
        // Its number is another one here.
        own == ALL_PROCESSES && !self.is_seen()
    }

    /// Whether its boot is over, and with it all that was set.
    pub fn is_of_another_boot(&self) -> bool {
        boot().is_some_and(|b| b != self.boot)
    }

    /// Whether any process of its namespace started when it did.
    fn is_seen(&self) -> bool {
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let mut pids = processes.filter_map(|p| p.file_name().to_str()?.parse::<u32>().ok());
        pids.any(|pid| {
            started(pid) == Some(self.start)
                && namespace(Path::new(&format!("/proc/{pid}"))) == Some(self.namespace)
        })
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            pid,
            start,
            namespace,
            boot,
        } = self;
        write!(f, "{pid}-{start}-{namespace}-{boot}")
    }
}

/// When a process started; `None` if there is none, or only what its parent has
/// not taken note of.
fn started(pid: u32) -> Option<u64> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name may hold anything; what follows the last parenthesis is words.
    let end = stat.iter().rposition(|b| *b == b')')?;
    let rest = String::from_utf8_lossy(stat.get(end + 1..)?).into_owned();
    let mut words = rest.split_whitespace();
    let state = words.next()?;
    let start = words.nth(18)?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(start)
}

fn namespace(process: &Path) -> Option<u64> {
    Some(fs::metadata(process.join("ns/pid")).ok()?.ino())
}

fn boot() -> Option<String> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().replace('-', ""))
}

#[cfg(test)]
mod tests {
    use super::Owner;
    use std::process::{Command, Stdio};

    #[test]
    fn this_process_lives_and_what_is_not_it_does_not() {
        let this = Owner::this().unwrap();
        assert_eq!(Owner::read(&this.to_string()), Some(this.clone()));
        assert!(!this.is_dead() && !this.is_of_another_boot());
        // A later process of its number, and its number in another boot.
        let start = this.start - 1;
        assert!(
            Owner {
                start,
                ..this.clone()
            }
            .is_dead()
        );
        let boot = "0".repeat(32);
        let before = Owner {
            boot,
            ..this.clone()
        };
        assert!(before.is_dead() && before.is_of_another_boot());
        for text in [
            "",
            "1",
            "1-2-3",
            "1-2-3-xyz",
            &format!("{this}-1"),
            "test-7",
        ] {
            assert_eq!(Owner::read(text), None, "{text}");
        }
    }

    #[test]
    fn a_killed_process_is_dead_before_its_parent_knows() {
        let mut child = Command::new("sleep")
            .arg("60")
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let this = Owner::this().unwrap();
        let start = super::started(child.id()).unwrap();
        let owner = Owner {
            pid: child.id(),
            start,
            ..this
        };
        assert!(!owner.is_dead());
        child.kill().unwrap();
        while !owner.is_dead() {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert!(owner.is_dead());
    }
}
