//! Speed against what people use today: ratios, measured side by side.

mod cluster;
mod flash;
mod fleet;
mod history;
mod image;
mod lab;
mod prefetch;
mod sources;
mod strangers;

use crate::{root, step};
use anyhow::{Context, Result, bail};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How often each command runs; the fastest run counts, for both sides alike.
const RUNS: usize = 5;

/// What one command took.
#[derive(Clone, Copy)]
struct Cost {
    wall: Duration,
    /// Peak resident memory, bytes.
    memory: u64,
}

pub fn run(args: &[String]) -> Result<()> {
    match args.first().map(String::as_str) {
        None => {}
        Some("cluster") => return cluster::run(),
        Some("flash") => return flash::run(),
        Some("fleet") => return fleet::run(args.get(1..).unwrap_or_default()),
        Some("history") => return history::run(),
        Some("image") => return image::run(),
        Some("lab") => return lab::run(),
        Some("prefetch") => return prefetch::run(args.get(1..).unwrap_or_default()),
        Some("sources") => return sources::run(),
        Some("strangers") => return strangers::run(args.get(1..).unwrap_or_default()),
        Some("ui") => return page(),
        Some(other) => {
            bail!(
                "`{other}` is no benchmark; say `cluster`, `flash`, `fleet`, `history`, `image`, `lab`, `prefetch`, `sources`, `strangers`, `ui`, or nothing"
            )
        }
    }
    step("cargo", &["build", "--release", "--bins", "--locked"], &[])?;
    let dir = root().join("target/bench");
    std::fs::create_dir_all(&dir)?;
    let firstlight = root().join("target/release/firstlight");

    let big = dir.join("million.log");
    write_log(&big, 1_000_000)?;
    let bytes = std::fs::metadata(&big)?.len();
    let log = big.to_string_lossy();
    let blame = measure(
        &firstlight,
        &["blame", "--json", "--top", "10", &log],
        None,
        RUNS,
    )?;
    println!("kernel log of 1,000,000 lines, {:.1} MB", mb(bytes));
    println!(
        "  firstlight blame          {:>9.3} s   {:>6.0} MB/s   peak memory {:.2} x the input",
        blame.wall.as_secs_f64(),
        mb(bytes) / blame.wall.as_secs_f64(),
        blame.memory as f64 / bytes as f64,
    );
    match bootgraph(&dir)? {
        Some(script) => {
            // The peer takes seconds: twice is enough to see that it is steady.
            let peer = measure(
                Path::new("perl"),
                &[&script.to_string_lossy()],
                Some(&big),
                2,
            )?;
            println!(
                "  scripts/bootgraph.pl      {:>9.3} s   {:>6.1} MB/s   firstlight is {:.0} times as fast",
                peer.wall.as_secs_f64(),
                mb(bytes) / peer.wall.as_secs_f64(),
                peer.wall.as_secs_f64() / blame.wall.as_secs_f64(),
            );
        }
        None => println!("skipped: bootgraph.pl (apt-get could not download linux-source-6.1)"),
    }

    let small = dir.join("five-thousand.log");
    write_log(&small, 5_000)?;
    let show = measure(&firstlight, &["show", &small.to_string_lossy()], None, RUNS)?;
    println!(
        "kernel log of 5,000 lines\n  firstlight show           {:>9.1} ms",
        show.wall.as_secs_f64() * 1e3
    );
    Ok(())
}

fn mb(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// Runs a command `runs` times, its output thrown away, and keeps the fastest;
/// then once more to see its memory, because looking takes time too.
fn measure(program: &Path, args: &[&str], stdin: Option<&Path>, runs: usize) -> Result<Cost> {
    let start = || start(program, args, stdin);
    let mut wall = Duration::MAX;
    for _ in 0..runs {
        let begun = Instant::now();
        let ended = start()?.wait()?;
        wall = wall.min(begun.elapsed());
        if !ended.success() {
            bail!("{} {}: {ended}", program.display(), args.join(" "));
        }
    }
    let mut child = start()?;
    let status = format!("/proc/{}/status", child.id());
    let mut memory = 0;
    // The kernel keeps the high-water mark; the last look before the end is at
    // most a millisecond old.
    while child.try_wait()?.is_none() {
        memory = memory.max(peak_memory(&status));
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(Cost { wall, memory })
}

/// Starts a command whose output is thrown away.
fn start(program: &Path, args: &[&str], stdin: Option<&Path>) -> Result<Child> {
    let input = match stdin {
        Some(path) => Stdio::from(File::open(path)?),
        None => Stdio::null(),
    };
    Command::new(program)
        .args(args)
        .stdin(input)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("{} could not be started", program.display()))
}

fn peak_memory(status: &str) -> u64 {
    let text = std::fs::read_to_string(status).unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let kib = line.and_then(|l| l.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

/// A kernel log as `initcall_debug` makes it: calls and returns, probes, and
/// ordinary lines between them.
fn write_log(path: &Path, lines: u64) -> Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    let mut us: u64 = 0;
    let stamp = |us: u64| format!("[{:5}.{:06}]", us / 1_000_000, us % 1_000_000);
    writeln!(
        out,
        "{} Linux version 6.1.0 (builder@host) #1 SMP",
        stamp(0)
    )?;
    let mut written = 1;
    let mut i: u64 = 0;
    while written < lines {
        us += 17 + i % 23;
        // As many different functions and devices as a large kernel has.
        let (n, device) = (i % 3_001, i % 997);
        let module = match n % 3 {
            0 => format!(" [driver_{n}]"),
            _ => String::new(),
        };
        let size = 16 + n;
        match i % 8 {
            7 => writeln!(
                out,
                "{} pci 0000:00:{:02x}.0: type 00 class 0x{i:06x}",
                stamp(us),
                i % 32
            )?,
            6 => writeln!(
                out,
                "{} probe of device-{device} returned 0 after {} usecs",
                stamp(us),
                i % 500
            )?,
            _ => {
                let (task, took) = (1 + i % 3, 3 + i % 400);
                writeln!(
                    out,
                    "{} calling  subsystem_{n}_init+0x0/0x{size:x}{module} @ {task}",
                    stamp(us)
                )?;
                us += took;
                writeln!(
                    out,
                    "{} initcall subsystem_{n}_init+0x0/0x{size:x}{module} returned 0 after {took} usecs",
                    stamp(us)
                )?;
                written += 1;
            }
        }
        written += 1;
        i += 1;
    }
    // bootgraph.pl wants the line that ends the kernel's own start.
    writeln!(
        out,
        "{} Freeing unused kernel memory: 1024K",
        stamp(us + 10)
    )?;
    out.flush()?;
    Ok(())
}

/// Requests as blkparse prints them, to the nanosecond: each queued, issued and
/// completed, of several processes, here and there on a disk.
fn write_requests(path: &Path, lines: u64) -> Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    let mut ns: u64 = 0;
    let mut dice: u64 = 7;
    for i in 0..lines / 3 {
        dice = dice
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let sectors = 8 << ((dice >> 33) % 6);
        let sector = ((dice >> 40) % 4_000_000) * 8;
        let operation = if dice >> 61 == 0 { "W" } else { "R" };
        let pid = 100 + (dice >> 50) % 40;
        let mut line = |action: &str, n: u64, ns: u64, who: &str| {
            let (seconds, rest) = (ns / 1_000_000_000, ns % 1_000_000_000);
            writeln!(
                out,
                "  8,0    0 {n:8} {seconds:5}.{rest:09} {pid:5}  {action}   {operation} {sector} + {sectors} {who}"
            )
        };
        let name = format!("[task-{pid}]");
        let (wait, took) = (
            1_003 + (dice >> 20) % 9_001,
            40_009 + (dice >> 28) % 400_009,
        );
        line("Q", 3 * i + 1, ns, &name)?;
        line("D", 3 * i + 2, ns + wait, &name)?;
        line("C", 3 * i + 3, ns + wait + took, "[0]")?;
        ns += wait + took + (dice >> 45) % 20_011;
    }
    out.flush()?;
    Ok(())
}

/// The kernel's own script, out of Debian's source package; `None` if that
/// cannot be had here.
fn bootgraph(dir: &Path) -> Result<Option<PathBuf>> {
    let script = dir.join("bootgraph.pl");
    if script.exists() {
        return Ok(Some(script));
    }
    eprintln!("fetching the kernel's bootgraph.pl (Debian's linux-source-6.1, 140 MB, once)");
    let fetch = "apt-get download -qq linux-source-6.1 && \
        dpkg-deb --fsys-tarfile linux-source-6.1_*.deb | \
        tar -xO ./usr/src/linux-source-6.1.tar.xz | \
        tar -xJO linux-source-6.1/scripts/bootgraph.pl > bootgraph.tmp && \
        mv bootgraph.tmp bootgraph.pl && rm -f linux-source-6.1_*.deb";
    let status = Command::new("sh")
        .arg("-c")
        .arg(fetch)
        .current_dir(dir)
        .status()?;
    Ok((status.success() && script.exists()).then_some(script))
}

/// The page of a log of a million lines, and of a trace of a million events:
/// made by the program, and looked at in a browser.
fn page() -> Result<()> {
    step("cargo", &["build", "--release", "--bins", "--locked"], &[])?;
    let dir = root().join("target/bench");
    std::fs::create_dir_all(&dir)?;
    write_log(&dir.join("million.log"), 1_000_000)?;
    write_requests(&dir.join("million.blkparse"), 1_000_000)?;
    crate::ui::bench(&root().join("target/release/firstlight"))
}
