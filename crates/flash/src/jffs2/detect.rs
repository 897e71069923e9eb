//! What an image is, from what it holds: byte order and erase size.

pub use super::erase_size::{EraseSize, Evidence};
use super::node::{Content, Fault, Node, is_evidence};
use super::summary::marker;
use super::walk::{Walk, after, erased_prefix, is_header};
use rawimage::ReadAt;
use rawimage::endian::Endian;
use std::collections::BTreeMap;
use std::io;

/// How much is read at a time.
const WINDOW: usize = 1 << 20;

/// Longer nodes may be missed where two windows meet. It is well below the
/// length of a window, so that each one brings the search on.
const LONGEST_NODE: u32 = 1 << 17;

/// The smallest erase size that the kernel mounts is 8 KiB; smaller ones are
/// candidates so that they can be told apart.
const SMALLEST: u32 = 1 << 12;
/// The largest erase size that this program works with. The largest NAND block
/// that JFFS2 is used on is 1 MiB.
pub const LARGEST: u32 = 1 << 23;

/// Finds the byte order: that in which the first part of the image that holds
/// any nodes holds more of them. `None` if there is no node at all.
///
/// # Errors
/// What reading says.
pub fn endian(image: &dyn ReadAt) -> io::Result<Option<Endian>> {
    let length = image.length()?;
    let mut buffer = vec![0; WINDOW];
    let mut at = 0;
    while at < length {
        let take = WINDOW.min(usize::try_from(length - at).unwrap_or(WINDOW));
        let window = &mut buffer[..take];
        // A bad block of a device is no reason to give up.
        if image.read_exact_at(at, window).is_ok() {
            let good = |endian| {
                Walk::new(endian, window)
                    .filter(is_header)
                    .take(1000)
                    .count()
            };
            let (little, big) = (good(Endian::Little), good(Endian::Big));
            if little + big > 0 {
                let most = if big > little {
                    Endian::Big
                } else {
                    Endian::Little
                };
                return Ok(Some(most));
            }
        }
        at += take as u64;
    }
    Ok(None)
}

/// What was seen of one candidate, a power of two.
#[derive(Clone, Copy, Default)]
struct Candidate {
    /// Nodes that lie across a multiple of it.
    crossed: u64,
    /// Multiples of it that a node ends before, and the next one begins after.
    kept: u64,
}

/// What was seen of all.
#[derive(Default)]
struct Sightings {
    summaries: BTreeMap<u32, u64>,
    /// How many clean markers, and what divides all their places.
    cleanmarkers: (u64, u64),
    candidates: BTreeMap<u32, Candidate>,
    /// Where the last good node ended.
    end: Option<u64>,
}

impl Sightings {
    fn node(&mut self, at: u64, node: &Node, bytes: &[u8], endian: Endian) {
        match node.content {
            Content::Summary => {
                let whole = bytes.get(..node.length as usize).unwrap_or_default();
                let size = marker(endian, whole).and_then(|o| o.checked_add(node.length));
                if let Some(size) = size.filter(|s| (SMALLEST..=LARGEST).contains(s)) {
                    *self.summaries.entry(size).or_default() += 1;
                }
            }
            Content::Cleanmarker => {
                self.cleanmarkers.0 += 1;
                self.cleanmarkers.1 = greatest_common_divisor(self.cleanmarkers.1, at);
            }
            _ => {}
        }
        if !is_evidence(node) {
            return;
        }
        let last = at + u64::from(node.length).max(1) - 1;
        let before = self.end.replace(last);
        let mut size = SMALLEST;
        while size <= LARGEST {
            let block = |byte: u64| byte / u64::from(size);
            let candidate = self.candidates.entry(size).or_default();
            if block(at) != block(last) {
                candidate.crossed += 1;
            } else if before.is_some_and(|b| block(b) + 1 == block(at)) {
                candidate.kept += 1;
            }
            size *= 2;
        }
    }

    /// What all of it says, if it says anything.
    fn verdict(&self) -> Option<EraseSize> {
        let most = self.summaries.iter().max_by_key(|(_, n)| **n);
        if let Some((&bytes, &count)) = most {
            let evidence = Evidence::Summaries(count);
            return Some(EraseSize { bytes, evidence });
        }
        let (count, bytes) = self.cleanmarkers;
        let bytes = u32::try_from(bytes).unwrap_or(0);
        if count >= 2 && (SMALLEST..=LARGEST).contains(&bytes) {
            let evidence = Evidence::Cleanmarkers(count);
            return Some(EraseSize { bytes, evidence });
        }
        let crossed = self.candidates.iter().rev().find(|(_, c)| c.crossed > 0);
        let bytes = crossed.map_or(SMALLEST, |(size, _)| size * 2);
        let kept = self.candidates.get(&bytes)?.kept;
        let evidence = Evidence::Boundaries(kept);
        (kept > 0 && crossed.is_some()).then_some(EraseSize { bytes, evidence })
    }

    /// Whether more reading is not going to change it.
    fn enough(&self) -> bool {
        self.verdict().is_some_and(|size| match size.evidence {
            Evidence::Summaries(n) => n >= 8 && self.summaries.len() == 1,
            Evidence::Cleanmarkers(n) => n >= 16,
            Evidence::Boundaries(n) => n >= 32,
        })
    }
}

/// Finds the erase size. `None` if the image is too small, or too empty, to
/// tell.
///
/// # Errors
/// What reading says.
pub fn erase_size(image: &dyn ReadAt, endian: Endian) -> io::Result<Option<EraseSize>> {
    let length = image.length()?;
    let mut buffer = vec![0; WINDOW];
    let mut seen = Sightings::default();
    let mut base = 0;
    while base < length && !seen.enough() {
        let take = WINDOW.min(usize::try_from(length - base).unwrap_or(WINDOW));
        let window = &mut buffer[..take];
        if image.read_exact_at(base, window).is_err() {
            base += take as u64;
            continue;
        }
        let last = base + take as u64 >= length;
        let mut at = 0;
        while at < window.len() {
            let rest = &window[at..];
            let node = Node::parse(endian, rest);
            if let Ok(node) = &node {
                seen.node(base + at as u64, node, rest, endian);
            }
            at = match node {
                Ok(node) => after(at, node.length),
                // A node that this window cuts off begins the next one.
                Err(Fault::Overrun { length }) if !last && length <= LONGEST_NODE => break,
                Err(
                    Fault::NodeCrc { length }
                    | Fault::DataCrc { length }
                    | Fault::NameCrc { length },
                ) => after(at, length),
                Err(_) => at + (erased_prefix(rest) & !3).max(4),
            };
        }
        base += at.max(4) as u64;
    }
    Ok(seen.verdict())
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 {
        a
    } else {
        greatest_common_divisor(b, a % b)
    }
}
