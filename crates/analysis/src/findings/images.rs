//! What boot and flash images say, whether they were booted or not.

use super::evidence::Evidence;
use super::flash;
use super::found::Found;
use super::initramfs;
use super::loader::USUAL_RATE;
use super::packing::{PACKINGS, Packing};
use super::storage::{READING_SUMMARIES, SUMMARY, ignores_summaries, ubi_scan};
use super::text::images as text;
use super::view::{Speed, USUAL_SPEED, View, transfer};
use crate::system::{ImageFact, ImageKind};
use record::{Nanos, Operation, Phase};

/// What an image costs: loading it, and unpacking it.
pub(super) struct Machine<'a, 'r> {
    view: &'a View<'r>,
    /// Bytes a second that the medium gives.
    rate: u64,
    /// Whether that is known of this boot.
    is_rate_known: bool,
    pub speed: Speed,
}

/// A medium that nothing tells of may be faster by this much: an eMMC.
const FASTER: u64 = 4;

impl<'a, 'r> Machine<'a, 'r> {
    /// As this boot shows it.
    pub(super) fn of(view: &'a View<'r>, kernel: Option<(&Packing, u64)>) -> Self {
        let best = view.record.requests().iter().filter_map(|r| {
            let ns = u64::try_from(r.service()?.0).ok().filter(|n| *n > 0)?;
            let large = r.operation == Operation::Read && r.bytes >= 64 << 10;
            large.then(|| r.bytes.saturating_mul(1_000_000_000) / ns)
        });
        let unpacking = view.length(Phase::Decompression);
        let measured = kernel.and_then(|(packing, unpacked)| {
            let ns = u64::try_from(unpacking.0).ok().filter(|n| *n > 1_000_000)?;
            let all = u128::from(unpacked) * u128::from(packing.work(view)) * 1_000_000_000;
            u64::try_from(all / u128::from(ns)).ok()
        });
        let best = best.max();
        Self {
            view,
            rate: best.unwrap_or(USUAL_RATE),
            is_rate_known: best.is_some(),
            speed: measured.map_or_else(|| view.speed(), Speed::known),
        }
    }

    /// A machine with a medium that may be as fast as this one's, where nothing tells
    /// how fast that is.
    fn faster_medium(&self) -> Self {
        let faster = if self.is_rate_known { 1 } else { FASTER };
        Self {
            rate: self.rate.saturating_mul(faster),
            ..*self
        }
    }

    pub(super) fn time(&self, packed: u64, unpacked: u64, packing: &Packing) -> Nanos {
        let work = unpacked.saturating_mul(packing.work(self.view));
        transfer(packed, self.rate) + transfer(work, self.speed.rate)
    }
}

/// The packing that is fastest here, and what it would take.
fn best(
    machine: &Machine<'_, '_>,
    now: &Packing,
    packed: u64,
    unpacked: u64,
) -> Option<(&'static Packing, Nanos)> {
    let size = |p: &Packing| match p.name == now.name {
        true => packed,
        // As large against the present one as they usually are.
        false => packed.saturating_mul(p.hundredths()) / now.hundredths().max(1),
    };
    let size = |p: &Packing| match p.name {
        "none" => unpacked,
        _ => size(p),
    };
    let each = PACKINGS
        .iter()
        .map(|p| (p, machine.time(size(p), unpacked, p)));
    // What only pays because the medium is thought to be slow is no advice.
    let faster = machine.faster_medium();
    let least = faster.time(packed, unpacked, now).0 / 10 * 9;
    let sound =
        each.filter(|(p, _)| p.name == now.name || faster.time(size(p), unpacked, p).0 <= least);
    sound.min_by_key(|(_, t)| *t)
}

/// Packed kernels that another packing would start sooner.
pub(super) fn kernel_packing(view: &View<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    for image in &view.system.images {
        let ImageKind::Kernel {
            compression,
            packed,
            unpacked,
            signed,
            ..
        } = &image.what
        else {
            continue;
        };
        let Some(now) = Packing::named(compression) else {
            continue;
        };
        let machine = Machine::of(view, Some((now, *unpacked)));
        let costs = machine.time(*packed, *unpacked, now);
        let Some((to, would)) = best(&machine, now, *packed, *unpacked) else {
            continue;
        };
        // Within a tenth the model cannot tell them apart.
        if to.name == now.name || would.0 > costs.0 / 10 * 9 {
            continue;
        }
        let why = text::kernel_why(
            packed,
            machine.rate / 1_000_000,
            unpacked,
            costs,
            now.name,
            would,
            to.name,
        );
        let option = format!("config=CONFIG_KERNEL_{}=y", to.name.to_ascii_uppercase());
        let treatment = match to.name {
            "none" => "kernel=uncompressed".to_owned(),
            _ => option,
        };
        let evidence = Evidence {
            text: text::kernel_image(compression, packed, unpacked),
            place: image.place.clone(),
        };
        let one = Found::new()
            .title(text::kernel(now.name, to.name, costs - would))
            .why(why);
        found.push(
            one.evidence([evidence])
                .parts(costs - would, 40, 90, 120)
                .before_kernel()
                .at_speed(machine.speed)
                .maybe_treatment((!signed).then_some(treatment)),
        );
    }
    found
}

/// Packed initramfs archives that another packing would unpack sooner.
pub(super) fn initramfs_packing(view: &View<'_>) -> Vec<Found> {
    let found = view.system.images.iter().filter_map(|image| {
        let ImageKind::Initramfs {
            compression,
            packed,
            unpacked,
            entries,
        } = &image.what
        else {
            return None;
        };
        let now = Packing::named(compression)?;
        let machine = Machine::of(view, None);
        let costs = machine.time(*packed, *unpacked, now);
        let (to, would) = best(&machine, now, *packed, *unpacked)?;
        if to.name == now.name || would.0 > costs.0 / 10 * 9 {
            return None;
        }
        let mut why = text::initramfs_why(
            packed,
            entries,
            machine.rate / 1_000_000,
            unpacked,
            costs,
            now.name,
            would,
            to.name,
        );
        let measured = initramfs::unpacked(view).map(|(time, ..)| time);
        if let Some(time) = measured {
            why.push_str(&initramfs::same_time(time));
        }
        let evidence = Evidence {
            text: text::initramfs_image(compression, packed),
            place: image.place.clone(),
        };
        let title = text::initramfs(now.name, to.name);
        Some(
            Found::new()
                .title(title)
                .why(why)
                .evidence([evidence])
                .parts(costs - would, 40, 90, 120)
                .at_most(measured.unwrap_or(Nanos(i64::MAX)))
                .at_speed(machine.speed)
                .treatment(format!("initramfs={}", to.name)),
        )
    });
    found.collect()
}

/// Hashes of a FIT image that cost more than they protect.
pub(super) fn fit_hashes(view: &View<'_>) -> Vec<Found> {
    let mut all = Vec::new();
    for image in &view.system.images {
        let ImageKind::Fit { signed, hashes } = &image.what else {
            continue;
        };
        // Signed images need their hashes.
        if *signed || hashes.is_empty() {
            continue;
        }
        let cost = |algorithm: &str, bytes: u64| {
            let tenths = match algorithm {
                "crc32" => 43,
                "sha1" => 217,
                "sha256" => 370,
                "sha384" | "sha512" => 1_090,
                _ => 100,
            };
            transfer(bytes.saturating_mul(tenths) / 10, USUAL_SPEED)
        };
        let now = hashes
            .iter()
            .fold(Nanos::ZERO, |sum, (a, n)| sum + cost(a, *n));
        let dear = hashes.iter().any(|(a, _)| a != "crc32");
        let names: Vec<&str> = hashes.iter().map(|(a, _)| a.as_str()).collect();
        if !dear {
            continue;
        }
        let crc = hashes
            .iter()
            .fold(Nanos::ZERO, |sum, (_, n)| sum + cost("crc32", *n));
        all.push(
            Found::new()
                .title(text::fit_hashes(names.join(", ")))
                .evidence([Evidence {
                    text: text::unsigned(hashes.len()),
                    place: image.place.clone(),
                }])
                .parts(now - crc, 50, 100, 120),
        );
    }
    all
}

fn environments<'a>(
    view: &'a View<'_>,
) -> impl Iterator<Item = (&'a ImageFact, &'a [crate::system::EnvironmentProposal])> {
    view.system.images.iter().filter_map(|i| match &i.what {
        ImageKind::Environment { proposals, .. } => Some((i, proposals.as_slice())),
        _ => None,
    })
}

/// What a loader's environment could do without.
pub(super) fn environment(view: &View<'_>, wanted: &[&str]) -> Vec<Found> {
    let mut all = Vec::new();
    for (image, proposals) in environments(view) {
        for p in proposals
            .iter()
            .filter(|p| p.surplus_bytes.is_none() && wanted.contains(&p.name.as_str()))
        {
            let title = match p.name.as_str() {
                "bootdelay" => "The boot loader waits for a key",
                "silent" => text::CONSOLE,
                "verify" => text::CHECKS,
                "boot_targets" => text::TARGETS,
                _ => text::SCRIPTS,
            };
            let (low, expected, high) = match (p.name.as_str(), p.saves_ns) {
                (_, Some(ns)) => {
                    let ns = Nanos(i64::try_from(ns).unwrap_or(i64::MAX));
                    // A second that is counted in steps of 1 ms is a little longer.
                    (Nanos(ns.0 / 2), ns, ns + Nanos(ns.0 / 100))
                }
                ("bootdelay", None) => (Nanos::ZERO, Nanos(2_000_000_000), Nanos(5_000_000_000)),
                ("silent", None) => (Nanos::ZERO, Nanos::from_millis(80), Nanos::from_millis(300)),
                ("verify", None) => (Nanos::ZERO, Nanos::from_millis(40), Nanos::from_millis(500)),
                ("boot_targets", None) => {
                    (Nanos::ZERO, Nanos::from_millis(200), Nanos(3_000_000_000))
                }
                // `experiments/findings/loader-script.toml` brought 0.02 ms; and what was published.
                _ => (Nanos::ZERO, Nanos::ZERO, Nanos::from_millis(56)),
            };
            let change = format!("env={}={}", p.name, p.value);
            all.push(
                Found::new()
                    .title(title)
                    .why(p.why.clone())
                    .evidence([Evidence {
                        text: text::environment(&p.name, &p.value),
                        place: image.place.clone(),
                    }])
                    .saving(low, expected, high)
                    .cost(p.cost.clone())
                    .treatment(change),
            );
        }
    }
    all
}

/// JFFS2 images without summaries, or for a kernel that reads none.
pub(super) fn jffs2_summary(view: &View<'_>) -> Vec<Found> {
    let found = view.system.images.iter().filter_map(|image| {
        let ImageKind::Jffs2 {
            used_blocks,
            summarised,
            saves_ns,
            mount_ns,
            erased_ns,
            erase_size,
            blocks,
            ..
        } = image.what
        else {
            return None;
        };
        let bare = used_blocks.saturating_sub(summarised);
        let found = Found::new().evidence([Evidence {
            text: text::summaries(summarised, used_blocks),
            place: image.place.clone(),
        }]);
        let mounted = flash::jffs2_mounted(view);
        let measured = mounted.as_ref().and_then(|(_, took)| {
            // The rest of the chip is looked at as well.
            let all = flash::partition(view)?.checked_div(erase_size)?;
            let rest = all.saturating_sub(blocks).saturating_mul(erased_ns);
            let assumed = mount_ns.saturating_add(rest);
            let took = Some(*took).filter(|t| flash::is_like(*t, assumed))?;
            let saves = i128::from(saves_ns) * i128::from(took.0);
            let share = saves.checked_div(i128::from(assumed))?;
            i64::try_from(share).ok().map(Nanos)
        });
        let time = measured.unwrap_or(nanos(saves_ns));
        let mounted = mounted.filter(|_| measured.is_some());
        let most = mounted.as_ref().map_or(Nanos(i64::MAX), |(_, took)| *took);
        let found = found.evidence(mounted.map(|(line, _)| view.quote(&line)));
        // A kernel without the option reads every node, summary or not.
        if let Some(config) = ignores_summaries(view) {
            return (used_blocks > 0).then(|| {
                let evidence = config.place(SUMMARY).map(|place| Evidence {
                    text: text::NO_SUMMARY_OPTION.to_owned(),
                    place,
                });
                found
                    .title(text::SUMMARIES_IGNORED)
                    .why(text::ignored_why(bare, used_blocks))
                    .evidence(evidence)
                    .parts(time, 0, 100, 150)
                    .at_most(most)
                    .treatment(READING_SUMMARIES)
            });
        }
        (bare > 0).then(|| {
            let mut why = text::jffs2_why(bare, used_blocks);
            if measured.is_some() {
                why.push_str(&text::mounted_in(most));
            }
            found
                .why(why)
                .parts(time, 30, 100, 150)
                .at_most(most)
                .treatment("jffs2=summaries")
        })
    });
    found.collect()
}

fn nanos(ns: u64) -> Nanos {
    Nanos(i64::try_from(ns).unwrap_or(i64::MAX))
}

/// UBI images that are read in full.
pub(super) fn ubi_static(view: &View<'_>) -> Vec<Found> {
    let found = view.system.images.iter().filter_map(|image| {
        let ImageKind::Ubi {
            checked_bytes,
            checked_ns,
            checked_volume,
            ..
        } = image.what
        else {
            return None;
        };
        let bytes = Some(checked_bytes).filter(|b| *b > 0)?;
        let time = nanos(checked_ns);
        let mut why = text::ubi_static_why(bytes);
        let opened = flash::ubi_opened(view).filter(|(_, t)| flash::is_like(*t, checked_ns));
        if let Some((_, took)) = opened {
            why.push_str(&text::opened_in(took));
        }
        let found = Found::new()
            .why(why)
            .evidence([Evidence {
                text: text::static_bytes(bytes),
                place: image.place.clone(),
            }])
            .evidence(opened.as_ref().map(|(line, _)| view.quote(line)))
            .maybe_treatment(checked_volume.map(|id| format!("ubi-skip-check={id}")));
        // All of the check goes.
        Some(match opened {
            // Another program may be silent before it, and the lines lie inside it.
            Some((_, took)) => found.parts(took, 50, 100, 110),
            // Chip and processor are assumed, and software that corrects errors may take as long
            // as the chip.
            None => found.parts(time, 20, 100, 200),
        })
    });
    found.collect()
}

/// UBI images without a fastmap. An image has no more blocks than were written, a chip has:
/// where the log shows the scan, `ubi-scan` measures what this would guess.
pub(super) fn ubi_fastmap(view: &View<'_>) -> Vec<Found> {
    if ubi_scan(view).is_some() {
        return Vec::new();
    }
    let found = view.system.images.iter().filter_map(|image| {
        let ImageKind::Ubi {
            blocks,
            fastmap_saves_ns,
            ..
        } = image.what
        else {
            return None;
        };
        let time = Some(nanos(fastmap_saves_ns)).filter(|t| *t > Nanos::ZERO)?;
        let why = text::ubi_fastmap_why(blocks);
        Some(
            Found::new()
                .why(why)
                .evidence([Evidence {
                    text: text::no_fastmap(blocks),
                    place: image.place.clone(),
                }])
                // What attaching by a fastmap reads is taken off already, and a chip has no
                // fewer blocks than its image.
                .parts(time, 20, 100, 150)
                .treatment("ubi-fastmap=on"),
        )
    });
    found.collect()
}

/// Commands of an environment that read more than what is loaded, whatever variable they
/// stand in.
pub(super) fn surplus(view: &View<'_>) -> Vec<Found> {
    let mut all = Vec::new();
    for (image, proposals) in environments(view) {
        for p in proposals {
            let Some(bytes) = p.surplus_bytes else {
                continue;
            };
            // A slow chip gives a tenth of what a card does; a fast medium four times it.
            let time = transfer(bytes, USUAL_RATE);
            all.push(
                Found::new()
                    .title(text::surplus(bytes))
                    .why(p.why.clone())
                    .evidence([Evidence {
                        text: text::environment(&p.name, &p.value),
                        place: image.place.clone(),
                    }])
                    .parts(time, 25, 100, 1_000)
                    .cost(p.cost.clone())
                    .treatment(format!("env={}={}", p.name, p.value)),
            );
        }
    }
    all
}
