use super::{CHECKSUM_AT, DIRECT, INODE, NAME_LIMIT, PAGE, SUPERBLOCK, UNCOMPRESSED, make};
use crate::files::below;
use crate::tools::find;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// Bytes that do not compress.
fn noise(length: usize) -> Vec<u8> {
    let mut chance = fastrand::Rng::with_seed(length as u64);
    (0..length).map(|_| chance.u8(..)).collect()
}

/// An ELF file of the type `kind`, as far as its header is looked at.
fn elf(kind: u8, length: usize) -> Vec<u8> {
    let mut bytes = noise(length);
    bytes[..4].copy_from_slice(b"\x7fELF");
    bytes[16..18].copy_from_slice(&[kind, 0]);
    bytes
}

/// Everything that a cramfs can hold and a user can make.
fn tree() -> TempDir {
    let tree = tempfile::tempdir().unwrap();
    let path = |name: &str| tree.path().join(name);
    for folder in ["bin", "etc/init.d", "lib/modules", "proc"] {
        fs::create_dir_all(path(folder)).unwrap();
    }
    let long = format!("etc/{}", "n".repeat(NAME_LIMIT));
    for (name, content) in [
        ("bin/whole", elf(2, 2 * PAGE)),
        ("bin/one", elf(3, PAGE)),
        ("lib/libc.so", elf(3, 3 * PAGE + 5)),
        ("lib/modules/m.ko", elf(1, 5000)),
        ("lib/big-endian", elf(0, 64)),
        ("etc/empty", Vec::new()),
        ("etc/é", b"1".to_vec()),
        (&long, noise(PAGE)),
        ("etc/init.d/text", b"text\n".repeat(5000)),
        ("etc/init.d/header", b"\x7fELF\x01\x01".to_vec()),
        ("zeros", vec![0; 3 * PAGE]),
    ] {
        fs::write(path(name), content).unwrap();
    }
    fs::hard_link(path("bin/whole"), path("bin/again")).unwrap();
    symlink("../etc/nowhere", path("bin/link")).unwrap();
    fs::set_permissions(path("bin/whole"), fs::Permissions::from_mode(0o4751)).unwrap();
    fs::set_permissions(path("proc"), fs::Permissions::from_mode(0o1777)).unwrap();
    tree
}

/// What is in a folder: each name's mode and content, or the link's target.
fn listing(folder: &Path) -> BTreeMap<String, (u32, Vec<u8>)> {
    let mut names = below(folder).unwrap();
    names.push("proc".to_owned());
    let about = |name: String| {
        let path = folder.join(&name);
        let about = fs::symlink_metadata(&path).unwrap();
        let content = match about.file_type() {
            t if t.is_symlink() => fs::read_link(&path)
                .unwrap()
                .into_os_string()
                .into_encoded_bytes(),
            t if t.is_file() => fs::read(&path).unwrap(),
            _ => Vec::new(),
        };
        (name, (about.permissions().mode(), content))
    };
    names.into_iter().map(about).collect()
}

fn image_of(tree: &Path, in_place: bool) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    make(tree, &image, in_place).unwrap();
    fs::read(&image).unwrap()
}

/// A block of a file: where its bytes begin if they are as they are, and what they are.
type Block = (Option<usize>, Vec<u8>);

/// Reads images as Linux 6.1 does where they are mapped (`fs/cramfs/inode.c`).
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn word(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.0[at..at + 4].try_into().unwrap())
    }

    /// All that is in the folder with the inode `inode`, and in its folders.
    fn folder(&self, inode: usize, name: &str, found: &mut BTreeMap<String, (u32, Vec<Block>)>) {
        let [at, size] = self.place(inode);
        let mut entry = at;
        while entry < at + size {
            let length = self.word(entry + 8) as usize % 64 * 4;
            // `cramfs_lookup` reads as much as the longest name needs.
            assert!(entry + INODE + NAME_LIMIT <= self.0.len(), "{name}");
            let own = &self.0[entry + INODE..][..length];
            let own = std::str::from_utf8(own).unwrap().trim_end_matches('\0');
            let path = format!("{name}{own}");
            let mode = self.word(entry) & 0xffff;
            let blocks = match mode >> 12 {
                4 => {
                    self.folder(entry, &format!("{path}/"), found);
                    Vec::new()
                }
                _ => self.blocks(entry),
            };
            found.insert(path, (mode, blocks));
            entry += INODE + length;
        }
        assert_eq!(entry, at + size, "{name}");
    }

    /// Where what an inode has lies, and how long it is.
    fn place(&self, inode: usize) -> [usize; 2] {
        let size = self.word(inode + 4) & 0xff_ffff;
        [self.word(inode + 8) as usize >> 6 << 2, size as usize]
    }

    fn blocks(&self, inode: usize) -> Vec<Block> {
        let [at, size] = self.place(inode);
        let count = size.div_ceil(PAGE);
        let mut end = at + 4 * count;
        let mut blocks = Vec::new();
        for i in 0..count {
            let pointer = self.word(at + 4 * i);
            let direct = (pointer & !(UNCOMPRESSED | DIRECT)) as usize * 4;
            let (as_it_is, range) = match (pointer & DIRECT != 0, pointer & UNCOMPRESSED != 0) {
                (true, true) if i + 1 == count => (true, direct..direct + size % PAGE),
                (true, true) => (true, direct..direct + PAGE),
                (true, false) => {
                    let length = u16::from_le_bytes(self.0[direct..][..2].try_into().unwrap());
                    (false, direct + 2..direct + 2 + usize::from(length))
                }
                (false, false) => (false, end..pointer as usize),
                (false, true) => unreachable!("nobody writes this"),
            };
            end = range.end;
            let begin = as_it_is.then_some(range.start);
            let stored = &self.0[range];
            let mut bytes = Vec::new();
            if as_it_is {
                bytes.extend_from_slice(stored);
            } else {
                let mut unpacked = flate2::read::ZlibDecoder::new(stored);
                unpacked.read_to_end(&mut bytes).unwrap();
            }
            blocks.push((begin, bytes));
        }
        blocks
    }
}

#[test]
fn what_is_in_place_lies_on_pages_and_everything_is_read_back() {
    let tree = tree();
    let bytes = image_of(tree.path(), true);
    let mut found = BTreeMap::new();
    Reader(&bytes).folder(SUPERBLOCK - INODE, "", &mut found);
    let expected = listing(tree.path());
    for (name, (mode, content)) in &expected {
        let (found_mode, blocks) = &found[name];
        assert_eq!(found_mode, mode, "{name}");
        assert!(blocks.iter().flat_map(|b| &b.1).eq(content), "{name}");
    }
    let mut mapped = BTreeMap::new();
    for (name, (_, blocks)) in &found {
        for (begin, block) in blocks {
            let Some(begin) = begin else { continue };
            assert_eq!(begin % PAGE, 0, "{name}");
            // Nothing of another file may be seen in the page.
            let rest = &bytes[begin + block.len()..begin + PAGE];
            assert!(rest.iter().all(|b| *b == 0), "{name}");
            *mapped.entry(name.as_str()).or_insert(0) += 1;
        }
    }
    // Of a whole number of pages, Linux does not read the last one as it is.
    let expected = [("bin/again", 1), ("bin/whole", 1), ("lib/libc.so", 4)];
    assert_eq!(mapped, BTreeMap::from(expected));
    let first = |name| found[name].1[0].0;
    assert_eq!(first("bin/again"), first("bin/whole"));
    let contiguous = found["lib/libc.so"].1.windows(2);
    assert!(
        contiguous
            .into_iter()
            .all(|w| w[1].0 == w[0].0.map(|at| at + PAGE))
    );
}

#[test]
#[expect(clippy::print_stderr, reason = "what is skipped is said")]
fn the_checker_of_util_linux_reads_every_file() {
    let Some(checker) = find("fsck.cramfs") else {
        eprintln!("skipped: fsck.cramfs is not there (util-linux)");
        return;
    };
    let tree = tree();
    let folder = tempfile::tempdir().unwrap();
    let (image, out) = (folder.path().join("image"), folder.path().join("out"));
    make(tree.path(), &image, false).unwrap();
    let check = Command::new(checker)
        .arg(format!("--extract={}", out.display()))
        .arg(&image)
        .output();
    let check = check.unwrap();
    assert!(check.status.success(), "{check:?}");
    // It knows no pointers but those to ends, and says nothing is wrong with these.
    assert_eq!(String::from_utf8_lossy(&check.stderr), "");
    assert_eq!(listing(&out), listing(tree.path()));
}

#[test]
fn an_empty_tree_is_an_image_too() {
    let tree = tempfile::tempdir().unwrap();
    let mut bytes = image_of(tree.path(), false);
    assert_eq!(bytes.len(), PAGE);
    let reader = Reader(&bytes);
    assert_eq!(reader.place(SUPERBLOCK - INODE), [0, 0]);
    let checksum = reader.word(CHECKSUM_AT);
    bytes[CHECKSUM_AT..CHECKSUM_AT + 4].fill(0);
    assert_eq!(checksum, crc32fast::hash(&bytes));
}

#[test]
fn the_last_folder_can_be_looked_into() {
    // Its entries end with the page.
    let tree = tempfile::tempdir().unwrap();
    for i in 0..201 {
        fs::write(tree.path().join(format!("{i:08}")), "").unwrap();
    }
    let bytes = image_of(tree.path(), true);
    assert_eq!(SUPERBLOCK + 201 * 20, PAGE);
    assert_eq!(bytes.len(), 2 * PAGE);
    let mut found = BTreeMap::new();
    Reader(&bytes).folder(SUPERBLOCK - INODE, "", &mut found);
    assert_eq!(found.len(), 201);
}

#[test]
fn what_cramfs_cannot_hold_is_refused() {
    let refused = |name: &str, bytes: u64| {
        let tree = tempfile::tempdir().unwrap();
        let file = fs::File::create(tree.path().join(name)).unwrap();
        file.set_len(bytes).unwrap();
        let image = tree.path().with_extension("image");
        let said = make(tree.path(), &image, true).unwrap_err().to_string();
        assert!(said.contains(name) && !image.exists(), "{said}");
        said
    };
    assert!(refused("large", 1 << 24).contains("16777216 bytes, but"));
    assert!(refused("larger", 1 << 36).contains("16 MiB"));
    assert!(refused(&"n".repeat(253), 0).contains("253 bytes, but"));
}

#[test]
fn a_device_has_a_number_of_two_bytes() {
    let path = Path::new("dev/x");
    let number = |major, minor| super::device(path, rustix::fs::makedev(major, minor));
    assert_eq!(number(5, 1).unwrap(), 0x501);
    let said = number(5, 256).unwrap_err().to_string();
    assert!(said.contains("dev/x") && said.contains("5:256"), "{said}");
}
