//! A flattened device tree (devicetree specification, chapter 5).

use crate::text;
use std::ops::Range;

/// What a blob begins with, high byte first.
pub(crate) const MAGIC: &[u8] = &[0xd0, 0x0d, 0xfe, 0xed];

const BEGIN_NODE: u32 = 1;
const END_NODE: u32 = 2;
const PROPERTY: u32 = 3;
const NOP: u32 = 4;
const END: u32 = 9;

/// The most levels of a tree; the kernel's has 64.
const DEEPEST: usize = 64;

/// A property of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Property<'a> {
    /// The node's path: `/bootstage/3`.
    pub node: String,
    /// The property's name.
    pub name: &'a [u8],
    /// Where its value lies in the blob.
    pub place: Range<usize>,
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_be_bytes(*word))
}

fn offset(bytes: &[u8], at: usize) -> Option<usize> {
    usize::try_from(word(bytes, at)?).ok()
}

/// Walks through all properties, in order, until `take` says that it has
/// enough. `false` if the blob is damaged or cut before its end.
pub(crate) fn walk<'a>(blob: &'a [u8], mut take: impl FnMut(Property<'a>)) -> bool {
    walk_tokens(blob, &mut take).is_some()
}

fn walk_tokens<'a>(blob: &'a [u8], take: &mut dyn FnMut(Property<'a>)) -> Option<()> {
    if !blob.starts_with(MAGIC) {
        return None;
    }
    let mut at = offset(blob, 8)?;
    let strings = blob.get(offset(blob, 12)?..)?;
    let mut path = String::new();
    let mut depth = 0_usize;
    let aligned = |at: usize| at.checked_next_multiple_of(4);
    loop {
        let token = word(blob, at)?;
        at = at.checked_add(4)?;
        match token {
            BEGIN_NODE => {
                let name = until_nul(blob.get(at..)?)?;
                at = aligned(at.checked_add(name.len())?.checked_add(1)?)?;
                depth += 1;
                if depth > DEEPEST {
                    return None;
                }
                // The root has no name.
                if depth > 1 {
                    path.push('/');
                    path.push_str(&text::lossy(name));
                }
            }
            END_NODE => {
                depth = depth.checked_sub(1)?;
                path.truncate(path.rfind('/').unwrap_or(0));
            }
            PROPERTY => {
                let length = offset(blob, at)?;
                let name = until_nul(strings.get(offset(blob, at.checked_add(4)?)?..)?)?;
                let start = at.checked_add(8)?;
                let end = start.checked_add(length)?;
                blob.get(start..end)?;
                take(Property {
                    node: if path.is_empty() {
                        "/".to_owned()
                    } else {
                        path.clone()
                    },
                    name,
                    place: start..end,
                });
                at = aligned(end)?;
            }
            NOP => {}
            END => return Some(()),
            _ => return None,
        }
    }
}

/// The bytes before the first NUL.
pub(crate) fn until_nul(bytes: &[u8]) -> Option<&[u8]> {
    bytes.get(..memchr::memchr(0, bytes)?)
}
