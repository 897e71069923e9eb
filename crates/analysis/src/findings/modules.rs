//! Modules that a product seldom needs.

use super::evidence::SHOWN;
use super::found::{Found, Scope};
use super::text::modules as text;
use super::view::{Line, View, times, transfer};
use crate::gaps::lost_lines;
use record::{Nanos, Origin, Phase};
use std::collections::{BTreeMap, BTreeSet};

/// What a byte of a loaded module takes at 1 GIPS, in nanoseconds: its file is read,
/// hashed for its signature, and linked. Counted in the lab with Debian's signed
/// modules: ext4 354, nbd 325, jbd2 321.
const NS_PER_BYTE: i64 = 330;

/// A processor of a board or a PC does so many times as much in that time; a rule of
/// thumb, which is why the finding's confidence is low.
const FASTER: i64 = 5;

/// How the kernel begins to say how many processors it has: `Brought up 1 node, 1 CPU`.
pub(super) const PROCESSORS: &str = "smp: Brought up ";

/// Modules that products seldom need, and what is lost without them.
///
/// The list is short on purpose. None is in it that serves a disk, a network, a
/// display or a keyboard on USB, and none that switches power off.
const SPARE: [(&str, &str); 22] = [
    ("amd64_edac", "no reports of memory errors"),
    ("ccp", "no AMD cryptographic coprocessor"),
    ("dm_mod", "no LVM and no encrypted disks"),
    ("edac_mce_amd", "no reports of memory errors"),
    ("efi_pstore", "no log of a crash in the EFI variables"),
    ("floppy", "no floppy disks"),
    ("i2c_i801", "no SMBus and no watchdog on Intel chipsets"),
    ("ip_tables", "no packet filter until it is loaded by name"),
    (
        "joydev",
        "no joysticks (the module list does not show whether one is there)",
    ),
    ("kvm", "no virtual machines"),
    ("kvm_amd", "no virtual machines"),
    ("kvm_intel", "no virtual machines"),
    ("loop", "no loop devices until it is loaded by name"),
    ("lp", "no printers on a parallel port"),
    ("lpc_ich", "no GPIO and no watchdog on Intel chipsets"),
    (
        "mousedev",
        "no legacy mouse interface (the module list does not show whether it is used)",
    ),
    ("parport_pc", "no parallel port"),
    ("pcspkr", "no beeps"),
    ("ppdev", "no parallel port for programs"),
    (
        "psmouse",
        "no PS/2 mouse or touchpad (the module list does not show whether one is there)",
    ),
    (
        "serio_raw",
        "no raw access to PS/2 ports, whose use the list does not show",
    ),
    ("sr_mod", "no optical disks"),
];

/// Modules that no device asks for: they come and go with those that use them.
const COMES_ALONG: [&str; 13] = [
    "cdrom",
    "edac_mce_amd",
    "i2c_smbus",
    "irqbypass",
    "kvm",
    "libahci",
    "libata",
    "libps2",
    "parport",
    "scsi_common",
    "scsi_mod",
    "vivaldi_fmap",
    "x_tables",
];

/// What the device of a mount is called that needs a module.
const MOUNTED: [(&str, &[&str]); 4] = [
    ("dm_mod", &["/dm-", "/mapper/"]),
    ("floppy", &["/dev/fd"]),
    ("loop", &["/loop"]),
    ("sr_mod", &["/dev/sr"]),
];

/// Modules whose devices another serves: if it is in use, so are they, uncounted.
const SERVED: [(&str, &str); 2] = [("i2c_i801", "iTCO_wdt"), ("lpc_ich", "iTCO_wdt")];

/// A loaded module, as the list of modules says.
#[derive(Clone, Debug)]
pub(super) struct Loaded<'a> {
    size: u64,
    /// How many use it; `None` if the kernel does not count.
    users: Option<usize>,
    /// The modules among those.
    used_by: Vec<&'a str>,
    pub origin: Origin,
}

impl Loaded<'_> {
    /// Whether it is known that nothing uses it.
    fn is_idle(&self) -> bool {
        self.users == Some(0) && self.used_by.is_empty()
    }
}

/// All loaded modules, by name.
pub(super) fn loaded<'a>(view: &View<'a>) -> BTreeMap<&'a str, Loaded<'a>> {
    let record = view.record;
    let facts = record.facts().iter().filter_map(|f| {
        let key = record.name(f.key).strip_prefix("module.")?;
        Some((key, record.name(f.value), f.origin))
    });
    let mut all = BTreeMap::new();
    for (key, value, origin) in facts {
        let (name, what) = key.split_once('.').unwrap_or((key, ""));
        let module = all.entry(name).or_insert(Loaded {
            size: 0,
            users: Some(0),
            used_by: Vec::new(),
            origin,
        });
        match what {
            "" => module.size = value.parse().unwrap_or_default(),
            "users" => module.users = value.parse().ok(),
            "used_by" => module.used_by = value.split(',').collect(),
            _ => {}
        }
    }
    all
}

/// Whether something that is mounted lies on a device of this module.
fn is_mounted_on(view: &View<'_>, module: &str) -> bool {
    let Some((_, devices)) = MOUNTED.iter().find(|(name, _)| *name == module) else {
        return false;
    };
    let record = view.record;
    let mut facts = record.facts().iter();
    facts.any(|f| {
        let key = record.name(f.key);
        let value = record.name(f.value);
        let is_mount = key == "root.device" || key.starts_with("mount./");
        // `/dev/group/volume` is a name for a mapped device, too.
        let is_volume = || {
            let mut devices = value.split(' ').filter_map(|w| w.strip_prefix("/dev/"));
            module == "dm_mod" && devices.any(|d| d.contains('/'))
        };
        is_mount && (devices.iter().any(|d| value.contains(d)) || is_volume())
    })
}

/// Those of these that nothing is known to use: no other module, no mount, and by the
/// kernel's count nothing else.
pub(super) fn spare(view: &View<'_>) -> Option<Found> {
    if view.value("modprobe.blacklist").is_some() {
        return None;
    }
    let all = loaded(view);
    let is_served = |name| {
        let mut servers = SERVED.iter().filter(|(served, _)| *served == name);
        servers.any(|(_, by)| all.get(by).is_some_and(|m| !m.is_idle()))
    };
    let idle = |name: &'static str, lost: &'static str| {
        let module = all.get(name).filter(|m| m.size > 0 && m.is_idle())?;
        let is_free = !is_mounted_on(view, name) && !is_served(name);
        is_free.then_some((name, module, lost))
    };
    let mut found: Vec<_> = SPARE
        .iter()
        .filter_map(|&(n, lost)| idle(n, lost))
        .collect();
    let lost = "no disks on SATA ports, which are empty now";
    if let Some(module) = idle(SATA, lost)
        && no_sata_disk(view)
    {
        found.push(module);
        found.sort_by_key(|f| f.0);
    }
    found.first()?;
    let names: Vec<&str> = found.iter().map(|f| f.0).collect();
    let along = come_along(&all, &names);
    let named = found.iter().map(|(name, module, _)| (*name, *module));
    let mut largest: Vec<(&str, &Loaded<'_>)> = named.chain(along.iter().copied()).collect();
    let bytes = largest.iter();
    let bytes = bytes.fold(0_u64, |sum, (_, m)| sum.saturating_add(m.size));
    largest.sort_by_key(|(name, m)| (std::cmp::Reverse(m.size), *name));
    let shown = largest.iter().take(SHOWN).map(|(name, module)| {
        let why = match &module.used_by[..] {
            [] => text::IDLE.to_owned(),
            users => text::loaded_for(users.join(", ")),
        };
        let text = text::module(name, module.size, why);
        view.evidence(text, module.origin)
    });
    let whole = loading(view, largest.len(), bytes);
    // Where there is one processor, all of it is time that nothing else had.
    let part = match is_alone(view) {
        true => whole,
        false => Nanos(whole.0 / 2),
    };
    // No more than all that userspace takes.
    let most = view.length(Phase::Userspace).max(Nanos::ZERO);
    let mut losses: Vec<&str> = Vec::new();
    for (_, _, lost) in &found {
        if !losses.contains(lost) {
            losses.push(lost);
        }
    }
    let title = text::spare(
        super::probes::count(names.len(), "module", "modules"),
        if names.len() == 1 { "is" } else { "are" },
    );
    let along: Vec<&str> = along.iter().map(|a| a.0).collect();
    let along = match &along[..] {
        [] => String::new(),
        all => text::along(all.join(", ")),
    };
    let why = text::spare_why(names.join(", "), along);
    Some(
        Found::new()
            .title(title)
            .why(why)
            .evidence(shown)
            // What a module does itself when it is there, such as asking its devices, comes on
            // top: nobody counted it.
            .saving(
                Nanos::ZERO,
                part.min(most),
                Nanos(whole.0 / 2 * 3).min(most),
            )
            .scope(Scope::Serial)
            .cost(losses.join("; "))
            .treatment(format!("cmdline+=modprobe.blacklist={}", names.join(","))),
    )
}

/// Whether the kernel says that it has one processor.
pub(super) fn is_alone(view: &View<'_>) -> bool {
    view.said(PROCESSORS).any(|l| l.text.ends_with(", 1 CPU"))
}

/// What a byte of a loaded module takes to be read and linked at 1 GIPS, in nanoseconds: of
/// the ten modules of [`SIGNATURE_NS`] without signatures.
const LINK_NS_PER_BYTE: i64 = 114;

/// What loading so many modules takes. Small ones are mostly their signatures.
fn loading(view: &View<'_>, count: usize, bytes: u64) -> Nanos {
    if !view.is_virtual() || view.said(NOT_VERIFIED).next().is_some() {
        return linking(view, bytes);
    }
    let signatures = times(count as u64, SIGNATURE_NS);
    let each = times(bytes, LINK_NS_PER_BYTE + HASH_NS_PER_BYTE);
    at_speed_of(view, signatures + each).max(linking(view, bytes))
}

/// What loading modules of so many bytes takes.
fn linking(view: &View<'_>, bytes: u64) -> Nanos {
    at_speed_of(view, times(bytes, NS_PER_BYTE))
}

/// What takes `counted` at 1 GIPS on the processor of this boot.
fn at_speed_of(view: &View<'_>, counted: Nanos) -> Nanos {
    match view.is_virtual() {
        // So many instructions as nanoseconds at 1 GIPS.
        true => transfer(counted.0.unsigned_abs(), view.speed().rate),
        false => Nanos(counted.0 / FASTER),
    }
}

/// What loading all modules took that this boot has.
pub(super) fn linking_of_all(view: &View<'_>) -> Nanos {
    let all = loaded(view);
    let bytes = all
        .values()
        .fold(0_u64, |sum, m| sum.saturating_add(m.size));
    linking(view, bytes)
}

/// What a byte of a loaded module takes to be hashed at 1 GIPS, and a signature to be
/// checked, in nanoseconds. Counted in the lab with the ten modules that Debian's kernel
/// needs for an ext4 root in persistent memory, 1.6 MB in memory and 3.3 MB in files: they
/// are loaded in 567 ms, without the key in 528 ms, which hashes each twice, and without
/// signatures in 183 ms.
const HASH_NS_PER_BYTE: i64 = 110;
const SIGNATURE_NS: i64 = 20_000_000;

/// How the kernel says that it takes in its own keys, by which it checks modules, and, for
/// each, the line behind that. The keys for the rules of wireless networks come with the
/// same words, the first behind `cfg80211:`.
pub(super) const KEYS_LOADED: &str = "Loading compiled-in X.509 certificates";
const KEY_LOADED: &str = "Loaded X.509 cert";
const WIRELESS: &str = "cfg80211:";

/// How it says that a module is not checked: it has no signature, or no key is there for it.
pub(super) const NOT_VERIFIED: &str = "module verification failed: signature";

/// How it says that it takes no module without a signature.
pub(super) const ENFORCED: [&str; 2] = ["Kernel is locked down", "Secure boot enabled"];

/// Whether the kernel takes no module without a signature that it can check.
pub(super) fn are_enforced(view: &View<'_>) -> bool {
    let mut said = ENFORCED.iter().filter(|t| view.said(t).next().is_some());
    let mut words = view.words();
    said.next().is_some()
        || words.any(|w| matches!(w, "module.sig_enforce" | "module.sig_enforce=1"))
}

/// The line by which the kernel took in the keys that it checked all modules with; `None`
/// if one was not checked: it has no signature, or none that a key is there for, so they
/// are treated already, or that was not to be.
fn keys<'a>(view: &'a View<'_>) -> Option<Line<'a>> {
    if view.said(NOT_VERIFIED).next().is_some() {
        return None;
    }
    let own = view.said(KEYS_LOADED);
    let mut own = own.filter(|l| !l.text.contains(WIRELESS));
    own.find_map(|l| {
        let next = view.after(&l).next();
        next.filter(|n| n.text.contains(KEY_LOADED))
    })
}

/// What is won by not checking the signatures of the modules that were loaded, and lost by
/// hashing each a second time, which a kernel without its keys does.
pub(super) fn unchecked(view: &View<'_>) -> Nanos {
    if keys(view).is_none() {
        return Nanos::ZERO;
    }
    let all = loaded(view);
    let sizes = all.values().map(|m| m.size).filter(|n| *n > 0);
    let (count, bytes) = sizes.fold((0_u64, 0_u64), |(n, sum), size| {
        (n + 1, sum.saturating_add(size))
    });
    let won = times(count, SIGNATURE_NS) - times(bytes, HASH_NS_PER_BYTE);
    at_speed_of(view, won.max(Nanos::ZERO))
}

/// The signatures of modules in the initramfs are checked.
pub(super) fn signatures(view: &View<'_>) -> Option<Found> {
    if are_enforced(view) {
        return None;
    }
    let line = keys(view)?;
    let all = loaded(view);
    let mut largest: Vec<(&&str, &Loaded<'_>)> = all.iter().filter(|m| m.1.size > 0).collect();
    let bytes = largest.iter();
    let bytes = bytes.fold(0_u64, |sum, m| sum.saturating_add(m.1.size));
    largest.sort_by_key(|(name, m)| (std::cmp::Reverse(m.size), **name));
    let shown = largest.iter().take(SHOWN - 1).map(|(name, module)| {
        let text = text::size(name, module.size);
        view.evidence(text, module.origin)
    });
    let checked = times(bytes, HASH_NS_PER_BYTE) + times(largest.len() as u64, SIGNATURE_NS);
    let checked = at_speed_of(view, checked);
    // Which of them were loaded in the initramfs the list does not say.
    let most = checked.min(view.length(Phase::Initrd));
    if most < SHORT_CHECKS {
        return None;
    }
    Some(
        Found::new()
            .evidence([view.quote(&line)])
            .evidence(shown)
            .parts(most, 0, 60, 100)
            .treatment("modules=unsigned"),
    )
}

/// Checks that take less are not worth a word.
const SHORT_CHECKS: Nanos = Nanos::from_millis(20);

/// The driver of SATA controllers.
const SATA: &str = "ahci";

/// The modules that only these use, and only those that go with them; by name.
fn come_along<'a, 'm>(
    all: &'m BTreeMap<&'a str, Loaded<'a>>,
    names: &[&'a str],
) -> Vec<(&'a str, &'m Loaded<'a>)> {
    let mut gone = names.to_vec();
    let mut along = Vec::new();
    loop {
        let next = COMES_ALONG.iter().find_map(|&name| {
            let module = all.get(name).filter(|_| !gone.contains(&name))?;
            let counted = module.users == Some(module.used_by.len());
            let goes = counted && module.used_by.iter().all(|u| gone.contains(u));
            (goes && !module.used_by.is_empty()).then_some((name, module))
        });
        let Some((name, module)) = next else { break };
        gone.push(name);
        along.push((name, module));
    }
    along.sort_by_key(|a| a.0);
    along
}

/// Whether every SATA port that was looked at is known to have no disk.
fn no_sata_disk(view: &View<'_>) -> bool {
    // Also behind first light: a disk that comes late is a disk.
    let messages = view.record.messages().iter();
    let (mut ports, mut empty) = (BTreeSet::new(), BTreeSet::new());
    for message in messages {
        // `ata1: SATA max UDMA/133 ...`, `ata1: SATA link down (...)`.
        let Some((port, words)) = view.record.text(message).split_once(": SATA ") else {
            continue;
        };
        let source = message.origin.source;
        if words.starts_with("link up") || lost_lines(view.record).any(|(_, l)| l.source == source)
        {
            return false;
        }
        if words.starts_with("max ") {
            ports.insert(port);
        } else if words.starts_with("link down") {
            empty.insert(port);
        }
    }
    !ports.is_empty() && ports.is_subset(&empty)
}
