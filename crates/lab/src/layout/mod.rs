//! Roots in the order in which they are read: an access list, an ext4 image, and a
//! new image of the same files.

mod list;
mod read_around;
#[cfg(test)]
mod tests;

use crate::error::{LabError, io_error};
use agent::access::{AccessList, Entry, Identity, MOST_BYTES, Range, RangeKind, decode};
use agent::prefetch::{WINDOW_US, window_of};
use disk::ext::arrange::{ArrangeError, Arrangement, Wanted, arrange};
use disk::ext::renumber::{Renumbered, Tables, renumber};
use disk::{Edited, Kind, Map, ext};
use list::{clipped, moved, renumbered};
use rawimage::Part;
use rawimage::read::ReadAt;
use rustix::fs::{SeekFrom, seek};
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// So much is copied at once, in bytes.
const CHUNK: usize = 1 << 20;

/// What of a file moves together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// The pages that are read: best where a prefetcher reads them before they are needed.
    Pages,
    /// Also what the kernel reads around them on a fault: best where nothing reads ahead.
    ReadAround,
}

impl Unit {
    /// The unit that an `order=` asks for.
    #[must_use]
    pub fn new(read_around: bool) -> Self {
        if read_around {
            Self::ReadAround
        } else {
            Self::Pages
        }
    }
}

/// What laying out an image brought.
#[derive(Clone, Debug)]
pub struct Ordered {
    /// What was done to the image.
    pub arrangement: Arrangement,
    /// The inodes that were brought together.
    pub inodes: Renumbered,
    /// Files of the list that are not in the image, or have another size there.
    pub missing: u64,
    /// The list for the new image: its metadata lies elsewhere.
    pub list: AccessList,
}

/// An access list from its file.
///
/// # Errors
/// It cannot be read, or is none.
pub fn read_list(path: &Path) -> Result<AccessList, LabError> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(io_error(path, "cannot be opened"))?;
    // No list is longer; what is longer is found out by its length.
    file.take(MOST_BYTES as u64 + 4096)
        .read_to_end(&mut bytes)
        .map_err(io_error(path, "cannot be read"))?;
    list_of_bytes(path, &bytes)
}

/// An access list from the bytes of the file at `path`.
///
/// # Errors
/// They are none.
pub fn list_of_bytes(path: &Path, bytes: &[u8]) -> Result<AccessList, LabError> {
    decode(bytes).map_err(|e| wrong(path, "cannot be used", e.to_string()))
}

/// An image, which is read at many places.
fn opened(image: &Path) -> Result<File, LabError> {
    use std::os::unix::fs::FileTypeExt;
    let about = std::fs::metadata(image).map(|m| m.file_type());
    if about.as_ref().is_ok_and(|t| t.is_fifo()) || image == Path::new("-") && about.is_err() {
        let why = "a pipe gives its bytes once; write them to a file and pass that";
        return Err(wrong(image, "cannot be laid out", why.to_owned()));
    }
    File::open(image).map_err(io_error(image, "cannot be read"))
}

fn wrong(path: &Path, what: &'static str, why: String) -> LabError {
    io_error(path, what)(io::Error::new(io::ErrorKind::InvalidData, why))
}

pub(crate) fn cannot(image: &Path) -> impl Fn(ArrangeError) -> LabError + '_ {
    |e| wrong(image, "cannot be laid out", e.to_string())
}

/// What would be done to lay out `image`, an ext4, in the order of `list`; nothing
/// is written.
///
/// # Errors
/// The image cannot be read or laid out.
pub fn plan(image: &Path, list: &AccessList, unit: Unit) -> Result<Ordered, LabError> {
    let file = opened(image)?;
    let volume = Part::whole(&file).map_err(io_error(image, "cannot be read"))?;
    Ok(planned(volume, list, unit).map_err(cannot(image))?.0)
}

/// What is done to a volume, and the volume with its inodes together, of which content is
/// copied.
fn planned<'a>(
    volume: Part<'a>,
    list: &AccessList,
    unit: Unit,
) -> Result<(Ordered, Edited<'a>), ArrangeError> {
    let list = clipped(list, volume.len());
    let (edited, inodes, list) = together(volume, &list)?;
    let volume = Part::whole(&edited)?;
    let map = ext::map(&volume)?;
    let mut ordered = in_order(&volume, &map, &list, unit)?;
    ordered.inodes = inodes;
    Ok((ordered, edited))
}

/// Brings together the inodes that `list` needs, in its order: those of its files, and all
/// in its blocks of tables.
fn together<'a>(
    volume: Part<'a>,
    list: &AccessList,
) -> Result<(Edited<'a>, Renumbered, AccessList), ArrangeError> {
    let map = ext::map(&volume)?;
    let tables = Tables::read(&volume)?;
    let page = u64::from(list.page_bytes);
    let mut needs: Vec<(u64, u32)> = Vec::new();
    for entry in &list.entries {
        if !entry.is_device() {
            needs.extend(map.find(&entry.path).map(|n| (entry.first_us(), n)));
            continue;
        }
        for range in &entry.ranges {
            let start = range.page.saturating_mul(page);
            map.pieces(start, range.pages.saturating_mul(page), &mut |piece| {
                if piece.kind == Kind::InodeTable {
                    let numbers = tables.inodes(piece.start, piece.len);
                    needs.extend(numbers.map(|n| (range.first_us, n)));
                }
            });
        }
    }
    needs.sort_unstable();
    let wanted: Vec<u32> = needs.into_iter().map(|n| n.1).collect();
    let mut edited = Edited::new(volume, map.facts.block_size);
    let done = renumber(&mut edited, &map, &wanted)?;
    let list = renumbered(list, &map, &tables, &done.numbers);
    Ok((edited, done, list))
}

/// What lays out a volume whose inodes are where they shall be.
fn in_order(
    volume: &Part<'_>,
    map: &Map,
    list: &AccessList,
    unit: Unit,
) -> Result<Ordered, ArrangeError> {
    let mut inodes: HashMap<&[u8], u32> = HashMap::new();
    let mut missing = 0;
    for entry in list.entries.iter().filter(|e| !e.is_device()) {
        let found = map.find(&entry.path);
        let same = |n: &u32| map.inode(*n).is_some_and(|i| i.size == entry.size());
        match found.filter(same) {
            Some(inode) => {
                inodes.insert(&entry.path, inode);
            }
            None => missing += 1,
        }
    }
    let page = u64::from(list.page_bytes);
    let mut needs: Vec<(u64, usize, Range)> = Vec::new();
    for (number, entry) in list.entries.iter().enumerate() {
        if entry.is_device() || unit == Unit::Pages {
            needs.extend(entry.ranges.iter().map(|r| (r.first_us, number, *r)));
        }
    }
    if unit == Unit::ReadAround {
        let read = read_around::read(&list.entries, list.page_bytes);
        needs.extend(read.into_iter().map(|(number, r)| (r.first_us, number, r)));
    }
    let window = |range: &Range| window_of(range.first_us, WINDOW_US);
    let is_file = |number: &usize| list.entries.get(*number).is_some_and(|e| !e.is_device());
    // As the prefetcher reads: in each window metadata first, so that each of the two
    // is one piece.
    needs.sort_by_key(|(first_us, number, range)| {
        (
            window(range),
            is_file(number),
            *first_us,
            *number,
            range.page,
        )
    });
    let inode_of = |number: usize| {
        let entry = list.entries.get(number)?;
        inodes.get(entry.path.as_slice()).copied()
    };
    let mut wanted = Vec::new();
    let mut has_tree = HashSet::new();
    for same in needs.chunk_by(|a, b| window(&a.2) == window(&b.2)) {
        let files = same.partition_point(|(_, number, _)| !is_file(number));
        let (places, contents) = same.split_at(files);
        for (_, _, range) in places {
            wanted.push(Wanted::Place {
                start: range.page.saturating_mul(page),
                len: range.pages.saturating_mul(page),
            });
        }
        let trees = contents
            .iter()
            .filter_map(|(_, number, _)| inode_of(*number));
        let new = trees.filter(|inode| has_tree.insert(*inode));
        wanted.extend(new.map(|inode| Wanted::Tree { inode }));
        for (_, number, range) in contents {
            wanted.extend(inode_of(*number).map(|inode| Wanted::Content {
                inode,
                offset: range.page.saturating_mul(page),
                len: range.pages.saturating_mul(page),
            }));
        }
    }
    let arrangement = arrange(volume, map, &wanted)?;
    let firsts = list.entries.iter().filter_map(|entry| {
        let inode = inodes.get(entry.path.as_slice())?;
        Some((*inode, entry.first_us()))
    });
    let list = moved(list, &arrangement, &firsts.collect());
    Ok(Ordered {
        arrangement,
        inodes: Renumbered::default(),
        missing,
        list,
    })
}

/// Lays out `image` in the order of `list`, in the empty file `to`, which is called
/// `out`.
///
/// # Errors
/// The image cannot be read or laid out, or the new one not be written.
pub fn order(
    image: &Path,
    list: &AccessList,
    unit: Unit,
    (to, out): (&File, &Path),
) -> Result<Ordered, LabError> {
    let from = opened(image)?;
    let volume = Part::whole(&from).map_err(io_error(image, "cannot be read"))?;
    let (ordered, edited) = planned(volume, list, unit).map_err(cannot(image))?;
    write(&from, to, &edited, &ordered.arrangement).map_err(io_error(out, "cannot be written"))?;
    Ok(ordered)
}

/// Copies the image, holes and all, and lays out the copy.
fn write(from: &File, to: &File, edited: &Edited<'_>, arrangement: &Arrangement) -> io::Result<()> {
    let length = from.metadata()?.len();
    to.set_len(length)?;
    let mut at = 0;
    while at < length {
        // Of a filesystem that knows no holes all is content.
        let start = match seek(from, SeekFrom::Data(at)) {
            Ok(start) => start,
            Err(rustix::io::Errno::NXIO) => break,
            Err(_) => at,
        };
        let end = seek(from, SeekFrom::Hole(start)).unwrap_or(length);
        copy(from, start, to, start, end.saturating_sub(start))?;
        at = end.max(start.saturating_add(1));
    }
    for (place, bytes) in edited.changes() {
        to.write_all_at(bytes, place)?;
    }
    for (source, target, len) in &arrangement.copies {
        copy(edited, *source, to, *target, *len)?;
    }
    for (place, bytes) in &arrangement.writes {
        to.write_all_at(bytes, *place)?;
    }
    Ok(())
}

fn copy(from: &dyn ReadAt, source: u64, to: &File, target: u64, len: u64) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    let mut done = 0;
    while done < len {
        let part = usize::try_from(len - done).unwrap_or(CHUNK).min(CHUNK);
        let room = buffer.get_mut(..part).unwrap_or_default();
        from.read_exact_at(source + done, room)?;
        to.write_all_at(room, target + done)?;
        done += part as u64;
    }
    Ok(())
}

/// A list that has the order of `paths`, each file of `image` whole: for those who
/// have no recording.
///
/// # Errors
/// The image cannot be read.
pub fn list_of_paths(image: &Path, paths: &[Vec<u8>]) -> Result<AccessList, LabError> {
    let file = opened(image)?;
    let volume = Part::whole(&file).map_err(io_error(image, "cannot be read"))?;
    let map = ext::map(&volume).map_err(|e| wrong(image, "cannot be laid out", e.to_string()))?;
    let page_bytes = 4096;
    let entries = paths.iter().zip(0..).map(|(path, first_us)| {
        let inode = map.find(path);
        let size = inode.and_then(|i| map.inode(i)).map_or(0, |i| i.size);
        Entry {
            path: path.clone(),
            identity: Identity::File {
                size,
                mtime_s: 0,
                mtime_ns: 0,
                inode: inode.map_or(0, u64::from),
                generation: 0,
            },
            program: 0,
            ranges: vec![Range {
                page: 0,
                pages: size.div_ceil(u64::from(page_bytes)),
                first_us,
                seen: 1,
                kind: RangeKind::Touched,
            }],
        }
    });
    Ok(AccessList {
        recordings: 1,
        page_bytes,
        entries: entries.collect(),
        ..AccessList::default()
    })
}
