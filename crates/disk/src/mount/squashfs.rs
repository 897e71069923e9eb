//! squashfs (`squashfs_fill_super`): the superblock, the tables of places, the
//! root's inode and its owner.

use super::plan::Plan;
use crate::Error;
use rawimage::Part;
use rawimage::bytes::{le16, le32, le64};

/// It asks in units of so many bytes (`SQUASHFS_DEVBLK_SIZE`), and keeps nothing
/// of what else is in them.
const UNIT: u64 = 1024;
/// What a block of metadata holds.
const BLOCK: u64 = 8192;
/// The place of a table that is not there.
const NONE: u64 = u64::MAX;
/// The length of a block of metadata that lies as it is has this bit.
const PLAIN: u16 = 0x8000;

/// Fitted on `squashfs`.
const WORK: u64 = 50_000;
/// The first mount; fitted on `squashfs`.
const FIRST: u64 = 114_000;

/// For each byte that is unpacked, instructions: by the number of the compressor.
/// Fitted on `squashfs` and `squashfs-xz`; those that were not measured
/// are estimates.
const fn unpack(compressor: u16) -> u64 {
    match compressor {
        2 | 4 => 48,
        6 => 12,
        3 | 5 => 4,
        _ => 10,
    }
}

pub(super) fn look(volume: &Part<'_>) -> Result<Plan, Error> {
    let sb = volume.read(0, 96)?;
    if sb.len() < 96 || !sb.starts_with(b"hsqs") || le16(&sb, 28) != Some(4) {
        return Err(Error::NotYet {
            what: "squashfs before 4.0".to_owned(),
        });
    }
    let n64 = |at| le64(&sb, at).unwrap_or(0);
    let n32 = |at| u64::from(le32(&sb, at).unwrap_or(0));
    let compressor = le16(&sb, 20).unwrap_or(0);
    let ids = u64::from(le16(&sb, 26).unwrap_or(0));
    let (id_table, xattrs, export, fragments) = (n64(48), n64(56), n64(88), n64(80));
    let mut mount = Mount {
        volume,
        compressor,
        plan: Plan {
            first: FIRST,
            ..Plan::new("squashfs")
        },
    };
    mount.span(0, 96);
    if xattrs != NONE {
        let header = volume.read(xattrs, 16)?;
        let count = u64::from(le32(&header, 8).unwrap_or(0));
        mount.span(xattrs, 16);
        mount.list(xattrs.saturating_add(16), count.saturating_mul(16));
    }
    mount.list(id_table, ids.saturating_mul(4));
    if export != NONE {
        mount.list(export, n32(4).saturating_mul(8));
    }
    if n32(16) > 0 {
        mount.list(fragments, n32(16).saturating_mul(16));
    }
    let root = n64(32);
    let inode = n64(64).saturating_add(root >> 16);
    let next = mount.block(inode)?;
    // The root's inode may go on in the next block: it has at most 40 bytes.
    if let Some(next) = next
        && (root & 0xffff) + 40 > BLOCK
        && next < n64(72)
    {
        mount.block(next)?;
    }
    let owners = volume.read(id_table, 8)?;
    if let Some(owners) = le64(&owners, 0) {
        mount.block(owners)?;
    }
    mount.plan.work(WORK);
    Ok(mount.plan)
}

struct Mount<'a> {
    volume: &'a Part<'a>,
    compressor: u16,
    plan: Plan,
}

impl Mount<'_> {
    /// A request for the units that hold these bytes.
    fn span(&mut self, at: u64, bytes: u64) {
        let start = at / UNIT * UNIT;
        let end = at.saturating_add(bytes).min(self.volume.len());
        let bytes = end.saturating_sub(start).next_multiple_of(UNIT);
        // A request has at most 256 pages (`BIO_MAX_VECS`).
        self.plan.read(start, bytes.min(1 << 20));
    }

    /// The list of the places of a table with so many bytes.
    fn list(&mut self, at: u64, bytes: u64) {
        if bytes > 0 {
            self.span(at, bytes.div_ceil(BLOCK).saturating_mul(8));
        }
    }

    /// A block of metadata: its length, then all of it again. Gives the place of
    /// the next.
    fn block(&mut self, at: u64) -> Result<Option<u64>, Error> {
        let Some(header) = le16(&self.volume.read(at, 2)?, 0) else {
            return Ok(None);
        };
        let length = u64::from(header & !PLAIN);
        self.span(at, 2);
        self.span(at.saturating_add(2), length);
        if header & PLAIN == 0 {
            self.plan.work(BLOCK * unpack(self.compressor));
        }
        Ok(Some(at.saturating_add(2).saturating_add(length)))
    }
}
