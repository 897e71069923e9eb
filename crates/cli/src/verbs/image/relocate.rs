//! `firstlight image relocate`: files put one behind the other on disk, in the
//! order in which they are read.

use super::args::Relocate as Args;
use super::forecast::profile_or_usual;
use crate::out::Out;
use crate::progress;
use anyhow::Result;
use inspect::paths;
use storage::read_whole;
use treat::relocate::{Apply, Extent, Step, relocate};
use views::{json, terminal};

pub fn run(args: &Args, out: &mut Out) -> Result<()> {
    let shown = args.root.display().to_string();
    let list = paths::some(&args.files)?;
    let profile = profile_or_usual(args.storage.as_ref())?;
    let forecast = |files: &[Vec<Extent>], size: u64| {
        let files: Vec<Pieces> = files.iter().flat_map(|f| reads(f, size)).collect();
        read_whole(&files, &profile.storage, size)
    };
    let apply = match (args.apply, args.force) {
        (false, _) => Apply::No,
        (true, false) => Apply::IfSooner,
        (true, true) => Apply::Always,
    };
    let done = relocate(&args.root, &list, &args.files, apply, &forecast, &|step| {
        progress::say(match step {
            Step::Looking => "looking where the files lie".to_owned(),
            Step::Moving(number, all) => format!("file {number} of {all}"),
            Step::Checking => "checking where they lie now".to_owned(),
        });
    })?;
    progress::clear();
    let storage = &*profile.name;
    out.show(
        || json::image::Relocate::of(&shown, &done, storage),
        |style| terminal::image::relocate(&shown, &done, storage, style),
    )
}

/// Offset, place on the device and length, in bytes.
type Pieces = Vec<(u64, u64, u64)>;

/// So many pieces of a file lie in its inode (`fs/ext4/ext4_extents.h`: four extents in
/// `i_block`); of more, a block of its own says where they lie.
const IN_INODE: usize = 4;

/// The bytes of a block group with blocks of 4 KiB.
const GROUP_BYTES: u64 = 128 << 20;

/// What is read of a file: first the block that says where its content lies, if there is one.
/// The kernel looks for its place in the file's block group and does not tell it. Two places
/// in one group are a third of it apart on average.
fn reads(extents: &[Extent], size: u64) -> Vec<Pieces> {
    let mut content: Pieces = Vec::new();
    for e in extents {
        match content.last_mut() {
            Some((offset, place, bytes))
                if *offset + *bytes == e.offset && *place + *bytes == e.physical =>
            {
                *bytes += e.bytes;
            }
            _ => content.push((e.offset, e.physical, e.bytes)),
        }
    }
    let first = content.first().map_or(0, |p| p.1);
    let away = GROUP_BYTES.min(size) / 3;
    let place = first.checked_sub(away).unwrap_or(first + away);
    let block = vec![(0, place, 4096)];
    match content.len() > IN_INODE {
        true => vec![block, content],
        false => vec![content],
    }
}

#[cfg(test)]
mod tests {
    use super::{Extent, GROUP_BYTES, reads};

    #[test]
    fn a_file_in_more_pieces_than_its_inode_holds_has_a_block_for_them() {
        let extent = |n: u64| Extent {
            offset: n * 4096,
            physical: 500_000_000 + n * 8192,
            bytes: 4096,
        };
        let pieces = |count: u64| (0..count).map(extent).collect::<Vec<_>>();
        assert_eq!(reads(&pieces(4), 1 << 30).len(), 1);
        let five = reads(&pieces(5), 1 << 30);
        assert_eq!(five[0], [(0, 500_000_000 - GROUP_BYTES / 3, 4096)]);
        assert_eq!(five[1].len(), 5);
        // What follows directly is one piece.
        let whole: Vec<Extent> = (0..5)
            .map(|n| Extent {
                physical: n * 4096,
                ..extent(n)
            })
            .collect();
        assert_eq!(reads(&whole, 1 << 30), [vec![(0, 0, 5 * 4096)]]);
    }
}
