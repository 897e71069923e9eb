//! What mounting costs: that no image makes the estimate panic or grow without bound.
#![allow(clippy::unwrap_used, reason = "a test")]

use firstlight_flash::mount::look;
use firstlight_flash::{ReadAt, jffs2, ubi};
use proptest::prelude::*;

/// Estimates, with a squashfs in each volume that reads two pages of it.
fn survives(bytes: &[u8]) {
    let image: &dyn ReadAt = &bytes;
    let squashfs = |_: &dyn ReadAt| Some(vec![(0, 4096), (4096, 4096)]);
    if let Ok(Some(flash)) = look(image, None, Some(1 << 30), &squashfs) {
        assert!(!flash.stages.is_empty() && !flash.source.is_empty());
        let stages: u64 = flash.stages.iter().map(|s| s.ns).sum();
        assert_eq!(flash.total_ns(), stages);
    }
}

#[test]
fn every_chip_of_the_model_says_how_far_off_it_may_be() {
    let jffs2 = jffs2::mount::PROFILES.map(|p| (p.name, p.error_percent));
    let ubi = ubi::cost::PROFILES.map(|p| (p.name, p.error_percent));
    for (name, percent) in jffs2.into_iter().chain(ubi) {
        let most = if name.starts_with("nandsim") { 15 } else { 50 };
        assert!((1..=most).contains(&percent), "{name}: {percent}");
    }
}

proptest! {
    #[test]
    fn no_bytes_are_too_odd(
        mut bytes in proptest::collection::vec(any::<u8>(), 0..6000),
        magic in prop_oneof![
            Just(&b"UBI#"[..]), Just(&[0x85, 0x19][..]), Just(&[0x19, 0x85][..]), Just(&b""[..]),
        ],
    ) {
        if let Some(front) = bytes.get_mut(..magic.len()) {
            front.copy_from_slice(magic);
        }
        survives(&bytes);
    }
}
