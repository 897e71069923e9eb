//! An image, as the kernel sees it once it is attached.

use super::blocks::{Blocks, State, data};
use super::error::Error;
use super::format::LAYOUT_VOLUME;
use super::layout::Layout;
use super::options::Options;
use super::problem::{self, What};
use super::table::{self, Copy, Limits, Record};
use super::volume::Volume;
use crate::jffs2::{Oob, Stripped};
use crate::transfer::TransferError;
use rawimage::ReadAt;
use std::collections::BTreeSet;

/// The blocks of an image, and its volume table: what the kernel knows when it
/// has attached it.
pub struct Image<'a> {
    stripped: Option<Stripped<'a>>,
    image: &'a dyn ReadAt,
    /// Its erase blocks.
    pub blocks: Blocks,
    /// The records of the copy of the volume table that counts.
    pub records: Vec<(u32, Record)>,
    /// Both copies of the volume table.
    pub copies: [Copy; 2],
}

impl<'a> Image<'a> {
    /// Reads all headers and the volume table.
    ///
    /// # Errors
    /// It is not UBI, the erase size cannot be found or is impossible, the
    /// device is impossible, or its length cannot be read.
    pub fn open(image: &'a dyn ReadAt, options: &Options) -> Result<Self, Error> {
        if let Some(device) = options.device {
            device.checked()?;
        }
        let layout = Layout::find(image, options.erase_size, options.spare)?;
        let stripped = layout.oob.map(|oob| Stripped { image, oob });
        let mut bad = options.bad_blocks.clone();
        if let Some(stripped) = &stripped {
            bad.extend(marked(stripped, &layout)?);
        }
        let bytes: &dyn ReadAt = match &stripped {
            Some(stripped) => stripped,
            None => image,
        };
        let blocks = Blocks::scan(bytes, layout, &bad)?;
        let mut attached = Self {
            stripped,
            image,
            blocks,
            records: Vec::new(),
            copies: [Copy::Missing, Copy::Missing],
        };
        attached.tables(options);
        Ok(attached)
    }

    /// The image without spare bytes.
    #[must_use]
    pub fn bytes(&self) -> &dyn ReadAt {
        match &self.stripped {
            Some(stripped) => stripped,
            None => self.image,
        }
    }

    fn problem(&mut self, what: What) {
        problem::add(&mut self.blocks.problems, None, what);
    }

    /// Reads both copies of the volume table and takes the one that the kernel
    /// takes (`process_lvol`).
    fn tables(&mut self, options: &Options) {
        let layout = self.blocks.layout;
        let bad = self.blocks.count(State::Bad);
        let limits = Limits {
            leb_size: layout.leb_size(),
            min_io: options.device.map(|d| d.min_io),
            blocks: options.chip_blocks.map(|n| n.saturating_sub(bad)),
        };
        let length = table::slots(layout.leb_size()) * table::RECORD as u32;
        let lebs = self.blocks.of_volume(LAYOUT_VOLUME).to_vec();
        if lebs.is_empty() {
            self.problem(What::NoTable);
            return;
        }
        let mut raw = [Vec::new(), Vec::new()];
        for (number, bytes) in (0..).zip(&mut raw) {
            let Some(leb) = lebs.iter().find(|l| l.leb == number) else {
                continue;
            };
            let block = u64::from(leb.block);
            let read = data(self.bytes(), &layout, block, 0, length, &mut |piece| {
                bytes.extend_from_slice(piece);
            });
            if read.is_err() {
                bytes.clear();
            }
        }
        let [first, second] = &raw;
        let copies = [Copy::parse(first, &limits), Copy::parse(second, &limits)];
        let same = first == second;
        self.blocks.data_reads += u64::from(length) * lebs.len().min(2) as u64;
        match (&copies[0], &copies[1]) {
            (Copy::Impossible { record, fault }, _) => {
                let (record, fault) = (*record, *fault);
                let copy = 0;
                self.problem(What::Record {
                    copy,
                    record,
                    fault,
                });
            }
            (Copy::SameName { volume, other }, _) => {
                let (volume, other) = (*volume, *other);
                self.problem(What::SameName { volume, other });
            }
            (Copy::Good(records), other) => {
                self.records.clone_from(records);
                if matches!(other, Copy::Missing | Copy::Broken { .. }) {
                    self.problem(What::TableCopy { copy: 1 });
                } else if !same {
                    self.problem(What::TablesDiffer);
                }
            }
            (_, Copy::Impossible { record, fault }) => {
                let (record, fault) = (*record, *fault);
                let copy = 1;
                self.problem(What::Record {
                    copy,
                    record,
                    fault,
                });
            }
            (_, Copy::SameName { volume, other }) => {
                let (volume, other) = (*volume, *other);
                self.problem(What::SameName { volume, other });
            }
            (_, Copy::Good(records)) => {
                self.records.clone_from(records);
                self.problem(What::TableCopy { copy: 0 });
            }
            _ => self.problem(What::BothTablesBroken),
        }
        self.copies = copies;
    }

    /// The volume with this number and record.
    #[must_use]
    pub fn volume<'v>(&'v self, id: u32, record: &'v Record) -> Volume<'v> {
        Volume::new(self.bytes(), &self.blocks, id, record)
    }

    /// The volume with this name, or else with this number.
    ///
    /// # Errors
    /// There is no such volume, or no volume table.
    pub fn find(&self, volume: &str) -> Result<(u32, &Record), Error> {
        let records = &self.records;
        if records.is_empty() {
            let why = match &self.copies {
                [Copy::Good(_), _] | [_, Copy::Good(_)] => "it contains no volumes".to_owned(),
                copies => format!(
                    "the first copy is {} and the second is {}",
                    copies[0].state(),
                    copies[1].state()
                ),
            };
            return Err(Error::NoTable(why));
        }
        let number = volume.parse().ok();
        let by_name = records.iter().find(|(_, r)| r.name() == volume.as_bytes());
        let found = by_name.or_else(|| records.iter().find(|(id, _)| Some(*id) == number));
        let found = found.map(|(id, record)| (*id, record));
        found.ok_or_else(|| {
            let names = records
                .iter()
                .map(|(_, r)| String::from_utf8_lossy(r.name()));
            Error::NoSuchVolume {
                wanted: volume.to_owned(),
                there: names.collect::<Vec<_>>().join(", "),
            }
        })
    }
}

/// The blocks that are marked as bad in their spare bytes.
fn marked(stripped: &Stripped, layout: &Layout) -> Result<BTreeSet<u64>, Error> {
    let Oob { page, .. } = stripped.oob;
    let pages = u64::from(layout.erase_size / page.max(1)).max(1);
    let length = stripped.length().map_err(TransferError::Length)?;
    let count = length / u64::from(layout.erase_size.max(1));
    let marker = stripped.oob.bad_marker() as usize;
    let is_marked = |number: u64| {
        [0, 1].into_iter().any(|page| {
            let spare = stripped.spare(number * pages + page).ok().flatten();
            spare.is_some_and(|s| s.get(marker).is_some_and(|b| *b != 0xff))
        })
    };
    let bad: BTreeSet<u64> = (0..count).filter(|n| is_marked(*n)).collect();
    // No chip ships with more than a few percent of bad blocks: the marks are
    // elsewhere, and what stands here is error correction.
    if bad.len() as u64 * 4 > count.max(4) {
        return Ok(BTreeSet::new());
    }
    Ok(bad)
}
