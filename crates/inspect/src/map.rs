//! Whose blocks requests ask for, and where files lie.

use crate::error::Error;
use crate::requests::{Request, Requests, Unit};
use ::disk::{Disk, Extent, Kind, Piece};
use std::cmp::Reverse;
use std::collections::HashMap;

/// So many paths are kept at once.
const MOST_PATHS: usize = 1 << 16;

/// What is looked for in an image.
pub enum Wanted {
    /// The owners of what is asked for, in an image that begins at byte `base` of the
    /// device.
    Requests(Requests, u64),
    /// The places of files.
    Files(Vec<Vec<u8>>),
}

/// A piece of a request or of a file.
pub struct Row<'d> {
    /// The number of the request in its list.
    pub request: Option<usize>,
    /// What a trace says was done.
    pub operation: Option<&'static str>,
    /// Where it is on the device, and what.
    pub piece: Piece<'d>,
    /// Where the image begins on the device, bytes.
    base: u64,
}

impl Row<'_> {
    /// Where it begins and how long it is, in units: outwards to whole ones; and whether
    /// that is exact.
    #[must_use]
    pub fn in_units(&self, unit: Unit) -> (u64, u64, bool) {
        let extent = &self.piece.extent;
        let end = extent.start.saturating_add(extent.len);
        let start = extent.start / unit.bytes;
        let exact =
            extent.start.is_multiple_of(unit.bytes) && extent.len.is_multiple_of(unit.bytes);
        (start, end.div_ceil(unit.bytes) - start, exact)
    }

    /// The files whose ends share a fragment, if it is one; or that share the blocks of
    /// the file that is named as the owner.
    #[must_use]
    pub fn sharers(&self) -> Option<Vec<Vec<u8>>> {
        let extent = &self.piece.extent;
        let volume = self.piece.volume?;
        let map = volume.map.as_ref().ok()?;
        if !matches!(extent.kind, Kind::Fragment | Kind::File) {
            return None;
        }
        let start = volume.start.saturating_add(self.base);
        let mut inodes = map.sharers(extent.start.saturating_sub(start), extent.len);
        inodes.retain(|inode| Some(*inode) != extent.inode);
        let files: Vec<Vec<u8>> = inodes.into_iter().filter_map(|i| map.path(i)).collect();
        (extent.kind == Kind::Fragment || !files.is_empty()).then_some(files)
    }
}

/// Takes rows one after the other.
pub type Each<'e, E> = dyn FnMut(&Row<'_>) -> Result<(), E> + 'e;

impl Wanted {
    /// What places are told in; `other` where files are looked for.
    #[must_use]
    pub fn unit(&self, other: Unit) -> Unit {
        match self {
            Self::Requests(requests, _) => requests.unit,
            Self::Files(_) => other,
        }
    }

    /// Looks each piece up in `disk`, in order. `shown` names the disk.
    ///
    /// # Errors
    /// A file is not there, or what `each` says.
    pub fn rows<E: From<Error>>(
        &self,
        disk: &Disk,
        shown: &str,
        each: &mut Each<'_, E>,
    ) -> Result<(), E> {
        match self {
            Self::Requests(requests, base) => of_requests(disk, requests, *base, each),
            Self::Files(list) => of_files(disk, list, shown, each),
        }
    }
}

/// What is doubtful of a disk, and which partitions are not mapped, a sentence each.
#[must_use]
pub fn notes(disk: &Disk) -> Vec<String> {
    let mut notes = disk.notes.clone();
    for volume in &disk.volumes {
        let place = match volume.partition {
            Some(number) => format!("partition {number}: "),
            None => String::new(),
        };
        match &volume.map {
            Ok(map) => notes.extend(map.notes.iter().map(|n| format!("{place}{n}"))),
            Err(e) => notes.push(format!("{place}{e}")),
        }
    }
    notes
}

fn of_requests<E>(
    disk: &Disk,
    requests: &Requests,
    base: u64,
    each: &mut Each<'_, E>,
) -> Result<(), E> {
    let mut done = Ok(());
    for (number, request) in requests.list.iter().enumerate() {
        let Request {
            start,
            len,
            operation,
        } = *request;
        let start = start.saturating_mul(requests.unit.bytes);
        let len = len.saturating_mul(requests.unit.bytes);
        // What lies before the image is nobody's that is known.
        let before = base.saturating_sub(start).min(len);
        let mut put = |piece: Piece<'_>| {
            if done.is_ok() {
                done = each(&Row {
                    request: Some(number),
                    operation,
                    piece,
                    base,
                });
            }
        };
        if before > 0 {
            let extent = Extent {
                start,
                len: before,
                kind: Kind::Unmapped,
                inode: None,
                offset: None,
                is_packed: false,
            };
            put(Piece {
                extent,
                volume: None,
            });
        }
        let from = start.saturating_add(before).saturating_sub(base);
        disk.pieces(from, len - before, &mut |mut piece| {
            piece.extent.start = piece.extent.start.saturating_add(base);
            put(piece);
        });
    }
    done
}

fn of_files<E: From<Error>>(
    disk: &Disk,
    list: &[Vec<u8>],
    shown: &str,
    each: &mut Each<'_, E>,
) -> Result<(), E> {
    for path in list {
        let mut found = disk.maps().filter_map(|(v, m)| Some((v, m, m.find(path)?)));
        let Some((volume, map, inode)) = found.next() else {
            let path = String::from_utf8_lossy(path);
            return Err(Error::Choice(format!("{path} is not in {shown}")).into());
        };
        for mut extent in map.extents_of(&[inode]).into_iter().flatten() {
            extent.start = extent.start.saturating_add(volume.start);
            extent.inode = Some(inode);
            each(&Row {
                request: None,
                operation: None,
                piece: Piece {
                    extent,
                    volume: Some(volume),
                },
                base: 0,
            })?;
        }
    }
    Ok(())
}

/// Paths that were made once: rows come in runs of one file.
#[derive(Default)]
pub struct Paths {
    /// By where the volume begins, and the inode.
    known: HashMap<(u64, u32), Option<Vec<u8>>>,
}

impl Paths {
    /// The path of a piece's owner.
    pub fn of(&mut self, row: &Row<'_>) -> Option<&[u8]> {
        let inode = row.piece.extent.inode?;
        let volume = row.piece.volume?;
        let map = volume.map.as_ref().ok()?;
        if self.known.len() >= MOST_PATHS {
            self.known.clear();
        }
        let path = self
            .known
            .entry((volume.start, inode))
            .or_insert_with(|| map.path(inode));
        path.as_deref()
    }
}

/// Who owns a piece.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Name {
    /// A file with this path.
    Path(Vec<u8>),
    /// A file without a path that is known.
    Inode(u32),
    /// No file.
    None,
}

/// What one owner was asked for.
#[derive(Clone, Debug)]
pub struct Owner {
    /// What it is.
    pub kind: Kind,
    /// Who.
    pub name: Name,
    /// Bytes.
    pub bytes: u64,
    /// In so many pieces.
    pub pieces: u64,
}

/// The sums of all owners.
#[derive(Default)]
pub struct Owners {
    paths: Paths,
    /// With the place of the first.
    sums: HashMap<(Kind, Name), (Owner, usize)>,
    count: usize,
}

impl Owners {
    /// Counts a piece.
    pub fn add(&mut self, row: &Row<'_>) {
        let extent = &row.piece.extent;
        let name = match (self.paths.of(row), extent.inode) {
            (Some(path), _) => Name::Path(path.to_vec()),
            (None, Some(inode)) => Name::Inode(inode),
            (None, None) => Name::None,
        };
        let kind = extent.kind;
        let count = self.count;
        let (sum, _) = self
            .sums
            .entry((kind, name))
            .or_insert_with_key(|(kind, name)| {
                let sum = Owner {
                    kind: *kind,
                    name: name.clone(),
                    bytes: 0,
                    pieces: 0,
                };
                (sum, count)
            });
        sum.bytes = sum.bytes.saturating_add(extent.len);
        sum.pieces += 1;
        self.count += 1;
    }

    /// All of them, the largest first.
    #[must_use]
    pub fn sorted(self) -> Vec<Owner> {
        let mut all: Vec<(Owner, usize)> = self.sums.into_values().collect();
        all.sort_by_key(|(owner, first)| (Reverse(owner.bytes), *first));
        all.into_iter().map(|(owner, _)| owner).collect()
    }
}
