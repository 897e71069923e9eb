//! Running the boots, reading what they say, and holding the model against it.

use super::{Case, Mounts, cost};
use crate::artifacts::Cache;
use crate::capture;
use crate::classics::run_case;
use crate::error::{LabError, io_error};
use crate::files::read;
use crate::made::Made;
use crate::profiles::named;
use crate::workload::Image;
use disk::mount::{self, LAB};
use rawimage::Part;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;

/// What mounts took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// What was measured, in a line.
    pub title: String,
    /// The machine in words.
    pub machine: String,
    /// One for each image and storage.
    pub rows: Vec<Row>,
    /// Cases that came to no end, and why, in sentences.
    pub failures: Vec<String>,
}

/// A mount: what it took, and what the model says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// The image.
    pub image: String,
    /// The storage profile or the chip.
    pub storage: String,
    /// Whether the model's constants were fitted on the image.
    pub fit: bool,
    /// As it was measured.
    pub measured: Figures,
    /// As the model has it; `None`: it has none of this image.
    pub predicted: Option<Predicted>,
}

/// Figures of a mount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Until it is done, in nanoseconds of virtual time.
    pub ns: i64,
    /// Requests that read; `None`: not counted.
    pub reads: Option<u64>,
    /// Bytes read; `None`: not counted.
    pub read_bytes: Option<u64>,
    /// Requests that wrote; `None`: not counted.
    pub writes: Option<u64>,
}

/// What the model says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Predicted {
    /// The filesystem.
    pub filesystem: String,
    /// How it was left: `clean` or `replay`.
    pub state: &'static str,
    /// The figures.
    pub figures: Figures,
    /// The bound that is stated, percent; `None`: nothing was checked.
    pub error_percent: Option<u32>,
}

impl Row {
    /// By how much the predicted time is too long, in percent of the measured one.
    #[must_use]
    pub fn error_percent(&self) -> Option<f64> {
        let predicted = self.predicted.as_ref()?.figures.ns as f64;
        (self.measured.ns > 0).then(|| (predicted / self.measured.ns as f64 - 1.0) * 100.0)
    }
}

/// How a line of `timed` begins.
const TIMED: &str = "firstlight-timed ";

/// Boots each case of `mounts`, with its files in `out`; what is there of an
/// earlier run is not run again. `say` is told what goes on.
///
/// # Errors
/// If a tool or file is missing, or `out` cannot be written. A case that fails is
/// in the report.
pub fn run(mounts: &Mounts, out: &Path, say: &mut dyn FnMut(String)) -> Result<Report, LabError> {
    let cache = Cache::open()?;
    let mut report = Report {
        title: mounts.title.clone(),
        ..Report::default()
    };
    let mut made = Made::default();
    for case in &mounts.cases {
        let folder = out.join("cases").join(&case.name);
        let done = run_case(&case.name, &case.workload, &cache, &folder, say)?;
        report.machine = done.machine;
        made.add(done.emulator, done.artifacts);
        if let Some(why) = done.failure {
            report.failures.push(format!("{}: {why}", case.name));
        }
        let console = read(&folder.join(capture::CONSOLE))?;
        let mut rows = measured(&String::from_utf8_lossy(&console));
        let mut drivers = BTreeSet::new();
        for row in &mut rows {
            row.fit = case.fit.contains(&row.image);
            let images = &case.workload.images;
            if let Some(image) = images.iter().find(|i| i.name == row.image) {
                row.predicted = predict(case, image, &mut row.storage, &mut drivers, &cache, say)?;
            }
        }
        report.rows.append(&mut rows);
    }
    made.keep(out)?;
    Ok(report)
}

/// What a console says of its mounts. A name is `IMAGE@PROFILE`, or `IMAGE`; those
/// of one name are added, and those with `-` in front taken away.
fn measured(console: &str) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for line in console.lines() {
        let Some((_, said)) = line.split_once(TIMED) else {
            continue;
        };
        let mut words = said.split_whitespace();
        let name = words.next().unwrap_or_default();
        let (sign, name) = match name.strip_prefix('-') {
            Some(name) => (-1, name),
            None => (1, name),
        };
        let (image, storage) = name.split_once('@').unwrap_or((name, ""));
        let known = |r: &Row| r.image == image && r.storage == storage;
        let row = match rows.iter().position(known) {
            Some(at) => rows.get_mut(at),
            None => {
                rows.push(Row {
                    image: image.to_owned(),
                    storage: storage.to_owned(),
                    ..Row::default()
                });
                rows.last_mut()
            }
        };
        let Some(Row { measured, .. }) = row else {
            continue;
        };
        for (key, value) in words.filter_map(|w| w.split_once('=')) {
            let Ok(value) = value.parse::<u64>() else {
                continue;
            };
            let count = |to: &mut Option<u64>, value: u64| {
                if !storage.is_empty() {
                    *to = Some(to.unwrap_or(0).saturating_add(value));
                }
            };
            match key {
                "ns" => {
                    let ns = i64::try_from(value).unwrap_or(i64::MAX);
                    measured.ns = measured.ns.saturating_add(sign * ns);
                }
                "reads" => count(&mut measured.reads, value),
                "sectors" => count(&mut measured.read_bytes, value.saturating_mul(512)),
                "writes" => count(&mut measured.writes, value),
                _ => {}
            }
        }
    }
    rows
}

/// What the model says of an image. Where no storage is named, it is the chip's.
/// `drivers` are those that mounted something in the boot before.
fn predict(
    case: &Case,
    image: &Image,
    storage: &mut String,
    drivers: &mut BTreeSet<&'static str>,
    cache: &Cache,
    say: &mut dyn FnMut(String),
) -> Result<Option<Predicted>, LabError> {
    let board = case.workload.board.architecture();
    let programs = cache.programs(board, say)?;
    let path = image.file(cache, &programs, say)?;
    let file = File::open(&path).map_err(io_error(&path, "cannot be read"))?;
    let wrong = |why: String| LabError::ToolFailed {
        what: format!("inspecting the image {}", image.name),
        detail: why,
    };
    let signed = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
    if storage.is_empty() {
        let chip_bytes = case.chip_mib.map(|mib| mib << 20);
        let found =
            flash::mount::look(&file, None, chip_bytes, &mount::squashfs_reads).map_err(wrong)?;
        return Ok(found.map(|flash| {
            flash.chip.clone_into(storage);
            Predicted {
                filesystem: flash.filesystem.to_owned(),
                state: flash.state.word(),
                figures: Figures {
                    ns: signed(flash.total_ns()),
                    reads: Some(flash.reads()),
                    read_bytes: Some(flash.bytes()),
                    writes: None,
                },
                error_percent: Some(flash.error_percent),
            }
        }));
    }
    let part = Part::whole(&file).map_err(io_error(&path, "cannot be read"))?;
    let plan = mount::look(&part).map_err(|e| wrong(e.to_string()))?;
    let profile = named(storage)?;
    Ok(plan.map(|mut plan| {
        if !drivers.insert(driver(plan.filesystem)) {
            plan.first = 0;
        }
        let cost = cost(&plan, &LAB, &profile.storage, part.len());
        Predicted {
            filesystem: plan.filesystem.to_owned(),
            state: plan.state.word(),
            figures: Figures {
                ns: signed(cost.total_ns),
                reads: Some(cost.reads),
                read_bytes: Some(cost.read_bytes),
                writes: Some(cost.writes),
            },
            error_percent: mount::error_percent(plan.filesystem).filter(|_| plan.is_whole),
        }
    }))
}

/// The driver that mounts a filesystem, in Debian's kernels.
fn driver(filesystem: &'static str) -> &'static str {
    match filesystem {
        "ext2" | "ext3" => "ext4",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::measured;

    #[test]
    fn mounts_of_one_name_are_added_and_what_is_no_mount_taken_away() {
        let console = "[ 1.0] firstlight-timed a@emmc ns=5000 reads=2 sectors=3 writes=1 written=4\n\
                       noise firstlight-timed -b ns=1000 reads=0\n\
                       [ 2.0] firstlight-timed b ns=4000 reads=0 sectors=0\n\
                       [ 3.0] firstlight-timed b ns=x reads\n";
        let rows = measured(console);
        assert_eq!(rows.len(), 2);
        assert_eq!(
            (rows[0].image.as_str(), rows[0].storage.as_str()),
            ("a", "emmc")
        );
        assert_eq!(rows[0].measured.ns, 5_000);
        assert_eq!(rows[0].measured.reads, Some(2));
        assert_eq!(rows[0].measured.read_bytes, Some(1536));
        assert_eq!(rows[1].measured.ns, 3_000);
        assert_eq!(rows[1].measured.reads, None);
        assert_eq!(rows[1].error_percent(), None);
    }
}
