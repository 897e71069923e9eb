//! Which emulator computes a boot: its bytes, not what it says of itself.
//!
//! Two builds of one version need not compute the same boot, and a version is
//! printed by anything. So the fingerprint of a trial holds the hash of the
//! program, of the libraries and modules that take part in computing a guest,
//! and of the ROMs that the guest runs.

use super::program::Program;
use crate::cache::{Cache, hash_bytes};
use crate::error::LabError;
use crate::hex::hex;
use crate::tools::Tool;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The libraries whose code decides what a guest sees: the C library (time,
/// sorting), mathematics (x87 functions), device trees, hash tables and main
/// loop, decompression of kernels. Those for pictures, sound and network do not.
const LIBRARIES: &[&str] = &[
    "libc.so",
    "libm.so",
    "libfdt.so",
    "libglib-2.0.so",
    "libz.so",
];

/// The ROMs that QEMU puts into a PC: the firmware, what patches it for
/// accelerators, and what starts a kernel that the command line names
/// (`hw/i386/x86.c`, `pc-bios/optionrom`).
pub const PC_ROMS: &[&str] = &[
    "bios-256k.bin",
    "kvmvapic.bin",
    "linuxboot.bin",
    "linuxboot_dma.bin",
    "multiboot.bin",
    "multiboot_dma.bin",
    "pvh.bin",
];

/// The hashes of an emulator's parts, as `key = value` lines.
///
/// # Errors
/// If one of its files cannot be read.
pub(super) fn identity(program: Program, file: &Path, cache: &Cache) -> Result<String, LabError> {
    let mut text = String::new();
    let mut add = |what: &str, path: &Path| -> Result<(), LabError> {
        let hash = hex(&cache.hash_of(path)?);
        // Writing into a string does not fail.
        let _ = writeln!(text, "{what} = {hash}");
        Ok(())
    };
    add("emulator", file)?;
    let libraries = libraries(file);
    for path in &libraries {
        let name = name(path);
        if LIBRARIES.iter().any(|l| name.starts_with(l)) {
            add(&format!("emulator library {name}"), path)?;
        }
    }
    for path in modules(&libraries) {
        add(&format!("emulator module {}", name(&path)), &path)?;
    }
    let folders = match program.roms {
        [] => Vec::new(),
        _ => data_folders(program),
    };
    for rom in program.roms {
        let found = folders.iter().map(|f| f.join(rom)).find(|f| f.is_file());
        if let Some(path) = found {
            add(&format!("rom {rom}"), &path)?;
        }
    }
    Ok(text)
}

/// An emulator in words, as results name it: program, version, and a hash of its parts.
#[must_use]
pub fn in_words(program: &str, version: &str, parts: &str) -> String {
    let hash = hash_bytes(parts.as_bytes());
    format!(
        "{program} {version}, parts {}",
        hash.get(..16).unwrap_or(&hash)
    )
}

fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// The shared libraries of a program, as the dynamic loader finds them; none for a
/// static program. The loader lists them and does not start the program.
fn libraries(file: &Path) -> BTreeSet<PathBuf> {
    let said = Command::new(file)
        .env("LD_TRACE_LOADED_OBJECTS", "1")
        .stdin(Stdio::null())
        .output();
    let said = said.map(|o| o.stdout).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    // "	libfdt.so.1 => /lib/x86_64-linux-gnu/libfdt.so.1 (0x00007f47c8481000)"
    let paths = said.lines().filter_map(|line| {
        let (_, rest) = line.split_once("=> ")?;
        let path = PathBuf::from(rest.split_whitespace().next()?);
        path.is_file().then_some(path)
    });
    paths.collect()
}

/// QEMU's own modules for the accelerator, which lie in `qemu/` beside its libraries.
fn modules(libraries: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let folders: BTreeSet<PathBuf> = libraries
        .iter()
        .filter_map(|l| Some(l.parent()?.canonicalize().ok()?.join("qemu")))
        .collect();
    let files = folders.iter().filter_map(|f| f.read_dir().ok()).flatten();
    let mut modules: Vec<PathBuf> = files
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| name(path).starts_with("accel-tcg-"))
        .collect();
    modules.sort();
    modules
}

/// The folders in which an emulator looks for ROMs, in its order.
fn data_folders(program: Program) -> Vec<PathBuf> {
    let said = Tool::new(program.name, program.package, "run boots")
        .args(["-L", "help"])
        .run();
    let said = said.unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    said.lines().map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use super::{PC_ROMS, identity};
    use crate::cache::Cache;
    use crate::emulator::Program;
    use std::path::Path;

    const NONE: Program = Program {
        name: "no-such-program-here",
        package: "none",
        roms: PC_ROMS,
    };

    #[test]
    fn another_program_of_the_same_version_has_another_identity() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache {
            folder: folder.path().join("cache"),
        };
        let of = |name: &str, text: &str| {
            let file = folder.path().join(name);
            std::fs::write(&file, text).unwrap();
            identity(NONE, &file, &cache).unwrap()
        };
        let one = of("one", "#!/bin/sh\necho QEMU emulator version 7.2.22\n");
        let two = of("two", "#!/bin/sh\necho QEMU emulator version 7.2.22 \n");
        assert_ne!(one, two);
        assert_eq!(
            one,
            of("three", "#!/bin/sh\necho QEMU emulator version 7.2.22\n")
        );
        assert!(identity(NONE, Path::new("/no/such/file"), &cache).is_err());
    }

    #[test]
    fn the_libraries_that_matter_are_part_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache {
            folder: folder.path().join("cache"),
        };
        // This test is a dynamic program too.
        let own = std::env::current_exe().unwrap();
        let text = identity(NONE, &own, &cache).unwrap();
        assert!(text.starts_with("emulator = "), "{text}");
        if cfg!(target_env = "gnu") {
            assert!(text.contains("emulator library libc.so.6 = "), "{text}");
        }
    }
}
