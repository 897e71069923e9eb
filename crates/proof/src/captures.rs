//! The judge of a search: [`analysis`], on captures.

use crate::error::{Error, Result};
use crate::trials::{first_light, record};
use agent::access::encode;
use capture::accesses::import::{Imported, Machine, import};
use capture::beside;
use input::{Reading, Say};
use lab::search::{Effect, Health, Judge, JudgeError, Recommended, Typical, Verdict};
use record::{Nanos, Record, Span, SpanKind};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use treat::mounted::Mounted;

/// So many of the items that first light waits for are given.
const LIMITS: usize = 5;

/// Reads captures, and keeps the two that are asked for again.
pub struct Captures<'a> {
    say: &'a Say<'a>,
    /// The one that the others are compared with.
    before: Option<(PathBuf, Record)>,
    last: Option<(PathBuf, Record)>,
    root: Option<Mounted>,
}

impl<'a> Captures<'a> {
    /// Tells `say` what a user should hear of an input.
    #[must_use]
    pub fn new(say: &'a Say<'a>) -> Self {
        Self {
            say,
            before: None,
            last: None,
            root: None,
        }
    }
}

/// The record of `capture`, from `kept` if it is there.
fn kept<'a>(
    kept: &'a mut Option<(PathBuf, Record)>,
    capture: &Path,
    say: &Say<'_>,
) -> Result<&'a Record> {
    if kept.as_ref().is_none_or(|(of, _)| of != capture) {
        *kept = None;
    }
    match kept {
        Some((_, record)) => Ok(record),
        None => Ok(&kept.insert((capture.to_owned(), record(capture, say)?)).1),
    }
}

impl Judge for Captures<'_> {
    fn first_light(&mut self, capture: &Path) -> Result<Option<Nanos>, JudgeError> {
        let record = kept(&mut self.last, capture, self.say)?;
        Ok(first_light(record))
    }

    fn health(
        &mut self,
        before: &Path,
        after: &Path,
        masked: &[String],
    ) -> Result<Vec<Health>, JudgeError> {
        let before = kept(&mut self.before, before, self.say)?;
        let after = kept(&mut self.last, after, self.say)?;
        let checks = analysis::health(before, after, &analysis::phases(after), masked);
        let checks = checks.into_iter().map(|c| Health {
            check: c.check,
            ok: c.ok,
            detail: c.detail,
        });
        Ok(checks.collect())
    }

    fn recommended(&mut self, capture: &Path) -> Result<Vec<Recommended>, JudgeError> {
        let record = kept(&mut self.last, capture, self.say)?;
        let facts = analysis::SystemFacts::default();
        let advice = analysis::advice(record, &analysis::phases(record), &facts);
        let all = advice.findings.into_iter().map(|f| Recommended {
            finding: f.id.to_owned(),
            price: f.cost,
            is_vague: f.saving.is_none() && f.confidence == analysis::Confidence::Low,
            treatment: f.treatment,
        });
        Ok(all.collect())
    }

    fn limits(&mut self, capture: &Path) -> Result<Vec<(String, Nanos)>, JudgeError> {
        let record = kept(&mut self.last, capture, self.say)?;
        let path = analysis::critical_path(record, &analysis::phases(record));
        let items = path.items.into_iter().map(|i| (i.name, i.end - i.start));
        let mut items: Vec<(String, Nanos)> = items.collect();
        items.sort_by_key(|(name, length)| (std::cmp::Reverse(*length), name.clone()));
        items.truncate(LIMITS);
        Ok(items)
    }

    fn typical(&self, times: &[Nanos]) -> Option<Typical> {
        let (first, last) = analysis::range(times)?;
        Some(Typical {
            median: analysis::median(times)?,
            spread: last - first,
        })
    }

    fn effect(&self, base: &[Nanos], variant: &[Nanos]) -> Option<Effect> {
        let effect = analysis::effect(base, variant)?;
        Some(Effect {
            verdict: match effect.verdict {
                analysis::Verdict::Faster => Verdict::Faster,
                analysis::Verdict::Slower => Verdict::Slower,
                analysis::Verdict::NoDifference => Verdict::NoDifference,
            },
            delta: effect.delta,
            spread: effect.spread,
            least: effect.least,
        })
    }

    fn open_root(&mut self, image: &Path) -> Result<(), JudgeError> {
        let options = "ro,loop,noload";
        let why = "which names the files that the boot read";
        self.root = Some(Mounted::new(image, options, why)?);
        Ok(())
    }

    fn access_list(&mut self, capture: &Path, list: &Path) -> Result<(), JudgeError> {
        let root = self.root.as_ref().ok_or("no root is open")?;
        let machine = Machine {
            name: "x86_64",
            page: 4096,
        };
        access_list(
            &[capture.to_owned()],
            root.folder(),
            machine,
            None,
            list,
            self.say,
        )?;
        Ok(())
    }
}

/// Writes what the boot in `inputs` read of the files below `root` into the access list `list`:
/// all of it, or what was read since the unit `since` began to start.
///
/// # Errors
/// The boot cannot be read, says nothing of its accesses or has no such unit, or the list cannot
/// be written.
pub fn access_list(
    inputs: &[PathBuf],
    root: &Path,
    machine: Machine<'_>,
    since: Option<&str>,
    list: &Path,
    say: &Say<'_>,
) -> Result<Imported> {
    let record = input::boot(inputs, &Reading::default(), say)?;
    let since = since.map(|unit| start_of(&record, unit)).transpose()?;
    let imported = import(&record, root, machine, since)?;
    let bytes = encode(&imported.list);
    beside::write(list, |to| {
        to.write_all(&bytes).map_err(|source| Error::Path {
            path: list.to_owned(),
            what: "the list cannot be written",
            source,
        })
    })?;
    Ok(imported)
}

/// When `unit` began to start.
fn start_of(record: &Record, unit: &str) -> Result<Nanos> {
    let is_it = |s: &&Span| s.kind == SpanKind::Unit && record.name(s.name) == unit;
    let found = record.spans().iter().find(is_it).and_then(|s| s.start);
    let missing = || Error::Unfit(format!("no unit {unit:?} started in this boot"));
    found.ok_or_else(missing)
}
