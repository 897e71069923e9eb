//! The order of units that none of them needs.

use super::found::Found;
use super::known_units::is_told;
use super::modules::is_alone;
use super::text::order as text;
use super::view::View;
use crate::chain::{ChainLink, critical_chain};
use record::{Dependency, DependencyKind, Nanos};

/// A gain from here on is worth looking into two units.
const LEAST: Nanos = Nanos::from_millis(20);

/// The order of one unit after another, if it is all that there is between them.
fn only_order<'a>(view: &View<'a>, waits: &str, first: &str) -> Option<&'a Dependency> {
    let record = view.record;
    let between = || {
        let all = record.dependencies().iter();
        all.filter(|d| record.name(d.from) == waits && record.name(d.to) == first)
    };
    // Whoever pulls in another one has a use for it.
    let is_used = between().any(|d| d.kind != DependencyKind::After);
    let mut orders = between().filter(|d| d.kind == DependencyKind::After);
    // A source that tells of order alone says nothing of use.
    let tells = |order: &&Dependency| {
        let mut all = record.dependencies().iter();
        let source = order.origin.source;
        all.any(|d| d.kind != DependencyKind::After && d.origin.source == source)
    };
    orders.next().filter(tells).filter(|_| !is_used)
}

/// How the names of units begin whose order is the design of a boot, or that others use
/// without naming them: systemd's own, buses, the network, the clock, the log, and what
/// sets a machine up.
const PLUMBING: [&str; 24] = [
    "NetworkManager",
    "chrony",
    "cloud-",
    "connman",
    "cryptsetup",
    "dbus",
    "dhcpcd",
    "getty@",
    "ifup",
    "ifupdown",
    "iwd",
    "lvm2-",
    "mdadm",
    "netplan",
    "networking",
    "nftables",
    "ntp",
    "rpcbind",
    "rsyslog",
    "serial-getty@",
    "sssd",
    "systemd-",
    "user@",
    "wpa_supplicant",
];

fn is_plumbing(unit: &str) -> bool {
    PLUMBING.iter().any(|p| unit.starts_with(p))
}

fn is_service(unit: &str) -> bool {
    unit.ends_with(".service") && !is_plumbing(unit) && !is_told(unit)
}

/// A service of the chain that first light waits for comes after another one, and
/// asks nothing of it.
pub(super) fn needless(view: &View<'_>) -> Vec<Found> {
    let chain = critical_chain(view.record, view.phases);
    let alone = is_alone(view);
    let mut all = Vec::new();
    // How much sooner all that waits for this link could have begun.
    let mut room = Nanos(i64::MAX);
    for pair in chain.windows(2) {
        let [waits, first] = pair else { continue };
        room = room.min(waits.margin.unwrap_or(room));
        let is_pair = is_service(&waits.unit) && is_service(&first.unit);
        let Some(order) = only_order(view, &waits.unit, &first.unit).filter(|_| is_pair) else {
            continue;
        };
        // Without another one it could begin with it.
        let length = first.end - first.start;
        let time = first.margin.unwrap_or(length).min(room);
        if time < LEAST {
            continue;
        }
        let between = (waits.start - first.end).min(time);
        let computed = alone.then(|| view.processor_time(&first.unit)).flatten();
        let gained = match (alone, computed) {
            (false, _) => time,
            // What it computes goes on beside the other one, and is not gained.
            (true, Some(computed)) => (time - computed).max(Nanos::ZERO),
            (true, None) => Nanos(time.0 / 2),
        };
        let beside = match (alone, computed) {
            (false, _) => String::new(),
            (true, Some(computed)) => text::computes(&first.unit, computed),
            (true, None) => text::ONE_CPU.to_owned(),
        };
        let why = text::needless_why(&waits.unit, &first.unit, time, beside);
        let evidence = [
            view.evidence(text::ordered(&waits.unit, &first.unit), order.origin),
            link(first),
            link(waits),
        ];
        all.push(
            Found::new()
                .title(text::needless(&waits.unit, &first.unit))
                .why(why)
                .evidence(evidence)
                // On one processor, units that compute gain nothing side by side.
                // What the manager needs from the end of one to the start of the other may go, too.
                .saving(Nanos::ZERO, gained, time + between.max(Nanos::ZERO)),
        );
    }
    all
}

fn link(link: &ChainLink) -> super::evidence::Evidence {
    super::evidence::Evidence {
        text: text::took(&link.unit, link.start, link.end),
        place: link.origin.clone(),
    }
}
