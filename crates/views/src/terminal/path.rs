//! The critical path, item by item.

use super::bar::share;
use super::layout::{DIM, GOOD, PLAIN, Screen};
use super::style::Style;
use super::table::{Cell, Column, Table, cell};
use crate::words::counted;
use analysis::{
    CriticalPath, Forecast, NewItem, PathItem, PathKind, PathProgram, UnitOrder, WhatIf,
};
use record::Nanos;

/// What first light waited for. Items shorter than `shortest` are added up.
#[must_use]
pub fn path(path: &CriticalPath, shortest: Nanos, style: &Style) -> String {
    let mut screen = Screen::new(style);
    if path.items.is_empty() {
        screen.line("The input does not show what first light waited for.");
        return screen.finish();
    }
    let about = format!("{} after {}, ends at {}", path.end, path.zero, path.mark);
    screen.heading("Critical path to first light", &about);
    let bar = screen.bar_width();
    let mut table = Table::new([
        Column::time("start"),
        Column::time("duration"),
        Column::text(""),
        Column::time("if halved"),
        Column::text("kind"),
        Column::name("item"),
    ]);
    let most = path.items.iter().map(length).max().unwrap_or_default();
    let mut short: Vec<&PathItem> = Vec::new();
    for item in &path.items {
        if length(item) < shortest {
            short.push(item);
            continue;
        }
        shorter(&mut table, &mut short);
        table.row([
            cell(item.start).dim(),
            cell(length(item)).bold(),
            cell(share(length(item), most, bar)).dim(),
            cell(item.saving_if_halved).ansi(GOOD),
            cell(item.kind.as_str()).dim(),
            cell(&item.name),
        ]);
    }
    shorter(&mut table, &mut short);
    table.total([
        Cell::default(),
        cell(sum(&path.items)),
        Cell::default(),
        Cell::default(),
        Cell::default(),
        cell("total"),
    ]);
    table.print(&mut screen);
    let mut note = "If halved: how much earlier first light would come if this item took half as \
                    long and nothing else changed."
        .to_owned();
    note += match (path.order, path.knows_processes) {
        (UnitOrder::Guessed, _) => {
            " The input does not show the order of units; they stand as systemd usually orders them."
        }
        (UnitOrder::None, false) => {
            " The input has neither the order of units nor a trace of tasks, so userspace is one \
             item."
        }
        _ => "",
    };
    let has = |kind| path.items.iter().any(|i| i.kind == kind);
    if has(PathKind::Kernel) && !has(PathKind::Initcall) {
        note += " The input does not show initcalls. What the kernel did is taken from the lines of its \
                 log; some of it may have run beside the rest.";
    }
    screen.wrapped("", 2, DIM, &note);
    programs(&mut screen, &path.programs, shortest);
    screen.finish()
}

/// First light with some items shorter or gone. Items shorter than `shortest` are added up.
#[must_use]
pub fn what_if(found: &WhatIf, shortest: Nanos, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let forecast = &found.forecast;
    let about = format!(
        "{} instead of {} after {}, ends at {}",
        forecast.new.expected, forecast.first_light, found.path.zero, found.path.mark
    );
    screen.heading("Forecast of first light", &about);
    let (least, most) = (forecast.new.least, forecast.new.most);
    screen.wrapped("  ", 2, PLAIN, &format!("Range: {least} to {most}."));
    for change in &forecast.changed {
        let names = match change.names.as_slice() {
            [] => format!("{}: not on any way to first light", change.wanted),
            [name] => format!("{name}: {} instead of {}", change.takes, change.took),
            all => format!(
                "{} ({}): {} instead of {}",
                change.wanted,
                counted(all.len(), "item"),
                change.takes,
                change.took
            ),
        };
        screen.wrapped("  ", 4, PLAIN, &names);
    }
    new_path(&mut screen, forecast, shortest);
    for sentence in &forecast.unknown {
        screen.wrapped("", 2, DIM, sentence);
    }
    screen.finish()
}

/// The path of a forecast.
fn new_path(screen: &mut Screen, forecast: &Forecast, shortest: Nanos) {
    if forecast.path.is_empty() {
        return;
    }
    screen.heading("Expected critical path", "");
    let mut table = Table::new([
        Column::time("start"),
        Column::time("duration"),
        Column::text("kind"),
        Column::name("item"),
    ]);
    let mut short: Vec<&NewItem> = Vec::new();
    let add_up = |short: &mut Vec<&NewItem>, table: &mut Table<4>| {
        let Some(first) = short.first() else { return };
        let sum = short.iter().map(|i| i.end - i.start);
        table.row([
            cell(first.start).dim(),
            cell(sum.fold(Nanos::ZERO, |sum, length| sum + length)).dim(),
            Cell::default(),
            cell(counted(short.len(), "shorter item")).dim(),
        ]);
        short.clear();
    };
    for item in &forecast.path {
        let length = item.end - item.start;
        if length < shortest {
            short.push(item);
            continue;
        }
        add_up(&mut short, &mut table);
        table.row([
            cell(item.start).dim(),
            cell(length).bold(),
            cell(item.kind.as_str()).dim(),
            cell(&item.name),
        ]);
    }
    add_up(&mut short, &mut table);
    table.print(screen);
}

/// How many programs are shown.
const PROGRAMS: usize = 8;

/// What faster programs would save, on the path or beside it.
fn programs(screen: &mut Screen, all: &[PathProgram], shortest: Nanos) {
    let worth = all
        .iter()
        .filter(|p| p.saving_if_halved > Nanos::ZERO && p.saving_if_halved >= shortest);
    let worth: Vec<&PathProgram> = worth.take(PROGRAMS).collect();
    if worth.is_empty() {
        return;
    }
    let about = "all processes of a name together, with the CPU time they take from others";
    screen.heading("Programs", about);
    let mut table = Table::new([
        Column::time("time"),
        Column::time("if halved"),
        Column::number("processes"),
        Column::name("program"),
    ]);
    for program in worth {
        table.row([
            cell(program.time).bold(),
            cell(program.saving_if_halved).ansi(GOOD),
            cell(program.processes),
            cell(&program.name),
        ]);
    }
    table.print(screen);
}

fn length(item: &PathItem) -> Nanos {
    item.end - item.start
}

fn sum<'a>(items: impl IntoIterator<Item = &'a PathItem>) -> Nanos {
    let lengths = items.into_iter().map(length);
    lengths.fold(Nanos::ZERO, |sum, length| sum + length)
}

/// A line for those that are too short for one each.
fn shorter(table: &mut Table<6>, short: &mut Vec<&PathItem>) {
    let Some(first) = short.first() else { return };
    table.row([
        cell(first.start).dim(),
        cell(sum(short.iter().copied())).dim(),
        Cell::default(),
        Cell::default(),
        Cell::default(),
        cell(counted(short.len(), "shorter item")).dim(),
    ]);
    short.clear();
}
