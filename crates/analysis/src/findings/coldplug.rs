//! Devices that are there when userspace starts: who makes their nodes, and who asks
//! for their events again.

use super::found::{Found, Scope};
use super::modules::{is_alone, linking_of_all};
use super::scripts::{code, is_run, names, place, stops};
use super::text::coldplug as text;
use super::units::started;
use super::view::{View, transfer};
use record::Nanos;

/// What `mdev -s` takes, in instructions: 49.2 ms at 500 MIPS on a board of few devices
/// (`lab classics devtmpfs`).
const MDEV_WORK: u64 = 24_600_000;

/// What udev takes to make the nodes of a board: 1,015 ms on a SAMA5D3 of 536 MHz
/// (Opdenacker, Embedded Linux Conference, 2014), an instruction a cycle.
const UDEV_WORK: u64 = 544_000_000;

/// The line by which a kernel says that it makes the nodes itself.
pub(super) const DEVTMPFS: &str = "devtmpfs: initialized";

/// The command of a line that makes device nodes, and its work.
fn maker(line: &str) -> Option<(&'static str, u64)> {
    let mut words = names(line);
    while let Some(word) = words.next() {
        match word {
            "mdev" if words.clone().any(|w| w == "-s") => return Some(("mdev -s", MDEV_WORK)),
            "udevadm" if words.clone().next() == Some("trigger") => {
                return Some(("udevadm trigger", UDEV_WORK));
            }
            "udevtrigger" | "udevstart" => return Some(("udevtrigger", UDEV_WORK)),
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
    let (path, offset, line, (command, work)) =
        tree.lines(|p| is_run(tree, p))
            .find_map(|(path, offset, line)| {
                let found = code(line).and_then(maker)?;
                (!stops(tree, path, offset)).then_some((path, offset, line, found))
            })?;
    let speed = view.speed();
    let time = transfer(work, speed.rate);
    let why = text::maker_why(command);
    Some(
        Found::new()
            .why(why)
            .evidence([place(tree, path, offset, line)])
            .evidence(said.map(|l| view.quote(&l)))
            // The more devices, the more work: a PC has ten times as many as a board.
            .parts(time, 20, 100, 400)
            .at_speed(speed)
            .scope(Scope::Unknown),
    )
}

/// The unit that asks the kernel for the events of all devices.
const TRIGGER: &str = "systemd-udev-trigger.service";

/// systemd asks for the events of all devices.
pub(super) fn of_units(view: &View<'_>) -> Option<Found> {
    let unit = started(view, |name| name == TRIGGER).into_iter().next()?;
    let is_alone = is_alone(view);
    let beside = match is_alone {
        true => text::ONE_CPU,
        false => "",
    };
    let why = text::trigger_why(beside);
    Some(
        Found::new()
            .why(why)
            .evidence([unit.evidence])
            .saving(
                Nanos::ZERO,
                unit.time,
                // The modules that udev loads for the devices come on top.
                unit.time + linking_of_all(view),
            )
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
        assert_eq!(maker("/sbin/mdev -s").map(|m| m.0), Some("mdev -s"));
        assert_eq!(
            maker("a && udevadm trigger --action=add").map(|m| m.0),
            Some("udevadm trigger")
        );
        for no in [
            "mdev -df",
            "udevadm settle",
            "echo /sbin/mdev >/proc/sys/kernel/hotplug",
            "",
        ] {
            assert_eq!(maker(no), None, "{no}");
        }
    }
}
