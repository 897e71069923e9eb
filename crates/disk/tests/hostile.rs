//! Hostile images: cut short, with bits turned over, with absurd numbers. A
//! map may be wrong then; it ends, in bounded time and memory, and is whole:
//! its pieces follow each other without gaps.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

use firstlight_disk::{Disk, score};
use proptest::prelude::*;
use rawimage::Part;
use rawimage::ReadAt;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

fn tool(name: &str, args: &[&str]) -> bool {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let run = Command::new(name).args(args).env("PATH", path).output();
    let done = run.is_ok_and(|o| o.status.success());
    if !done {
        eprintln!("skipped: {name} {args:?}");
    }
    done
}

fn fill(root: &Path) {
    for d in 0..3 {
        let dir = root.join(format!("d{d}"));
        std::fs::create_dir_all(&dir).unwrap();
        for f in 0..30 {
            let bytes: Vec<u8> = (0..f * 700).map(|i| (i * i / 7 + d) as u8).collect();
            std::fs::write(dir.join(format!("f{f}")), bytes).unwrap();
        }
        std::os::unix::fs::symlink("f1", dir.join("l")).unwrap();
    }
}

/// Small images of each kind; those whose tools are there.
fn images() -> &'static [Vec<u8>] {
    static IMAGES: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    IMAGES.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        let (root, image) = (dir.path().join("tree"), dir.path().join("image"));
        std::fs::create_dir(&root).unwrap();
        fill(&root);
        let [r, i] = [&root, &image].map(|p| p.to_str().unwrap());
        let made: [(&str, &[&str]); 7] = [
            (
                "mke2fs",
                &["-q", "-F", "-t", "ext4", "-b", "1024", "-d", r, i, "3M"],
            ),
            (
                "mke2fs",
                &["-q", "-F", "-t", "ext2", "-b", "1024", "-d", r, i, "3M"],
            ),
            (
                "mke2fs",
                &[
                    "-q",
                    "-F",
                    "-t",
                    "ext4",
                    "-O",
                    "inline_data,^has_journal,meta_bg,^resize_inode",
                    "-d",
                    r,
                    i,
                    "3M",
                ],
            ),
            ("mksquashfs", &[r, i, "-noappend", "-quiet", "-b", "4096"]),
            ("mksquashfs", &[r, i, "-noappend", "-quiet", "-comp", "xz"]),
            ("mkfs.erofs", &["--quiet", "-zlz4", i, r]),
            ("mkfs.erofs", &["--quiet", "--chunksize=4096", i, r]),
        ];
        let mut all = Vec::new();
        for (name, args) in made {
            std::fs::remove_file(&image).ok();
            if tool(name, args) {
                all.push(std::fs::read(&image).unwrap());
            }
        }
        std::fs::File::create(&image)
            .unwrap()
            .set_len(1 << 20)
            .unwrap();
        let made = tool("mkfs.vfat", &["-F", "12", "-s", "1", i])
            && ["d0", "d1", "d2"].iter().all(|d| {
                std::fs::remove_file(root.join(d).join("l")).unwrap();
                tool("mcopy", &["-s", "-i", i, &format!("{r}/{d}"), "::/"])
            });
        if made {
            all.push(std::fs::read(&image).unwrap());
        }
        all
    })
}

/// Maps what may be an image, and asks everything of it.
fn survives(bytes: &[u8]) {
    let slice: &[u8] = bytes;
    let part = Part::whole(&slice as &dyn ReadAt).unwrap();
    let Ok(disk) = Disk::open(&part, None) else {
        return;
    };
    let mut at = 0;
    let end = (bytes.len() as u64).saturating_mul(2);
    disk.pieces(0, end, &mut |p| {
        assert_eq!(p.extent.start, at, "pieces follow each other");
        assert!(p.extent.len > 0, "no piece is empty");
        at += p.extent.len;
    });
    assert_eq!(at, end, "all of it is told of");
    let mut paths = vec![
        b"/d0/f7".to_vec(),
        b"/d1/l".to_vec(),
        b"/../d2/./f3".to_vec(),
    ];
    for (_, map) in disk.maps() {
        for inode in map.inodes().iter().take(200) {
            paths.extend(map.path(inode.number));
        }
    }
    let s = score(&disk, &paths);
    assert!(s.requests >= s.discontinuities);
    disk.pieces(u64::MAX - 5, 100, &mut |_| {});
}

#[test]
fn sound_images_are_told_of_whole() {
    for image in images() {
        survives(image);
    }
}

#[test]
fn images_may_end_anywhere() {
    for image in images() {
        for end in (0..image.len()).step_by((image.len() / 150).max(1)) {
            survives(&image[..end]);
        }
    }
}

/// Numbers that parsers stumble over.
fn value() -> impl Strategy<Value = u32> {
    prop_oneof![
        Just(0),
        Just(1),
        Just(u32::MAX),
        Just(u32::MAX - 1),
        Just(0x7fff_ffff),
        any::<u32>()
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Most damage goes where it hurts: into the front, where metadata is.
    #[test]
    fn bits_may_be_turned_over(
        which in 0_usize..8,
        near in proptest::collection::vec((0_usize..8192, 0_u8..8), 0..6),
        far in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..20),
        numbers in proptest::collection::vec((0_usize..12_000, value()), 0..4),
    ) {
        let Some(image) = images().get(which) else {
            return Ok(());
        };
        let mut bytes = image.clone();
        for (at, bit) in near {
            let at = at % bytes.len();
            bytes[at] ^= 1 << bit;
        }
        for (at, byte) in far {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        for (at, number) in numbers {
            let at = at / 4 * 4;
            if let Some(field) = bytes.get_mut(at..at + 4) {
                field.copy_from_slice(&number.to_le_bytes());
            }
        }
        survives(&bytes);
    }

    /// Partition tables of anything.
    #[test]
    fn a_table_may_hold_anything(
        entries in proptest::collection::vec((any::<u8>(), value(), value()), 4),
        chain in proptest::collection::vec((any::<u8>(), 0_u32..64, 0_u32..64), 8),
    ) {
        let mut disk = vec![0; 32 << 10];
        let mut put = |at: usize, (kind, start, len): (u8, u32, u32)| {
            disk[at + 4] = kind;
            disk[at + 8..at + 12].copy_from_slice(&start.to_le_bytes());
            disk[at + 12..at + 16].copy_from_slice(&len.to_le_bytes());
        };
        for (i, entry) in entries.into_iter().enumerate() {
            put(446 + 16 * i, entry);
        }
        for (i, entry) in chain.into_iter().enumerate() {
            put((8 + i * 4) * 512 + 446, entry);
            put((8 + i * 4) * 512 + 462, (5, entry.1, 1));
        }
        for sector in 0..64 {
            disk[sector * 512 + 510..sector * 512 + 512].copy_from_slice(&[0x55, 0xaa]);
        }
        survives(&disk);
    }
}
