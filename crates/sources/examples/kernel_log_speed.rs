//! How fast the kernel log source reads a million lines of `initcall_debug`,
//! and in how much memory: `cargo run --release --example kernel_log_speed`.
//!
//! An argument sets the number of lines.

#![allow(clippy::print_stdout, reason = "the figures are what it is for")]

use firstlight_sources::{Input, Source, kernel_log::KernelLog};
use record::Recorder;
use std::fmt::Write;
use std::time::Instant;

/// How often it reads; the fastest counts.
const RUNS: usize = 5;

fn main() {
    let lines = std::env::args().nth(1).and_then(|n| n.parse().ok());
    let log = log(lines.unwrap_or(1_000_000));
    let mut best = [f64::MAX; 2];
    let mut peak = None;
    for _ in 0..RUNS {
        let start = Instant::now();
        let mut recorder = Recorder::new();
        let input = Input {
            name: "generated",
            bytes: log.as_bytes(),
        };
        KernelLog.read(input, &mut recorder);
        let read = start.elapsed().as_secs_f64();
        let record = recorder.finish();
        let whole = start.elapsed().as_secs_f64();
        best = [best[0].min(read), best[1].min(whole)];
        // Later runs reuse what the first one gave back, or cannot.
        peak = peak.or_else(peak_bytes);
        assert_eq!(record.sources().first().map(|s| s.noted), Some(0));
    }
    let megabytes = log.len() as f64 / 1e6;
    println!("{megabytes:.1} MB in {} lines", log.lines().count());
    println!("read             {:6.0} MB/s", megabytes / best[0]);
    println!("read and finish  {:6.0} MB/s", megabytes / best[1]);
    match peak {
        Some(peak) => println!(
            "peak memory      {:6.2} x the input, input included",
            peak / log.len() as f64
        ),
        None => println!("peak memory       unknown: no /proc/self/status"),
    }
}

/// A log in which, of ten lines, six are of initcalls (half of them in
/// modules), two of probes, and two are plain.
fn log(lines: u64) -> String {
    let mut log = String::new();
    log.push_str("[    0.000000] Linux version 6.1.0 (builder@host) #1 SMP\n");
    let mut us = 0;
    let mut i = 0;
    let mut written = 1;
    while written < lines {
        us += 17 + i % 23;
        let _ = match i % 7 {
            6 => plain(&mut log, us, i),
            5 => plain(&mut log, us, i * 3),
            3 | 4 => writeln!(
                log,
                "{} probe of {:x}.device-{} returned {} after {} usecs",
                Stamp(us),
                0x1_0000 + i % 997,
                i % 7,
                if i % 5 == 0 { -517 } else { 0 },
                i % 500
            ),
            _ => {
                let took = 3 + i % 400;
                let module = if i.is_multiple_of(2) {
                    format!(" [driver_{}]", i % 211)
                } else {
                    String::new()
                };
                let function = format!(
                    "subsystem_{}_init+0x0/0x{:x}{module}",
                    i % 50_021,
                    16 + i % 4096
                );
                let _ = writeln!(log, "{} calling  {function} @ {}", Stamp(us), 1 + i % 300);
                us += took;
                written += 1;
                writeln!(
                    log,
                    "{} initcall {function} returned 0 after {took} usecs",
                    Stamp(us)
                )
            }
        };
        written += 1;
        i += 1;
    }
    log
}

fn plain(log: &mut String, us: u64, i: u64) -> std::fmt::Result {
    writeln!(
        log,
        "{} pci 0000:{:02x}:00.0: [8086:{:04x}] type 00 class 0x060000 PCIe Root Complex Integrated Endpoint",
        Stamp(us),
        i % 256,
        i % 65_536
    )
}

/// A stamp, given in microseconds.
struct Stamp(u64);

impl std::fmt::Display for Stamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "[{:5}.{:06}]", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}

/// The most memory this process ever had.
fn peak_bytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib * 1024.0)
}
