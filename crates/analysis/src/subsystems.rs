//! Time by part of the kernel: initcalls, summed by where their source is.

use crate::spans;
use crate::summary::union;
use record::{Nanos, Record, SpanKind};
use std::collections::{BTreeMap, HashMap};

/// Which part of the kernel's source each initcall is in.
const INITCALLS: &str = include_str!("subsystems/initcalls.txt");

/// Parts by the begin of a module's or a call's name, where the table does not
/// have the call: more particular ones first.
const BEGINNINGS: &[(&str, &str)] = &[
    ("snd", "sound"),
    ("hda", "sound"),
    ("soundcore", "sound"),
    ("usb", "drivers/usb"),
    ("xhci", "drivers/usb"),
    ("ehci", "drivers/usb"),
    ("drm", "drivers/gpu"),
    ("i915", "drivers/gpu"),
    ("amdgpu", "drivers/gpu"),
    ("nouveau", "drivers/gpu"),
    ("vc4", "drivers/gpu"),
    ("bluetooth", "net/bluetooth"),
    ("bt", "drivers/bluetooth"),
    ("nf_", "net/netfilter"),
    ("nft_", "net/netfilter"),
    ("xt_", "net/netfilter"),
    ("ip6", "net/ipv6"),
    ("ipt", "net/ipv4"),
    ("cfg80211", "net/wireless"),
    ("mac80211", "net/mac80211"),
    ("brcm", "drivers/net"),
    ("ath", "drivers/net"),
    ("iwl", "drivers/net"),
    ("rt2", "drivers/net"),
    ("videobuf", "drivers/media"),
    ("v4l", "drivers/media"),
    ("media", "drivers/media"),
    ("uvc", "drivers/media"),
    ("rc_", "drivers/media"),
    ("dvb", "drivers/media"),
    ("ib_", "drivers/infiniband"),
    ("crypto", "crypto"),
    ("sha", "crypto"),
    ("aes", "crypto"),
    ("nls_", "fs/nls"),
    ("dm_", "drivers/md"),
    ("raid", "drivers/md"),
    ("md_", "drivers/md"),
    ("i2c", "drivers/i2c"),
    ("spi", "drivers/spi"),
    ("mmc", "drivers/mmc"),
    ("sdhci", "drivers/mmc"),
    ("nvme", "drivers/nvme"),
    ("scsi", "drivers/scsi"),
    ("pinctrl", "drivers/pinctrl"),
    ("gpio", "drivers/gpio"),
    ("leds", "drivers/leds"),
    ("rtc", "drivers/rtc"),
    ("qcom", "drivers/soc"),
    ("virtio", "drivers/virtio"),
    ("acpi", "drivers/acpi"),
    ("pci", "drivers/pci"),
    ("trace", "kernel/trace"),
    ("loop", "drivers/block"),
    ("scx", "kernel/sched"),
    ("bpf", "kernel/bpf"),
    ("kprobe", "kernel/trace"),
];

/// What a part is called that is not known.
const UNKNOWN: &str = "unknown";

/// A part of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubsystemRow {
    /// Its folder in the kernel's source: `drivers/usb`, `kernel/trace`.
    pub name: String,
    /// How many initcalls of it were timed.
    pub calls: u64,
    /// The sum of their times.
    pub time: Nanos,
    /// The time in which at least one of them ran: where they overlap it is
    /// shorter than the sum.
    pub busy: Nanos,
    /// The call that took longest, and how long.
    pub longest: (String, Nanos),
}

/// The initcalls of a boot by part of the kernel, the longest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subsystems {
    /// The rows asked for.
    pub rows: Vec<SubsystemRow>,
    /// How many there are in all.
    pub total_rows: usize,
    /// The time of all calls.
    pub time: Nanos,
}

/// The part of the kernel that a call is in: `foo_init`, `foo_init [foo]`.
#[must_use]
pub fn subsystem_of(call: &str) -> &'static str {
    Places::new().of(call)
}

/// Calls and where they are.
struct Places {
    folders: HashMap<&'static str, &'static str>,
}

impl Places {
    fn new() -> Self {
        let mut folders = HashMap::new();
        for line in INITCALLS.lines().filter(|l| !l.starts_with('#')) {
            if let Some((folder, calls)) = line.split_once(": ") {
                folders.extend(calls.split(' ').map(|c| (c, folder)));
            }
        }
        Self { folders }
    }

    fn of(&self, call: &str) -> &'static str {
        let (function, module) = match call.split_once(" [") {
            Some((function, module)) => (function, Some(module.trim_end_matches(']'))),
            None => (call, None),
        };
        // Compilers add to names: `.cfi_jt`, `.isra.0`.
        let function = function.split('.').next().unwrap_or(function);
        if let Some(folder) = self.folders.get(function) {
            return folder;
        }
        let begins = |name: &str| {
            let found = BEGINNINGS.iter().find(|(begin, _)| name.starts_with(begin));
            found.map(|(_, folder)| *folder)
        };
        let by_module = module.and_then(begins);
        by_module.or_else(|| begins(function)).unwrap_or(UNKNOWN)
    }
}

/// Time by part of the kernel; `top` rows, all if that is 0.
#[must_use]
pub fn subsystems(record: &Record, top: usize) -> Subsystems {
    struct Sum {
        calls: u64,
        time: Nanos,
        stretches: Vec<(Nanos, Nanos)>,
        longest: (String, Nanos),
    }
    let places = Places::new();
    let mut sums: BTreeMap<&'static str, Sum> = BTreeMap::new();
    let mut time = Nanos::ZERO;
    for span in spans::distinct(record).iter() {
        let (SpanKind::Initcall, Some(took)) = (span.kind, span.duration()) else {
            continue;
        };
        let name = record.name(span.name);
        let sum = sums.entry(places.of(name)).or_insert_with(|| Sum {
            calls: 0,
            time: Nanos::ZERO,
            stretches: Vec::new(),
            longest: (name.to_owned(), took),
        });
        sum.calls += 1;
        sum.time = sum.time + took;
        time = time + took;
        sum.stretches.extend(span.start.zip(span.end));
        if took > sum.longest.1 {
            sum.longest = (name.to_owned(), took);
        }
    }
    let mut rows: Vec<SubsystemRow> = sums
        .into_iter()
        .map(|(name, sum)| SubsystemRow {
            name: name.to_owned(),
            calls: sum.calls,
            time: sum.time,
            busy: union(sum.stretches.into_iter()),
            longest: sum.longest,
        })
        .collect();
    rows.sort_by(|a, b| b.time.cmp(&a.time).then_with(|| a.name.cmp(&b.name)));
    let total_rows = rows.len();
    if top > 0 {
        rows.truncate(top);
    }
    Subsystems {
        rows,
        total_rows,
        time,
    }
}

#[cfg(test)]
mod tests {
    use super::subsystem_of;

    #[test]
    fn calls_have_their_folders() {
        for (call, folder) in [
            ("acpi_init", "drivers/acpi"),
            ("crypto_algapi_init", "crypto"),
            ("inet_init", "net/ipv4"),
            ("init_kprobe_trace", "kernel/trace"),
            ("ahci_pci_driver_init [ahci]", "drivers/ata"),
            ("alsa_seq_dummy_init [snd_seq_dummy]", "sound"),
            ("i2c_i801_init.cfi_jt [i2c_i801]", "drivers/i2c"),
            ("init_module [snd_foo]", "sound"),
            ("no_such_call", "unknown"),
        ] {
            assert_eq!(subsystem_of(call), folder, "{call}");
        }
    }
}
