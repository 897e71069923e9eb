//! What boot and flash images say, whether they were booted or not.

use super::Evidence;
use super::found::Found;
use super::initramfs;
use super::view::{Arm, Speed, USUAL_SPEED, View, transfer};
use crate::system::{ImageFact, ImageKind};
use record::{Nanos, Operation, Phase};

/// A way to pack: its name, what it makes of a hundred bytes of kernel, and the
/// instructions that unpacking a byte takes, on x86 and on 32-bit ARM.
///
/// Sizes are those of x86 and ARM kernels of Debian 12. Instructions were counted
/// in the exact lab: for xz on x86, and on an ARM926 for all but zstd and bzip2
/// (`lab classics kernel-compression`); the others are scaled from the speeds that
/// their authors publish.
pub(super) struct Packing {
    pub name: &'static str,
    hundredths: u64,
    x86: u64,
    arm: u64,
}

const PACKINGS: [Packing; 8] = [
    Packing::new("none", 100, 1, 1),
    Packing::new("lz4", 36, 5, 5),
    Packing::new("lzo", 33, 9, 10),
    Packing::new("zstd", 24, 16, 25),
    Packing::new("gzip", 28, 25, 17),
    Packing::new("lzma", 21, 80, 136),
    Packing::new("xz", 20, 68, 107),
    Packing::new("bzip2", 26, 140, 200),
];

/// What unpacking a byte with lz4 takes on a processor that reads words only
/// where they are aligned: it is read byte by byte.
const LZ4_ALIGNED: u64 = 18;

impl Packing {
    const fn new(name: &'static str, hundredths: u64, x86: u64, arm: u64) -> Self {
        Self {
            name,
            hundredths,
            x86,
            arm,
        }
    }

    pub fn named(name: &str) -> Option<&'static Self> {
        PACKINGS.iter().find(|p| name.starts_with(p.name))
    }

    /// What it makes of a hundred bytes.
    pub fn hundredths(&self) -> u64 {
        self.hundredths
    }

    /// The instructions that unpacking a byte takes on the processor of this boot.
    pub fn work(&self, view: &View<'_>) -> u64 {
        match view.arm() {
            Some(Arm { aligned: true }) if self.name == "lz4" => LZ4_ALIGNED,
            Some(_) => self.arm,
            None => self.x86,
        }
    }
}

/// What an image costs: loading it, and unpacking it.
struct Machine<'a> {
    view: &'a View<'a>,
    /// Bytes a second that the medium gives.
    rate: u64,
    /// Whether that is known of this boot.
    is_rate_known: bool,
    speed: Speed,
}

/// Where nothing tells: a card, bytes a second.
const USUAL_RATE: u64 = 20_000_000;
/// A medium that nothing tells of may be faster by this much: an eMMC.
const FASTER: u64 = 4;

impl<'a> Machine<'a> {
    /// As this boot shows it.
    fn of(view: &'a View<'a>, kernel: Option<(&Packing, u64)>) -> Self {
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

    fn time(&self, packed: u64, unpacked: u64, packing: &Packing) -> Nanos {
        let work = unpacked.saturating_mul(packing.work(self.view));
        transfer(packed, self.rate) + transfer(work, self.speed.rate)
    }
}

/// The packing that is fastest here, and what it would take.
fn best(
    machine: &Machine<'_>,
    now: &Packing,
    packed: u64,
    unpacked: u64,
) -> Option<(&'static Packing, Nanos)> {
    let size = |p: &Packing| match p.name == now.name {
        true => packed,
        // As large against the present one as they usually are.
        false => packed.saturating_mul(p.hundredths) / now.hundredths.max(1),
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
        let why = format!(
            "{packed} bytes are loaded at {} MB/s and become {unpacked}: {costs} in all with {}, \
             and {would} with {} by the same model.",
            machine.rate / 1_000_000,
            now.name,
            to.name
        );
        let option = format!("config=CONFIG_KERNEL_{}=y", to.name.to_ascii_uppercase());
        let treatment = match to.name {
            "none" => "kernel=uncompressed".to_owned(),
            _ => option,
        };
        let evidence = Evidence {
            text: format!(
                "a kernel packed with {compression}: {packed} bytes, unpacked {unpacked}"
            ),
            place: image.place.clone(),
        };
        let one = Found::new(
            format!(
                "The kernel is packed with {}; {} starts sooner",
                now.name, to.name
            ),
            why,
        );
        found.push(
            one.evidence([evidence])
                .parts(costs - would, 40, 90, 120)
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
        let mut why = format!(
            "{packed} bytes of {entries} entries are loaded at {} MB/s and become {unpacked}: \
             {costs} with {}, and {would} with {} by the same model.",
            machine.rate / 1_000_000,
            now.name,
            to.name
        );
        let measured = initramfs::unpacked(view).map(|(time, ..)| time);
        if let Some(time) = measured {
            why.push_str(&initramfs::same_time(time));
        }
        let evidence = Evidence {
            text: format!("an initramfs packed with {compression}: {packed} bytes"),
            place: image.place.clone(),
        };
        let title = format!(
            "The initramfs is packed with {}; {} unpacks sooner",
            now.name, to.name
        );
        Some(
            Found::new(title, why)
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
        let why = "Nothing signs these hashes, so they only find damage, which CRC-32 finds at a \
                   ninth of the work of SHA-256.";
        all.push(
            Found::new(
                format!("The FIT image is hashed with {}", names.join(", ")),
                why,
            )
            .evidence([Evidence {
                text: format!("{} hashes, no signature", hashes.len()),
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
            .filter(|p| wanted.contains(&p.name.as_str()))
        {
            let title = match p.name.as_str() {
                "bootdelay" => "The boot loader waits for a key",
                "silent" => "The boot loader writes to a serial console",
                "verify" => "The loader checks what it boots",
                "boot_targets" => "The loader tries one place after another",
                "bootcmd" => "The loader's script runs other scripts",
                _ => "The loader reads more than it needs",
            };
            let (low, expected, high) = match (p.name.as_str(), p.saves_ns) {
                (_, Some(ns)) => {
                    let ns = Nanos(i64::try_from(ns).unwrap_or(i64::MAX));
                    (Nanos(ns.0 / 2), ns, ns)
                }
                ("bootdelay", None) => (Nanos::ZERO, Nanos(2_000_000_000), Nanos(5_000_000_000)),
                ("silent", None) => (Nanos::ZERO, Nanos::from_millis(80), Nanos::from_millis(300)),
                ("verify", None) => (Nanos::ZERO, Nanos::from_millis(40), Nanos::from_millis(500)),
                ("boot_targets", None) => {
                    (Nanos::ZERO, Nanos::from_millis(200), Nanos(3_000_000_000))
                }
                ("bootcmd", None) => (Nanos::ZERO, Nanos::from_millis(5), Nanos::from_millis(50)),
                _ => (Nanos::ZERO, Nanos::from_millis(100), Nanos(1_000_000_000)),
            };
            let change = format!("env={}={}", p.name, p.value);
            all.push(
                Found::new(title, p.why.clone())
                    .evidence([Evidence {
                        text: format!("the environment: `{}` could be `{}`", p.name, p.value),
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

/// JFFS2 images without summaries.
pub(super) fn jffs2_summary(view: &View<'_>) -> Vec<Found> {
    let found = view.system.images.iter().filter_map(|image| {
        let ImageKind::Jffs2 {
            used_blocks,
            summarised,
            saves_ns,
            ..
        } = image.what
        else {
            return None;
        };
        let bare = used_blocks.checked_sub(summarised).filter(|n| *n > 0)?;
        let time = nanos(saves_ns);
        let why = format!(
            "{bare} of {used_blocks} erase blocks carry no summary: all their nodes are read when \
             the file system is mounted. `firstlight flash summarize` adds them."
        );
        Some(
            Found::new("The JFFS2 image has no summaries", why)
                .evidence([Evidence {
                    text: format!("{summarised} of {used_blocks} blocks end in a summary"),
                    place: image.place.clone(),
                }])
                .parts(time, 30, 100, 150)
                .treatment("jffs2=summaries"),
        )
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
            ..
        } = image.what
        else {
            return None;
        };
        let bytes = Some(checked_bytes).filter(|b| *b > 0)?;
        let time = nanos(checked_ns);
        let why = format!(
            "A static volume of {bytes} bytes is read and summed up in full when it is opened. \
             `firstlight flash ubi skip-check` sets the flag that leaves that out."
        );
        Some(
            Found::new("A static UBI volume is checked when it is opened", why)
                .evidence([Evidence {
                    text: format!("{bytes} bytes in static volumes without the skip-check flag"),
                    place: image.place.clone(),
                }])
                .parts(time, 20, 90, 150),
        )
    });
    found.collect()
}

/// UBI images without a fastmap.
pub(super) fn ubi_fastmap(view: &View<'_>) -> Vec<Found> {
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
        let why = format!(
            "The headers of all {blocks} erase blocks are read when UBI attaches. With \
             CONFIG_MTD_UBI_FASTMAP and `ubi.fm_autoconvert=1` a map of them is written when \
             it detaches; what the command line attaches needs 1 as the fifth field of \
             `ubi.mtd=` too, where the kernel knows that field (6.1.192 does)."
        );
        Some(
            Found::new("The UBI image has no fastmap", why)
                .evidence([Evidence {
                    text: format!("{blocks} erase blocks, no fastmap"),
                    place: image.place.clone(),
                }])
                .parts(time, 20, 80, 150)
                .treatment("cmdline+=ubi.fm_autoconvert=1"),
        )
    });
    found.collect()
}

/// Variables that are told of under names of their own.
const NAMED: [&str; 5] = ["bootdelay", "silent", "verify", "boot_targets", "bootcmd"];

/// Lengths in an environment that are longer than what is loaded.
pub(super) fn other_variables(view: &View<'_>) -> Vec<Found> {
    let names: Vec<String> = environments(view)
        .flat_map(|(_, proposals)| proposals.iter().map(|p| p.name.clone()))
        .filter(|n| !NAMED.contains(&n.as_str()))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    environment(view, &names)
}
