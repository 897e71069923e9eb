//! The screen of `firstlight flash ubi --skip-check`.

use crate::terminal::Style;
use crate::terminal::layout::{DIM, PLAIN, Screen, WARN};
use crate::words::{size, utf8};
use flash::ubi::Skipped;
use record::Nanos;

/// An image that was written to `out`, with the flag of a static volume as `skip` says.
#[must_use]
pub fn skip_check(out: &str, skip: bool, skipped: &Skipped, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let name = utf8(&skipped.name).0;
    let places: Vec<String> = skipped.places.iter().map(u64::to_string).collect();
    let about = format!(
        "volume {} ({name}), records at byte {}",
        skipped.id,
        places.join(" and ")
    );
    screen.heading(out, &about);
    if skipped.was_so {
        screen.wrapped(
            "",
            2,
            DIM,
            "The flag was so already: the image is a plain copy.",
        );
    }
    let time = Nanos(i64::try_from(skipped.open_ns).unwrap_or(i64::MAX));
    let all = size(skipped.bytes);
    let cost = format!(
        "{all}, {time} on {} ({} % either way)",
        skipped.profile.name, skipped.profile.error_percent
    );
    let said = if skip {
        format!(
            "The kernel no longer reads and checks all of the volume when it is opened: {cost}."
        )
    } else {
        format!("The kernel reads and checks all of the volume when it is opened: {cost}.")
    };
    screen.wrapped("", 2, PLAIN, &said);
    if skip {
        screen.wrapped(
            "",
            2,
            WARN,
            "What is lost: a damaged or half-written volume is then not refused. It is found by \
             what reads it: squashfs has no checksums, and notices only what does not decompress; \
             dm-verity, fs-verity or a signature on the content find all of it.",
        );
        if skipped.places.len() == 1 {
            screen.wrapped(
                "",
                2,
                WARN,
                "One copy of the volume table is damaged, and was left so; the kernel writes it \
                 anew from the other one.",
            );
        }
        let undo = format!("firstlight flash ubi {} --check {name} -o FILE", out);
        screen.wrapped("  Undo:", 9, DIM, &undo);
    }
    screen.finish()
}
