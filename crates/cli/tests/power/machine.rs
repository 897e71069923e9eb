//! A machine with Debian's kernel and a disk, without hardware support.

use super::disk::{run, text};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// What every machine does first. `mount_disk` mounts the disk at `/disk`.
const BEGIN: &str = "#!/bin/busybox sh
b=/bin/busybox
$b mkdir -p /proc /disk /dev /tmp
$b mount -t proc proc /proc
$b mount -t devtmpfs dev /dev
for module in /modules/*; do $b insmod $module; done
mount_disk() { $b mount -t $1 -o $2 /dev/vda /disk || exec $b poweroff -f; $b sync; }
";

/// The modules that a disk and a filesystem on it need, each after those it needs.
fn modules(tree: &Path, filesystem: &str) -> Option<Vec<PathBuf>> {
    let told = fs::read_to_string(tree.join("modules.dep"));
    let built_in = fs::read_to_string(tree.join("modules.builtin"));
    let (Ok(told), Ok(built_in)) = (told, built_in) else {
        eprintln!("skipped: {} does not list its modules", tree.display());
        return None;
    };
    let needs: BTreeMap<&str, Vec<&str>> = told
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(file, needs)| (file, needs.split_whitespace().collect()))
        .collect();
    let mut order: Vec<&str> = Vec::new();
    for wanted in [
        "virtio_pci",
        "virtio_blk",
        "crc32c_generic",
        "quota_v2",
        // For an image of a root on the disk.
        "loop",
        "ext4",
        filesystem,
    ] {
        let ends = format!("/{wanted}.ko");
        let Some((file, needed)) = needs.iter().find(|(file, _)| file.ends_with(&ends)) else {
            if ["crc32c_generic", "quota_v2"].contains(&wanted)
                || built_in.lines().any(|l| l.ends_with(&ends))
            {
                continue;
            }
            eprintln!("skipped: {wanted} is no plain module of this kernel, and not built in");
            return None;
        };
        for one in needed.iter().rev().chain([file]) {
            if !order.contains(one) {
                order.push(one);
            }
        }
    }
    Some(order.into_iter().map(|file| tree.join(file)).collect())
}

/// The libraries that a program needs, the loader among them.
fn libraries(program: &Path) -> Vec<PathBuf> {
    let told = Command::new("ldd").arg(program).output().unwrap().stdout;
    let told = String::from_utf8_lossy(&told).into_owned();
    let words = told.split_whitespace().filter(|w| w.starts_with('/'));
    words.map(PathBuf::from).collect()
}

/// The files that a machine starts with.
pub struct Cargo {
    tree: PathBuf,
}

impl Cargo {
    pub fn new(folder: &Path) -> Self {
        let tree = folder.join("initramfs");
        fs::remove_dir_all(&tree).ok();
        fs::create_dir_all(tree.join("dev")).unwrap();
        Self { tree }
    }

    pub fn file(&self, to: &str, mode: u32, bytes: &[u8]) {
        let to = self.tree.join(to.trim_start_matches('/'));
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::write(&to, bytes).unwrap();
        fs::set_permissions(&to, fs::Permissions::from_mode(mode)).unwrap();
    }

    pub fn link(&self, name: &str, to: &str) {
        let name = self.tree.join(name);
        fs::create_dir_all(name.parent().unwrap()).unwrap();
        fs::remove_file(&name).ok();
        std::os::unix::fs::symlink(to, name).unwrap();
    }

    /// A program, with the libraries that it needs.
    pub fn program(&self, from: &Path, to: &str) {
        self.file(to, 0o755, &fs::read(from).unwrap());
        for library in libraries(from) {
            self.file(&text(&library), 0o755, &fs::read(&library).unwrap());
        }
    }
}

/// A machine with a disk.
pub struct Machine {
    kernel: PathBuf,
    initramfs: PathBuf,
}

impl Machine {
    /// `None` with a visible line where something for it is missing. It mounts nothing
    /// but runs `then`, which may say `mount_disk TYPE OPTIONS`; Firstlight is `/firstlight`.
    pub fn new(folder: &Path, cargo: &Cargo, filesystem: &str, then: &str) -> Option<Self> {
        let Some(kernel) = lab::artifacts::cached_kernel(lab::artifacts::Arch::X86_64) else {
            eprintln!("skipped: Debian's kernel is not in the cache yet; a demo brings it there");
            return None;
        };
        let cache = lab::artifacts::Cache::open().unwrap();
        let busybox = match cache.busybox("amd64", &mut |_| {}) {
            Ok(busybox) => busybox,
            Err(why) => {
                eprintln!("skipped: {why}");
                return None;
            }
        };
        cargo.program(Path::new(env!("CARGO_BIN_EXE_firstlight")), "firstlight");
        run("strip", &[&text(&cargo.tree.join("firstlight"))]).ok();
        cargo.file("bin/busybox", 0o755, &fs::read(busybox).unwrap());
        for (number, module) in modules(&kernel.modules, filesystem)?.iter().enumerate() {
            let name = module.file_name().unwrap().to_str().unwrap();
            let to = format!("modules/{:02}-{name}", number + 10);
            cargo.file(&to, 0o644, &fs::read(module).unwrap());
        }
        cargo.file("init", 0o755, format!("{BEGIN}{then}").as_bytes());
        let initramfs = folder.join("initramfs.cpio");
        let pack = format!(
            "cd {} && find . | cpio -o -H newc --quiet > {}",
            text(&cargo.tree),
            text(&initramfs)
        );
        if let Err(why) = run("sh", &["-c", &pack]) {
            eprintln!("skipped: {why}");
            return None;
        }
        Some(Self {
            kernel: kernel.image,
            initramfs,
        })
    }

    /// Starts it; what it says comes line by line.
    pub fn start(&self, disk: &Path, log: &Path) -> (Child, Receiver<String>) {
        let mut machine = Command::new("qemu-system-x86_64")
            .args(["-M", "q35", "-m", "512", "-nodefaults"])
            .args(["-nographic", "-no-reboot", "-serial", "stdio"])
            .args(["-accel", "tcg"])
            .args(["-kernel".as_ref(), self.kernel.as_os_str()])
            .args(["-initrd".as_ref(), self.initramfs.as_os_str()])
            .args(["-append", "console=ttyS0 quiet panic=-1 cryptomgr.notests"])
            .args([
                "-blockdev",
                &format!("file,filename={},node-name=disk", text(disk)),
            ])
            .args([
                "-blockdev",
                &format!("file,filename={},node-name=log", text(log)),
            ])
            .args([
                "-blockdev",
                "blklogwrites,node-name=both,file=disk,log=log,log-super-update-interval=1",
            ])
            .args(["-device", "virtio-blk-pci,drive=both"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let (tell, told) = channel();
        let out = BufReader::new(machine.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in out.split(b'\n').map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line).trim().to_owned();
                if tell.send(line).is_err() {
                    break;
                }
            }
        });
        (machine, told)
    }
}

/// Waits for a line; else what was said.
pub fn wait_for(word: &str, told: &Receiver<String>) -> Result<(), String> {
    let mut said = String::new();
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(300) {
        match told.recv_timeout(Duration::from_secs(300)) {
            Ok(line) if line.ends_with(word) => return Ok(()),
            Ok(line) => writeln!(said, "{line}").unwrap(),
            Err(_) => break,
        }
    }
    Err(format!("the machine never said {word}:\n{said}"))
}
