//! What mounting costs, measured: each image mounted in exact time, beside what
//! the model of [`disk::mount`] says of it.
//!
//! A file of `experiments/mount-cost/` names images and how they are mounted. The
//! model's constants are fitted on those that `fit` names; the others check them.

mod run;

pub use run::{Figures, Predicted, Report, Row, run};

use disk::mount::{Access, Cost, Plan, Processor};
use std::path::Path;
use storage::{Device, Kind, Request, Storage};

use crate::artifacts::Arch;
use crate::classics::workload;
use crate::error::LabError;
use crate::pace::Pace;
use crate::profiles::served;
use crate::workload::{TIMED, Workload};
use serde::Deserialize;
use toml::{Spanned, Table, Value};

/// The version of the format that this program reads.
const VERSION: u32 = 1;

/// A file of images that are mounted.
#[derive(Clone, Debug, PartialEq)]
pub struct Mounts {
    /// What is measured, in a line.
    pub title: String,
    /// The images.
    pub cases: Vec<Case>,
}

/// A boot in which images are mounted, on one storage profile or several.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Its name.
    pub name: String,
    /// The images of it that the model's constants were fitted on.
    pub fit: Vec<String>,
    /// How large the flash is, if that is more than the image, MiB.
    pub chip_mib: Option<u64>,
    /// The boot.
    pub workload: Workload,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    firstlight_mount_cost: u32,
    title: String,
    workload: Table,
    case: Vec<Spanned<Table>>,
}

impl Mounts {
    /// Reads a file called `name`.
    ///
    /// # Errors
    /// One sentence with file and line.
    pub fn parse(name: &str, text: &str) -> Result<Self, LabError> {
        let at = |start: usize, why: String| LabError::Experiment {
            name: name.to_owned(),
            line: text.get(..start).unwrap_or(text).matches('\n').count() + 1,
            why,
        };
        let file: File = toml::from_str(text)
            .map_err(|e| at(e.span().map_or(0, |s| s.start), e.message().into()))?;
        if file.firstlight_mount_cost != VERSION {
            let found = file.firstlight_mount_cost;
            let why = format!(
                "the file has version {found}, but this program supports version \
                {VERSION}; update the file or the program"
            );
            return Err(at(0, why));
        }
        let mut cases = Vec::new();
        for entry in &file.case {
            let start = entry.span().start;
            let mut table = entry.get_ref().clone();
            let fit = match table.remove("fit") {
                Some(Value::Array(names)) => {
                    let names = names.iter().filter_map(Value::as_str);
                    names.map(str::to_owned).collect()
                }
                _ => Vec::new(),
            };
            let chip_mib = table.remove("chip_mib").and_then(|v| v.as_integer());
            let (name, mut workload) =
                workload(&file.workload, &table, Path::new("")).map_err(|why| at(start, why))?;
            workload.script.insert_str(0, TIMED);
            cases.push(Case {
                name,
                fit,
                chip_mib: chip_mib.and_then(|n| u64::try_from(n).ok()),
                workload,
            });
        }
        Ok(Self {
            title: file.title,
            cases,
        })
    }
}

/// What a mount costs on a device of `bytes` bytes with the figures `storage`. Of the
/// processor's time, what the lab's server of a profile gives back is not counted.
#[must_use]
pub fn cost(plan: &Plan, processor: &Processor, storage: &Storage, bytes: u64) -> Cost {
    let own = served(storage.clone(), Arch::X86_64, Pace::Counted(0));
    let [mut device, mut again] = [own, storage.clone()].map(|figures| {
        let mut device = Device::new(figures, bytes);
        move |now, access, at, bytes| {
            let kind = match access {
                Access::Read => Kind::Read,
                Access::Write => Kind::Write,
                Access::Flush => Kind::Flush,
            };
            let request = Request { kind, at, bytes };
            let end = device.submit(now, request);
            device.answered(end, request).max(now)
        }
    });
    plan.cost(processor, &mut device, &mut again)
}

#[cfg(test)]
mod tests {
    use super::Mounts;
    use std::path::Path;

    #[test]
    fn every_file_is_understood_and_most_images_are_not_fitted() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/mount-cost");
        let (mut fitted, mut checked) = (0, 0);
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|e| e != "toml") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let mounts = Mounts::parse(&path.display().to_string(), &text).unwrap();
            for case in mounts.cases {
                let names: Vec<_> = case.workload.images.iter().map(|i| &i.name).collect();
                assert!(case.fit.iter().all(|f| names.contains(&f)), "{}", case.name);
                fitted += case.fit.len();
                checked += names.len() - case.fit.len();
            }
        }
        assert!(
            checked >= 12,
            "{checked} images check the model, {fitted} fit it"
        );
    }

    #[test]
    fn a_wrong_file_is_told_with_its_line() {
        let text = "firstlight_mount_cost = 1\ntitle = \"x\"\n[workload]\nboard = \"pc\"\n\
                    memory_mb = 9\n[[case]]\nimages = 1\n";
        let said = Mounts::parse("x.toml", text).unwrap_err().to_string();
        assert!(said.starts_with("x.toml:6: "), "{said}");
        let said = Mounts::parse(
            "x.toml",
            "firstlight_mount_cost = 2\ntitle = \"\"\ncase = []\n[workload]\n",
        );
        assert!(said.unwrap_err().to_string().contains("has version 2"));
    }
}
