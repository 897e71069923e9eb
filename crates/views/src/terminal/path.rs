//! The critical path, item by item.

use super::Style;
use super::bar::share;
use super::layout::{BOLD, DIM, GOOD, Screen, TIME, fit, left, right, time};
use crate::words::plural;
use analysis::{CriticalPath, PathItem, PathProgram};
use record::Nanos;

const KIND: usize = 8;

/// What first light waited for. Items shorter than `shortest` are added up.
#[must_use]
pub fn path(path: &CriticalPath, shortest: Nanos, style: &Style) -> String {
    let mut screen = Screen::new(style);
    if path.items.is_empty() {
        screen.line("Nothing in these sources says what first light waited for.");
        return screen.finish();
    }
    let about = format!("{} after {}, at {}", path.end, path.zero, path.mark);
    screen.heading("What first light waited for", &about);
    let bar = screen.bar_width();
    let head = format!(
        "  {}  {}  {}  {}  {}  what",
        right("from", TIME),
        right("length", TIME),
        left("", bar),
        right("half saves", TIME + 1),
        left("kind", KIND),
    );
    screen.columns(&head);
    let most = path.items.iter().map(length).max().unwrap_or_default();
    let mut short: Vec<&PathItem> = Vec::new();
    for item in &path.items {
        if length(item) < shortest {
            short.push(item);
            continue;
        }
        shorter(&mut screen, &mut short, bar);
        let room = screen
            .width()
            .saturating_sub(2 + 3 * TIME + bar + KIND + 11);
        let line = format!(
            "  {}  {}  {}  {}  {}  {}",
            screen.paint(DIM, &time(Some(item.start))),
            screen.paint(BOLD, &time(Some(length(item)))),
            screen.paint(DIM, &left(&share(length(item), most, bar), bar)),
            screen.paint(GOOD, &right(&item.saving_if_halved.to_string(), TIME + 1)),
            screen.paint(DIM, &left(item.kind.as_str(), KIND)),
            fit(&item.name, room.max(16)),
        );
        screen.line(&line);
    }
    shorter(&mut screen, &mut short, bar);
    let note = match path.knows_units || path.knows_processes {
        true => {
            "half saves: how much earlier first light comes if the item takes half its time and \
                 all else stays as it was."
        }
        false => {
            "half saves: how much earlier first light comes if the item takes half its time. \
                  Neither units with their order nor a trace of tasks are known here, so the \
                  userspace is one item."
        }
    };
    screen.wrapped("", 2, DIM, note);
    programs(&mut screen, &path.programs, shortest);
    screen.finish()
}

/// How many programs are shown.
const PROGRAMS: usize = 8;

/// What programs save that are quicker, on the path or beside it.
fn programs(screen: &mut Screen, all: &[PathProgram], shortest: Nanos) {
    let worth = all
        .iter()
        .filter(|p| p.saving_if_halved > Nanos::ZERO && p.saving_if_halved >= shortest);
    let worth: Vec<&PathProgram> = worth.take(PROGRAMS).collect();
    if worth.is_empty() {
        return;
    }
    let about = "all of a name together; with what they take from others on the processor";
    screen.heading("Programs at half their time", about);
    let head = format!(
        "  {}  {}  {}  name",
        right("time", TIME),
        right("half saves", TIME + 1),
        right("processes", TIME),
    );
    screen.columns(&head);
    for program in worth {
        let line = format!(
            "  {}  {}  {}  {}",
            screen.paint(BOLD, &time(Some(program.time))),
            screen.paint(
                GOOD,
                &right(&program.saving_if_halved.to_string(), TIME + 1)
            ),
            right(&program.processes.to_string(), TIME),
            program.name,
        );
        screen.line(&line);
    }
}

fn length(item: &PathItem) -> Nanos {
    item.end - item.start
}

/// A line for those that are too short for one each.
fn shorter(screen: &mut Screen, short: &mut Vec<&PathItem>, bar: usize) {
    let Some(first) = short.first() else { return };
    let sum = short.iter().fold(Nanos::ZERO, |sum, i| sum + length(i));
    let text = format!(
        "  {}  {}  {}  {}  {}  {} shorter {}",
        time(Some(first.start)),
        time(Some(sum)),
        left("", bar),
        right("", TIME + 1),
        left("", KIND),
        short.len(),
        plural(short.len(), "item"),
    );
    let line = screen.paint(DIM, &text);
    screen.line(&line);
    short.clear();
}
