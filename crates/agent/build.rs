//! Makes the agent one static program on Linux with glibc.
//!
//! The agent runs in an initramfs and on targets of any distribution: it can
//! rely on no shared library. `crt-static` is the switch for that, and a build
//! script cannot turn it on; without it the compiler asks the linker for shared
//! libraries whatever `-static` says. So a folder of linker scripts goes first
//! on the search path: one for each shared library that the standard library
//! asks for, which names the static one instead.
//!
//! And it tells the code which ARM processors it is built for.

use std::path::PathBuf;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let var = |name: &str| env::var(name).unwrap_or_default();
    println!("cargo::rustc-check-cfg=cfg(has_barriers)");
    // ARMv5 and v6 have neither the barriers of ARMv7 nor a generic timer.
    let target = var("TARGET");
    if ["armv7", "thumbv7"].iter().any(|v| target.starts_with(v)) {
        println!("cargo::rustc-cfg=has_barriers");
    }
    let gnu = var("CARGO_CFG_TARGET_OS") == "linux" && var("CARGO_CFG_TARGET_ENV") == "gnu";
    let crt_static = var("CARGO_CFG_TARGET_FEATURE")
        .split(',')
        .any(|f| f == "crt-static");
    if !gnu || crt_static {
        return Ok(());
    }
    let dir = PathBuf::from(var("OUT_DIR"));
    // libgcc_s, the unwinder, exists only as a shared library; libgcc_eh and
    // libgcc are its static parts. They and the C library call one another.
    let whole = "GROUP(-l:libgcc_eh.a -l:libgcc.a -l:libc.a)\n";
    for name in ["gcc_s", "c"] {
        fs::write(dir.join(format!("lib{name}.so")), whole)?;
    }
    for name in ["m", "rt", "pthread", "util", "dl"] {
        let script = format!("INPUT(-l:lib{name}.a)\n");
        fs::write(dir.join(format!("lib{name}.so")), script)?;
    }
    for arg in ["-static", "-no-pie"] {
        println!("cargo::rustc-link-arg-bins={arg}");
    }
    println!("cargo::rustc-link-arg-bins=-L{}", dir.display());
    Ok(())
}
