//! What a list's owner reads, and where it lies: for the simulator.

mod trees;

use crate::error::{LabError, io_error};
use crate::layout::{Ordered, Unit, cannot, plan};
use agent::access::{AccessList, Entry};
use agent::extents::extents;
use agent::prefetch::{State, open_entry};
use disk::ext::{self, arrange::ArrangeError};
use disk::mount::Step;
use disk::{Kind, Map};
use rawimage::Part;
use std::collections::BTreeMap;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use storage::page_cache::{Access, File, PAGE};
use storage::{Mount, MountStep, Need};
use trees::Trees;

/// What is needed so close to another need is needed by the same program.
const LOOKS_NS: u64 = 1_000_000;

/// The inode of the root directory.
const ROOT: u32 = 2;

/// How programs, libraries and kernel modules begin: so, and with the kind of file behind
/// what identifies it (`e_type` of `elf.h`), in 18 bytes.
const ELF: &[u8; 4] = b"\x7fELF";
/// `EI_DATA`, which is 2 of what begins with the high byte.
const DATA: usize = 5;
/// Modules are relocatable: `ET_REL`.
const RELOCATABLE: u16 = 1;

/// Files, and what is needed of them.
#[derive(Clone, Debug, Default)]
pub struct Reads {
    /// The files.
    pub files: Vec<File>,
    /// What is needed of them.
    pub needs: Vec<Need>,
    /// Files that are not there, or have changed.
    pub missing: u64,
    /// How the root is mounted first, where that is known.
    pub mount: Option<Mount>,
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
    ///
    /// # Errors
    /// The image cannot be read, or not be laid out.
    pub fn inside(list: &AccessList, image: &Path) -> Result<(Self, Self), LabError> {
        let done = plan(image, list, Unit::Pages)?;
        Self::then(list, image, &done)
    }

    /// The same of an image that is laid out as `done` says. Of a list without metadata the
    /// blocks that say where each file lies are needed before its content.
    ///
    /// # Errors
    /// The image cannot be read.
    pub fn then(list: &AccessList, image: &Path, done: &Ordered) -> Result<(Self, Self), LabError> {
        let (mut reads, nodes) = Self::of_image(list, image)?;
        let (mut ordered, _) = Self::of_image(&done.list, image)?;
        if !list.entries.iter().any(Entry::is_device) {
            reads.trees(&nodes);
            ordered.trees(&nodes.moved(done));
        }
        ordered.looks_of(&reads);
        ordered.mount.clone_from(&reads.mount);
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
        // What lay nowhere, and is a directory now, is read through the filesystem.
        for file in &mut ordered.files {
            for (_, to, bytes) in &done.arrangement.copies {
                without(
                    &mut file.looked_at,
                    &(to / PAGE..(to + bytes).div_ceil(PAGE)),
                );
            }
        }
        Ok((reads, ordered))
    }

    /// Before the content of each file its blocks that say where it lies are needed.
    fn trees(&mut self, trees: &Trees) {
        let number = self.files.len();
        let mut firsts: BTreeMap<usize, Need> = BTreeMap::new();
        for need in &self.needs {
            firsts.entry(need.file).or_insert(*need);
        }
        let mut needs = Vec::new();
        for (file, blocks) in &trees.of {
            let Some(first) = firsts.get(file) else {
                continue;
            };
            needs.extend(blocks.iter().map(|at| Need {
                file: number,
                page: at / PAGE,
                pages: 1,
                is_listed: false,
                ..*first
            }));
        }
        self.files.push(device(trees.bytes));
        // Of what is needed at the same time, these come first.
        needs.append(&mut self.needs);
        needs.sort_by_key(|n| n.at_ns);
        self.needs = needs;
    }

    fn of_image(list: &AccessList, path: &Path) -> Result<(Self, Trees), LabError> {
        let file = std::fs::File::open(path).map_err(io_error(path, "cannot be read"))?;
        let volume = Part::whole(&file).map_err(io_error(path, "cannot be read"))?;
        let map = ext::map(&volume)
            .map_err(ArrangeError::from)
            .map_err(cannot(path))?;
        let found: Vec<u32> = list
            .entries
            .iter()
            .map(|e| map.find(&e.path).unwrap_or(0))
            .collect();
        let extents = map.extents_of(&found);
        let mut reads = Self::default();
        let mut numbers: BTreeMap<u32, usize> = BTreeMap::new();
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
            let mut head = [0; 18];
            if let Some(first) = extents.first().filter(|e| e.0 == 0) {
                // What cannot be read is no program.
                file.read_exact_at(&mut head, first.1).ok();
            }
            let content = File {
                access: access(&head, entry),
                bytes: entry.size(),
                extents,
                tables: Vec::new(),
                looked_at: Vec::new(),
            };
            numbers.insert(*number, reads.files.len());
            reads.add(list, entry, content);
        }
        reads.begin();
        reads.mount = reads.mounted(&volume, &map);
        let trees = Trees::read(&map, numbers, volume.len());
        Ok((reads, trees))
    }

    /// A program that looks at the device reads blocks of inode tables as well. Those go
    /// with their inodes when these are brought together, and the program reads them where
    /// they were: what is needed between two such looks, at once with them.
    fn looks_of(&mut self, before: &Self) {
        let device = |reads: &Self| reads.files.iter().position(|f| f.access == Access::Device);
        let (Some(own), Some(device)) = (device(self), device(before)) else {
            return;
        };
        let needs = before.needs.iter().filter(|n| n.file == device);
        let needs: Vec<&Need> = needs.collect();
        let of = before.files.get(device);
        // A block of a table that did not go with its inodes has none that is needed.
        let stays = |n: &Need| {
            self.needs
                .iter()
                .any(|o| (o.at_ns, o.page) == (n.at_ns, n.page))
        };
        let is_look = |n: &Need| {
            of.is_some_and(|f| f.is_looked_at(n.page) || (f.is_inode(n.page) && stays(n)))
        };
        let looks: Vec<u64> = needs
            .iter()
            .filter(|n| is_look(n))
            .map(|n| n.at_ns)
            .collect();
        let others: Vec<&Need> = needs.into_iter().filter(|n| !is_look(n)).collect();
        for need in others {
            let next = looks.partition_point(|at| *at < need.at_ns);
            let last = next.checked_sub(1).and_then(|n| looks.get(n));
            let is_between = last.is_some_and(|at| need.at_ns - at < LOOKS_NS)
                && looks.get(next).is_some_and(|at| at - need.at_ns < LOOKS_NS);
            if is_between && let Some(file) = self.files.get_mut(own) {
                let pages = need.page..need.page + need.pages;
                let behind = file.looked_at.partition_point(|r| r.start < pages.start);
                file.looked_at.insert(behind, pages);
                self.needs.push(Need {
                    file: own,
                    is_listed: false,
                    ..*need
                });
            }
        }
        self.needs.sort_by_key(|n| n.at_ns);
    }

    /// How the root is mounted, if the list is that of a boot, which begins with the
    /// superblock. It is mounted for writing in the end, which the superblock tells
    /// (`ext4_setup_super` of `fs/ext4/super.c`). Before init starts, the kernel's own
    /// filesystems move below the new root: the root directory, and inodes.
    fn mounted(&self, volume: &Part<'_>, map: &Map) -> Option<Mount> {
        let plan = disk::mount::look(volume).ok()??;
        let mut steps: Vec<MountStep> = plan.steps.iter().filter_map(asks).collect();
        let mut own = Vec::new();
        for step in &steps {
            if let MountStep::Read(at, bytes) | MountStep::Ahead(at, bytes) = *step {
                own.push(at / PAGE..(at + bytes).div_ceil(PAGE));
            }
        }
        steps.extend([
            MountStep::Write(0, u64::from(map.facts.block_size)),
            MountStep::Flush,
        ]);
        let is_early = |need: &&Need| {
            let file = self.files.get(need.file)?;
            let is_own = || own.iter().any(|pages| pages.contains(&need.page));
            let is_table = || file.tables.iter().any(|t| t.contains(&need.page));
            let mut is_root = false;
            map.pieces(need.page * PAGE, PAGE, &mut |e| {
                is_root |= e.kind == Kind::Directory && e.inode == Some(ROOT);
            });
            (file.access == Access::Device && (is_own() || is_table() || is_root)).then_some(())
        };
        let early = self.needs.iter().take_while(|n| is_early(n).is_some());
        let early: Vec<&Need> = early.collect();
        let first = early.first().filter(|n| n.page == 0)?;
        let last = early.last().unwrap_or(first);
        Some(Mount {
            steps,
            until_ns: last.at_ns,
        })
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
            mount: None,
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
                    is_listed: true,
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

/// What a step of a mount asks of the device; `None`: nothing.
const fn asks(step: &Step) -> Option<MountStep> {
    match *step {
        Step::Read(at, bytes) => Some(MountStep::Read(at, bytes)),
        Step::Ahead(at, bytes) => Some(MountStep::Ahead(at, bytes)),
        Step::Wait(at) => Some(MountStep::Wait(at)),
        Step::Write(at, bytes) => Some(MountStep::Write(at, bytes)),
        Step::Flush => Some(MountStep::Flush),
        Step::Work(_) | Step::Settle => None,
    }
}

/// How a file that begins so is used.
fn access(head: &[u8; 18], entry: &Entry) -> Access {
    if head.starts_with(ELF) {
        let [.., a, b] = *head;
        let kind = match head.get(DATA) {
            Some(2) => u16::from_be_bytes([a, b]),
            _ => u16::from_le_bytes([a, b]),
        };
        return match kind {
            RELOCATABLE => Access::Module,
            _ => Access::Program,
        };
    }
    // What is read is read from its first page on; of what is mapped some pages are needed.
    let mut behind = 0;
    for range in &entry.ranges {
        if range.page != behind {
            return Access::Mapped;
        }
        behind = range.end();
    }
    Access::Read
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
    let mut head = [0; 18];
    // What is too short to be read is no program.
    std::fs::File::from(file).read_exact_at(&mut head, 0).ok();
    Some(File {
        access: access(&head, entry),
        bytes: entry.size(),
        extents: found
            .iter()
            .map(|e| (e.offset, e.physical, e.bytes))
            .collect(),
        tables: Vec::new(),
        looked_at: Vec::new(),
    })
}

/// Takes pages out of ranges.
fn without(ranges: &mut Vec<Range<u64>>, pages: &Range<u64>) {
    let cut = |r: &Range<u64>| {
        let before = r.start..r.end.min(pages.start);
        let behind = r.start.max(pages.end)..r.end;
        [before, behind].into_iter().filter(|r| !r.is_empty())
    };
    if ranges
        .iter()
        .any(|r| r.start < pages.end && pages.start < r.end)
    {
        *ranges = ranges.iter().flat_map(cut).collect();
    }
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

#[cfg(test)]
mod tests {
    use super::{Access, File, Need, PAGE, Reads, device, without};

    #[test]
    fn pages_are_taken_out_of_ranges() {
        let all = || vec![2..5, 8..20, 30..31];
        let cut = |pages| {
            let mut ranges = all();
            without(&mut ranges, &pages);
            ranges
        };
        assert_eq!(cut(10..12), [2..5, 8..10, 12..20, 30..31]);
        assert_eq!(cut(3..9), [2..3, 9..20, 30..31]);
        assert_eq!(cut(2..6), [8..20, 30..31]);
        assert_eq!(cut(5..8), all());
    }

    fn of_device(needs: &[(u64, u64)]) -> Reads {
        let file = File {
            tables: vec![200..300, 300..600],
            looked_at: vec![0..4, 900..1000],
            ..device(1000 * PAGE)
        };
        let needs = needs.iter().map(|(at_ns, page)| Need {
            at_ns: *at_ns,
            file: 0,
            page: *page,
            pages: 1,
            program: 0,
            is_listed: true,
        });
        Reads {
            needs: needs.collect(),
            files: vec![file],
            ..Reads::default()
        }
    }

    #[test]
    fn looks_at_inode_tables_stay_where_they_were() {
        // Looks at 2, 256 and 500, of which the last has no inode that is needed; an inode
        // at 300, and one at 301 long before.
        let before = of_device(&[
            (0, 301),
            (9_000_000, 2),
            (9_400_000, 256),
            (9_500_000, 500),
            (9_900_000, 300),
        ]);
        let mut ordered =
            of_device(&[(0, 210), (9_000_000, 2), (9_500_000, 500), (9_900_000, 211)]);
        ordered.looks_of(&before);
        let added: Vec<u64> = ordered
            .needs
            .iter()
            .filter(|n| !n.is_listed)
            .map(|n| n.page)
            .collect();
        assert_eq!(added, [256]);
        assert!(
            ordered
                .files
                .iter()
                .all(|f| f.access == Access::Device && f.is_looked_at(256))
        );
    }
}
