//! Modules that a product seldom needs.

use super::SHOWN;
use super::found::{Found, Scope};
use super::view::{View, times};
use record::{Nanos, Phase};

/// What a byte of a loaded module takes at 1 GIPS, in nanoseconds: its file is read,
/// hashed for its signature, and linked. Counted in the lab with Debian's signed
/// modules: ext4 354, nbd 325, jbd2 321.
const NS_PER_BYTE: i64 = 330;

/// A processor of a board or a PC does so many times as much in that time; a rule of
/// thumb, which is why the finding's confidence is low.
const FASTER: i64 = 5;

/// Modules that products seldom need, and what is lost without them.
///
/// The list is short on purpose. None is in it that serves a disk, a network, a
/// display or a keyboard on USB, and none that switches power off.
const SPARE: [(&str, &str); 22] = [
    ("amd64_edac", "no reports of memory errors"),
    ("ccp", "no AMD coprocessor for ciphers"),
    ("dm_mod", "no LVM and no encrypted disks"),
    ("edac_mce_amd", "no reports of memory errors"),
    ("efi_pstore", "no log of a crash in the EFI variables"),
    ("floppy", "no floppy disks"),
    (
        "i2c_i801",
        "no SMBus, and no watchdog, of Intel's chip sets",
    ),
    (
        "ip_tables",
        "no packet filter until it is loaded by its name",
    ),
    ("joydev", "no joysticks"),
    ("kvm", "no virtual machines"),
    ("kvm_amd", "no virtual machines"),
    ("kvm_intel", "no virtual machines"),
    ("loop", "no loop devices until it is loaded by its name"),
    ("lp", "no printers at a parallel port"),
    ("lpc_ich", "no GPIO, and no watchdog, of Intel's chip sets"),
    ("mousedev", "no old interface for mice"),
    ("parport_pc", "no parallel port"),
    ("pcspkr", "no beeps"),
    ("ppdev", "no parallel port for programs"),
    ("psmouse", "no mouse or touch pad at a PS/2 port"),
    ("serio_raw", "no raw access to PS/2 ports"),
    ("sr_mod", "no optical disks"),
];

/// Of these, those that need no others are named; they go with what needs them.
pub(super) fn spare(view: &View<'_>) -> Option<Found> {
    if view.value("modprobe.blacklist").is_some() {
        return None;
    }
    // A device mapper under the root is needed.
    let root = fact(view, "root.device").map_or("", |(value, _)| value);
    let mapped = root.contains("/dm-") || root.contains("/mapper/") || root.contains("/loop");
    let mut found = Vec::new();
    for (name, lost) in SPARE {
        let Some((size, origin)) = fact(view, &format!("module.{name}")) else {
            continue;
        };
        let size: u64 = size.parse().unwrap_or_default();
        if size > 0 && !(mapped && ["dm_mod", "loop"].contains(&name)) {
            found.push((name, size, lost, origin));
        }
    }
    if let Some((size, origin)) = fact(view, &format!("module.{SATA}"))
        && no_sata_disk(view)
    {
        // What it needs comes with it.
        let needed = ["libahci", "libata", "scsi_mod"].into_iter();
        let needed = needed.filter_map(|m| fact(view, &format!("module.{m}")));
        let sizes = needed.chain([(size, origin)]).map(|(size, _)| size);
        let all = sizes.filter_map(|s| s.parse::<u64>().ok());
        let all = all.fold(0_u64, u64::saturating_add);
        let lost = "no disks at SATA ports, which have none now";
        found.push((SATA, all, lost, origin));
        found.sort_by_key(|f| f.0);
    }
    found.first()?;
    let bytes = found.iter().fold(0_u64, |all, f| all.saturating_add(f.1));
    let mut largest = found.clone();
    largest.sort_by_key(|f| (std::cmp::Reverse(f.1), f.0));
    let shown = largest.iter().take(SHOWN).map(|(name, size, _, origin)| {
        view.evidence(format!("{name}: {size} bytes, loaded"), *origin)
    });
    let whole = times(bytes, NS_PER_BYTE);
    let whole = match view.is_virtual() {
        true => whole,
        false => Nanos(whole.0 / FASTER),
    };
    // No more than all that userspace takes.
    let most = view.length(Phase::Userspace).max(Nanos::ZERO);
    let mut losses: Vec<&str> = Vec::new();
    for (_, _, lost, _) in &found {
        if !losses.contains(lost) {
            losses.push(lost);
        }
    }
    let names: Vec<&str> = found.iter().map(|f| f.0).collect();
    let title = format!(
        "{} that products seldom need {} loaded",
        super::probes::count(names.len(), "module", "modules"),
        if names.len() == 1 { "is" } else { "are" }
    );
    let why = format!(
        "Each is found, read, checked and linked while the boot goes on, on the same processors: \
         {}. `modprobe.blacklist=` keeps modules from being loaded for devices that are seen; by \
         their names they can still be loaded.",
        names.join(", ")
    );
    Some(
        Found::new(title, why)
            .evidence(shown)
            .saving(Nanos::ZERO, Nanos(whole.0 / 2).min(most), whole.min(most))
            .scope(Scope::Serial)
            .cost(losses.join("; "))
            .treatment(format!("cmdline+=modprobe.blacklist={}", names.join(","))),
    )
}

/// The driver of SATA controllers.
const SATA: &str = "ahci";

/// Whether every SATA port that was looked at has no disk.
fn no_sata_disk(view: &View<'_>) -> bool {
    let count = |text: &str| {
        // Also behind first light: a disk that comes late is a disk.
        let messages = view.record.messages().iter();
        messages
            .filter(|m| view.record.text(m).contains(text))
            .count()
    };
    let down = count("SATA link down");
    down > 0 && down >= count("SATA max ") && count("SATA link up") == 0
}

/// The value of a fact, and where it stands.
fn fact<'a>(view: &View<'a>, key: &str) -> Option<(&'a str, record::Origin)> {
    let record = view.record;
    let fact = record.facts().iter().find(|f| record.name(f.key) == key)?;
    Some((record.name(fact.value), fact.origin))
}
