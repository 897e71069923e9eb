//! What if: first light with some things shorter, or gone.

use crate::findings::computed_on_one;
use crate::load::Load;
use crate::path::{CriticalPath, Estimate, Model, NewItem, PathKind, Shorter, Through, UnitOrder};
use crate::phases::Phases;
use record::{Nanos, Record};
use std::collections::BTreeSet;
use storage::Storage;

/// What would be otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Units, initcalls, drivers or programs that do not run. `*` stands for any text.
    pub without: Vec<String>,
    /// The same, and how long each takes instead.
    pub shorten: Vec<(String, Nanos)>,
    /// How many processors there are instead.
    pub processors: Option<usize>,
    /// The storage device that answers the requests instead.
    pub storage: Option<Storage>,
}

impl Changes {
    /// Whether all stays as it was.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.without.is_empty()
            && self.shorten.is_empty()
            && self.processors.is_none()
            && self.storage.is_none()
    }
}

/// Something that would be otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// What the user named.
    pub wanted: String,
    /// The items that this means.
    pub names: Vec<String>,
    /// How long they took together.
    pub took: Nanos,
    /// How long they would take.
    pub takes: Nanos,
}

/// First light as it would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forecast {
    /// First light as it was.
    pub first_light: Nanos,
    /// First light as it would be: at the earliest, expected, at the latest.
    pub new: Estimate,
    /// What it would wait for, as expected.
    pub path: Vec<NewItem>,
    /// What changes.
    pub changed: Vec<Changed>,
    /// What the input does not show, and the range covers; a sentence each.
    pub unknown: Vec<&'static str>,
}

/// A boot, and what it would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhatIf {
    /// What first light waited for.
    pub path: CriticalPath,
    /// What it would be.
    pub forecast: Forecast,
}

/// Why nothing can be foretold. Each is one sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ForecastError {
    /// No item has this name.
    #[error(
        "{option} `{name}` matches no unit, initcall, driver or program of this boot; \
         `firstlight blame` lists their names"
    )]
    NoMatch {
        /// The option.
        option: &'static str,
        /// The name.
        name: String,
    },
    /// Several items have this name.
    #[error("--shorten `{name}` matches {count} items ({names}); name one of them")]
    Several {
        /// The name.
        name: String,
        /// How many items.
        count: usize,
        /// The first of their names.
        names: String,
    },
    /// It took no longer.
    #[error("--shorten `{name}`: it takes {took}, which is not longer than {wanted}; give less")]
    NotShorter {
        /// The name.
        name: String,
        /// How long it took.
        took: Nanos,
        /// What was asked for.
        wanted: Nanos,
    },
    /// Nothing says how busy the processors were.
    #[error(
        "--processors: the input does not show {what}; add a bootchart, samples of our agent or \
         a trace of `sched:*`, with the kernel log"
    )]
    NoLoad {
        /// What is missing.
        what: &'static str,
    },
    /// No requests were traced.
    #[error(
        "--storage: the input has no block requests with their times; add a blktrace, or a trace \
         of `block:*` events"
    )]
    NoRequests,
}

/// What first light waited for, process by process if so wanted, and what it would be.
///
/// # Errors
/// One sentence, if a name matches nothing, or the input does not show what is needed.
pub fn what_if(
    record: &Record,
    phases: &Phases,
    by_processes: bool,
    changes: &Changes,
) -> Result<WhatIf, ForecastError> {
    let through = match by_processes {
        true => Through::Processes,
        false => Through::Units,
    };
    let model = Model::new(record, phases, through);
    let path = model.path();
    let computed = |units: &[String]| computed_on_one(record, phases, units);
    let forecast = forecast(&model, &path, changes, computed)?;
    Ok(WhatIf { path, forecast })
}

/// `computed`: what units compute from first light where there is one processor.
fn forecast(
    model: &Model<'_>,
    path: &CriticalPath,
    changes: &Changes,
    computed: impl Fn(&[String]) -> Option<Nanos>,
) -> Result<Forecast, ForecastError> {
    let mut shorter = Shorter::default();
    let mut changed = Vec::new();
    for name in &changes.without {
        changed.push(take(model, &mut shorter, "--without", name, Nanos::ZERO)?);
    }
    for (name, left) in &changes.shorten {
        changed.push(take(model, &mut shorter, "--shorten", name, *left)?);
    }
    let load = model.load();
    let gone = changed.iter().filter(|c| c.takes == Nanos::ZERO);
    let gone: Vec<String> = gone.flat_map(|c| c.names.iter().cloned()).collect();
    let is_one = load.processors == Some(1) && !gone.is_empty();
    let saving = match is_one.then(|| computed(&gone)).flatten() {
        Some(work) => {
            let times = changed.iter().map(|c| c.took - c.takes);
            let time = times.fold(Nanos::ZERO, |sum, t| sum + t);
            model.saving_of_work(&shorter, work, time)
        }
        None => model.saving(&shorter, load),
    };
    let of_processors = match changes.processors {
        Some(count) => model.gain_on(load, count)?,
        None => Estimate::default(),
    };
    let of_storage = match &changes.storage {
        Some(figures) => {
            let gain = model.stored(&shorter, figures, load);
            gain.ok_or(ForecastError::NoRequests)?
        }
        None => Estimate::default(),
    };
    let gain = Estimate {
        least: of_processors.least + of_storage.least,
        expected: of_processors.expected + of_storage.expected,
        most: of_processors.most + of_storage.most,
    };
    let end = path.end;
    let saving = Estimate {
        least: saving.least + gain.least,
        expected: saving.expected + gain.expected,
        most: saving.most + gain.most,
    };
    let nothing = changes.is_empty();
    Ok(Forecast {
        first_light: end,
        new: first_light(end, saving),
        path: model.new_path(&shorter),
        changed,
        unknown: match nothing {
            true => Vec::new(),
            false => unknown(path, model.is_guessed(), load),
        },
    })
}

/// An item of the path, and first light by how long it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lever {
    /// What kind of thing.
    pub kind: PathKind,
    /// Which one.
    pub name: String,
    /// How long it took.
    pub took: Nanos,
    /// First light with it shorter, all else being equal: from nothing of its time up.
    pub steps: Vec<LeverStep>,
}

/// First light if an item takes another time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeverStep {
    /// How long it takes.
    pub left: Nanos,
    /// First light then: at the earliest, expected, at the latest.
    pub new: Estimate,
}

/// So many levers are worth a look, each of at least this part of the boot.
const LEVERS: usize = 8;
const LEAST_LEVER: i64 = 100;

/// In so many steps an item goes from nothing to all of its time.
const STEPS: i64 = 4;

/// The longest units, initcalls, probes and programs of the path, the longest first.
pub(crate) fn levers(model: &Model<'_>, path: &CriticalPath) -> Vec<Lever> {
    let can_go = |kind| {
        matches!(
            kind,
            PathKind::Unit | PathKind::Initcall | PathKind::Probe | PathKind::Process
        )
    };
    let items = path.items.iter().filter(|i| can_go(i.kind));
    let names: BTreeSet<(PathKind, &str)> = items
        .map(|i| match &i.call {
            Some(call) => (PathKind::Initcall, call.as_str()),
            None => (i.kind, i.name.as_str()),
        })
        .collect();
    let least = Nanos(path.end.get() / LEAST_LEVER);
    let mut found: Vec<_> = names
        .into_iter()
        .filter_map(|(kind, name)| {
            let matched = model.matching(name)?;
            let took = model.time(&matched);
            (took >= least && matched.names.len() == 1).then_some((took, kind, name, matched))
        })
        .collect();
    found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.2.cmp(b.2)));
    found.truncate(LEVERS);
    let load = model.load();
    let lever = |(took, kind, name, matched): (Nanos, PathKind, &str, _)| {
        let steps = (0..STEPS).map(|part| {
            let left = Nanos(took.get() / STEPS * part);
            let mut shorter = Shorter::default();
            model.shorten(&mut shorter, &matched, left);
            let saving = model.saving(&shorter, load);
            LeverStep {
                left,
                new: first_light(path.end, saving),
            }
        });
        Lever {
            kind,
            name: name.to_owned(),
            took,
            steps: steps.collect(),
        }
    };
    found.into_iter().map(lever).collect()
}

/// First light with this saving, from what it was.
fn first_light(was: Nanos, saving: Estimate) -> Estimate {
    let expected = (was - saving.expected).max(Nanos::ZERO);
    Estimate {
        least: (was - saving.most).max(Nanos::ZERO).min(expected),
        expected,
        most: (was - saving.least).max(expected),
    }
}

/// Leaves `left` of the time of what a name means.
fn take(
    model: &Model<'_>,
    shorter: &mut Shorter,
    option: &'static str,
    name: &str,
    left: Nanos,
) -> Result<Changed, ForecastError> {
    let Some(matched) = model.matching(name) else {
        let name = name.to_owned();
        return Err(ForecastError::NoMatch { option, name });
    };
    let took = model.time(&matched);
    let names: Vec<String> = matched.names.iter().cloned().collect();
    if option == "--shorten" {
        if names.len() > 1 {
            return Err(ForecastError::Several {
                name: name.to_owned(),
                count: names.len(),
                names: names.iter().take(3).cloned().collect::<Vec<_>>().join(", "),
            });
        }
        if !matched.is_empty() && left > took {
            return Err(ForecastError::NotShorter {
                name: name.to_owned(),
                took,
                wanted: left,
            });
        }
    }
    model.shorten(shorter, &matched, left);
    Ok(Changed {
        wanted: name.to_owned(),
        names,
        took,
        takes: left.min(took),
    })
}

impl Model<'_> {
    /// How much earlier first light comes on so many processors; less than nothing if
    /// later. From the boot played again, or from how busy the processors are.
    fn gain_on(&self, load: Load, count: usize) -> Result<Estimate, ForecastError> {
        if let Some(gain) = self.played_on(count) {
            return Ok(around(gain));
        }
        if load.processors.is_none() {
            return Err(ForecastError::NoLoad {
                what: "how many processors there are",
            });
        }
        let Some(longer) = load.longer(self.userspace(), count) else {
            return Err(ForecastError::NoLoad {
                what: "how busy the processors were",
            });
        };
        // It may be nothing, and may be twice as much.
        let (gain, twice) = (Nanos::ZERO - longer, Nanos::ZERO - (longer + longer));
        Ok(Estimate {
            least: twice.min(Nanos::ZERO),
            expected: gain,
            most: twice.max(Nanos::ZERO),
        })
    }
}

/// A gain of a boot that was played again, which may be half as much, or half as much again.
fn around(gain: Nanos) -> Estimate {
    let half = Nanos(gain.get() / 2);
    let (low, high) = (gain - half, gain + half);
    Estimate {
        least: low.min(high),
        expected: gain,
        most: low.max(high),
    }
}

/// What the range of a forecast covers.
fn unknown(path: &CriticalPath, is_guessed: bool, load: Load) -> Vec<&'static str> {
    let mut unknown = Vec::new();
    match path.order {
        UnitOrder::Chain => unknown.push(
            "A critical chain names only the last unit that each unit waited for. Another one may \
             become the last.",
        ),
        UnitOrder::Guessed => unknown.push(
            "The input does not show the order of units. They stand as systemd usually orders \
             them.",
        ),
        UnitOrder::None if !path.knows_processes => unknown.push(
            "The input shows neither units nor processes, so userspace is one item that stays \
             as it is.",
        ),
        UnitOrder::None if is_guessed => unknown.push(
            "The input shows when processes lived, but not which process waited for which. Each is \
             taken to wait for the programs that it started.",
        ),
        UnitOrder::None | UnitOrder::Known => {}
    }
    if path.order != UnitOrder::None && load.processors.is_none() {
        unknown.push("The input does not show the number of processors.");
    } else if path.order != UnitOrder::None && load.busy.is_none() {
        unknown.push("The input does not show how busy the processors were.");
    }
    unknown
}
