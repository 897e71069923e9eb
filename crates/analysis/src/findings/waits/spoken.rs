//! Waits of which programs say themselves how long they last.

use crate::findings::found::Found;
use crate::findings::remedies;
use crate::findings::silence::without_command;
use crate::findings::text::hardware::NO_ATA_LOG;
use crate::findings::text::waits as text;
use crate::findings::view::{Line, View, number};
use crate::kernel_work::is_timers;
use record::Nanos;

/// What the first stage of NixOS writes while it waits for a device, and the dots that it ends
/// this with before the first second is over; each second adds one (`waitDevice` in
/// nixos/modules/system/boot/stage-1-init.sh).
pub(in crate::findings) const TO_APPEAR: &str = " to appear...";
const FOR_DEVICE: &str = "waiting for device ";

/// What klibc's ipconfig writes in an initramfs when nobody answered (`usr/kinit/ipconfig` of
/// klibc).
pub(in crate::findings) const NO_RESPONSE: &str = "IP-Config: no response after ";

/// What it writes before it asks, and when it has an address. The script of initramfs-tools has it
/// ask in rounds of 2, 3, 4, 6, 9, 16, 25, 36, 64 and 100 s: none is more than twice the one before.
pub(in crate::findings) const ASKS: &str = " hardware address ";
pub(in crate::findings) const ANSWERED: &str = " complete (dhcp from ";
const CONFIG: &str = "IP-Config: ";

/// It waits no longer than this before it asks again, and so long after it could not send, as on a
/// link that has just come up.
const LONGEST_ASK_S: i64 = 60;
const AFTER_ERROR_S: i64 = 10;

/// What mkinitcpio writes before it waits for the device of the root (`poll_device` in its
/// init_functions), and what it writes if that never came.
pub(in crate::findings) const SECONDS_FOR: &str = " seconds for device ";
pub(in crate::findings) const NOT_FOUND: &str = "ERROR: device '";

/// What LVM writes of each device for which udev has no entry
/// (`udev_wait_for_device` in lib/device/dev-ext.c, dev-type.c).
pub(in crate::findings) const AFTER_WAITING: &str =
    "not initialized in udev database even after waiting ";

/// What the failsafe of Upstart writes after 20 s, 60 s and 119 s without a network
/// (`failsafe.conf` of Ubuntu).
pub(in crate::findings) const NO_NETWORK: [&str; 3] = [
    "Booting system without full network configuration",
    "more seconds for network configuration",
    "Waiting for network configuration...",
];
const NO_NETWORK_S: [i64; 3] = [119, 60, 20];

/// What udev writes of an event when a third of its time is over (`worker_timeout` of udevd, 180
/// s), and a second before, of a program that a rule starts.
pub(in crate::findings) const LONG_EVENT: [&str; 2] = [
    "is taking a long time",
    "is taking longer than 59s to complete",
];
const LONG_EVENT_S: i64 = 60;

/// What systemd writes of a service that was not ready in time (`service_sigchld_event` and
/// `service_dispatch_timer` in src/core/service.c), now and before version 230; and how long it
/// waits (`DefaultTimeoutStartSec=`) where the log does not show when it began.
pub(in crate::findings) const NOT_READY: [&str; 2] = [
    ".service: start operation timed out",
    ".service start operation timed out",
];
const NOT_READY_S: i64 = 90;

/// What libata writes of a command that a drive did not answer, and after how many milliseconds
/// (`ata_exec_internal` in drivers/ata/libata-core.c). In a log with stamps this is a silence.
pub(in crate::findings) const NO_ANSWER: &str = "qc timeout after ";

/// What cloud-init writes of an address that did not answer, `failed [20/120s]: `, and when it
/// gives up (`wait_for_url` in cloudinit/url_helper.py and what calls it).
pub(in crate::findings) const TRIED: &str = "' failed [";
pub(in crate::findings) const GIVES_UP: &str = "Giving up on ";
const AFTER: &str = " after ";

/// A part of cloud-init that looks for a data source: its log has the whole time of it.
const SEARCH: &str = "/search-";

/// What `udevadm settle` writes when its time is over (src/udev/udevadm-settle.c before version
/// 234), with the seconds behind it.
pub(in crate::findings) const SETTLE_ENDS: &str = "udevadm settle - timeout of ";

/// What dhclient writes when nobody answered, and of each time it asks, with the seconds until it
/// asks again (client/dhclient.c of ISC DHCP).
pub(in crate::findings) const NO_OFFERS: &str = "No DHCPOFFERS received";
pub(in crate::findings) const DISCOVERS: &str = "DHCPDISCOVER on ";
const INTERVAL: &str = " interval ";

/// Errors that say that a time is over, what did not answer, and how long the kernel waited: for
/// the descriptor of a USB device (`initial_descriptor_timeout` in drivers/usb/core/hub.c), and
/// for a drive behind a reset (`ata_eh_reset_timeouts` in drivers/ata/libata-eh.c). In a log with
/// stamps these are silences.
pub(in crate::findings) const TIME_IS_OVER: [&str; 2] = [
    ": device descriptor read/64, error -110",
    ": COMRESET failed (errno=-16)",
];
const TIME_IS_OVER_S: [i64; 2] = [5, 10];

/// How systemd says that it begins.
const STARTING: &str = "Starting ";

/// A shorter time between the lines is no such wait, and a longer one has pauses in it.
const READY_S: (i64, i64) = (5, 3_600);

/// Of a wait that its program tells of.
const PARTS: (i64, i64, i64) = (50, 90, 100);

/// Of a wait that may have ended earlier.
const MAY_END: (i64, i64, i64) = (0, 50, 100);

/// No program waits so long, in seconds.
const LONGEST_S: i64 = 100_000;

fn seconds(s: i64) -> Nanos {
    Nanos(s.clamp(0, LONGEST_S).saturating_mul(1_000_000_000))
}

fn told(view: &View<'_>, title: String, lines: &[Line<'_>], time: Nanos) -> Found {
    let (low, expected, high) = PARTS;
    Found::new()
        .title(title)
        .evidence(lines.iter().take(2).map(|l| view.quote(l)))
        .parts(time, low, expected, high)
        .within(time)
}

/// The numbers behind these words in all lines, added up.
fn sum(lines: &[Line<'_>], words: &str) -> i64 {
    let each = lines.iter().filter_map(|l| l.number(words));
    each.filter_map(|n| i64::try_from(n).ok())
        .fold(0, i64::saturating_add)
}

/// The last word of `text` before `mark`.
fn word_before<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    let (before, _) = text.split_once(mark)?;
    before.split_ascii_whitespace().next_back()
}

/// The first stage of NixOS waits for devices.
fn of_stage_1(view: &View<'_>) -> Vec<Found> {
    let each = view.said(TO_APPEAR).filter_map(|line| {
        let device = line.behind(FOR_DEVICE)?.split_once(TO_APPEAR)?.0;
        let dots = line.behind(TO_APPEAR)?;
        let dots = dots.bytes().take_while(|b| *b == b'.').count();
        let time = seconds(i64::try_from(dots).ok()?);
        (time >= super::LEAST).then(|| {
            told(view, text::initramfs_waits(time, device), &[line], time)
                .why(text::SPOKEN_STAGE_1)
                .names([device, "resume", "initrd"])
        })
    });
    each.collect()
}

/// How long klibc's ipconfig asks that gives up after so many seconds: it asks again 1 s later,
/// then 2, 4 and so on, and looks at its limit only when one of these waits is over.
fn asked(limit: i64) -> i64 {
    let (mut all, mut wait) = (0, 1);
    while all < limit.min(LONGEST_S) {
        all += wait;
        wait = (wait * 2).min(LONGEST_ASK_S);
    }
    all
}

/// From the first question of ipconfig to its last word, where its lines have times. They have
/// none of their own if it wrote them all at once.
fn measured(view: &View<'_>, vain: &[Line<'_>], answered: Option<&Line<'_>>) -> Option<Nanos> {
    let none = vain.first()?;
    let first = view.said(ASKS).find(|l| l.text.contains(CONFIG))?;
    let begun = match first.message.at == none.message.at {
        true => {
            let before = (0..first.at).rev().filter_map(|at| view.line(at));
            let source = first.message.origin.source;
            let mut before =
                before.filter(|l| l.message.origin.source == source && !is_timers(l.text));
            before.find_map(|l| l.message.at)?
        }
        false => first.message.at?,
    };
    let last = answered.into_iter().chain(vain.last());
    let last = last.filter_map(|l| l.message.at).max()?;
    let time = last - begun;
    // A limit counts whole seconds.
    let count = i64::try_from(vain.len()).ok()?;
    (time >= seconds(sum(vain, NO_RESPONSE) - count)).then_some(time)
}

/// An initramfs asks for an address, and nobody answers.
fn of_ipconfig(view: &View<'_>) -> Option<Found> {
    let lines: Vec<Line<'_>> = view.said(NO_RESPONSE).collect();
    let limits = lines.iter().filter_map(|l| l.number(NO_RESPONSE));
    let limits: Vec<i64> = limits.filter_map(|n| i64::try_from(n).ok()).collect();
    let last = *limits.last()?;
    let at_last = |l: &Line<'_>| lines.last().is_some_and(|n| n.at <= l.at);
    let answered = view.said(ANSWERED).find(at_last);
    let exact = measured(view, &lines, answered.as_ref());
    let in_vain = limits.iter().map(|n| asked(*n));
    let in_vain = seconds(in_vain.fold(0, i64::saturating_add));
    let time = exact.unwrap_or(in_vain);
    if time < super::LEAST {
        return None;
    }
    let found = told(
        view,
        text::initramfs_waits(time, text::ADDRESS),
        &lines,
        time,
    )
    .evidence(answered.map(|l| view.quote(&l)))
    .why(text::SPOKEN_IPCONFIG)
    .names(["IP-Config", "DHCP", "ip"]);
    if exact.is_some() {
        return Some(found);
    }
    // The round that was answered was so at some time of it.
    let next = seconds(asked(last.saturating_mul(2)));
    let next = answered.map_or(Nanos::ZERO, |_| next);
    let (low, expected, _) = PARTS;
    let half = in_vain + Nanos(next.0 / 2);
    let most = in_vain + next + seconds(AFTER_ERROR_S);
    Some(
        found
            .saving(
                Nanos(in_vain.0 / 100 * low),
                Nanos(half.0 / 100 * expected),
                most,
            )
            .within(most),
    )
}

/// mkinitcpio waits for the device of the root.
fn of_mkinitcpio(view: &View<'_>) -> Option<Found> {
    let line = view.said(SECONDS_FOR).next()?;
    let time = word_before(line.text, SECONDS_FOR).and_then(number)?;
    let device = line.behind(SECONDS_FOR)?.split_ascii_whitespace().next()?;
    let time = seconds(i64::try_from(time).ok()?);
    let is_vain = view.said(NOT_FOUND).any(|l| l.text.contains(device));
    let found = told(view, text::initramfs_waits(time, device), &[line], time)
        .why(text::SPOKEN_ROOT)
        .names([device, "initrd", "root"]);
    let (low, expected, high) = MAY_END;
    Some(match is_vain {
        true => found,
        false => found.parts(time, low, expected, high),
    })
}

/// LVM waits for udev, once for each device.
fn of_lvm(view: &View<'_>) -> Option<Found> {
    let lines: Vec<Line<'_>> = view.said(AFTER_WAITING).collect();
    let time = seconds(sum(&lines, AFTER_WAITING) / 1_000_000);
    (time > Nanos::ZERO).then(|| {
        told(view, text::lvm_waits(time), &lines, time)
            .why(text::SPOKEN_LVM)
            .names(["LVM", "obtain_device_list_from_udev", "udev"])
    })
}

/// Upstart waits for the network.
fn of_upstart(view: &View<'_>) -> Option<Found> {
    let mut known = NO_NETWORK.iter().zip(NO_NETWORK_S);
    let (line, time) = known.find_map(|(words, s)| Some((view.said(words).next()?, s)))?;
    let time = seconds(time);
    Some(
        told(view, text::upstart_waits(time), &[line], time)
            .why(text::SPOKEN_UPSTART)
            .names(["/etc/network/interfaces", "networking"]),
    )
}

/// udev is busy with one event.
fn of_udev(view: &View<'_>) -> Option<Found> {
    let lines = LONG_EVENT.iter().flat_map(|words| view.said(words));
    let mut lines: Vec<Line<'_>> = lines
        .filter(|l| l.text.contains("Worker [") || l.text.contains("Spawned process"))
        .collect();
    lines.sort_by_key(|l| l.at);
    let device = |l: &Line<'_>| {
        let words = ["Worker [", "Spawned process"]
            .iter()
            .find_map(|w| l.text.split_once(w));
        let (before, _) = words?;
        let device = before.trim_end().trim_end_matches(':');
        Some(device.rsplit(' ').next()?.to_owned())
    };
    let first = lines.first()?;
    let name = device(first).filter(|d| !d.is_empty() && !d.ends_with(']'));
    let name = name.unwrap_or_else(|| "systemd-udevd".to_owned());
    let time = seconds(LONG_EVENT_S);
    Some(
        told(view, text::udev_busy(&name, time), &lines, time)
            .why(text::SPOKEN_UDEV)
            .names([name.as_str(), "udev"]),
    )
}

/// The lines without a stamp that contain a rule's text. Those with one are told as silences.
fn unstamped<'v>(view: &'v View<'_>, words: &str) -> Vec<Line<'v>> {
    let lines = view.said(words);
    lines.filter(|l| l.message.at.is_none()).collect()
}

/// A drive does not answer a command.
fn of_ata(view: &View<'_>) -> Option<Found> {
    let lines = unstamped(view, NO_ANSWER);
    let first = lines.first()?;
    let time = Nanos::from_millis(sum(&lines, NO_ANSWER).clamp(0, LONGEST_S * 1_000));
    let device = first
        .text
        .split_once(": qc timeout")?
        .0
        .rsplit(' ')
        .next()?;
    let found = told(view, text::drive_silent(device, time), &lines, time)
        .why(text::SPOKEN_ATA)
        .names([device]);
    let words = first.text.find(device).and_then(|at| first.text.get(at..));
    let word = words.and_then(without_command);
    Some(match word {
        Some(word) => found.treatment(format!("cmdline+={word}")).cost(NO_ATA_LOG),
        None => found,
    })
}

/// A device does not answer, by errors without stamps.
fn of_errors(view: &View<'_>) -> impl Iterator<Item = Found> {
    let each = TIME_IS_OVER.iter().zip(TIME_IS_OVER_S);
    each.filter_map(|(words, each)| {
        let lines = unstamped(view, words);
        let device = lines.first()?.text.split_once(words)?.0;
        let device = device.rsplit(": ").next()?.trim();
        let count = i64::try_from(lines.len()).ok()?;
        let time = seconds(each.saturating_mul(count));
        Some(
            told(view, text::device_silent(device, time), &lines, time)
                .why(text::SPOKEN_ERRORS)
                .names([device]),
        )
    })
}

/// `udevadm settle` waits in vain.
fn of_settle(view: &View<'_>) -> Option<Found> {
    let lines: Vec<Line<'_>> = view.said(SETTLE_ENDS).collect();
    let time = seconds(sum(&lines, SETTLE_ENDS));
    (time > Nanos::ZERO).then(|| {
        told(view, text::settle_waits(time), &lines, time)
            .why(text::SPOKEN_SETTLE)
            .names(["udevadm settle", "systemd-udev-settle.service"])
    })
}

/// A DHCP client asks, and nobody answers: the time between its first question and its end, or
/// the pauses between its questions.
fn of_dhclient(view: &View<'_>) -> Option<Found> {
    let end = view.said(NO_OFFERS).next()?;
    let asks: Vec<Line<'_>> = view
        .said(DISCOVERS)
        .filter(|l| l.at < end.at && l.message.origin.source == end.message.origin.source)
        .collect();
    let first = asks.first()?;
    let interface = first.behind(DISCOVERS)?.split_whitespace().next()?;
    let pauses = sum(&asks, INTERVAL);
    let apart = first
        .message
        .at
        .zip(end.message.at)
        .map(|(from, to)| to - from);
    let time = apart
        .filter(|t| *t > Nanos::ZERO)
        .unwrap_or(seconds(pauses));
    (time >= super::LEAST).then(|| {
        told(view, text::nobody_offers(time), &[*first, end], time)
            .why(text::SPOKEN_DHCP)
            .names([interface, "DHCP", "dhclient", "networking.service"])
    })
}

/// cloud-init asks for data that nobody has.
fn of_cloud_init(view: &View<'_>) -> Option<Found> {
    let spans = view.record.spans().iter();
    if spans
        .clone()
        .any(|s| view.record.name(s.name).contains(SEARCH))
    {
        return None;
    }
    let gives_up: Vec<Line<'_>> = view
        .said(GIVES_UP)
        .filter(|l| l.text.contains(AFTER) && l.text.trim_end().ends_with(" seconds"))
        .collect();
    let after = |l: &Line<'_>| number(l.text.rsplit_once(AFTER)?.1);
    let all = gives_up
        .iter()
        .filter_map(after)
        .fold(0, u64::saturating_add);
    // Without its end, the last time it tried.
    let mut tried: Vec<Line<'_>> = view.said(TRIED).collect();
    tried.sort_by_key(|l| l.number(TRIED));
    let (lines, all) = match gives_up.is_empty() {
        false => (gives_up, all),
        true => {
            let last = tried.pop()?;
            (vec![last], last.number(TRIED)?)
        }
    };
    let time = seconds(i64::try_from(all).ok()?);
    (time >= super::LEAST).then(|| {
        told(view, text::cloud_init_asks(time), &lines, time)
            .why(text::SPOKEN_CLOUD_INIT)
            .names(["cloud-init", "datasource_list"])
    })
}

/// systemd waits for a service that does not become ready.
fn of_service(view: &View<'_>) -> Option<Found> {
    let mut lines = NOT_READY.iter().flat_map(|words| view.said(words));
    let line = lines.next()?;
    let words = NOT_READY.iter().find(|w| line.text.contains(**w))?;
    let unit = format!("{}.service", word_before(line.text, words)?);
    // Its name, or in older logs the words that describe it, of which nobody knows whose.
    let source = line.message.origin.source;
    let before = (0..line.at).rev().filter_map(|at| view.line(at));
    let mut before = before.filter(|l| l.message.origin.source == source);
    let begun = before.find(|l| l.text.contains(STARTING) && l.text.contains(&unit));
    let begun = begun.and_then(|l| l.message.at).zip(line.message.at);
    let (least, most) = READY_S;
    let time = begun.map(|(from, to)| to - from);
    let time = time.filter(|t| (seconds(least)..=seconds(most)).contains(t));
    let time = time.unwrap_or(seconds(NOT_READY_S));
    Some(
        told(view, text::not_ready(&unit, time), &[line], time)
            .why(text::NOT_READY.to_owned() + &remedies::more(&unit))
            .names([unit.clone()])
            .names(remedies::names(&unit)),
    )
}

/// The waits that programs tell of.
pub(in crate::findings) fn spoken(view: &View<'_>) -> Vec<Found> {
    let mut all = of_stage_1(view);
    all.extend(of_ipconfig(view));
    all.extend(of_mkinitcpio(view));
    all.extend(of_lvm(view));
    all.extend(of_upstart(view));
    all.extend(of_udev(view));
    all.extend(of_service(view));
    all.extend(of_ata(view));
    all.extend(of_errors(view));
    all.extend(of_settle(view));
    all.extend(of_dhclient(view));
    all.extend(of_cloud_init(view));
    all
}
