//! `firstlight image map`, `score`, `order` and `relocate`, as a user runs them.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

mod common;

use agent::access::{AccessList, Entry, Identity, Range, RangeKind, encode};
use common::{Scratch, firstlight, json, sample};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Runs a tool; `false` with a visible line where it is not there or fails.
fn tool(name: &str, args: &[&str]) -> bool {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    match Command::new(name).args(args).env("PATH", path).output() {
        Ok(out) if out.status.success() => true,
        Ok(out) => {
            let said = String::from_utf8_lossy(&out.stderr);
            eprintln!("skipped: {name} {args:?}: {said}");
            false
        }
        Err(e) => {
            eprintln!("skipped: {name} is not there: {e}");
            false
        }
    }
}

fn content(seed: usize, len: usize) -> Vec<u8> {
    (0..len)
        .map(|i| ((i * 31 + seed * 7919) >> 3) as u8)
        .collect()
}

/// A folder with files, and an ext4 image of it.
fn ext4(dir: &Path) -> Option<PathBuf> {
    let root = dir.join("root");
    for i in 0..120 {
        let folder = root.join(format!("d{}", i % 7));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("f{i}")), content(i, i * 331)).unwrap();
    }
    let image = dir.join("root.img");
    let args = ["-q", "-F", "-t", "ext4", "-b", "4096", "-d"];
    let paths = [root.to_str()?, image.to_str()?, "24M"];
    tool("mke2fs", &[&args[..], &paths].concat()).then_some(image)
}

#[test]
fn each_request_comes_out_with_the_bytes_of_its_file() {
    let dir = tempfile::tempdir().unwrap();
    let Some(image) = ext4(dir.path()) else {
        return;
    };
    let name = image.to_str().unwrap();
    let list = dir.path().join("requests");
    fs::write(&list, "# all of it\n0+49152\n\n2 4\n0x8 + 8\n49150,10\n").unwrap();
    let map = json(&[
        "image",
        "map",
        name,
        "--requests",
        list.to_str().unwrap(),
        "--json",
    ]);
    assert_eq!(map["unit"], "sectors");
    let rows = map["rows"].as_array().unwrap();
    let mut sums = [0; 4];
    let file = fs::File::open(&image).unwrap();
    let mut seen: BTreeMap<String, u64> = BTreeMap::new();
    for row in rows {
        sums[row["request"].as_u64().unwrap() as usize] += row["len"].as_u64().unwrap();
        if row["kind"] != "file" || row["request"] != 0 {
            continue;
        }
        let path = row["path"].as_str().unwrap();
        let wanted = fs::read(dir.path().join("root").join(&path[1..])).unwrap();
        let offset = row["offset"].as_u64().unwrap() as usize;
        let len = row["len"].as_u64().unwrap() as usize * 512;
        let mut found = vec![0; len.min(wanted.len() - offset)];
        file.read_exact_at(&mut found, row["start"].as_u64().unwrap() * 512)
            .unwrap();
        assert!(
            found == wanted[offset..offset + found.len()],
            "{path} at {offset}"
        );
        *seen.entry(path.to_owned()).or_default() += found.len() as u64;
    }
    assert_eq!(sums, [49152, 4, 8, 10]);
    assert_eq!(seen.len(), 119, "each file that is not empty");
    assert_eq!(seen["/d0/f119"], 119 * 331);
    // In bytes, the same.
    fs::write(&list, "0+25165824\n").unwrap();
    let list = list.to_str().unwrap();
    let bytes = json(&[
        "image",
        "map",
        name,
        "--requests",
        list,
        "--unit",
        "bytes",
        "--json",
    ]);
    let first = |v: &Value| {
        v["rows"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|r| r["request"] == 0)
            .count()
    };
    assert_eq!(first(&bytes), first(&map));
}

#[test]
fn partitions_are_found_and_can_be_chosen() {
    let dir = tempfile::tempdir().unwrap();
    let Some(image) = ext4(dir.path()) else {
        return;
    };
    // An MBR with one partition from sector 2048 on.
    let mut disk = vec![0; 1 << 20];
    disk[446 + 4] = 0x83;
    disk[454..458].copy_from_slice(&2048_u32.to_le_bytes());
    disk[458..462].copy_from_slice(&49152_u32.to_le_bytes());
    disk[510..512].copy_from_slice(&[0x55, 0xaa]);
    disk.extend(fs::read(&image).unwrap());
    let path = dir.path().join("disk");
    fs::write(&path, disk).unwrap();
    let list = dir.path().join("files");
    fs::write(&list, "/d0/f119\n").unwrap();
    let [name, disk, list] = [&image, &path, &list].map(|p| p.to_str().unwrap());
    let alone = json(&["image", "map", name, "--files", list, "--json"]);
    let whole = json(&["image", "map", disk, "--files", list, "--json"]);
    let chosen = json(&[
        "image",
        "map",
        disk,
        "--partition",
        "1",
        "--files",
        list,
        "--json",
    ]);
    let start = |v: &Value| v["rows"][0]["start"].as_u64().unwrap();
    assert_eq!(start(&whole), start(&alone) + 2048);
    assert_eq!(start(&chosen), start(&alone));
    assert_eq!(whole["rows"][0]["partition"], 1);
    let requests = dir.path().join("requests");
    fs::write(&requests, format!("0+1\n1+1\n{}+8\n", start(&whole))).unwrap();
    let map = json(&[
        "image",
        "map",
        disk,
        "--requests",
        requests.to_str().unwrap(),
        "--json",
    ]);
    assert_eq!(map["rows"][0]["kind"], "partition_table");
    assert_eq!(map["rows"][1]["kind"], "unmapped");
    assert_eq!(map["rows"][2]["path"], "/d0/f119");
    let info = json(&["image", "info", disk, name, "--json"]);
    assert_eq!(info["files"][0]["items"][0]["kind"], "disk");
    assert_eq!(
        info["files"][0]["items"][0]["inside"][0]["details"]["filesystem"],
        "ext4"
    );
    assert_eq!(info["files"][1]["items"][0]["details"]["state"], "clean");
    let out = firstlight(&["image", "map", disk, "--partition", "3", "--files", list]);
    assert_eq!(out.status.code(), Some(2));
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(said.contains("no partition 3; pass one of 1"), "{said}");
}

#[test]
fn a_wrong_list_is_refused_in_one_sentence() {
    let dir = tempfile::tempdir().unwrap();
    let Some(image) = ext4(dir.path()) else {
        return;
    };
    let list = dir.path().join("list");
    let [name, list] = [&image, &list].map(|p| p.to_str().unwrap());
    for (text, said) in [
        (
            "8+8\nhello\n",
            "line 2: expected `start+len`, found `hello`",
        ),
        ("18446744073709551615+8\n", "ends behind every image"),
        ("nothing at all\n", "list"),
    ] {
        fs::write(list, text).unwrap();
        let out = firstlight(&["image", "map", name, "--requests", list]);
        assert_eq!(out.status.code(), Some(2), "{text}");
        let errors = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(errors.contains(said), "{text}: {errors}");
        assert_eq!(errors.lines().count(), 1, "{errors}");
    }
}

/// Compressed erofs with blocks of 2 KiB, and an ext4 whose files share blocks.
#[test]
fn rare_images_of_others_are_mapped() {
    let scratch = Scratch::new();
    let requests = scratch.file("requests", b"0+4000000\n");
    let map = |name: &str| {
        let image = sample(name)?;
        Some(json(&[
            "image",
            "map",
            &image,
            "--requests",
            &requests,
            "--json",
        ]))
    };
    if let Some(erofs) = map("images/erofs-lz4-2k-blocks.img") {
        assert_eq!(erofs["notes"], Value::Array(Vec::new()));
        let rows = erofs["rows"].as_array().unwrap();
        let files = rows
            .iter()
            .filter(|r| r["kind"] == "file" && r["packed"] == true);
        assert!(files.count() > 10);
    }
    if let Some(shared) = map("images/ext4-shared_blocks.img") {
        let note = shared["notes"][0].as_str().unwrap();
        assert!(note.contains("several files (shared_blocks)"), "{note}");
        let rows = shared["rows"].as_array().unwrap();
        let both = rows
            .iter()
            .find(|r| r["kind"] == "file" && r["files"].is_array());
        assert_ne!(both.unwrap()["files"][0], both.unwrap()["path"]);
    }
}

/// What comes out of a pipe is gone when it was read, and a second opening of it waits for
/// ever.
#[test]
fn a_list_may_come_out_of_a_pipe() {
    let dir = tempfile::tempdir().unwrap();
    let Some(image) = ext4(dir.path()) else {
        return;
    };
    let name = image.to_str().unwrap();
    let exe = env!("CARGO_BIN_EXE_firstlight");
    let rows = |line: &str| {
        let out = std::process::Command::new("timeout")
            .args(["60", "sh", "-c", line])
            .output()
            .unwrap();
        assert_eq!(out.status.code(), Some(0), "{line}: {out:?}");
        let map: Value = serde_json::from_slice(&out.stdout).unwrap();
        map["rows"].as_array().unwrap().len()
    };
    let map = format!("{exe} image map {name} --json --requests");
    let list = dir.path().join("list");
    fs::write(&list, "0+8\n16+8\n").unwrap();
    let fifo = dir.path().join("fifo");
    let [list, fifo] = [&list, &fifo].map(|p| p.display());
    let all = rows(&format!("{map} {list}"));
    assert!(all >= 2);
    assert_eq!(rows(&format!("{map} - < {list}")), all);
    assert_eq!(rows(&format!("cat {list} | {map} /dev/stdin")), all);
    let piped = format!("mkfifo {fifo} && (cat {list} > {fifo} & {map} {fifo})");
    assert_eq!(rows(&piped), all);
}

#[test]
fn the_order_of_a_list_is_that_of_a_squashfs() {
    let dir = tempfile::tempdir().unwrap();
    if ext4(dir.path()).is_none() {
        return;
    }
    let root = dir.path().join("root");
    let files: Vec<usize> = (0..120).filter(|i| i * 37 % 5 == 1).rev().collect();
    let lines = files.iter().map(|i| format!("/d{}/f{i}\n", i % 7));
    let list = dir.path().join("list");
    fs::write(&list, lines.collect::<String>() + "/not/there\n").unwrap();
    let [sort, before, after] = ["sort", "before", "after"].map(|n| dir.path().join(n));
    let [root, list, sort] = [&root, &list, &sort].map(|p| p.to_str().unwrap());
    let args = [
        "image",
        "order",
        list,
        "--for",
        "mksquashfs",
        "--root",
        root,
        "-o",
        sort,
        "--json",
    ];
    let made = json(&args);
    assert_eq!(made["files"].as_u64(), Some(files.len() as u64));
    assert_eq!(made["skipped"][0]["path"], "/not/there");
    let [b, a] = [&before, &after].map(|p| p.to_str().unwrap());
    let options = ["-noappend", "-quiet", "-no-fragments", "-noD"];
    if !tool("mksquashfs", &[&[root, b][..], &options].concat())
        || !tool(
            "mksquashfs",
            &[&[root, a][..], &options, &["-sort", sort]].concat(),
        )
    {
        return;
    }
    let score = |image| json(&["image", "score", image, "--files", list, "--json"]);
    let (before, after) = (score(b), score(a));
    assert!(before["discontinuities"].as_u64() > Some(10));
    assert_eq!(after["discontinuities"], 0);
    assert_eq!(after["requests"], 1);
    assert_eq!(after["files"], before["files"]);
    assert_eq!(after["missing"][0], "/not/there");
}

#[test]
fn an_ext4_image_is_laid_out_in_the_order_of_a_list() {
    let dir = tempfile::tempdir().unwrap();
    let Some(image) = ext4(dir.path()) else {
        return;
    };
    let files = (1..120).filter(|i| i * 37 % 5 == 1).rev();
    let lines = files.map(|i| format!("/d{}/f{i}\n", i % 7));
    let list = dir.path().join("list");
    fs::write(&list, lines.collect::<String>()).unwrap();
    let [first, second] = ["first", "second"].map(|n| dir.path().join(n));
    let text = |p: &Path| p.to_str().unwrap().to_owned();
    let order = |to: &Path| {
        let (list, image, to) = (text(&list), text(&image), text(to));
        let args = ["image", "order", &list, "--for", "ext4", "--image", &image];
        json(&[&args[..], &["-o", &to, "--json"]].concat())
    };
    let old = fs::read(&image).unwrap();
    let others = dir.path().join("first.new");
    fs::write(&others, "another's").unwrap();
    let done = order(&first);
    assert_eq!(fs::read(&others).unwrap(), b"another's");
    assert_eq!(done["runs"], 1);
    assert!(done["runs_before"].as_u64() > Some(10), "{done}");
    assert_eq!(done["missing"], 0);
    assert_eq!(done["renumbered_inodes"], done["files"]);
    order(&second);
    assert!(fs::read(&first).unwrap() == fs::read(&second).unwrap());
    assert!(
        fs::read(&image).unwrap() == old,
        "the old image is as it was"
    );
    assert!(tool("e2fsck", &["-fn", &text(&first)]), "e2fsck is content");
    let score = |p: &Path| {
        json(&[
            "image",
            "score",
            &text(p),
            "--files",
            &text(&list),
            "--json",
        ])
    };
    assert!(score(&image)["discontinuities"].as_u64() > Some(10));
    assert_eq!(score(&first)["discontinuities"], 0);
    let [now, then] = ["before_ns", "after_ns"].map(|t| done["forecast"]["on_demand"][t].as_u64());
    assert!(then < now && then > Some(0), "{done}");
    assert_eq!(done["forecast"]["decides"], "on_demand");
    // What lies in that order already is not written again.
    let again = dir.path().join("again");
    let (of, to) = (text(&first), text(&again));
    let args = ["image", "order", &text(&list), "--for", "ext4", "--image"];
    let known = json(&[&args[..], &[&of, "-o", &to, "--json"]].concat());
    assert_eq!(known["out"], serde_json::Value::Null, "{known}");
    assert!(!again.exists());
    let said = firstlight(&[&args[..], &[&of, "-o", &to]].concat());
    assert_eq!(said.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&said.stdout).contains("would not be read sooner"));
    let forced = json(&[&args[..], &[&of, "-o", &to, "--force", "--json"]].concat());
    assert_eq!(forced["out"], *to);
    assert!(tool("e2fsck", &["-fn", &to]), "e2fsck is content");
    // Without -o nothing is written, and a journal that waits is refused.
    let args = ["image", "order", &text(&list), "--for", "ext4", "--image"];
    let plan = firstlight(&[&args[..], &[&text(&image)]].concat());
    assert!(String::from_utf8_lossy(&plan.stdout).contains("Nothing was written"));
    let file = fs::File::options().write(true).open(&image).unwrap();
    let features = u32::from_le_bytes(old[1024 + 0x60..1024 + 0x64].try_into().unwrap()) | 4;
    file.write_all_at(&features.to_le_bytes(), 1024 + 0x60)
        .unwrap();
    let refused = firstlight(&[&args[..], &[&text(&image)]].concat());
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("its journal must be replayed"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

/// A program touches every eighth page of a mapped file, in no order: the kernel reads 32 pages
/// around each, so that in the layout of the file most are there before they are needed.
#[test]
fn a_layout_by_pages_is_foretold_slower_where_faults_read_around() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("library"), content(1, 4 << 20)).unwrap();
    let image = dir.path().join("root.img");
    let text = |p: &Path| p.to_str().unwrap().to_owned();
    let args = ["-q", "-F", "-t", "ext4", "-b", "4096", "-d"];
    if !tool(
        "mke2fs",
        &[&args[..], &[&text(&root), &text(&image), "24M"]].concat(),
    ) {
        return;
    }
    let range = |n: u64| Range {
        page: n * 8 + 3,
        pages: 1,
        first_us: n * 37 % 128 * 1000,
        seen: 1,
        kind: RangeKind::Touched,
    };
    let library = Entry {
        path: b"/library".to_vec(),
        identity: Identity::File {
            size: 4 << 20,
            mtime_s: 0,
            mtime_ns: 0,
            inode: 12,
            generation: 0,
        },
        program: 0,
        ranges: (0..128).map(range).collect(),
    };
    let list = AccessList {
        recordings: 1,
        page_bytes: 4096,
        programs: vec!["program".to_owned()],
        entries: vec![library],
        ..AccessList::default()
    };
    let path = dir.path().join("list");
    fs::write(&path, encode(&list)).unwrap();
    let args = [
        "image",
        "order",
        &text(&path),
        "--for",
        "ext4",
        "--image",
        &text(&image),
    ];
    let foretold = |more: &[&str]| {
        let to = text(&dir.path().join("new"));
        let done = json(&[&args[..], more, &["--json", "-o", &to]].concat());
        let of = |way: &str, when: &str| done["forecast"][way][when].as_u64().unwrap();
        let [now, then] = ["before_ns", "after_ns"].map(|when| of("on_demand", when));
        (now, then, done["forecast"]["decides"].clone())
    };
    let (now, then, decides) = foretold(&[]);
    assert_eq!(decides, "read_ahead");
    assert!(then > now * 3 / 2, "{then} {now}");
    let said = firstlight(&args);
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(
        said.contains("Without a prefetcher this layout is slower"),
        "{said}"
    );
    let (_, around, decides) = foretold(&["--read-around"]);
    assert_eq!(decides, "on_demand");
    assert!(around < now * 11 / 10, "{around} {now}");
}

/// An ext4 on a loop device; `None` with a visible line where that cannot be.
struct Mounted {
    dir: tempfile::TempDir,
}

impl Mounted {
    fn new() -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let image = dir.path().join("image");
        let at = dir.path().join("at");
        fs::create_dir(&at).unwrap();
        let made = tool(
            "mke2fs",
            &[
                "-q",
                "-F",
                "-t",
                "ext4",
                "-b",
                "4096",
                image.to_str()?,
                "96M",
            ],
        );
        let mounted = made && tool("mount", &["-o", "loop", image.to_str()?, at.to_str()?]);
        mounted.then_some(Self { dir })
    }

    fn at(&self) -> PathBuf {
        self.dir.path().join("at")
    }

    /// A program that looks at all mounts may have this one open for a moment.
    fn unmount(&self) -> bool {
        (0..50).any(|try_| {
            if try_ > 0 {
                std::thread::sleep(Duration::from_millis(100));
            }
            tool("umount", &[self.at().to_str().unwrap()])
        })
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        Command::new("umount")
            .arg(self.at())
            .stderr(Stdio::null())
            .status()
            .ok();
    }
}

/// Content; mode and owner; the time of the last change; inode.
type State = (Vec<u8>, [u32; 2], [i64; 2], u64);

/// Everything about every file that relocation must not change.
fn state(root: &Path) -> BTreeMap<PathBuf, State> {
    let mut all = BTreeMap::new();
    for folder in fs::read_dir(root)
        .unwrap()
        .flatten()
        .filter(|e| e.path().is_dir())
    {
        if folder.file_name() == "lost+found" {
            continue;
        }
        for entry in fs::read_dir(folder.path()).unwrap().flatten() {
            let about = entry.metadata().unwrap();
            let bytes = fs::read(entry.path()).unwrap();
            let owner = [about.mode(), about.uid()];
            let time = [about.mtime(), about.mtime_nsec()];
            all.insert(entry.path(), (bytes, owner, time, about.ino()));
        }
    }
    all
}

/// 600 files with gaps between them, and a list of 120 in no order.
fn scatter(root: &Path) -> String {
    let name = |i: usize| format!("d{}/f{i}", i % 11);
    for i in 0..600 {
        let path = root.join(name(i));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content(i, 100 + i * i % 40_000)).unwrap();
    }
    // Now, and in this order, they get their places.
    for i in 0..600 {
        fs::File::open(root.join(name(i)))
            .unwrap()
            .sync_all()
            .unwrap();
    }
    for i in (0..600).step_by(9) {
        fs::remove_file(root.join(name(i))).unwrap();
    }
    let chosen = (0..600).map(|i| i * 353 % 600).filter(|i| i % 9 != 0);
    chosen.take(120).fold(String::new(), |mut list, i| {
        writeln!(list, "/{}", name(i)).unwrap();
        list
    })
}

/// Where the files of a list lie: path, inode, offset, start and length.
fn places(image: &str, list: &str) -> BTreeSet<(String, u64, u64, u64, u64)> {
    let map = json(&[
        "image", "map", image, "--files", list, "--unit", "bytes", "--json",
    ]);
    let rows = map["rows"].as_array().unwrap();
    let row = |r: &Value| {
        let number = |key: &str| r[key].as_u64().unwrap();
        (
            r["path"].as_str().unwrap().to_owned(),
            number("inode"),
            number("offset"),
            number("start"),
            number("len"),
        )
    };
    let all: BTreeSet<_> = rows.iter().map(row).collect();
    assert_eq!(all.len(), rows.len(), "a row stands twice");
    all
}

#[test]
fn a_mounted_folder_is_mapped_as_its_image_is() {
    let Some(mounted) = Mounted::new() else {
        return;
    };
    let scratch = Scratch::new();
    let list = scatter(&mounted.at());
    let list = scratch.file("list", list.as_bytes());
    // A file with two names has its places once.
    let named = mounted.at().join("d0/f22");
    fs::hard_link(&named, mounted.at().join("again")).unwrap();
    let folder = mounted.at().display().to_string();
    let of_folder = places(&folder, &list);
    let score = |image: &str| {
        let all = json(&["image", "score", image, "--files", &list, "--json"]);
        [
            "requests",
            "discontinuities",
            "read_bytes",
            "over_read_bytes",
        ]
        .map(|k| all[k].clone())
    };
    let folder_score = score(&folder);
    let first = of_folder.first().unwrap().clone();
    // A request, and the way back; what is nobody's stays nobody's.
    let (sector, bytes) = (first.3 / 512, first.4);
    let requests = format!("{sector}+{}\n{}+8\n", bytes / 512, 96 << 11);
    let requests = scratch.file("requests", requests.as_bytes());
    let map = json(&["image", "map", &folder, "--requests", &requests, "--json"]);
    assert_eq!(map["rows"][0]["path"], first.0.as_str());
    assert_eq!(map["rows"][1]["kind"], "unmapped");
    assert!(map["notes"][0].as_str().unwrap().contains("metadata"));
    assert!(mounted.unmount());
    let image = mounted.dir.path().join("image");
    assert_eq!(of_folder, places(image.to_str().unwrap(), &list));
    // A last block that is part full is one read all the same.
    assert_eq!(folder_score, score(image.to_str().unwrap()));
}

#[test]
fn a_folder_without_a_device_is_not_mapped() {
    let scratch = Scratch::new();
    let list = scratch.file("list", b"/version\n");
    let refused = firstlight(&["image", "map", "/proc", "--files", &list]);
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("on no block device of its own"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn relocated_files_lie_in_order_and_are_what_they_were() {
    let Some(mounted) = Mounted::new() else {
        return;
    };
    let list = mounted.dir.path().join("list");
    fs::write(&list, scatter(&mounted.at())).unwrap();
    let (at, list) = (mounted.at(), list.to_str().unwrap().to_owned());
    let args = [
        "image",
        "relocate",
        at.to_str().unwrap(),
        "--files",
        &list,
        "--json",
    ];
    let before = state(&at);
    let plan = json(&args);
    assert_eq!(plan["applied"], false);
    assert!(plan["before"]["discontinuities"].as_u64() > Some(50));
    assert_eq!(json(&args), plan, "a plan changes nothing");
    let done = json(&[&args[..], &["--apply"]].concat());
    assert_eq!(done["before"], plan["before"]);
    assert!(
        done["after"]["discontinuities"].as_u64() <= Some(1),
        "{done}"
    );
    let [now, then] = ["reading_before_ns", "reading_after_ns"].map(|t| done[t].as_u64());
    assert!(then < now && then > Some(0), "{done}");
    assert_eq!(plan["reading_before_ns"].as_u64(), now);
    // They lie well, so that nothing is moved.
    let again = json(&[&args[..], &["--apply"]].concat());
    assert_eq!(again["applied"], false, "{again}");
    assert_eq!(again["before"], done["after"]);
    let said = firstlight(&[&args[..5], &["--apply"]].concat());
    assert!(String::from_utf8_lossy(&said.stdout).contains("Nothing was moved"));
    let forced = json(&[&args[..], &["--apply", "--force"]].concat());
    assert_eq!(forced["applied"], true, "{forced}");
    let done = forced;
    assert!(state(&at) == before, "nothing else changed");
    assert!(mounted.unmount());
    let image = mounted.dir.path().join("image");
    let image = image.to_str().unwrap();
    assert!(tool("e2fsck", &["-fn", image]), "e2fsck is content");
    let score = json(&["image", "score", image, "--files", &list, "--json"]);
    assert_eq!(score["discontinuities"], done["after"]["discontinuities"]);
    assert_eq!(score["files"], 120);
}

#[test]
fn a_relocation_may_be_killed_at_any_moment() {
    let Some(mounted) = Mounted::new() else {
        return;
    };
    let list = mounted.dir.path().join("list");
    fs::write(&list, scatter(&mounted.at())).unwrap();
    let before = state(&mounted.at());
    for wait in [0, 2, 4, 7, 10, 15, 20, 30, 45, 70] {
        let mut run = Command::new(env!("CARGO_BIN_EXE_firstlight"))
            .args(["image", "relocate", "--apply", "--files"])
            .args([&list, &mounted.at()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(wait));
        run.kill().ok();
        run.wait().unwrap();
        assert!(state(&mounted.at()) == before, "killed after {wait} ms");
    }
    assert!(mounted.unmount());
    let image = mounted.dir.path().join("image");
    assert!(
        tool("e2fsck", &["-fn", image.to_str().unwrap()]),
        "e2fsck is content"
    );
}
