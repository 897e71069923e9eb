#![no_main]

use arbitrary::Arbitrary;
use disk::ext::arrange::{Wanted, arrange};
use disk::ext::map;
use rawimage::Part;
use rawimage::ReadAt;

/// Whole filesystems of 64 blocks of 1 KiB, with and without checksums: of bytes
/// made at random nearly none would get past the superblock.
const IMAGES: [&[u8]; 2] = [
    include_bytes!("../images/checksums.img"),
    include_bytes!("../images/plain.img"),
];

#[derive(Arbitrary, Debug)]
enum Ask {
    Content { inode: u8, offset: u16, len: u16 },
    Far { inode: u32, offset: u64, len: u64 },
    Tree { inode: u8 },
    Place { start: u16, len: u16 },
    All,
}

impl Ask {
    fn wanted(&self) -> Wanted {
        match *self {
            Self::Content { inode, offset, len } => Wanted::Content {
                inode: inode.into(),
                offset: offset.into(),
                len: len.into(),
            },
            Self::Far { inode, offset, len } => Wanted::Content { inode, offset, len },
            Self::Tree { inode } => Wanted::Tree {
                inode: inode.into(),
            },
            Self::Place { start, len } => Wanted::Place {
                start: start.into(),
                len: len.into(),
            },
            Self::All => Wanted::Place {
                start: 0,
                len: u64::MAX,
            },
        }
    }
}

libfuzzer_sys::fuzz_target!(|input: (bool, u16, Vec<(u16, u8)>, Vec<Ask>)| {
    let (plain, cut, damage, asks) = input;
    let mut bytes = IMAGES[usize::from(plain)].to_vec();
    for (at, value) in &damage {
        if let Some(byte) = bytes.get_mut(usize::from(*at)) {
            *byte ^= value;
        }
    }
    // Right checksums, so that damage is not all that is found.
    if cut & 1 == 0 {
        fuzz::sums::ext(&mut bytes);
    }
    // Most of the time all of it is there.
    if cut > 60_000 {
        bytes.truncate(usize::from(cut));
    }
    let slice: &[u8] = &bytes;
    let Ok(part) = Part::whole(&slice as &dyn ReadAt) else {
        return;
    };
    let Ok(before) = map(&part) else { return };
    let wanted: Vec<Wanted> = asks.iter().map(Ask::wanted).collect();
    let done = match arrange(&part, &before, &wanted) {
        Ok(done) => done,
        Err(why) => {
            assert!(!why.to_string().is_empty());
            let whole = damage.iter().all(|(_, value)| *value == 0) && cut <= 60_000;
            // A whole image can only be too full.
            assert!(!whole || why.to_string().contains("free blocks"), "{why}");
            return;
        }
    };
    let end = bytes.len() as u64;
    // Each block has one new place, inside, and nothing is copied from there.
    let mut targets: Vec<(u64, u64)> = done.copies.iter().map(|c| (c.1, c.1 + c.2)).collect();
    targets.sort_unstable();
    assert!(
        targets.windows(2).all(|p| p[0].1 <= p[1].0),
        "two in one place"
    );
    assert!(targets.iter().all(|t| t.1 <= end), "outside of the image");
    for (from, _, len) in &done.copies {
        assert!(from + len <= end);
        let hit = |t: &&(u64, u64)| t.0 < from + len && *from < t.1;
        assert!(
            !targets.iter().any(|t| hit(&t)),
            "read after it was written"
        );
    }
    let mut after = bytes.clone();
    for (from, to, len) in &done.copies {
        after.copy_within(*from as usize..(from + len) as usize, *to as usize);
    }
    for (at, what) in &done.writes {
        let at = *at as usize;
        let Some(place) = after.get_mut(at..at + what.len()) else {
            continue;
        };
        place.copy_from_slice(what);
    }
    if damage.iter().any(|(_, value)| *value != 0) {
        return;
    }
    // Of a whole image, all content is the same to the byte.
    let slice: &[u8] = &after;
    let part = Part::whole(&slice as &dyn ReadAt).expect("it is as long as before");
    let now = map(&part).expect("what was laid out can be read");
    assert_eq!(now.notes, before.notes);
    let content = |map: &disk::Map, bytes: &[u8]| {
        let mut all: Vec<(Option<u32>, Option<u64>, Vec<u8>)> = map
            .extents()
            .filter(|e| e.inode.is_some() && e.offset.is_some())
            .flat_map(|e| {
                let blocks = (0..e.len.div_ceil(1024)).map(move |n| {
                    let at = (e.start + n * 1024) as usize;
                    (e.inode, e.offset.map(|o| o + n * 1024), at)
                });
                blocks.collect::<Vec<_>>()
            })
            .map(|(inode, offset, at)| (inode, offset, bytes[at..at + 1024].to_vec()))
            .collect();
        all.sort();
        all
    };
    assert_eq!(content(&now, &after), content(&before, &bytes));
});
