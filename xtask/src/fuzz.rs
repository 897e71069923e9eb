//! Coverage-guided fuzzing of every parser, on the stable compiler.
//!
//! The sanitizer-coverage passes of LLVM are reached through `-C passes`, so
//! neither a nightly compiler nor cargo-fuzz is needed.

use crate::{root, step};
use anyhow::{Context, Result, bail};
use std::process::Command;

/// The LLVM passes and options that libFuzzer needs.
const RUSTFLAGS: &str = "--cfg fuzzing -C passes=sancov-module \
    -C llvm-args=-sanitizer-coverage-level=4 \
    -C llvm-args=-sanitizer-coverage-inline-8bit-counters \
    -C llvm-args=-sanitizer-coverage-pc-table \
    -C llvm-args=-sanitizer-coverage-trace-compares \
    -C codegen-units=1 -C debug-assertions=on -C overflow-checks=on";

/// The folder of the corpus that a target begins with, if there is one. What only a target
/// reads, such as several files in one, is in `fuzz/seeds`.
fn seeds(target: &str) -> Option<&'static str> {
    match target {
        "kernel_log" => Some("corpus/kernel-log"),
        "serial" => Some("corpus/serial"),
        "blktrace" | "blkparse" => Some("corpus/blktrace"),
        "experiment" => Some("experiments/blind"),
        "capture" => Some("corpus/captures"),
        "ftrace" | "trace_dat" | "page_owners" => Some("corpus/ftrace"),
        "kft" => Some("corpus/kft"),
        "bootchart" => Some("corpus/bootchart"),
        "any_source" | "opened" => Some("corpus"),
        "bootstage" => Some("corpus/bootstage"),
        "cbmem" => Some("corpus/cbmem"),
        "cloud_init" => Some("corpus/cloud-init"),
        "openrc" => Some("corpus/openrc"),
        "ti_report" => Some("corpus/ti-report"),
        "video" => Some("corpus/video"),
        "console" => Some("corpus/console"),
        "logic" => Some("corpus/logic"),
        "loader_console" => Some("corpus/loader-console"),
        "redact" => Some("corpus/kernel-log"),
        "strace" => Some("corpus/strace"),
        "perf_script" => Some("corpus/perf-script"),
        "kernel_config" => Some("corpus/kernel-config"),
        "state" => Some("corpus/state"),
        "settings" => Some("boards"),
        // Before the rest of its prefix: it is a program of its own.
        "systemd_bootchart" => Some("corpus/systemd-bootchart"),
        "boot_container" | "initramfs" | "kernel_image" => Some("corpus/boot"),
        systemd if systemd.starts_with("systemd_") => Some("corpus/systemd"),
        _ => None,
    }
}

pub fn run(args: &[String]) -> Result<()> {
    let seconds = args.first().map_or("60", String::as_str);
    if seconds.parse::<u32>().is_err() {
        bail!("`{seconds}` is not a number of seconds");
    }
    let fuzz = root().join("fuzz");
    let target = "x86_64-unknown-linux-gnu";
    let manifest = ["--manifest-path", "fuzz/Cargo.toml"];
    // An explicit target keeps the flags away from build scripts and macros.
    let build = [&["build", "--release", "--target", target], &manifest[..]].concat();
    step("cargo", &build, &[("RUSTFLAGS", RUSTFLAGS)])?;

    let mut targets: Vec<String> = std::fs::read_dir(fuzz.join("targets"))?
        .filter_map(|e| e.ok()?.path().file_stem()?.to_str().map(str::to_owned))
        .collect();
    targets.sort();
    let mut failed = Vec::new();
    for name in &targets {
        let corpus = fuzz.join("corpus").join(name);
        let artifacts = fuzz.join("artifacts").join(name);
        std::fs::create_dir_all(&corpus)?;
        std::fs::create_dir_all(&artifacts)?;
        eprintln!("\n==> fuzzing {name} for {seconds} s");
        let program = fuzz.join("target").join(target).join("release").join(name);
        let status = Command::new(&program)
            .arg(&corpus)
            .args(seeds(name).map(|folder| root().join(folder)))
            .args(Some(fuzz.join("seeds").join(name)).filter(|folder| folder.is_dir()))
            .arg(format!("-max_total_time={seconds}"))
            .arg(format!("-artifact_prefix={}/", artifacts.display()))
            .args([
                "-print_final_stats=1",
                "-verbosity=0",
                "-max_len=65536",
                "-timeout=10",
            ])
            .status()
            .with_context(|| format!("{} could not be started", program.display()))?;
        if !status.success() {
            failed.push(name.as_str());
        }
    }
    println!(
        "{} passed, {} failed",
        targets.len() - failed.len(),
        failed.len()
    );
    if !failed.is_empty() {
        bail!("crashed: {}; see fuzz/artifacts/", failed.join(", "));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::root;
    use std::fs;

    /// The text of each target, by its name.
    fn targets() -> Vec<(String, String)> {
        let files = fs::read_dir(root().join("fuzz/targets")).expect("fuzz/targets is there");
        let files = files.map(|entry| entry.expect("a file").path());
        let text = |path: &std::path::PathBuf| fs::read_to_string(path).expect("a target is text");
        let name = |path: &std::path::PathBuf| path.file_stem().map(|n| n.display().to_string());
        files
            .filter_map(|path| Some((name(&path)?, text(&path))))
            .collect()
    }

    #[test]
    fn every_target_is_built() {
        let manifest = fs::read_to_string(root().join("fuzz/Cargo.toml")).expect("the manifest");
        for (name, _) in targets() {
            let line = format!("path = \"targets/{name}.rs\"");
            assert!(manifest.contains(&line), "fuzz/Cargo.toml lacks {name}");
        }
    }

    /// The list of formats names each as `&module::Reader`.
    #[test]
    fn every_source_has_a_target_of_its_own() {
        let list = root().join("crates/sources/src/lib.rs");
        let list = fs::read_to_string(list).expect("the list of sources");
        let (_, list) = list
            .split_once("SOURCES: &[&dyn Source]")
            .expect("the list");
        let (list, _) = list.split_once("];").expect("its end");
        let sources = list.lines().filter_map(|line| {
            let line = line.trim().strip_prefix('&')?.strip_suffix(',')?;
            line.split_once("::")
        });
        let targets = targets();
        let mut count = 0;
        for (module, reader) in sources {
            count += 1;
            let has =
                |text: &str| text.contains(&format!("sources::{module}")) && text.contains(reader);
            assert!(
                targets.iter().any(|(_, text)| has(text)),
                "no file in fuzz/targets reads with sources::{module}::{reader}"
            );
        }
        assert!(count >= 34, "only {count} sources were found in the list");
    }
}
