//! `./x bench flash`: JFFS2 against sumtool and jefferson, in one run.

use super::{Cost, RUNS, mb, measure};
use crate::{root, step};
use anyhow::{Context, Result, bail};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// How many times as fast as `sumtool` ours is to be, and as `jefferson`.
const SUMTOOL: f64 = 4.0;
const JEFFERSON: f64 = 10.0;
/// How often each command of the table with `sumtool` is timed.
const TURNS: usize = 7;
/// The most memory for an image of 4 GiB, bytes.
const MEMORY: u64 = 64_000_000;
/// How large that image is.
const LARGE: u64 = 4 << 30;
/// The version of the extractor that we are held against.
const PEER: &str = "jefferson==0.4.8";

pub fn run() -> Result<()> {
    step("cargo", &["build", "--release", "--bins", "--locked"], &[])?;
    let dir = root().join("target/bench/flash");
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir)?;
    let done = all(&dir);
    fs::remove_dir_all(&dir)?;
    done
}

fn all(dir: &Path) -> Result<()> {
    let firstlight = root().join("target/release/firstlight");
    let path = |name: &str| dir.join(name).to_string_lossy().into_owned();
    let tree = dir.join("tree");
    make_tree(&tree)?;
    let [plain, packed] = [("plain", "none"), ("packed", "size")].map(|(n, m)| (path(n), m));
    for (image, mode) in [&plain, &packed] {
        let tree = tree.to_string_lossy();
        let words = ["-n", "-l", "-e", "128KiB", "-m", mode, "-r", &tree, "-o"];
        step("mkfs.jffs2", &[&words[..], &[image.as_str()]].concat(), &[])
            .context("mkfs.jffs2 (mtd-utils) is needed")?;
    }
    let (plain, packed) = (plain.0, packed.0);
    let mut missed = Vec::new();

    println!(
        "JFFS2 image without compression, {:.1} MB",
        mb(fs::metadata(&plain)?.len())
    );
    let (ours, theirs) = (path("ours"), path("theirs"));
    let sumtool = ["-n", "-l", "-e", "128KiB", "-i", &plain, "-o", &theirs];
    // `sumtool` leaves its output to the page cache; ours is on the disk.
    let synced = format!("sumtool -n -l -e 128KiB -i {plain} -o {theirs} && sync {theirs}");
    let summarize = [
        "flash",
        "summarize",
        &plain,
        "-n",
        "-e",
        "128KiB",
        "-o",
        &ours,
    ];
    let compat = [&summarize[..], &["--compat"]].concat();
    let [peer, synced, check, summarize, compat] = in_turn(
        [
            (Path::new("sumtool"), &sumtool),
            (Path::new("sh"), &["-c", &synced]),
            (&firstlight, &["flash", "check", &plain]),
            (&firstlight, &summarize),
            (&firstlight, &compat),
        ],
        [&ours, &theirs],
    )?;
    row("sumtool", peer, None);
    row("sumtool, and sync of its output", synced, None);
    for (name, cost, writes) in [
        ("firstlight flash check", check, false),
        ("firstlight flash summarize", summarize, true),
        ("the same, --compat", compat, true),
    ] {
        if row(name, cost, Some(peer)) < SUMTOOL {
            missed.push(format!("{name}: {SUMTOOL} times sumtool"));
        }
        if writes {
            let ratio = synced.wall.as_secs_f64() / cost.wall.as_secs_f64();
            println!("  {:<32} {ratio:.1} times sumtool with sync", "");
        }
    }
    // What is there is of the last command alone.
    step("sumtool", &sumtool, &[])?;
    if fs::read(&ours)? != fs::read(&theirs)? {
        bail!("--compat and sumtool made different images");
    }
    in_memory(&plain, &firstlight)?;
    println!(
        "The same files packed with zlib, {:.1} MB",
        mb(fs::metadata(&packed)?.len())
    );
    match jefferson() {
        Some(program) => {
            let out = path("jefferson");
            let args = ["-f", "-d", &out, &packed];
            let peer = measure(&program, &args, None, 1)?;
            row("jefferson", peer, None);
            let mut best: Option<Cost> = None;
            for i in 0..RUNS {
                let to = path(&format!("extracted-{i}"));
                let cost = once(&firstlight, &["flash", "extract", &packed, "-o", &to])?;
                best = best.filter(|b| b.wall <= cost.wall).or(Some(cost));
            }
            let best = best.context("nothing was measured")?;
            if row("firstlight flash extract", best, Some(peer)) < JEFFERSON {
                missed.push(format!("flash extract: {JEFFERSON} times jefferson"));
            }
            let files = same(&tree, &dir.join("extracted-0"))?;
            let theirs = same(&tree, &dir.join("jefferson"))?;
            println!("  {files} files are equal to what went in, and {theirs} of jefferson's");
        }
        None => println!("skipped: jefferson ({PEER} could not be had from PyPI)"),
    }

    let large = path("large");
    repeat(&plain, &large)?;
    println!("That image again and again, {:.0} MB", mb(LARGE));
    let out = path("large-out");
    for (name, args) in [
        ("firstlight flash check", &["flash", "check", &large][..]),
        (
            "firstlight flash summarize",
            &["flash", "summarize", &large, "-n", "-o", &out],
        ),
        ("firstlight flash list", &["flash", "list", &large]),
        ("firstlight flash verify", &["flash", "verify", &large]),
    ] {
        // Nodes that are there again and again are no damage, but `verify` may say so.
        let cost = once(&firstlight, args)?;
        row(name, cost, None);
        if cost.memory > MEMORY {
            missed.push(format!("{name}: {:.0} MB for 4 GiB", mb(MEMORY)));
        }
        let _ = fs::remove_file(&out);
    }
    match missed.as_slice() {
        [] => Ok(()),
        missed => bail!("not reached: {}", missed.join("; ")),
    }
}

/// One line of the table; how many times as fast as the peer it is.
fn row(name: &str, cost: Cost, peer: Option<Cost>) -> f64 {
    let seconds = cost.wall.as_secs_f64();
    let ratio = peer.map_or(0.0, |p| p.wall.as_secs_f64() / seconds);
    let times = match peer {
        Some(_) => format!("   {ratio:.1} times as fast"),
        None => String::new(),
    };
    println!(
        "  {name:<32} {seconds:>8.3} s   peak memory {:>4.0} MB{times}",
        mb(cost.memory)
    );
    ratio
}

/// The least of the runs of each command, which take turns: what else the machine
/// does meets all of them. What they make, `made`, is gone before each: to give an
/// old file's room back takes the same time for every program, and some disks long.
fn in_turn<const N: usize>(commands: [(&Path, &[&str]); N], made: [&str; 2]) -> Result<[Cost; N]> {
    let mut least = [Cost {
        wall: Duration::MAX,
        memory: 0,
    }; N];
    for _ in 0..TURNS {
        for (least, (program, args)) in least.iter_mut().zip(commands) {
            for path in made {
                let _ = fs::remove_file(path);
            }
            // And what was made so far does not go to the disk meanwhile.
            Command::new("sync").status()?;
            let cost = measure(program, args, None, 1)?;
            least.wall = least.wall.min(cost.wall);
            least.memory = least.memory.max(cost.memory);
        }
    }
    Ok(least)
}

/// The same without a disk to wait for: what the programs themselves take.
fn in_memory(plain: &str, firstlight: &Path) -> Result<()> {
    let Ok(folder) = tempfile::tempdir_in("/dev/shm") else {
        println!("skipped: the same in memory (/dev/shm is not there)");
        return Ok(());
    };
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let [image, ours, theirs] = ["plain", "ours", "theirs"].map(path);
    fs::copy(plain, &image)?;
    let peer = ["-n", "-l", "-e", "128KiB", "-i", &image, "-o", &theirs];
    let safe = [
        "flash",
        "summarize",
        &image,
        "-n",
        "-e",
        "128KiB",
        "-o",
        &ours,
    ];
    let compat = [&safe[..], &["--compat"]].concat();
    println!("The same in memory (/dev/shm), where no disk is waited for");
    let [peer, safe, compat] = in_turn(
        [
            (Path::new("sumtool"), &peer[..]),
            (firstlight, &safe),
            (firstlight, &compat),
        ],
        [&ours, &theirs],
    )?;
    row("sumtool", peer, None);
    row("firstlight flash summarize", safe, Some(peer));
    row("the same, --compat", compat, Some(peer));
    Ok(())
}

/// A run that cannot be done twice: time and memory at once.
fn once(program: &Path, args: &[&str]) -> Result<Cost> {
    let begun = std::time::Instant::now();
    let mut child = super::start(program, args, None)?;
    let status = format!("/proc/{}/status", child.id());
    let mut memory = 0;
    let ended = loop {
        if let Some(ended) = child.try_wait()? {
            break ended;
        }
        memory = memory.max(super::peak_memory(&status));
        std::thread::sleep(std::time::Duration::from_millis(1));
    };
    if !ended.success() {
        bail!("{} {}: {ended}", program.display(), args.join(" "));
    }
    Ok(Cost {
        wall: begun.elapsed(),
        memory,
    })
}

/// 95 MB in 4,000 files, half of it text that packs, half of it noise.
fn make_tree(tree: &Path) -> Result<()> {
    let mut state = 0x1234_5678_u32;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    };
    for i in 0..4_000 {
        let folder = tree.join(format!("d{:02}", i % 53));
        fs::create_dir_all(&folder)?;
        let mut bytes = Vec::with_capacity(24_000);
        while bytes.len() < 23_800 {
            match i % 2 {
                0 => bytes.extend_from_slice(format!("line {} of it\n", next() % 999).as_bytes()),
                _ => bytes.extend_from_slice(&next().to_le_bytes()),
            }
        }
        fs::write(folder.join(format!("f{i:04}")), bytes)?;
    }
    Ok(())
}

/// `image` again and again, up to [`LARGE`] bytes.
fn repeat(image: &str, to: &str) -> Result<()> {
    let mut bytes = fs::read(image)?;
    bytes.resize(bytes.len().next_multiple_of(128 << 10), 0xff);
    let mut out = BufWriter::new(File::create(to)?);
    let mut left = usize::try_from(LARGE)?;
    while left > 0 {
        let take = left.min(bytes.len());
        out.write_all(bytes.get(..take).unwrap_or(&bytes))?;
        left -= take;
    }
    Ok(out.flush()?)
}

/// How many files of `tree` are in `other` with the same content; another one, or
/// one that is missing, is an error.
fn same(tree: &Path, other: &Path) -> Result<u64> {
    let mut count = 0;
    let mut open = vec![PathBuf::new()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(tree.join(&folder))? {
            let entry = entry?;
            let path = folder.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                open.push(path);
                continue;
            }
            let there = fs::read(other.join(&path));
            let there = there.with_context(|| format!("{}", other.join(&path).display()))?;
            if there != fs::read(tree.join(&path))? {
                bail!("{} is not as it went in", other.join(&path).display());
            }
            count += 1;
        }
    }
    Ok(count)
}

/// The extractor of PyPI in an environment of its own, made once.
fn jefferson() -> Option<PathBuf> {
    let place = root().join("target/oracles/jefferson");
    let program = place.join("bin/jefferson");
    if !program.is_file() {
        let run = |program: &Path, args: &[&str]| -> io::Result<bool> {
            Ok(Command::new(program).args(args).status()?.success())
        };
        let folder = place.to_string_lossy();
        run(Path::new("python3"), &["-m", "venv", &folder]).ok()?;
        let pip = ["install", "--quiet", PEER];
        run(&place.join("bin/pip"), &pip).ok()?;
    }
    program.is_file().then_some(program)
}
