//! A published result, and how it is run here.

use crate::artifacts::Form;
use crate::experiment::{Experiment, Loader, Platform};
use crate::tools::find;
use crate::workload::{self, Workload};
use std::path::Path;

/// What a figure begins with that begins with the reset of the board, before its kernel is
/// loaded.
pub(super) const RESET: &str = "reset";

/// The kernel is in memory: the emulator has it there at reset.
pub(super) const LOADED: &str = "loaded";

/// The start of the kernel's clock.
pub(super) const KERNEL: &str = "kernel";

/// One published result. The views have a type of their own for it, because they may
/// not know the lab.
#[derive(Clone, Debug, PartialEq)]
pub struct Classic {
    /// Its name, also its file's: `quiet`.
    pub id: String,
    /// What was measured, in a line.
    pub title: String,
    /// Who published it, where and when.
    pub source: String,
    /// How it is measured here, and on what.
    pub here: String,
    /// Why the figures here differ from the published ones.
    pub why: String,
    /// The published table with what each figure is here. The first is what the
    /// ratios of the others are to.
    pub values: Vec<Value>,
    /// How it is run.
    pub method: Method,
    /// SHA-256 over what its file says of boots and figures: all but the texts, what was
    /// published and the comments.
    pub digest: String,
}

/// One published figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// What it is of.
    pub name: String,
    /// As it was published, in milliseconds; `None`: nobody did.
    pub published_ms: Option<f64>,
    /// What is counted, if it is no time.
    pub count: Option<Count>,
    /// The case or variant that it is measured in; `None`: not here.
    pub case: Option<String>,
    /// The case or variant whose figure is taken away from it.
    pub minus: Option<String>,
    /// The mark that it begins at; `kernel`: the start of the kernel's clock,
    /// `reset`: that of the board, `loaded`: the same, when the kernel is in memory.
    pub from: String,
    /// The mark that it ends at; `loaded` and `kernel`: as above.
    pub to: String,
    /// The rate at which its kernel image is loaded, in bytes a second, instead of that
    /// of all figures.
    pub load_bytes_per_s: Option<u64>,
    /// Which value begins the group whose ratios this one is in.
    pub baseline: usize,
    /// In which way the published figure is not of the same thing, in a clause.
    pub partial: Option<String>,
}

/// A figure that is no time: the number behind a mark's name, `mark pieces 17`.
#[derive(Clone, Debug, PartialEq)]
pub struct Count {
    /// What it is counted in: `pieces`, `KiB`, `%`.
    pub unit: String,
    /// The mark that gives it.
    pub mark: String,
    /// As it was published, in that unit; `None`: nobody did.
    pub published: Option<f64>,
}

/// What a figure here rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// All of it passed on the machine's clock.
    Measured,
    /// A part of it was added by a formula: console bytes, or the loading of a kernel.
    Modeled,
}

impl Basis {
    /// The word used in every output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Modeled => "modeled",
        }
    }
}

/// How a classic is run.
#[derive(Clone, Debug, PartialEq)]
pub enum Method {
    /// Each case is a boot of a script.
    Workload {
        /// The cases by name, in order.
        cases: Vec<(String, Workload)>,
        /// What is added to times that console output would have taken, where the
        /// emulator's line takes none: its rate in bits a second, ten to the byte.
        uart_baud: Option<u32>,
        /// What is added to times from reset: the kernel image at this many bytes
        /// a second, unless a figure says otherwise.
        load_bytes_per_s: Option<u64>,
    },
    /// Each case is a variant; its figure is first light, from reset.
    Experiment(Box<Experiment>),
}

impl Classic {
    /// What a figure of it rests on. `line_rate`: console bytes took their time in the boots.
    #[must_use]
    pub fn basis(&self, value: &Value, line_rate: bool) -> Basis {
        let added = match &self.method {
            Method::Workload { uart_baud, .. } => {
                (uart_baud.is_some() && !line_rate)
                    || (value.from == RESET && self.load_rate(value).is_some())
            }
            Method::Experiment(_) => false,
        };
        match added && value.count.is_none() {
            true => Basis::Modeled,
            false => Basis::Measured,
        }
    }

    /// The rate at which the kernel image of a figure is loaded, in bytes a second.
    pub(super) fn load_rate(&self, value: &Value) -> Option<u64> {
        match &self.method {
            Method::Workload {
                load_bytes_per_s, ..
            } => value.load_bytes_per_s.or(*load_bytes_per_s),
            Method::Experiment(_) => None,
        }
    }

    /// The programs and files that this host lacks for it, each with the Debian package that
    /// has it. If the list is empty, it can run.
    #[must_use]
    pub fn missing(&self) -> Vec<(&'static str, &'static str)> {
        let mut all = Vec::new();
        match &self.method {
            Method::Workload { cases, .. } => {
                for (_, workload) in cases {
                    let forms: Vec<&Form> =
                        workload.images.iter().filter_map(|i| i.form()).collect();
                    all.extend(workload::missing(workload.board, forms));
                }
            }
            Method::Experiment(experiment) => {
                if let Platform::ArmVirt { arch, loader } = &experiment.base.platform {
                    let program = arch.qemu();
                    if find(program.name).is_none() {
                        all.push((program.name, program.package));
                    }
                    let u_boot = arch.u_boot();
                    if matches!(loader, Loader::UBoot { program: None, .. })
                        && !Path::new(u_boot.0).is_file()
                    {
                        all.push(u_boot);
                    }
                }
            }
        }
        all.sort_unstable();
        all.dedup();
        all
    }
}
