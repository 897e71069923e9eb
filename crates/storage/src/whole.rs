//! Files that are read whole, one after another, by a program that does nothing else.

use crate::device::in_sequence;
use crate::figures::Storage;
use crate::page_cache::{Access, File, PAGE};
use crate::simulate::{Costs, Need, Way, simulate};

/// How long reading `files` takes, in nanoseconds, in their order and from an idle device of
/// `size` bytes: for each, its pieces (offset, place on the device and length, in bytes; in
/// order). Linux reads ahead as it does for a program that reads a file from its beginning to
/// its end. Blocks that say where a file lies, and inodes, are in memory. The way to the first
/// piece does not count: where it leads from is not known.
#[must_use]
pub fn read_whole(files: &[Vec<(u64, u64, u64)>], storage: &Storage, size: u64) -> u64 {
    let first = files.iter().flatten().next().map_or(0, |p| p.1);
    let files: Vec<File> = files.iter().map(|pieces| file(pieces)).collect();
    let needs: Vec<Need> = files
        .iter()
        .enumerate()
        .flat_map(|(number, file)| {
            // A hole is there as soon as it is asked for.
            file.extents.iter().map(move |(offset, _, bytes)| Need {
                at_ns: 0,
                file: number,
                page: offset / PAGE,
                pages: bytes.div_ceil(PAGE),
                program: 0,
                is_listed: false,
            })
        })
        .collect();
    let done = simulate(
        &needs,
        (&files, None),
        (storage, size),
        Costs::default(),
        Way::Demand,
    );
    done.total_ns.saturating_sub(way_to(first, storage, size))
}

/// How long an idle device of `size` bytes needs before the first byte at `place` comes, in
/// nanoseconds.
#[must_use]
pub fn way_to(place: u64, storage: &Storage, size: u64) -> u64 {
    in_sequence(storage, size, [(place, 0)])
}

fn file(pieces: &[(u64, u64, u64)]) -> File {
    let end = pieces.iter().map(|p| p.0.saturating_add(p.2)).max();
    File {
        access: Access::Read,
        bytes: end.unwrap_or(0),
        extents: pieces.to_vec(),
        tables: Vec::new(),
        looked_at: Vec::new(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::read_whole;
    use crate::figures::{Model, Storage};

    const MIB: u64 = 1 << 20;

    /// 10 ms for a jump of any length, 25 MB/s.
    fn disk() -> Storage {
        Storage {
            model: Model::Disk,
            read_bytes_per_s: 25_000_000,
            rotation_ns: 9_000_000,
            seek_min_ns: 1_000_000,
            seek_max_ns: 1_000_000,
            near_bytes: 65_536,
            read_ahead_kb: 128,
            ..Storage::default()
        }
    }

    /// How long reading such files takes, in milliseconds.
    fn ms(files: &[Vec<(u64, u64, u64)>]) -> u64 {
        read_whole(files, &disk(), 1 << 30) / 1_000_000
    }

    #[test]
    fn each_jump_costs_a_seek_and_half_a_turn() {
        let transfer = 4 * MIB * 1000 / 25_000_000;
        let whole = [vec![(0, 0, 2 * MIB)], vec![(0, 2 * MIB, 2 * MIB)]];
        assert_eq!(ms(&whole), transfer);
        // The second file lies in two pieces, elsewhere: there, to the other piece.
        let pieces = vec![(0, 100 * MIB, MIB), (MIB, 50 * MIB, MIB)];
        let broken = ms(&[vec![(0, 0, 2 * MIB)], pieces]);
        assert!(
            (transfer + 19..=transfer + 21).contains(&broken),
            "{broken}"
        );
    }

    #[test]
    fn fewer_pieces_that_lie_further_apart_may_take_longer() {
        let far = Storage {
            seek_max_ns: 100_000_000,
            ..disk()
        };
        let near = vec![vec![
            (0, 0, MIB),
            (MIB, 2 * MIB, MIB),
            (2 * MIB, 4 * MIB, MIB),
        ]];
        let apart = vec![vec![(0, 0, MIB), (MIB, 1000 * MIB, 2 * MIB)]];
        let time = |files: &[Vec<_>]| read_whole(files, &far, 1 << 30);
        assert!(time(&near) < time(&apart));
    }

    #[test]
    fn nothing_and_holes_take_no_time() {
        assert_eq!(ms(&[]), 0);
        assert_eq!(ms(&[Vec::new()]), 0);
        let holey = vec![(10 * MIB, 0, MIB)];
        assert_eq!(ms(&[holey]), ms(&[vec![(0, 0, MIB)]]));
    }

    #[test]
    fn where_the_first_piece_lies_does_not_matter() {
        let at = |place| ms(&[vec![(0, place, MIB)]]);
        assert_eq!(at(0), at(500 * MIB));
    }
}
