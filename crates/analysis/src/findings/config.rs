//! A kernel's configuration, read beside its boot.

use super::contention::without_unpacking;
use super::evidence::Evidence;
use super::found::{Found, Scope};
use super::images::Machine;
use super::packing::{Packing, work_of_kernel};
use super::text::config as text;
use super::view::{Speed, View, elapsed, function, sum, transfer};
use crate::system::{ImageKind, KernelConfig};
use crate::unpacking;
use record::{Nanos, Phase};

/// Options that check or trace all the time or at every start, the dearest
/// first.
pub(super) const DEBUGGING: [&str; 17] = [
    "KASAN",
    "KCSAN",
    "UBSAN_SANITIZE_ALL",
    "PROVE_LOCKING",
    "LOCKDEP",
    "DEBUG_LOCK_ALLOC",
    "DEBUG_KMEMLEAK",
    "DEBUG_PAGEALLOC",
    "DEBUG_OBJECTS",
    "SLUB_DEBUG_ON",
    "DEBUG_SLAB",
    "DEBUG_MUTEXES",
    "DEBUG_ATOMIC_SLEEP",
    "FTRACE_STARTUP_TEST",
    "EVENT_TRACE_STARTUP_TEST",
    "RING_BUFFER_STARTUP_TEST",
    "KUNIT_ALL_TESTS",
];

fn evidence(config: &KernelConfig, option: &str) -> Option<Evidence> {
    let place = config.place(option)?;
    let value = config.get(option)?;
    Some(Evidence {
        text: match value {
            "n" => format!("CONFIG_{option} is not set"),
            value => format!("CONFIG_{option}={value}"),
        },
        place,
    })
}

/// What a kernel compiled for size takes longer, of its own time in percent: 3.9 was published
/// of a board (Opdenacker, Embedded Linux Conference, 2014), from its start to its first program.
/// So the time in which it unpacks itself is in it.
const FOR_SIZE: i64 = 4;

/// The kernel is compiled for size.
pub(super) fn for_size(view: &View<'_>) -> Option<Found> {
    let config = view.system.config.as_ref()?;
    if !config.is_built_in("CC_OPTIMIZE_FOR_SIZE") {
        return None;
    }
    let found = Found::new()
        .evidence(evidence(config, "CC_OPTIMIZE_FOR_SIZE"))
        .treatment("config=CONFIG_CC_OPTIMIZE_FOR_PERFORMANCE=y");
    let kernel = view.length(Phase::Kernel);
    let parts = |found: Found, time: Nanos| found.parts(time, 0, FOR_SIZE, 2 * FOR_SIZE);
    let unpacking = view.length(Phase::Decompression);
    if unpacking > Nanos::ZERO {
        return Some(parts(found, kernel + unpacking));
    }
    // By the size of its image, where no source shows it.
    let Some((work, _)) = work_of_kernel(view) else {
        return Some(parts(found, kernel));
    };
    let speed = view.speed();
    let unpacking = transfer(work, speed.rate);
    Some(
        parts(found, kernel + unpacking)
            .at_speed(speed)
            .before_kernel(),
    )
}

/// Built-in file systems and protocols: the option, what its initcalls are
/// called, and how one would know that it is used.
const OPTIONAL: [(&str, &[&str], &str); 18] = [
    ("BTRFS_FS", &["init_btrfs_fs"], "btrfs"),
    ("XFS_FS", &["init_xfs_fs"], "xfs"),
    ("F2FS_FS", &["init_f2fs_fs"], "f2fs"),
    ("JFS_FS", &["init_jfs_fs"], "jfs"),
    ("REISERFS_FS", &["init_reiserfs_fs"], "reiserfs"),
    ("NFS_FS", &["init_nfs_fs"], "nfs"),
    ("NFSD", &["init_nfsd"], "nfsd"),
    ("CIFS", &["init_cifs"], "cifs"),
    ("FUSE_FS", &["fuse_init"], "fuse"),
    ("OCFS2_FS", &["ocfs2_init"], "ocfs2"),
    ("GFS2_FS", &["init_gfs2_fs"], "gfs2"),
    ("NTFS_FS", &["init_ntfs_fs"], "ntfs"),
    ("IP_SCTP", &["sctp_init"], "SCTP"),
    ("DECNET", &["decnet_init"], "DECnet"),
    ("ATALK", &["atalk_init"], "AppleTalk"),
    ("TIPC", &["tipc_init"], "TIPC"),
    ("BATMAN_ADV", &["batadv_init"], "batman"),
    ("MD", &["md_init", "raid_init"], "md"),
];

/// Built-in parts that this boot shows no use of.
pub(super) fn unused_parts(view: &View<'_>) -> Option<Found> {
    let config = view.system.config.as_ref();
    let root = view.value("rootfstype").unwrap_or_default();
    // As modules they would be in brackets.
    let mut calls = view.initcalls_from(Nanos::from_micros(500), |f| {
        OPTIONAL.iter().any(|(_, calls, _)| calls.contains(&f))
    });
    calls.retain(|(n, _, _)| !n.contains('['));
    without_unpacking(view, &mut calls);
    let mut all = Vec::new();
    let mut set = Vec::new();
    for (option, names, name) in OPTIONAL {
        let built_in = config.is_none_or(|c| c.is_built_in(option));
        let used = root == name
            || view
                .said("VFS: Mounted root (")
                .any(|l| l.text.contains(name))
            || (name == "md" && view.cmdline().contains("root=/dev/md"))
            || (name == "nfs" && view.cmdline().contains("nfs"));
        if !built_in || used {
            continue;
        }
        let found = calls
            .iter()
            .filter(|(n, _, _)| names.contains(&function(n)));
        let before = all.len();
        all.extend(found.copied());
        if all.len() > before {
            set.push(option);
        }
    }
    all.sort_by_key(|(_, time, s)| (std::cmp::Reverse(*time), s.origin));
    let first = all.first()?;
    let time = elapsed(&all).min(sum(all.iter().map(|(_, time, _)| time)));
    let names = all.iter().map(|(name, _, _)| (*name).to_owned()).collect();
    let option = set.first()?;
    let stated = config.map(|c| set.iter().filter_map(|o| evidence(c, o)).take(2));
    let why = text::unused_why(function(first.0));
    Some(
        Found::new()
            .why(why)
            .evidence(view.initcall_evidence(&all))
            .evidence(stated.into_iter().flatten())
            .saving(Nanos::ZERO, time, time)
            .scope(Scope::Items(names))
            .treatment(format!("config=CONFIG_{option}=m")),
    )
}

/// An initramfs that is packed inside a kernel that is packed.
pub(super) fn packed_twice(view: &View<'_>) -> Option<Found> {
    let config = view.system.config.as_ref()?;
    let source = config.get("INITRAMFS_SOURCE").filter(|s| !s.is_empty())?;
    if config.is_built_in("KERNEL_UNCOMPRESSED") || config.is_built_in("INITRAMFS_COMPRESSION_NONE")
    {
        return None;
    }
    const WAYS: [&str; 7] = ["GZIP", "BZIP2", "LZMA", "XZ", "LZO", "LZ4", "ZSTD"];
    let way = WAYS
        .iter()
        .find(|w| config.is_built_in(&format!("INITRAMFS_COMPRESSION_{w}")))?;
    let time = elapsed(&view.initcalls(|f| f == unpacking::CALL));
    let option = format!("INITRAMFS_COMPRESSION_{way}");
    let found = Found::new()
        .why(text::packed_twice_why(source))
        .evidence(evidence(config, "INITRAMFS_SOURCE"))
        .evidence(evidence(config, &option))
        .treatment("config=CONFIG_INITRAMFS_COMPRESSION_NONE=y");
    if let Some((time, speed)) = time_of_repacking(view) {
        return Some(
            found
                .parts(time, 0, 100, 200)
                .at_speed(speed)
                .before_kernel(),
        );
    }
    // Since 5.13 the call returns at once and the unpacking goes on beside the others. The
    // range is that of `lab classics initramfs-in-kernel`, from text to programs.
    Some(if time < Nanos::from_millis(1) {
        let [least, expected, most] = [1, 20, 200].map(Nanos::from_millis);
        found.saving(least, expected, most)
    } else {
        found.parts(time, 20, 70, 95)
    })
}

/// What a kernel takes to unpack the bytes of a compressed initramfs in it, of which only more
/// bytes become when it is unpacked once more, and the speed that this was worked out at.
fn time_of_repacking(view: &View<'_>) -> Option<(Nanos, Speed)> {
    view.system.images.iter().find_map(|image| {
        let ImageKind::Kernel {
            compression,
            unpacked,
            initramfs: Some(initramfs),
            ..
        } = &image.what
        else {
            return None;
        };
        let packing = Packing::named(compression)?;
        let machine = Machine::of(view, Some((packing, *unpacked)));
        Some((machine.time(0, *initramfs, packing), machine.speed))
    })
}

/// What a kernel takes to be loaded and unpacked for the names of its variables alone, by their
/// bytes in its image, and the speed that this was worked out at.
fn time_of_names(view: &View<'_>) -> Option<(Nanos, Speed)> {
    view.system.images.iter().find_map(|image| {
        let ImageKind::Kernel {
            compression,
            packed,
            unpacked,
            variable_names: Some(names),
            ..
        } = &image.what
        else {
            return None;
        };
        let packing = Packing::named(compression)?;
        let machine = Machine::of(view, Some((packing, *unpacked)));
        let whole = i128::from(machine.time(*packed, *unpacked, packing).0);
        let part = whole * i128::from(*names) / i128::from((*unpacked).max(1));
        Some((Nanos(i64::try_from(part).ok()?), machine.speed))
    })
}

/// Options that make the kernel's image larger and that nothing at boot reads.
pub(super) fn symbols(view: &View<'_>) -> Option<Found> {
    let config = view.system.config.as_ref()?;
    if !config.is_built_in("KALLSYMS_ALL") {
        return None;
    }
    let found = Found::new()
        .evidence(evidence(config, "KALLSYMS_ALL"))
        .treatment("config=CONFIG_KALLSYMS_ALL=n")
        .before_kernel();
    if let Some((time, speed)) = time_of_names(view) {
        return Some(found.parts(time, 50, 100, 200).at_speed(speed));
    }
    // Some two megabytes of names, loaded and unpacked with the kernel.
    let time = match view.length(Phase::Decompression) {
        // By the size of its image, where no source shows it.
        Nanos::ZERO => {
            work_of_kernel(view).map_or(Nanos::ZERO, |(work, _)| transfer(work, view.speed().rate))
        }
        time => time,
    };
    let time = Nanos(time.0 / 20).max(Nanos::from_millis(5));
    Some(found.parts(time, 0, 50, 200))
}
