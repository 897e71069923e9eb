//! What a list's owner reads, and where it lies: for the simulator.

use agent::access::{AccessList, Entry};
use agent::extents::extents;
use agent::prefetch::{State, open_entry};
use anyhow::{Context, Result};
use image::blocks::Kind;
use image::blocks::ext;
use image::boot::Part;
use lab::layout::plan;
use lab::storage::page_cache::{Access, File, PAGE};
use lab::storage::simulate::Need;
use std::collections::BTreeMap;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// How programs and libraries begin.
const ELF: &[u8; 4] = b"\x7fELF";

/// Files, and what is needed of them.
#[derive(Clone, Debug, Default)]
pub struct Reads {
    pub files: Vec<File>,
    pub needs: Vec<Need>,
    /// Files that are not there, or have changed.
    pub missing: u64,
}

impl Reads {
    /// Where things lie below a folder.
    pub fn below(list: &AccessList, root: &Path) -> Self {
        let mut reads = Self::default();
        for entry in &list.entries {
            match of_root(entry, root) {
                Some(file) => reads.add(list, entry, file),
                None => reads.missing += 1,
            }
        }
        reads.begin();
        reads
    }

    /// Where things lie in an image of an ext4; and where they lie when it is laid out
    /// in the order of the list.
    pub fn inside(list: &AccessList, image: &Path) -> Result<(Self, Self)> {
        let reads = Self::of_image(list, image)?;
        let done = plan(image, list)?;
        let mut ordered = Self::of_image(&done.list, image)?;
        let mut moves = BTreeMap::new();
        for (from, to, bytes) in &done.arrangement.copies {
            moves.insert(*from, (*to, *bytes));
        }
        for file in ordered
            .files
            .iter_mut()
            .filter(|f| f.access != Access::Device)
        {
            let pages: Vec<u64> = (0..file.bytes.div_ceil(PAGE)).collect();
            let places = pages.iter().map(|page| (*page, file.place(*page)));
            let places = places.map(|(page, place)| (page, place.map(|p| moved(&moves, p))));
            file.extents = joined(places);
        }
        Ok((reads, ordered))
    }

    fn of_image(list: &AccessList, path: &Path) -> Result<Self> {
        let shown = path.display();
        let file = std::fs::File::open(path).with_context(|| format!("{shown}: cannot be read"))?;
        let volume = Part::whole(&file).with_context(|| format!("{shown}: cannot be read"))?;
        let map = ext::map(&volume).with_context(|| format!("{shown}: cannot be read"))?;
        let found: Vec<u32> = list
            .entries
            .iter()
            .map(|e| map.find(&e.path).unwrap_or(0))
            .collect();
        let extents = map.extents_of(&found);
        let mut reads = Self::default();
        for ((entry, number), extents) in list.entries.iter().zip(&found).zip(extents) {
            if entry.is_device() {
                let mut device = device(entry.size());
                map.pieces(0, entry.size(), &mut |e| {
                    let pages = e.start / PAGE..(e.start + e.len).div_ceil(PAGE);
                    match e.kind {
                        Kind::InodeTable => device.tables.push(pages),
                        Kind::Unmapped
                        | Kind::BootBlock
                        | Kind::Superblock
                        | Kind::GroupDescriptors
                        | Kind::ReservedDescriptors => device.looked_at.push(pages),
                        _ => {}
                    }
                });
                reads.add(list, entry, device);
                continue;
            }
            if map.inode(*number).is_none_or(|i| i.size != entry.size()) {
                reads.missing += 1;
                continue;
            }
            let extents: Vec<(u64, u64, u64)> = extents
                .iter()
                .filter(|e| e.kind == Kind::File)
                .filter_map(|e| Some((e.offset?, e.start, e.len)))
                .collect();
            let mut head = [0; 4];
            let first = extents.first().filter(|e| e.0 == 0);
            let is_read = first.is_some_and(|e| file.read_exact_at(&mut head, e.1).is_ok());
            let content = File {
                access: access(is_read && head == *ELF),
                bytes: entry.size(),
                extents,
                tables: Vec::new(),
                looked_at: Vec::new(),
            };
            reads.add(list, entry, content);
        }
        reads.begin();
        Ok(reads)
    }

    /// The same, when each page lies behind the one that was needed before it.
    pub fn in_order(&self) -> Self {
        let mut needs = self.needs.clone();
        needs.sort_by_key(|n| n.at_ns);
        let mut places: Vec<BTreeMap<u64, u64>> = vec![BTreeMap::new(); self.files.len()];
        let mut at = 0;
        for need in &needs {
            for page in need.page..need.page + need.pages {
                if let Some(places) = places.get_mut(need.file) {
                    places.insert(page, at);
                    at += PAGE;
                }
            }
        }
        let files = self.files.iter().zip(places).map(|(file, places)| {
            let pages = places.into_iter().map(|(page, place)| (page, Some(place)));
            File {
                extents: joined(pages),
                tables: Vec::new(),
                looked_at: Vec::new(),
                ..file.clone()
            }
        });
        Self {
            files: files.collect(),
            needs,
            missing: self.missing,
        }
    }

    fn add(&mut self, list: &AccessList, entry: &Entry, file: File) {
        let page = u64::from(list.page_bytes);
        for range in &entry.ranges {
            let start = range.page.saturating_mul(page);
            let end = range.end().saturating_mul(page).min(file.bytes);
            if start < end {
                self.needs.push(Need {
                    at_ns: range.first_us.saturating_mul(1000),
                    file: self.files.len(),
                    page: start / PAGE,
                    pages: end.div_ceil(PAGE) - start / PAGE,
                    program: entry.program,
                });
            }
        }
        self.files.push(file);
    }

    /// Times count from the first need; and metadata is needed by whoever needs the
    /// next file.
    fn begin(&mut self) {
        self.needs.sort_by_key(|n| n.at_ns);
        let mut program = None;
        for need in self.needs.iter_mut().rev() {
            let file = self.files.get(need.file);
            match file.is_some_and(|f| f.access == Access::Device) {
                true => need.program = program.unwrap_or(need.program),
                false => program = Some(need.program),
            }
        }
        let first = self.needs.iter().map(|n| n.at_ns).min().unwrap_or(0);
        self.needs.iter_mut().for_each(|n| n.at_ns -= first);
    }

    /// When the last thing is needed.
    pub fn work_ns(&self) -> u64 {
        self.needs.iter().map(|n| n.at_ns).max().unwrap_or(0)
    }

    /// All that is needed, in bytes.
    pub fn bytes(&self) -> u64 {
        self.needs.iter().map(|n| n.pages * PAGE).sum()
    }

    /// The end of what lies on the device.
    pub fn size(&self) -> u64 {
        let extents = self.files.iter().flat_map(|f| &f.extents);
        extents.map(|e| e.1.saturating_add(e.2)).max().unwrap_or(0)
    }
}

const fn access(is_program: bool) -> Access {
    match is_program {
        true => Access::Mapped,
        false => Access::Read,
    }
}

fn device(bytes: u64) -> File {
    File {
        access: Access::Device,
        bytes,
        extents: vec![(0, 0, bytes)],
        tables: Vec::new(),
        looked_at: Vec::new(),
    }
}

/// An entry as it lies below `root`.
fn of_root(entry: &Entry, root: &Path) -> Option<File> {
    if entry.is_device() {
        return Some(device(entry.size()));
    }
    let (Some(file), State::Same | State::Moved) = open_entry(root, entry) else {
        return None;
    };
    let found = extents(&file, 0, entry.size(), usize::MAX).ok()?;
    let mut head = [0; 4];
    let is_read = std::fs::File::from(file)
        .read_exact_at(&mut head, 0)
        .is_ok();
    Some(File {
        access: access(is_read && head == *ELF),
        bytes: entry.size(),
        extents: found
            .iter()
            .map(|e| (e.offset, e.physical, e.bytes))
            .collect(),
        tables: Vec::new(),
        looked_at: Vec::new(),
    })
}

/// Where a place went.
fn moved(moves: &BTreeMap<u64, (u64, u64)>, place: u64) -> u64 {
    match moves.range(..=place).next_back() {
        Some((from, (to, bytes))) if place - from < *bytes => to + (place - from),
        _ => place,
    }
}

/// Pages and their places as pieces.
fn joined(pages: impl Iterator<Item = (u64, Option<u64>)>) -> Vec<(u64, u64, u64)> {
    let mut pieces: Vec<(u64, u64, u64)> = Vec::new();
    for (page, place) in pages {
        let Some(place) = place else { continue };
        let offset = page * PAGE;
        match pieces.last_mut() {
            Some((o, p, bytes)) if *o + *bytes == offset && *p + *bytes == place => *bytes += PAGE,
            _ => pieces.push((offset, place, PAGE)),
        }
    }
    pieces
}
