//! Devices that are there when userspace starts: who makes their nodes, and who asks
//! for their events again.

use super::found::{Found, Scope};
use super::modules::{is_alone, linking_of_all};
use super::processes::lived;
use super::scripts::{code, is_run, names, place, stops};
use super::text::coldplug as text;
use super::udev_units::{DAEMON, TRIGGER};
use super::units::started;
use super::view::{View, transfer};
use record::Nanos;

/// What `mdev -s` takes, in instructions: 18.6 million on `arm9`, a board of few devices
/// (148.9 ms at 125 MIPS), and 24.6 million on `arm-virt` (49.2 ms at 500 MIPS, 52.8 ms in
/// `lab classics udev`, with the mount).
/// This is their mean.
const MDEV_WORK: u64 = 21_600_000;

/// The programs of udev that a script waits for.
const UDEV: [&str; 4] = ["udevadm", "udevsettle", "udevstart", "udevtrigger"];

/// The line by which a kernel says that it makes the nodes itself.
pub(super) const DEVTMPFS: &str = "devtmpfs: initialized";

/// A command that makes device nodes, or asks udev to.
struct Maker {
    command: &'static str,
    /// The names of its processes.
    programs: &'static [&'static str],
    /// How many instructions it executes; `None` if only a capture can tell.
    work: Option<u64>,
}

/// The command of a line that makes device nodes.
fn maker(line: &str) -> Option<Maker> {
    let udev = |command| Maker {
        command,
        programs: &UDEV,
        work: None,
    };
    let mut words = names(line);
    while let Some(word) = words.next() {
        match word {
            "mdev" if words.clone().any(|w| w == "-s") => {
                return Some(Maker {
                    command: "mdev -s",
                    programs: &["mdev"],
                    work: Some(MDEV_WORK),
                });
            }
            "udevadm" if words.clone().next() == Some("trigger") => {
                return Some(udev("udevadm trigger"));
            }
            "udevtrigger" | "udevstart" => return Some(udev("udevtrigger")),
            _ => {}
        }
    }
    None
}

/// A script asks for the events of all devices, or makes their nodes.
pub(super) fn of_scripts(view: &View<'_>) -> Option<Found> {
    let tree = view.system.root.as_ref()?;
    let config = view.system.config.as_ref();
    let built_in = config.filter(|c| c.is_built_in("DEVTMPFS"));
    let said = view.said(DEVTMPFS).next();
    if said.is_none() && built_in.is_none() {
        return None;
    }
    let (path, offset, line, maker) =
        tree.lines(|p| is_run(tree, p))
            .find_map(|(path, offset, line)| {
                let found = code(line).and_then(maker)?;
                (!stops(tree, path, offset)).then_some((path, offset, line, found))
            })?;
    let mut why = text::maker_why(maker.command);
    // mdev can do what udev does; a script of mdev has it already.
    if maker.programs == UDEV {
        why += text::MDEV;
    }
    let found = Found::new()
        .why(why)
        .evidence([place(tree, path, offset, line)])
        .evidence(said.map(|l| view.quote(&l)))
        .scope(Scope::Unknown);
    let ran = lived(view, |name| maker.programs.contains(&name));
    if !ran.is_empty() {
        let time = ran.iter().fold(Nanos::ZERO, |sum, (t, _)| sum + *t);
        let seen = ran.iter().take(super::evidence::SHOWN).map(|(time, p)| {
            let name = view.record.name(p.name);
            view.evidence(text::ran(name, time), p.origin)
        });
        // On one processor, what ran meanwhile moves and does not go.
        let low = if is_alone(view) { 0 } else { 50 };
        return Some(found.evidence(seen).parts(time, low, 100, 100));
    }
    let Some(work) = maker.work else {
        return Some(found);
    };
    let speed = view.speed();
    // The more devices, the more work: a PC has ten times as many as a board.
    let time = transfer(work, speed.rate);
    Some(found.parts(time, 20, 100, 400).at_speed(speed))
}

/// systemd asks for the events of all devices.
pub(super) fn of_units(view: &View<'_>) -> Option<Found> {
    let unit = started(view, |name| name == TRIGGER).into_iter().next()?;
    let is_alone = is_alone(view);
    let beside = match is_alone {
        true => text::ONE_CPU,
        false => "",
    };
    let why = text::trigger_why(beside);
    // The modules that udev loads for the devices come on top.
    let most = unit.time + linking_of_all(view);
    // On one processor it is the work that counts, and most of it is udev's own.
    let [trigger, daemon] = [TRIGGER, DAEMON].map(|unit| view.processor_time(unit));
    let worked = trigger.zip(daemon);
    let worked = worked.filter(|_| is_alone).map(|(a, b)| a + b);
    let most = most.max(worked.unwrap_or_default());
    Some(
        Found::new()
            .why(why)
            .evidence([unit.evidence])
            .saving(Nanos::ZERO, worked.unwrap_or(unit.time), most)
            .scope(match is_alone {
                true => Scope::Shared(vec![unit.name]),
                false => Scope::Items(vec![unit.name]),
            }),
    )
}

#[cfg(test)]
mod tests {
    use super::maker;

    #[test]
    fn a_maker_is_a_command() {
        let of = |line: &str| maker(line).map(|m| m.command);
        assert_eq!(of("/sbin/mdev -s"), Some("mdev -s"));
        assert_eq!(
            of("a && udevadm trigger --action=add"),
            Some("udevadm trigger")
        );
        for no in [
            "mdev -df",
            "udevadm settle",
            "echo /sbin/mdev >/proc/sys/kernel/hotplug",
            "",
        ] {
            assert_eq!(of(no), None, "{no}");
        }
    }
}
