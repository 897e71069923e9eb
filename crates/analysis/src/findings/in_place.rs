//! Programs that are unpacked from a flash that could execute them.

use super::evidence::Evidence;
use super::found::Found;
use super::packing::Packing;
use super::text::in_place as text;
use super::view::{View, transfer};
use crate::system::ImageKind;
use record::{Nanos, Phase, mark};

/// How kernels say that they drive NOR flash, which the processor reads like memory:
/// `physmap`'s own word, and the two sets of commands (`drivers/mtd/chips/cfi_probe.c`).
pub(super) const NOR: [&str; 3] = [
    "physmap platform flash device",
    "Intel/Sharp Extended Query Table",
    "Amd/Fujitsu Extended Query Table",
];

/// Of so much of its programs in hundredths a boot touches the pages: a static BusyBox on
/// `arm9` 36 up to its first script (`lab classics root-filesystems`), 67 with an inittab
/// and an application (`experiments/arm9`); and what lies between them, where the boot does
/// not show which it is.
const TOUCHED_AT_FIRST: i64 = 36;
const TOUCHED_BY_APPLICATION: i64 = 67;
const TOUCHED: i64 = 50;

/// A first program that is there sooner starts no other.
const ALONE: Nanos = Nanos::from_millis(10);

fn touched(view: &View<'_>) -> i64 {
    let userspace = view.length(Phase::Userspace);
    match (&view.phases.first_light, userspace > ALONE) {
        (None, _) => TOUCHED,
        (Some(_), true) => TOUCHED_BY_APPLICATION,
        (Some(_), false) => TOUCHED_AT_FIRST,
    }
}

/// Programs in packed pages of a filesystem in NOR flash.
pub(super) fn packed(view: &View<'_>) -> Option<Found> {
    let flash = NOR.iter().find_map(|text| view.said(text).next())?;
    let (image, kind, programs) = view.system.images.iter().find_map(|i| match &i.what {
        ImageKind::Cramfs { packed, .. } => Some((i, "cramfs", *packed)),
        ImageKind::Jffs2 { programs, .. } => Some((i, "JFFS2", *programs)),
        _ => None,
    })?;
    if programs == 0 {
        return None;
    }
    let work = Packing::named("gzip")?.work(view);
    let speed = view.speed();
    let time = transfer(programs.saturating_mul(work), speed.rate);
    let end = view.phases.end();
    let mounted = view.record.mark(mark::ROOT_MOUNTED).map(|m| m.at);
    let from = mounted.unwrap_or(Nanos::ZERO);
    let written = match kind {
        "JFFS2" => text::WRITTEN,
        _ => "",
    };
    let why = text::packed_why(kind, programs, written);
    Some(
        Found::new()
            .why(why)
            .evidence([
                view.quote(&flash),
                Evidence {
                    text: text::programs(kind, programs),
                    place: image.place.clone(),
                },
            ])
            .parts(time, 20, touched(view), 100)
            .at_most((end - from).max(Nanos::ZERO))
            .at_speed(speed),
    )
}
