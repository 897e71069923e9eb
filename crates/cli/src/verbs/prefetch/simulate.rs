//! `firstlight prefetch simulate`: what a list's owner would wait for a device.

use super::args::Simulate;
use crate::out::Out;
use agent::access::{AccessList, Entry};
use agent::config::Model;
use agent::extents::extents;
use agent::prefetch::{SHORT_WINDOW_US, State, open_entry};
use anyhow::{Result, bail};
use lab::storage::simulate::{Need, Way, simulate};
use lab::storage::{Profile, named, profiles};
use serde::Serialize;

/// The `--json`: `schemas/prefetch.simulate.json`.
#[derive(Serialize)]
struct Report {
    schema: &'static str,
    list: String,
    work_ns: u64,
    bytes: u64,
    missing_files: u64,
    profiles: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    storage: String,
    demand: Case,
    prefetch: Case,
    /// Read ahead, and everything lies in the order of need.
    ordered: Case,
    /// No way can be faster: the work, or all bytes and one command.
    limit_ns: u64,
}

#[derive(Serialize)]
struct Case {
    total_ns: u64,
    stall_ns: u64,
    requests: u64,
}

/// Simulates.
pub fn run(args: &Simulate, out: &mut Out) -> Result<()> {
    let list = super::read(&args.list)?;
    let (mut needs, missing_files) = needs(&list, args);
    let first = needs.iter().map(|n| n.at_ns).min().unwrap_or(0);
    needs.iter_mut().for_each(|n| n.at_ns -= first);
    if needs.is_empty() {
        bail!(
            "{}: none of its files can be found on a device below {}",
            args.list.display(),
            args.root.display()
        );
    }
    let all = match args.storage.is_empty() {
        true => profiles()?,
        false => {
            let named = args.storage.iter().map(|name| named(name));
            named.collect::<Result<_, _>>()?
        }
    };
    let size = needs.iter().map(|n| n.place + n.bytes).max().unwrap_or(0);
    let report = Report {
        schema: "firstlight.prefetch.simulate/1",
        list: args.list.display().to_string(),
        work_ns: needs.iter().map(|n| n.at_ns).max().unwrap_or(0),
        bytes: needs.iter().map(|n| n.bytes).sum(),
        missing_files,
        profiles: all.iter().map(|p| row(p, &needs, size)).collect(),
    };
    match out.json {
        true => out.text(&views::json::text(&report)),
        false => out.text(&screen(&report)),
    }
}

/// What is needed, as it lies on the device, and how many files are not there.
fn needs(list: &AccessList, args: &Simulate) -> (Vec<Need>, u64) {
    let page = u64::from(list.page_bytes);
    let (mut needs, mut missing) = (Vec::new(), 0);
    for entry in &list.entries {
        let placed = match places(entry, args) {
            Some(placed) => placed,
            None => {
                missing += 1;
                continue;
            }
        };
        for range in &entry.ranges {
            let start = range.page.saturating_mul(page);
            let end = range.end().saturating_mul(page).min(entry.size());
            for &(offset, place, bytes) in &placed {
                let from = start.max(offset);
                let until = end.min(offset.saturating_add(bytes));
                if from < until {
                    needs.push(Need {
                        at_ns: range.first_us.saturating_mul(1000),
                        place: place.saturating_add(from - offset),
                        bytes: until - from,
                    });
                }
            }
        }
    }
    (needs, missing)
}

/// The pieces of an entry: offset, place on the device, length.
fn places(entry: &Entry, args: &Simulate) -> Option<Vec<(u64, u64, u64)>> {
    if entry.is_device() {
        return Some(vec![(0, 0, entry.size())]);
    }
    let (Some(file), State::Same | State::Moved) = open_entry(&args.root, entry) else {
        return None;
    };
    let extents = extents(&file, 0, entry.size(), usize::MAX).ok()?;
    let pieces = extents.iter().map(|e| (e.offset, e.physical, e.bytes));
    Some(pieces.collect())
}

fn row(profile: &Profile, needs: &[Need], size: u64) -> Row {
    let storage = &profile.storage;
    let case = |needs: &[Need], way| {
        let done = simulate(needs, storage, size, way);
        Case {
            total_ns: done.total_ns,
            stall_ns: done.stall_ns,
            requests: done.requests,
        }
    };
    // As the prefetcher chooses by itself.
    let window_ns = match storage.model {
        Model::Disk => 0,
        _ => SHORT_WINDOW_US * 1000,
    };
    let ahead = Way::Prefetch {
        window_ns,
        wait: false,
    };
    let mut in_order: Vec<Need> = needs.to_vec();
    in_order.sort_by_key(|n| n.at_ns);
    let mut place = 0;
    for need in &mut in_order {
        need.place = place;
        place += need.bytes;
    }
    let bytes: u64 = needs.iter().map(|n| n.bytes).sum();
    let transfer = u128::from(bytes) * 1_000_000_000 / u128::from(storage.read_bytes_per_s.max(1));
    let least = match storage.model {
        Model::None => 0,
        _ => u64::try_from(transfer)
            .unwrap_or(u64::MAX)
            .saturating_add(storage.command_ns),
    };
    let work = needs.iter().map(|n| n.at_ns).max().unwrap_or(0);
    Row {
        storage: profile.name.clone(),
        demand: case(needs, Way::Demand),
        prefetch: case(needs, ahead),
        ordered: case(&in_order, ahead),
        limit_ns: work.max(least),
    }
}

fn screen(report: &Report) -> String {
    let ms = |ns: u64| format!("{:.1}", ns as f64 / 1e6);
    let mut text = format!(
        "{}: {} ms of work, {} to read; times in ms until the last need is met\n\n",
        report.list,
        ms(report.work_ns),
        crate::size::show(report.bytes)
    );
    text += "  storage         demand  requests    prefetch  requests     ordered  requests       limit\n";
    for row in &report.profiles {
        text += &format!(
            "  {:<11} {:>10} {:>9} {:>11} {:>9} {:>11} {:>9} {:>11}\n",
            row.storage,
            ms(row.demand.total_ns),
            row.demand.requests,
            ms(row.prefetch.total_ns),
            row.prefetch.requests,
            ms(row.ordered.total_ns),
            row.ordered.requests,
            ms(row.limit_ns)
        );
    }
    if report.missing_files > 0 {
        text += &format!(
            "\n{} files are not there any more, or changed, and are left out\n",
            report.missing_files
        );
    }
    text
}
