//! Inodes: one after the other in the inode table, without gaps.

use rawimage::bytes::{le16, le32, le64};

/// An inode without a fragment has this number for one.
pub(super) const NO_FRAGMENT: u32 = u32::MAX;

/// What an inode holds.
#[derive(Debug)]
pub(super) enum Content<'a> {
    /// Names: in which block of the directory table, where in it, and how long.
    Directory { block: u32, offset: u16, len: u32 },
    /// Blocks from `start` on, their sizes in four bytes each; and the end of
    /// the file in a fragment.
    File {
        start: u64,
        sizes: &'a [u8],
        fragment: u32,
        fragment_offset: u32,
    },
    /// The target.
    Symlink(&'a [u8]),
    /// A device, a pipe or a socket.
    Nothing,
}

#[derive(Debug)]
pub(super) struct Inode<'a> {
    pub number: u32,
    pub size: u64,
    pub content: Content<'a>,
}

impl<'a> Inode<'a> {
    /// The inode at `at`, and how long it is. `None` if there is none.
    pub(super) fn read(table: &'a [u8], at: usize, block_size: u32) -> Option<(Self, usize)> {
        let bytes = table.get(at..)?;
        let number = le32(bytes, 12)?;
        let n32 = |at| le32(bytes, at);
        let (size, content, length) = match le16(bytes, 0)? {
            1 => {
                let len = u32::from(le16(bytes, 24)?);
                // Three bytes stand for `.` and `..`, which are not there.
                let content = Content::Directory {
                    block: n32(16)?,
                    offset: le16(bytes, 26)?,
                    len: len.saturating_sub(3),
                };
                (u64::from(len), content, n32(28).map(|_| 32)?)
            }
            8 => {
                let len = n32(20)?;
                let content = Content::Directory {
                    block: n32(24)?,
                    offset: le16(bytes, 34)?,
                    len: len.saturating_sub(3),
                };
                let mut end = 40;
                for _ in 0..le16(bytes, 32)? {
                    let name = usize::try_from(n32(end + 8)?).ok()?;
                    end = end.checked_add(13)?.checked_add(name)?;
                    bytes.get(..end)?;
                }
                (u64::from(len), content, end)
            }
            2 => {
                let size = u64::from(n32(28)?);
                let start = u64::from(n32(16)?);
                file(bytes, 32, start, size, (n32(20)?, n32(24)?), block_size)?
            }
            9 => {
                let size = le64(bytes, 24)?;
                let start = le64(bytes, 16)?;
                file(bytes, 56, start, size, (n32(44)?, n32(48)?), block_size)?
            }
            kind @ (3 | 10) => {
                let len = usize::try_from(n32(20)?).ok()?;
                let end = 24_usize.checked_add(len)?;
                let target = bytes.get(24..end)?;
                let extra = if kind == 10 { 4 } else { 0 };
                (len as u64, Content::Symlink(target), end + extra)
            }
            4 | 5 => (0, Content::Nothing, 24),
            11 | 12 => (0, Content::Nothing, 28),
            6 | 7 => (0, Content::Nothing, 20),
            13 | 14 => (0, Content::Nothing, 24),
            _ => return None,
        };
        bytes.get(..length)?;
        let inode = Self {
            number,
            size,
            content,
        };
        Some((inode, length))
    }
}

fn file(
    bytes: &[u8],
    head: usize,
    start: u64,
    size: u64,
    (fragment, fragment_offset): (u32, u32),
    block_size: u32,
) -> Option<(u64, Content<'_>, usize)> {
    let whole = size / u64::from(block_size);
    let rest = size % u64::from(block_size);
    let count = whole + u64::from(rest > 0 && fragment == NO_FRAGMENT);
    let length = usize::try_from(count.checked_mul(4)?).ok()?;
    let end = head.checked_add(length)?;
    let content = Content::File {
        start,
        sizes: bytes.get(head..end)?,
        fragment,
        fragment_offset,
    };
    Some((size, content, end))
}
