//! The screen of `firstlight image statistics`.

use crate::json::image::CheckCost;
use crate::terminal::Style;
use crate::terminal::layout::{DIM, PLAIN, Screen};
use crate::terminal::table::{Column, Table, cell};
use crate::words::{size, thousands};
use disk::{SizeClass, Statistics};
use record::Nanos;

/// Sizes of directories and files, and what a check costs.
#[must_use]
pub fn statistics(image: &str, all: &[(u64, Statistics, Vec<CheckCost>)], style: &Style) -> String {
    let mut screen = Screen::new(style);
    for (offset, s, costs) in all {
        let block = size(s.block_size.into());
        let about = format!("{} at byte {offset}, blocks of {block}", s.filesystem);
        screen.heading(image, &about);
        let mut table = Table::new([
            Column::text(""),
            Column::text("size"),
            Column::number("count"),
            Column::number("share"),
            Column::number("bytes"),
        ]);
        classes(&mut table, "directories", &s.directories);
        classes(&mut table, "files", &s.files);
        table.print(&mut screen);
        if let Some(limit) = s.inline_limit.filter(|_| s.inline_files > 0) {
            let text = format!(
                "{} files have at most {limit} bytes and a block of their own. With `inline_data` they \
                 lie in their inodes, which spares a read for each: create the image anew with \
                 `image create FOLDER --form ext4:inline-data`.",
                thousands(s.inline_files)
            );
            screen.wrapped("", 2, PLAIN, &text);
        }
        if let Some(check) = &s.check {
            let text = format!(
                "A full check (e2fsck -f) reads {} in {} reads:",
                size(check.bytes),
                thousands(check.reads.len() as u64)
            );
            screen.wrapped("", 2, PLAIN, &text);
            let mut table = Table::new([Column::text("storage"), Column::time("modeled")]);
            for cost in costs {
                let ns = i64::try_from(cost.ns).unwrap_or(i64::MAX);
                table.row([cell(&cost.profile), cell(Nanos(ns))]);
            }
            table.print(&mut screen);
            let inodes = match check.skips_unused {
                true => " Inodes that were never used are skipped, so their bytes are estimated.",
                false => "",
            };
            let text = format!(
                "Modeled from the storage profile: reads one after another, without the CPU's time \
                 for them.{inodes}"
            );
            screen.wrapped("", 2, DIM, &text);
        }
    }
    screen.finish()
}

fn classes(table: &mut Table<5>, what: &str, classes: &[SizeClass]) {
    let all = classes.iter().fold(0_u64, |sum, c| sum + c.count);
    let mut before = None;
    for class in classes {
        let of = match (class.at_most, before) {
            (Some(0), _) => "empty".to_owned(),
            (Some(most), _) => format!("up to {}", size(most)),
            (None, Some(before)) => format!("over {}", size(before)),
            (None, None) => "any".to_owned(),
        };
        before = class.at_most;
        if class.count == 0 {
            continue;
        }
        let share = class.count as f64 * 100.0 / all.max(1) as f64;
        table.row([
            cell(what),
            cell(of),
            cell(thousands(class.count)),
            cell(format!("{share:.1} %")),
            cell(size(class.bytes)),
        ]);
    }
}
