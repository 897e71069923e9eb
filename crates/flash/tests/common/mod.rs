//! Trees, images and the tools of mtd-utils.

#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test")]
pub mod seen;
pub mod ubi;

use firstlight_flash::jffs2::Endian;
use firstlight_flash::jffs2::node::{Dirent, Inode, Xattr, Xref, crc};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Whether a tool is there; says so if not.
pub fn has(tool: &str) -> bool {
    let dirs = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&dirs)
        .chain(["/usr/sbin".into(), "/sbin".into()])
        .any(|dir| dir.join(tool).is_file());
    if !found {
        eprintln!("skipped: {tool} (Debian package mtd-utils) is not there");
    }
    found
}

/// How many random cases to run: all if `FIRSTLIGHT_TEST_ALL` is set.
pub fn cases(few: u64, all: u64) -> u64 {
    if std::env::var_os("FIRSTLIGHT_TEST_ALL").is_some() {
        all
    } else {
        few
    }
}

/// Runs a tool of mtd-utils; `None` if it crashed.
pub fn run(tool: &str, args: &[String]) -> Option<()> {
    let dirs = std::env::var("PATH").unwrap_or_default();
    let status = Command::new(tool)
        .env("PATH", format!("{dirs}:/usr/sbin:/sbin"))
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    status.success().then_some(())
}

/// A generator of pseudo-random numbers (xorshift64*), the same on every run.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[usize::try_from(self.below(of.len() as u64)).unwrap()]
    }

    pub fn bytes(&mut self, length: u64) -> Vec<u8> {
        let kind = self.below(4);
        let period = 1 + self.below(60);
        (0..length)
            .map(|i| match kind {
                0 => self.next() as u8,
                1 => (i % period) as u8,
                2 => b"the quick brown fox\n"[(i % 20) as usize] ^ u8::from(self.one_in(50)),
                _ => u8::from(self.one_in(90)),
            })
            .collect()
    }
}

/// Makes a random tree below `root`.
pub fn tree(random: &mut Random, root: &Path) {
    let mut dirs: Vec<PathBuf> = vec![root.to_owned()];
    let mut files: Vec<PathBuf> = Vec::new();
    for i in 0..3 + random.below(60) {
        let dir = random.pick(&dirs).clone();
        let long = if random.one_in(8) {
            "n".repeat(random.below(240) as usize)
        } else {
            String::new()
        };
        let path = dir.join(format!("{i}{long}"));
        match random.below(12) {
            0 | 1 => {
                fs::create_dir(&path).unwrap();
                dirs.push(path);
            }
            2 => {
                let target = "t/".repeat(1 + random.below(40) as usize);
                symlink(target, &path).unwrap();
            }
            3 if !files.is_empty() => fs::hard_link(random.pick(&files), &path).unwrap(),
            _ => {
                let length = match random.below(4) {
                    0 => 0,
                    1 => random.below(200),
                    2 => random.below(9000),
                    _ => random.below(60_000),
                };
                fs::write(&path, random.bytes(length)).unwrap();
                let mode = 0o400 | random.below(0o400) as u32;
                fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
                if random.one_in(3) {
                    attribute(random, &path);
                }
                files.push(path);
            }
        }
    }
}

/// Gives a file an extended attribute, where the filesystem has them.
fn attribute(random: &mut Random, path: &Path) {
    let name = format!("user.n{}", random.below(9));
    let length = *random.pick(&[0, 1, 30, 300]);
    let value = random.bytes(length);
    rustix::fs::setxattr(path, name, &value, rustix::fs::XattrFlags::empty()).ok();
}

/// How an image is made.
#[derive(Clone, Debug)]
pub struct Making {
    pub erase_kib: u32,
    pub big: bool,
    pub options: Vec<String>,
}

impl Making {
    pub fn random(random: &mut Random) -> Self {
        let erase_kib = *random.pick(&[8, 16, 32, 64, 128, 256]);
        let big = random.one_in(3);
        let mut options = vec![if big { "-b" } else { "-l" }.to_owned()];
        let mut add = |word: &str| options.extend(word.split(' ').map(str::to_owned));
        match random.below(5) {
            0 => add("-n"),
            1 => add("-c 16"),
            2 => add("-c 60"),
            _ => {}
        }
        match random.below(5) {
            0 => add("-m none"),
            1 => add("-m size"),
            2 => add("-x zlib"),
            3 => add("-X lzo -y 90:lzo"),
            _ => {}
        }
        match random.below(4) {
            0 => add("-s 2048"),
            1 => add("-s 1024"),
            _ => {}
        }
        if random.one_in(2) {
            add("-p");
        }
        if random.one_in(2) {
            add("--with-xattr");
        }
        Self {
            erase_kib,
            big,
            options,
        }
    }

    /// Makes an image of `root` at `image`.
    pub fn make(&self, root: &Path, image: &Path) -> Option<()> {
        let mut args = vec!["-e".to_owned(), format!("{}KiB", self.erase_kib)];
        args.extend(["-r".to_owned(), root.display().to_string()]);
        args.extend(["-o".to_owned(), image.display().to_string()]);
        args.extend(self.options.clone());
        run("mkfs.jffs2", &args)
    }
}

/// Damages an image: flipped and erased bytes, nodes made obsolete, a short
/// end.
pub fn damage(random: &mut Random, image: &mut Vec<u8>, big: bool) {
    for _ in 0..random.below(12) {
        let at = random.below(image.len() as u64) as usize;
        let end = (at + random.below(3000) as usize).min(image.len());
        match random.below(6) {
            0 => image[at] ^= 1 << random.below(8),
            1 => image[at..end].fill(0xff),
            2 => image[at..end].fill(0),
            3 if random.one_in(4) => image.truncate(at.max(1)),
            _ => obsolete(image, at, big),
        }
    }
}

/// Marks the first node from `at` on as obsolete, as NOR flash does.
pub fn obsolete(image: &mut [u8], at: usize, big: bool) {
    let magic: [u8; 2] = if big { [0x19, 0x85] } else { [0x85, 0x19] };
    let found = (at.next_multiple_of(4)..image.len().saturating_sub(12))
        .step_by(4)
        .find(|&i| image[i..i + 2] == magic && image[i + if big { 2 } else { 3 }] == 0xe0);
    if let Some(i) = found {
        image[i + if big { 2 } else { 3 }] &= !0x20;
    }
}

/// A log of random nodes for one erase size, without summaries.
pub fn log(
    random: &mut Random,
    endian: Endian,
    erase_size: u32,
    blocks: u32,
    clean: bool,
) -> Vec<u8> {
    let size = erase_size as usize;
    let mut image: Vec<u8> = Vec::new();
    let mut version = 0;
    for _ in 0..blocks {
        let mut block = Vec::new();
        if clean {
            block.extend(cleanmarker(endian));
        }
        loop {
            version += 1;
            let longest = 3000.min(u64::from(erase_size) / 4);
            let length = random.below(longest);
            let data = random.bytes(length);
            let name = random.bytes(1 + length % 200);
            let node = match random.below(12) {
                0..6 => Inode {
                    ino: 2 + random.below(50) as u32,
                    version,
                    mode: 0o100_644,
                    uid: 1,
                    gid: 2,
                    isize: 100_000,
                    atime: 3,
                    mtime: 4,
                    ctime: 5,
                    offset: random.below(100_000) as u32,
                    dsize: data.len() as u32,
                    compression: 0,
                    user_compression: 0,
                    flags: 0,
                    data: &data,
                }
                .bytes(endian),
                6..10 => Dirent {
                    parent: 1,
                    version,
                    ino: 2 + random.below(50) as u32,
                    mctime: 6,
                    file_type: 8,
                    name: &name,
                }
                .bytes(endian),
                10 => Xattr {
                    xid: version,
                    version: 1,
                    prefix: 1,
                    name: &name,
                    value: &data,
                }
                .bytes(endian),
                _ => Xref {
                    ino: 2,
                    xid: version,
                    sequence: 2,
                }
                .bytes(endian),
            };
            if block.len() + node.len() > size {
                break;
            }
            block.extend(node);
            block.resize(block.len().next_multiple_of(4), 0xff);
        }
        block.resize(size, 0xff);
        image.extend(block);
    }
    image
}

pub fn cleanmarker(endian: Endian) -> [u8; 12] {
    let mut bytes = [0; 12];
    bytes[..2].copy_from_slice(&endian.put16(0x1985));
    bytes[2..4].copy_from_slice(&endian.put16(0x2003));
    bytes[4..8].copy_from_slice(&endian.put32(12));
    let crc = crc(&bytes[..8]);
    bytes[8..].copy_from_slice(&endian.put32(crc));
    bytes
}
