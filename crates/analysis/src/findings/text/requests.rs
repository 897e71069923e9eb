//! The words of `findings::requests`.

use std::fmt::Display;

pub(in crate::findings) fn place(device: impl Display) -> String {
    format!("These figures are for device {device}, if the root is on it. ")
}

pub(in crate::findings) fn idle(idle: impl Display) -> String {
    format!("No process ran for {idle} of it.")
}

pub(in crate::findings) fn assumed(waited: impl Display) -> String {
    format!("Nothing else could run in an assumed {waited} % of that time.")
}

#[expect(
    clippy::too_many_arguments,
    reason = "one for each figure of the sentence"
)]
pub(in crate::findings) fn on_demand_why(
    place: impl Display,
    busy: impl Display,
    count: impl Display,
    mean: impl Display,
    bytes: impl Display,
    command: impl Display,
    share: impl Display,
    stream: impl Display,
) -> String {
    format!(
        "{place}The device was busy for {busy} with {count} reads of {mean} bytes on average \
         ({bytes} bytes in total), and each command costs {command} on top of its bytes. \
         {share} Laid out in order of need and prefetched from a list, the reads take {stream}, \
         mostly while the CPU works. Record a list with `firstlight prefetch record` and \
         predict the gain with `firstlight prefetch simulate`. Then run `firstlight image \
         order` and `firstlight prefetch install`."
    )
}

pub(in crate::findings) fn first_read(count: impl Display) -> String {
    format!("the first of {count} reads")
}

pub(in crate::findings) fn read_ahead_why(
    count: impl Display,
    window: impl Display,
    command: impl Display,
    waited: impl Display,
    wider: impl Display,
) -> String {
    format!(
        "{count} reads continue where a full read-ahead window of {window} bytes ended, and \
         each command costs {command} on top of its bytes. {waited} of them were issued as soon \
         as the device was free, so the reader waited for them. Set \
         `/sys/block/*/queue/read_ahead_kb` to {wider} times its value with a udev rule or \
         before the root is mounted: one command then does the work of {wider}."
    )
}

pub(in crate::findings) fn first_cut(count: impl Display) -> String {
    format!("the first of {count} reads that continue a full window")
}

pub(in crate::findings) fn read_ahead(device: impl Display) -> String {
    format!("The read-ahead window of device {device} is small")
}

pub(in crate::findings) fn scheduler_why(
    kept: impl Display,
    jitter: impl Display,
    usual: impl Display,
) -> String {
    format!(
        "The device was idle for {kept} in total while a read was queued for it. This counts \
         gaps of more than {jitter}, minus the {usual} that dispatching a read usually took. \
         Either the scheduler held requests back to sort or share them, or the CPU that \
         dispatches them was busy. Flash has no head to move: set \
         `/sys/block/*/queue/scheduler` to `none` with a udev rule."
    )
}

pub(in crate::findings) fn longest(time: impl Display) -> String {
    format!("this read waited {time}, the longest")
}

pub(in crate::findings) fn scheduler(device: impl Display, kept: impl Display) -> String {
    format!("The scheduler holds back reads of device {device} for {kept} while it is idle")
}
