//! What the lab needs, and what of it is there.

use crate::arm9;
use crate::artifacts::{self, Arch, Cache};
use crate::emulator::Program;
use crate::experiment::ArmArch;
use crate::pc::QEMU;
use crate::tools::{Tool, find};
use std::fs;
use std::path::Path;

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
    ("mmdebstrap", "mmdebstrap", "creates the Debian root"),
    ("mke2fs", "e2fsprogs", "creates the root filesystem"),
    ("apt-get", "apt", "fetches the Debian kernel"),
    ("dpkg-deb", "dpkg", "unpacks the Debian kernel"),
    ("depmod", "kmod", "finds the dependencies of kernel modules"),
    ("setpriv", "util-linux", "stops QEMU when the lab is killed"),
];

/// Less memory than this, in MiB, and two machines do not fit beside the rest.
const MEMORY_MB: u64 = 3 * 1024;

/// Looks for everything that the lab needs. Nothing is changed or fetched; but in
/// a checkout the agent is built.
#[must_use]
pub fn doctor() -> Vec<Check> {
    let mut checks = machines();
    checks.extend([QEMU, ArmArch::Armhf.qemu(), ArmArch::Arm64.qemu()].map(qemu));
    checks.push(u_boot());
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

/// The machines that an experiment can name, and whether this host can run them.
fn machines() -> Vec<Check> {
    let arm = [ArmArch::Armhf, ArmArch::Arm64].map(|arch| {
        let name = format!("machine arm-virt {}", arch.as_str());
        let what = format!("a board for {}, exact or in real time", arch.as_str());
        machine(&name, arch.qemu(), &[], &what)
    });
    let files = [ArmArch::Armhf, ArmArch::Arm64].map(ArmArch::u_boot);
    let with_loader = "a board with U-Boot in flash, exact or in real time";
    let loader = machine(
        "machine arm-virt, U-Boot",
        ArmArch::Armhf.qemu(),
        &files,
        with_loader,
    );
    let mut all = vec![machine(
        "machine pc",
        QEMU,
        &[],
        "an x86-64 q35, exact or in real time",
    )];
    all.extend(arm);
    all.push(loader);
    all.push(kernel_tools(
        "kernels of `build`",
        "kernels for variants of machine pc, built here",
        &artifacts::pc_build_missing(),
    ));
    all.push(arm9_machine());
    all.push(check(
        "machine replay",
        Ok("stored captures instead of boots; needs nothing".to_owned()),
        "nothing to do",
    ));
    all
}

fn arm9_machine() -> Check {
    const NAME: &str = "machine arm9";
    let what = "a versatilepb with an ARM926, exact or in real time; the lab builds its kernel";
    let emulator = machine(NAME, arm9::QEMU, &[], what);
    if !emulator.ok {
        return emulator;
    }
    let kernel = kernel_tools(NAME, what, &artifacts::linux_missing());
    match artifacts::no_agent(Arch::Armv5) {
        Some(why) if kernel.ok => check(NAME, Err("no agent for this machine".to_owned()), &why),
        _ => kernel,
    }
}

/// Whether a kernel can be built: what is missing for it.
fn kernel_tools(name: &str, what: &str, missing: &[(&str, &str)]) -> Check {
    match missing.first() {
        None => check(name, Ok(what.to_owned()), "nothing to do"),
        Some((tool, _)) => {
            let packages: Vec<&str> = missing.iter().map(|m| m.1).collect();
            check(
                name,
                Err(format!("cannot build its kernel without {tool}")),
                &format!("apt-get install {}", packages.join(" ")),
            )
        }
    }
}

fn machine(name: &str, qemu: Program, files: &[(&str, &str)], what: &str) -> Check {
    let program = (find(qemu.name).is_some(), qemu.name, qemu.package);
    let files = files.iter().map(|(f, p)| (Path::new(f).is_file(), *f, *p));
    let missing = std::iter::once(program).chain(files).find(|m| !m.0);
    match missing {
        None => check(name, Ok(what.to_owned()), "nothing to do"),
        Some((_, file, package)) => check(
            name,
            Err(format!("cannot run without {file}")),
            &format!("apt-get install {package}"),
        ),
    }
}

fn qemu(program: Program) -> Check {
    let Program { name, package, .. } = program;
    let said = Tool::new(name, package, "run boots")
        .args(["--version"])
        .run();
    let found = match said {
        Ok(said) => {
            let said = String::from_utf8_lossy(&said);
            Ok(said.lines().next().unwrap_or_default().to_owned())
        }
        Err(e) => Err(e.to_string()),
    };
    check(name, found, &format!("apt-get install {package}"))
}

fn u_boot() -> Check {
    let (file, package) = ArmArch::Armhf.u_boot();
    let found = match Path::new(file).is_file() {
        true => Ok(file.to_owned()),
        false => Err(format!("{file} does not exist")),
    };
    check(
        "U-Boot for QEMU",
        found,
        &format!("apt-get install {package}"),
    )
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

/// Only boots in real time use it.
fn kvm() -> Check {
    let usable = fs::File::options().read(true).write(true).open("/dev/kvm");
    let detail = match usable {
        Ok(_) => "usable for boots in real time; exact boots count instructions (TCG)",
        Err(_) => "not usable, so boots in real time are slower; exact boots do not need it (TCG)",
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
        (Some(_), true) => Ok(format!("{}, created when needed", place.display())),
        _ => Err(format!("cannot create {}", place.display())),
    };
    check(
        "cache",
        found,
        "set FIRSTLIGHT_CACHE to a folder that you can write",
    )
}

fn kernel() -> Check {
    let kernels: Vec<String> = Arch::ALL
        .into_iter()
        .filter_map(artifacts::cached_kernel)
        .map(|k| k.release)
        .collect();
    let found = (!kernels.is_empty()).then(|| kernels.join(", "));
    check(
        "Debian's kernels",
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
        "the first experiment with `root = \"debian-minimal\"` creates it; needs root",
    )
}

fn cores() -> Check {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let detail = format!("{cores}, which is the number of parallel boots");
    check("cores", Ok(detail), "nothing to do")
}

fn memory() -> Check {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"));
    let kb = line.and_then(|l| l.trim().trim_end_matches(" kB").parse::<u64>().ok());
    let found = match kb.map(|kb| kb / 1024) {
        Some(mb) if mb >= MEMORY_MB => Ok(format!("{mb} MiB available")),
        Some(mb) => Err(format!("{mb} MiB available, {MEMORY_MB} MiB recommended")),
        None => Err("/proc/meminfo has no MemAvailable line".to_owned()),
    };
    check(
        "memory",
        found,
        "run with fewer jobs or a smaller `memory_mb`",
    )
}

#[cfg(test)]
mod tests {
    use super::{doctor, kernel_tools};

    #[test]
    fn everything_has_a_detail_and_a_way_to_get_it() {
        let checks = doctor();
        assert!(checks.len() > 10);
        for c in &checks {
            assert!(!c.detail.is_empty() && !c.how_to_get_it.is_empty(), "{c:?}");
        }
        let is = |name: &str| checks.iter().find(|c| c.what == name).unwrap();
        let qemu = is("qemu-system-x86_64");
        assert_eq!(qemu.ok, qemu.detail.contains("version"), "{qemu:?}");
        // A machine can be run if its emulator is there.
        assert_eq!(is("machine pc").ok, qemu.ok);
        assert_eq!(is("machine arm-virt armhf").ok, is("qemu-system-arm").ok);
        assert!(is("machine replay").ok);
        let kernels = is("kernels of `build`");
        assert!(kernels.detail.contains("kernel"), "{kernels:?}");
    }

    #[test]
    fn all_packages_of_a_build_are_named() {
        let missing = [("bc", "bc"), ("gelf.h", "libelf-dev")];
        let check = kernel_tools("k", "w", &missing);
        assert!(
            !check.ok && check.detail.ends_with("without bc"),
            "{check:?}"
        );
        assert_eq!(check.how_to_get_it, "apt-get install bc libelf-dev");
    }
}
