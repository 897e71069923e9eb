//! What mounting costs, measured: each image mounted in exact time, beside what
//! the model of [`image::mount`] says of it.
//!
//! A file of `experiments/mount-cost/` names images and how they are mounted. The
//! model's constants are fitted on the cases that say `fit`; the others check them.

mod run;

pub use run::{Report, Row, run};

use crate::classics::workload;
use crate::error::LabError;
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

/// An image that is mounted, on one storage profile or several.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Its name.
    pub name: String,
    /// Whether the model's constants were fitted on it.
    pub fit: bool,
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
            let why = format!("this is of version {found}, and this program reads {VERSION}");
            return Err(at(0, why));
        }
        let mut cases = Vec::new();
        for entry in &file.case {
            let start = entry.span().start;
            let mut table = entry.get_ref().clone();
            let fit = table.remove("fit");
            let (name, mut workload) =
                workload(&file.workload, &table).map_err(|why| at(start, why))?;
            workload.script.insert_str(0, TIMED);
            cases.push(Case {
                name,
                fit: fit == Some(Value::Boolean(true)),
                workload,
            });
        }
        Ok(Self {
            title: file.title,
            cases,
        })
    }
}
