//! What must hold of every disk image, whatever its bytes.

use disk::{Disk, File, score};
use rawimage::{Part, ReadAt};

/// Reads an image as a whole: each byte belongs to one piece, and files can be read.
pub fn look(bytes: &[u8]) {
    let Ok(part) = Part::whole(&bytes as &dyn ReadAt) else {
        return;
    };
    let Ok(disk) = Disk::open(&part, None) else {
        return;
    };
    let mut at = 0;
    let end = bytes.len() as u64 * 2;
    disk.pieces(0, end, &mut |piece| {
        assert_eq!(piece.extent.start, at);
        at += piece.extent.len;
    });
    assert_eq!(at, end);
    let mut paths = Vec::new();
    for (_, map) in disk.maps() {
        for inode in map.inodes().iter().take(50) {
            paths.extend(map.path(inode.number));
            if let Some(file) = File::open(part, map, inode.number) {
                let mut front = [0; 64];
                let _ = file.read_exact_at(0, &mut front);
            }
        }
    }
    let _ = score(&disk, &paths);
}
