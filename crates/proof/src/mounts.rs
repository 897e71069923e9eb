//! Mounts in exact time, beside what the model says.

use lab::mounts::{Report, Row};
use std::collections::BTreeMap;
use views::json::Document as _;
use views::{Mount, MountErrors, MountExperiment, Mounts};

/// The mounts of some runs, and the largest error of the model for each filesystem.
#[must_use]
pub fn mounts(reports: &[Report]) -> Mounts {
    Mounts {
        schema: Mounts::SCHEMA,
        filesystems: errors(reports),
        experiments: reports.iter().map(experiment).collect(),
    }
}

fn experiment(report: &Report) -> MountExperiment {
    MountExperiment {
        title: report.title.clone(),
        machine: report.machine.clone(),
        mounts: report.rows.iter().map(mount).collect(),
        failures: report.failures.clone(),
    }
}

fn mount(row: &Row) -> Mount {
    let predicted = row.predicted.as_ref();
    Mount {
        image: row.image.clone(),
        filesystem: predicted.map_or(String::new(), |p| p.filesystem.clone()),
        state: predicted.map_or("", |p| p.state).to_owned(),
        storage: row.storage.clone(),
        fit: row.fit,
        reads: row.measured.reads,
        predicted_reads: predicted.and_then(|p| p.figures.reads),
        read_bytes: row.measured.read_bytes,
        predicted_read_bytes: predicted.and_then(|p| p.figures.read_bytes),
        measured_ns: row.measured.ns,
        predicted_ns: predicted.map(|p| p.figures.ns),
        error_percent: row.error_percent(),
    }
}

/// The largest errors of each filesystem.
fn errors(reports: &[Report]) -> Vec<MountErrors> {
    let mut all: BTreeMap<&str, MountErrors> = BTreeMap::new();
    for row in reports.iter().flat_map(|r| &r.rows) {
        let (Some(predicted), Some(error)) = (&row.predicted, row.error_percent()) else {
            continue;
        };
        let of = all
            .entry(&predicted.filesystem)
            .or_insert_with(|| MountErrors {
                filesystem: predicted.filesystem.clone(),
                checked: 0,
                largest_percent: None,
                fitted: 0,
                largest_fitted_percent: None,
                stated_percent: predicted.error_percent,
            });
        let (count, largest) = match row.fit {
            true => (&mut of.fitted, &mut of.largest_fitted_percent),
            false => (&mut of.checked, &mut of.largest_percent),
        };
        *count += 1;
        *largest = Some(largest.unwrap_or(0.0).max(error.abs()));
    }
    all.into_values().collect()
}
