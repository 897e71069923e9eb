//! The list of what a folder holds.

use serde::Serialize;

/// What an entry is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ListedKind {
    /// A capture, in a tar or a directory.
    #[default]
    Capture,
    /// What `lab run` wrote.
    Experiment,
    /// What `lab classics` wrote.
    Published,
    /// A raw file in a format that is known.
    Log,
}

/// A capture, an experiment or a log in a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// Its path within the folder.
    pub path: String,
    /// What it is.
    pub kind: ListedKind,
    /// Its size; 0 for a directory.
    pub bytes: u64,
    /// When it was last written, in seconds since 1970.
    pub modified_s: u64,
    /// Its first light; of an experiment, that of the baseline.
    pub first_light_ns: Option<i64>,
    /// What its clock counts.
    pub clock: Option<&'static str>,
    /// The machine, if it says so.
    pub machine: Option<String>,
    /// The kernel's version, if it says so.
    pub kernel: Option<String>,
}

/// The data of the page that lists them.
#[derive(Serialize)]
pub(super) struct List<'l> {
    schema: &'static str,
    made_by: &'static str,
    title: &'l str,
    entries: &'l [Listed],
}

impl<'l> List<'l> {
    pub(super) fn of(title: &'l str, entries: &'l [Listed]) -> Self {
        Self {
            schema: "firstlight.list/1",
            made_by: concat!("firstlight ", env!("CARGO_PKG_VERSION")),
            title,
            entries,
        }
    }
}
