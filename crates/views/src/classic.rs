//! Published results and the figures measured here, as views take them.

use inspect::published::Published;
use std::collections::BTreeMap;

/// A published result. The lab has a type of its own for it, which also says how it is
/// run; views may not know the lab.
#[derive(Clone, Debug, PartialEq)]
pub struct Classic {
    /// Its name.
    pub id: String,
    /// What was measured, in a line.
    pub title: String,
    /// Who published it, where and when.
    pub source: String,
    /// How it is measured here.
    pub here: String,
    /// Why the figures here differ.
    pub why: String,
    /// Each figure that was published: its name, and its milliseconds.
    pub published: Vec<(String, f64)>,
    /// What this host lacks to run it, in sentences; none: it runs.
    pub missing: Vec<String>,
}

/// A published result that was run here.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassicResult {
    /// What was published.
    pub classic: Classic,
    /// What it was run on.
    pub machine: String,
    /// Each published figure with the one here.
    pub values: Vec<ClassicValue>,
    /// Cases that never finished, in sentences.
    pub failures: Vec<String>,
    /// What made it, each by its SHA-256: the experiment, the emulator, the artifacts.
    pub made_by: BTreeMap<String, String>,
}

/// A published figure, and the one here.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassicValue {
    /// What was measured.
    pub name: String,
    /// As published, in milliseconds; `None`: nobody published one.
    pub published_ms: Option<f64>,
    /// Here, in nanoseconds of virtual time; `None`: not measured here.
    pub measured_ns: Option<i64>,
    /// The figures, if they are no times.
    pub count: Option<ClassicCount>,
    /// The published figure, relative to the first of its group.
    pub published_ratio: Option<f64>,
    /// The figure here, relative to the first of its group.
    pub measured_ratio: Option<f64>,
    /// `measured`, or `modeled` where a formula added a part; `None`: not known.
    pub basis: Option<String>,
    /// In which way the published figure is not of the same thing, in a clause.
    pub partial: Option<String>,
}

/// A figure that is no time, and the one here.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassicCount {
    /// What it is counted in.
    pub unit: String,
    /// As published; `None`: nobody published one.
    pub published: Option<f64>,
    /// Here; `None`: not measured.
    pub measured: Option<f64>,
}

impl From<Published> for ClassicResult {
    fn from(stored: Published) -> Self {
        let values = stored.values.into_iter().map(|v| ClassicValue {
            name: v.name,
            published_ms: v.published_ns.map(|ns| ns as f64 / 1e6),
            measured_ns: v.measured_ns,
            count: v.count.map(|c| ClassicCount {
                unit: c.unit,
                published: c.published,
                measured: c.measured,
            }),
            published_ratio: v.published_ratio,
            measured_ratio: v.measured_ratio,
            basis: v.basis,
            partial: v.partial,
        });
        let values: Vec<ClassicValue> = values.collect();
        let published = values.iter();
        Self {
            classic: Classic {
                id: stored.id,
                title: stored.title,
                source: stored.source,
                here: stored.here,
                why: stored.why,
                published: published
                    .filter_map(|v| Some((v.name.clone(), v.published_ms?)))
                    .collect(),
                missing: Vec::new(),
            },
            machine: stored.machine,
            values,
            failures: stored.failures,
            made_by: stored.made_by,
        }
    }
}

impl ClassicValue {
    /// The figure here, in milliseconds.
    #[must_use]
    pub fn measured_ms(&self) -> Option<f64> {
        self.measured_ns.map(|ns| ns as f64 / 1e6)
    }

    /// Whether there is a figure here.
    pub(crate) const fn is_measured(&self) -> bool {
        match &self.count {
            Some(count) => count.measured.is_some(),
            None => self.measured_ns.is_some(),
        }
    }

    /// Whether somebody published a figure.
    pub(crate) const fn is_published(&self) -> bool {
        match &self.count {
            Some(count) => count.published.is_some(),
            None => self.published_ms.is_some(),
        }
    }

    /// What the figure rests on, and whether it is of the same thing, in a cell.
    pub(crate) fn basis_cell(&self) -> String {
        let partial = self.partial.as_ref().map(|p| format!("partial: {p}"));
        let both: Vec<String> = self.basis.clone().into_iter().chain(partial).collect();
        both.join("; ")
    }

    /// Its cells in a table: the published figure and its ratio, the figure here and
    /// its ratio.
    pub(crate) fn cells(&self) -> [String; 4] {
        let ratio = |r: Option<f64>| r.map_or(String::new(), |r| format!("{r:.3}"));
        let (published, measured) = match &self.count {
            None => {
                let ms = |ms: f64| format!("{ms:.1} ms");
                (self.published_ms.map(ms), self.measured_ms().map(ms))
            }
            Some(count) => {
                let number = |n: f64| format!("{} {}", (n * 1e3).round() / 1e3, count.unit);
                (count.published.map(number), count.measured.map(number))
            }
        };
        [
            published.unwrap_or_default(),
            ratio(self.published_ratio),
            measured.unwrap_or_else(|| "not measured".to_owned()),
            ratio(self.measured_ratio),
        ]
    }
}
