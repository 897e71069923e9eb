//! UBIFS: in a volume, or alone in a file of `mkfs.ubifs`.

use crate::terminal::Style;
use crate::terminal::layout::{BAD, DIM, GOOD, PLAIN, Screen, WARN};
use crate::words::{size, thousands};
use flash::ubifs::{Report, compression, master};
use record::Nanos;

/// UBIFS without UBI around it, in an image of `bytes`.
#[must_use]
pub fn ubifs(image: &str, bytes: u64, report: &Report, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let about = format!("UBIFS without UBI, {} bytes", thousands(bytes));
    screen.heading(image, &about);
    section(&mut screen, report, 2);
    screen.finish()
}

/// The state of a filesystem, on lines that begin at `indent`.
pub fn section(screen: &mut Screen, report: &Report, indent: usize) {
    let sb = &report.superblock;
    let names = sb.flag_names().join(", ");
    let text = format!(
        "UBIFS version {}, {} of {} logical blocks of {}, new files by {}{}",
        sb.version,
        thousands(sb.leb_count.into()),
        thousands(sb.most_lebs.into()),
        size(sb.leb_size.into()),
        compression(sb.compression),
        if names.is_empty() {
            String::new()
        } else {
            format!("; {names}")
        }
    );
    screen.wrapped("", indent, PLAIN, &text);
    if let Some(why) = &report.refusal {
        let text = format!("The kernel does not mount it: {why}.");
        screen.wrapped("", indent, BAD, &text);
        return;
    }
    match (report.needs_recovery, report.needs_replay()) {
        (false, false) => screen.wrapped("", indent, GOOD, "clean: nothing to replay"),
        (recovery, _) => {
            let journal = &report.journal;
            let what = if recovery {
                "not unmounted: the kernel looks for damage, and replays"
            } else {
                "unmounted, but the journal is replayed:"
            };
            let text = format!(
                "{what} {} nodes, {}, in {} logical blocks",
                thousands(journal.nodes),
                size(journal.bytes),
                journal.buds.len()
            );
            screen.wrapped("", indent, WARN, &text);
        }
    }
    if let master::State::Recovered(_, leb) = report.master {
        let text = format!("one master node is damaged: the kernel takes that of block {leb}");
        screen.wrapped("", indent, WARN, &text);
    }
    if report.needs_fixup {
        let text = format!(
            "the first mount for writing rewrites free space (mkfs.ubifs -F): {} logical blocks \
             are erased and written again",
            report.mount.fixed_lebs
        );
        screen.wrapped("", indent, WARN, &text);
    }
    let time = Nanos(i64::try_from(report.mount.read_ns).unwrap_or(i64::MAX));
    let text = format!("a mount reads {}: {time}", size(report.mount.reads.bytes));
    screen.wrapped("", indent, DIM, &text);
}
