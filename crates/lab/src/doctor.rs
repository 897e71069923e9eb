//! What the lab needs, and what of it is there.

use crate::artifacts::{self, Arch, Cache};
use crate::pc;
use crate::tools::{Tool, find};
use std::fs;

/// One thing that the lab needs or would like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What it is: `qemu-system-x86_64`.
    pub what: String,
    /// Whether it is there.
    pub ok: bool,
    /// What was found, in words: a version, a path, a number.
    pub detail: String,
    /// How to get it, if it is not there.
    pub how_to_get_it: String,
}

/// Programs, what they are for, and the packages that bring them.
const TOOLS: &[(&str, &str, &str)] = &[
    ("mmdebstrap", "mmdebstrap", "makes the Debian root"),
    ("mke2fs", "e2fsprogs", "makes the root's file system"),
    ("apt-get", "apt", "fetches Debian's kernel"),
    ("dpkg-deb", "dpkg", "unpacks Debian's kernel"),
    ("depmod", "kmod", "finds out which module needs which"),
    ("setpriv", "util-linux", "ends QEMU when the lab is killed"),
];

/// Less memory than this, in MiB, and two machines do not fit beside the rest.
const MEMORY_MB: u64 = 3 * 1024;

/// Looks for everything that the lab needs. Nothing is changed or fetched; but in
/// a checkout the agent is built.
#[must_use]
pub fn doctor() -> Vec<Check> {
    let mut checks = vec![qemu()];
    checks.extend(TOOLS.iter().map(|(tool, package, use_of_it)| {
        let file = find(tool);
        Check {
            what: (*tool).to_owned(),
            ok: file.is_some(),
            detail: match file {
                Some(path) => format!("{}; {use_of_it}", path.display()),
                None => format!("not installed; {use_of_it}"),
            },
            how_to_get_it: format!("apt-get install {package}"),
        }
    }));
    checks.extend([agent(), kvm(), cache(), kernel(), root(), cores(), memory()]);
    checks
}

fn check(what: &str, found: Result<String, String>, how_to_get_it: &str) -> Check {
    Check {
        what: what.to_owned(),
        ok: found.is_ok(),
        detail: found.unwrap_or_else(|why| why),
        how_to_get_it: how_to_get_it.to_owned(),
    }
}

fn qemu() -> Check {
    let said = Tool::new(pc::QEMU.name, pc::QEMU.package, "boots run in it")
        .args(["--version"])
        .run();
    let found = match said {
        Ok(said) => {
            let said = String::from_utf8_lossy(&said);
            Ok(said.lines().next().unwrap_or_default().to_owned())
        }
        Err(e) => Err(e.to_string()),
    };
    let how = format!("apt-get install {}", pc::QEMU.package);
    check(pc::QEMU.name, found, &how)
}

fn agent() -> Check {
    let mut remarks = Vec::new();
    let found = artifacts::agent_program(Arch::X86_64, &mut |remark| remarks.push(remark));
    check(
        "firstlight-agent",
        found
            .map(|bytes| {
                let size = format!("{} KiB, static", bytes.len() / 1024);
                [vec![size], remarks].concat().join("; ")
            })
            .map_err(|e| e.to_string()),
        "run from a checkout, or set FIRSTLIGHT_AGENT",
    )
}

/// Exact boots do not use it; it is said because many ask.
fn kvm() -> Check {
    let usable = fs::File::options().read(true).write(true).open("/dev/kvm");
    let detail = match usable {
        Ok(_) => "usable, but not used: exact boots count instructions (TCG)",
        Err(_) => "not usable, and not needed: exact boots count instructions (TCG)",
    };
    check("KVM", Ok(detail.to_owned()), "nothing to do")
}

fn cache() -> Check {
    let place = Cache::place();
    // The nearest folder that is there already is the one to be written to.
    let there = place.ancestors().find(|folder| folder.is_dir());
    let writable =
        there.is_some_and(|folder| fs::metadata(folder).is_ok_and(|m| !m.permissions().readonly()));
    let found = match (there, writable) {
        (Some(folder), true) if folder == place => Ok(place.display().to_string()),
        (Some(_), true) => Ok(format!("{}, made when it is needed", place.display())),
        _ => Err(format!("{} cannot be made", place.display())),
    };
    check("cache", found, "set FIRSTLIGHT_CACHE to a folder of yours")
}

fn kernel() -> Check {
    let kernel = artifacts::cached_kernel(Arch::X86_64);
    let found = kernel.map(|k| format!("{}, {}", k.release, k.image.display()));
    check(
        "Debian's kernel",
        found.ok_or_else(|| "not in the cache yet".to_owned()),
        "the first experiment with `kernel = \"debian\"` fetches it",
    )
}

fn root() -> Check {
    let found = artifacts::cached_root();
    check(
        "Debian's root",
        found
            .map(|path| path.display().to_string())
            .ok_or_else(|| "not in the cache yet".to_owned()),
        "the first experiment with `root = \"debian-minimal\"` makes it, as root",
    )
}

fn cores() -> Check {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let detail = format!("{cores}: as many boots at once");
    check("cores", Ok(detail), "nothing to do")
}

fn memory() -> Check {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"));
    let kb = line.and_then(|l| l.trim().trim_end_matches(" kB").parse::<u64>().ok());
    let found = match kb.map(|kb| kb / 1024) {
        Some(mb) if mb >= MEMORY_MB => Ok(format!("{mb} MiB available")),
        Some(mb) => Err(format!("{mb} MiB available, {MEMORY_MB} wanted")),
        None => Err("/proc/meminfo does not say".to_owned()),
    };
    check(
        "memory",
        found,
        "run with fewer jobs, or smaller `memory_mb`",
    )
}

#[cfg(test)]
mod tests {
    use super::doctor;

    #[test]
    fn everything_has_a_detail_and_a_way_to_get_it() {
        let checks = doctor();
        assert!(checks.len() > 10);
        for c in &checks {
            assert!(!c.detail.is_empty() && !c.how_to_get_it.is_empty(), "{c:?}");
        }
        let qemu = checks.first().unwrap();
        assert_eq!(qemu.what, "qemu-system-x86_64");
        assert_eq!(qemu.ok, qemu.detail.contains("version"), "{qemu:?}");
    }
}
