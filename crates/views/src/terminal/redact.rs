//! What `redact` replaced, by kind.

use super::layout::{PLAIN, Screen};
use super::style::Style;
use super::table::{Column, Table, cell};
use crate::Redaction;

/// The table of kinds, and what to look at before the file is sent.
#[must_use]
pub fn redact(redaction: &Redaction, style: &Style) -> String {
    let mut screen = Screen::new(style);
    screen.heading("Redacted", &redaction.file);
    if redaction.replaced.is_empty() {
        screen.line("Nothing in the input has the form of an identifier.");
    } else {
        let mut table = Table::new([
            Column::number("places"),
            Column::number("different"),
            Column::name("replaced"),
        ]);
        for row in &redaction.replaced {
            table.row([
                cell(row.places).bold(),
                cell(u64::from(row.distinct)),
                cell(row.kind),
            ]);
        }
        table.print(&mut screen);
    }
    screen.blank();
    if !redaction.kept.is_empty() {
        let names = redaction.kept.join(", ");
        let text = format!("Kept, because many machines have these names: {names}.");
        screen.wrapped("", 0, PLAIN, &text);
    }
    let text = "Times are unchanged. Read the file before you send it: a name in free text, such as \
                a product's code name, has no form that a program can recognize.";
    screen.wrapped("", 0, PLAIN, text);
    screen.finish()
}
