//! `firstlight flash list`: the files that the kernel would see.

use super::args::List;
use super::{text, utc};
use crate::out::Out;
use crate::size;
use anyhow::{Result, bail};
use flash::files::{Entry, FileType, Files, Visit};
use flash::jffs2::{self, Write, decompress};
use inspect::open::Filesystem;
use serde::Serialize;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use views::terminal::layout::{BAD, BOLD, DIM, PLAIN, Screen, clean, right};
use views::thousands;

pub fn run(args: &List, out: &mut Out) -> Result<()> {
    let (rows, filesystem) = args.inside.filesystem(&args.image, |filesystem| {
        let rows = match filesystem {
            Filesystem::Jffs2(jffs2) => rows(args, jffs2, &|ino| history(args, jffs2, ino)),
            Filesystem::Ubifs(_) if args.nodes => {
                bail!("--nodes is for JFFS2, which is a log of nodes; this is UBIFS")
            }
            Filesystem::Ubifs(ubifs) => rows(args, ubifs, &|_| Ok(None)),
        };
        Ok((rows?, filesystem.name()))
    })?;
    let text = if out.json {
        views::json::text(&Json {
            schema: <Json as views::json::Document>::SCHEMA,
            image: args.image.display().to_string(),
            filesystem,
            files: rows.files,
            faults: rows.faults,
        })
    } else {
        screen(&rows, out)
    };
    out.text(&text)
}

/// Files of an image.
#[derive(schemars::JsonSchema, Serialize)]
pub struct Json {
    /// Name and version of this format.
    #[schemars(extend("const" = <Self as views::json::Document>::SCHEMA))]
    schema: &'static str,
    /// Path of the image.
    #[schemars(length(min = 1))]
    image: String,
    /// File system.
    #[schemars(extend("enum" = ["jffs2", "ubifs"]))]
    filesystem: &'static str,
    /// Files.
    files: Vec<Row>,
    /// Names that cannot be resolved.
    faults: Vec<Fault>,
}

impl views::json::Document for Json {
    const SCHEMA: &'static str = "firstlight.flash.list/1";
    const TITLE: &'static str = "Output of `firstlight flash list --json`";
}

/// A file of an image.
#[derive(schemars::JsonSchema, Serialize)]
struct Row {
    /// Path of the file.
    #[schemars(length(min = 1))]
    path: String,
    /// Path as hexadecimal digits. Present only if it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^([0-9a-f]{2})+$"))]
    path_hex: Option<String>,
    /// Type of file.
    #[serde(rename = "type")]
    #[schemars(extend("enum" = ["directory", "file", "symlink", "block_device", "character_device", "fifo", "socket", "unknown"]))]
    kind: &'static str,
    /// File mode bits.
    mode: u32,
    /// User ID.
    uid: u32,
    /// Group ID.
    gid: u32,
    /// Size in bytes.
    size: u64,
    /// Time of the last change, in seconds since 1970.
    mtime: i64,
    /// Inode number.
    ino: u32,
    /// Number of hard links.
    links: u32,
    /// Target of a symbolic link.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    /// Major and minor number of a device.
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<[u32; 2]>,
    /// Extended attributes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    xattrs: Vec<Attribute>,
    /// Nodes of the file. Present only with `--nodes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<Vec<Node>>,
}

/// An extended attribute.
#[derive(schemars::JsonSchema, Serialize)]
struct Attribute {
    /// Name.
    #[schemars(length(min = 1))]
    name: String,
    /// Length of the value in bytes.
    length: usize,
}

/// A JFFS2 data node.
#[derive(schemars::JsonSchema, Serialize)]
struct Node {
    /// Version number of the node.
    version: u32,
    /// Byte offset in the image.
    place: u64,
    /// Byte offset in the file.
    offset: u32,
    /// Length of the data.
    length: u32,
    /// Length as stored.
    stored: u32,
    /// Compression.
    #[schemars(length(min = 1))]
    compression: &'static str,
    /// Size of the file after this node.
    file_size: u32,
}

impl From<&Write> for Node {
    fn from(w: &Write) -> Self {
        Self {
            version: w.version,
            place: w.place,
            offset: w.offset,
            length: w.length,
            stored: w.stored,
            compression: decompress::name(w.compression),
            file_size: w.size,
        }
    }
}

/// A name that cannot be resolved.
#[derive(schemars::JsonSchema, Serialize)]
struct Fault {
    /// Path.
    path: String,
    /// Description.
    #[schemars(length(min = 1))]
    what: String,
}

struct Rows {
    files: Vec<Row>,
    faults: Vec<Fault>,
}

/// Whether a path is the one that is wanted, or below it.
fn is_wanted(path: &[u8], wanted: &[u8]) -> bool {
    match path.strip_prefix(wanted) {
        Some(rest) => wanted.is_empty() || rest.is_empty() || rest.starts_with(b"/"),
        None => false,
    }
}

/// The nodes of an inode, if they are wanted.
type Nodes<'n> = dyn Fn(u32) -> Result<Option<Vec<Node>>> + 'n;

fn history(args: &List, filesystem: &jffs2::Filesystem, ino: u32) -> Result<Option<Vec<Node>>> {
    if !args.nodes {
        return Ok(None);
    }
    let history = filesystem.history(ino)?;
    Ok(Some(history.iter().map(Node::from).collect()))
}

fn rows<F: Files>(args: &List, filesystem: &F, nodes: &Nodes) -> Result<Rows> {
    // A path on the target begins with a slash, and one in the image without.
    let wanted = args.path.as_deref().unwrap_or(Path::new(""));
    let wanted = wanted.as_os_str().as_bytes().trim_ascii();
    let wanted = wanted.strip_prefix(b".").unwrap_or(wanted);
    let start = wanted.iter().position(|b| *b != b'/');
    let wanted = wanted.get(start.unwrap_or(wanted.len())..);
    let wanted = wanted.unwrap_or_default();
    let wanted = wanted.strip_suffix(b"/").unwrap_or(wanted);
    let mut rows = Rows {
        files: Vec::new(),
        faults: Vec::new(),
    };
    for visit in filesystem.tree() {
        match visit? {
            Visit::Entry(entry) if is_wanted(&entry.path, wanted) => {
                rows.files.push(row(filesystem, &entry, nodes)?);
            }
            Visit::Fault(folder, name, fault) => {
                let mut path = folder;
                if !path.is_empty() {
                    path.push(b'/');
                }
                path.extend(&name.name);
                if is_wanted(&path, wanted) {
                    rows.faults.push(Fault {
                        path: path.escape_ascii().to_string(),
                        what: fault.to_string(),
                    });
                }
            }
            Visit::Entry(_) | Visit::Leave(_) => {}
        }
    }
    if rows.files.is_empty() && rows.faults.is_empty() {
        bail!("there is no `{}` in it", wanted.escape_ascii());
    }
    Ok(rows)
}

fn row<F: Files>(filesystem: &F, entry: &Entry, nodes: &Nodes) -> Result<Row> {
    let stat = &entry.stat;
    let (path, path_hex) = match entry.path.as_slice() {
        b"" => (".".to_owned(), None),
        path => text(path),
    };
    // A damaged link or device is listed; `verify` says what is wrong with it.
    let link = stat.file_type == FileType::Symlink;
    let target = match link {
        true => filesystem.link_target(stat.ino)?,
        false => None,
    };
    let device = match stat.file_type {
        FileType::BlockDevice | FileType::CharacterDevice => filesystem.device(stat.ino)?,
        _ => None,
    };
    let attributes = filesystem.attributes(stat.ino)?;
    Ok(Row {
        path,
        path_hex,
        kind: kind(stat.file_type).1,
        mode: stat.mode,
        uid: stat.uid,
        gid: stat.gid,
        size: stat.size,
        mtime: stat.mtime,
        ino: stat.ino,
        links: stat.links,
        target: target.map(|t| text(&t).0),
        device: device.map(|d| [d.major, d.minor]),
        xattrs: attributes
            .iter()
            .map(|a| Attribute {
                name: text(&a.name).0,
                length: a.value.len(),
            })
            .collect(),
        nodes: nodes(stat.ino)?,
    })
}

/// The letter of `ls`, and the word of `--json`.
fn kind(file_type: FileType) -> (char, &'static str) {
    match file_type {
        FileType::Directory => ('d', "directory"),
        FileType::File => ('-', "file"),
        FileType::Symlink => ('l', "symlink"),
        FileType::BlockDevice => ('b', "block_device"),
        FileType::CharacterDevice => ('c', "character_device"),
        FileType::Fifo => ('p', "fifo"),
        FileType::Socket => ('s', "socket"),
        FileType::Unknown => ('?', "unknown"),
    }
}

/// The mode as `ls -l` shows it.
fn mode(mode: u32) -> String {
    let mut text = kind(FileType::of_mode(mode)).0.to_string();
    for (shift, special, letter) in [(6, 0o4000, 's'), (3, 0o2000, 's'), (0, 0o1000, 't')] {
        let bits = mode >> shift;
        text.push(if bits & 4 == 0 { '-' } else { 'r' });
        text.push(if bits & 2 == 0 { '-' } else { 'w' });
        text.push(match (mode & special != 0, bits & 1 != 0) {
            (true, true) => letter,
            (true, false) => letter.to_ascii_uppercase(),
            (false, true) => 'x',
            (false, false) => '-',
        });
    }
    text
}

fn screen(rows: &Rows, out: &Out) -> String {
    let mut screen = Screen::new(&out.style);
    for row in &rows.files {
        let what = match (&row.target, row.device) {
            (Some(target), _) => format!(" -> {}", clean(target)),
            (None, Some([major, minor])) => format!("  {major}:{minor}"),
            _ => String::new(),
        };
        let bold = if row.kind == "directory" { BOLD } else { PLAIN };
        let line = format!(
            "{} {} {} {}  {}  {}{}",
            mode(row.mode),
            right(&row.links.to_string(), 3),
            right(&format!("{}/{}", row.uid, row.gid), 9),
            right(&thousands(row.size), 12),
            screen.paint(DIM, &utc(row.mtime)),
            screen.paint(bold, &clean(&row.path)),
            screen.paint(DIM, &what)
        );
        screen.line(&line);
        for attribute in &row.xattrs {
            let text = format!("{} ({} bytes)", attribute.name, attribute.length);
            screen.wrapped("", 52, DIM, &text);
        }
        for node in row.nodes.iter().flatten() {
            let text = format!(
                "version {} at byte {}: {} bytes at {}, {} as {}; the file is then {}",
                node.version,
                node.place,
                node.length,
                node.offset,
                size::show(node.stored.into()),
                node.compression,
                size::show(node.file_size.into())
            );
            screen.wrapped("", 6, DIM, &text);
        }
    }
    for fault in &rows.faults {
        screen.wrapped(
            "  not listed",
            14,
            BAD,
            &format!("{}: {}", fault.path, fault.what),
        );
    }
    screen.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_as_ls_shows_them() {
        for (bits, text) in [
            (0o100_644, "-rw-r--r--"),
            (0o040_755, "drwxr-xr-x"),
            (0o104_755, "-rwsr-xr-x"),
            (0o102_644, "-rw-r-Sr--"),
            (0o041_777, "drwxrwxrwt"),
            (0o120_777, "lrwxrwxrwx"),
            (0o060_660, "brw-rw----"),
        ] {
            assert_eq!(mode(bits), text);
        }
    }

    #[test]
    fn a_folder_is_not_what_begins_alike() {
        assert!(is_wanted(b"etc/passwd", b"etc"));
        assert!(is_wanted(b"etc", b"etc"));
        assert!(is_wanted(b"etc", b""));
        assert!(!is_wanted(b"etcetera", b"etc"));
    }
}
