//! The judge of a search: [`analysis`], on captures.

use crate::verbs::lab::record;
use crate::verbs::prefetch::{args::Import, import};
use anyhow::{Context, Result};
use lab::search::{Effect, Health, Judge, JudgeError, Recommended, Typical, Verdict};
use record::{Nanos, Record};
use std::path::{Path, PathBuf};
use treat::mounted::Mounted;

/// So many of the items that first light waits for are given.
const LIMITS: usize = 5;

/// Reads captures, and keeps the two that are asked for again.
#[derive(Default)]
pub struct Captures {
    /// The one that the others are compared with.
    before: Option<(PathBuf, Record)>,
    last: Option<(PathBuf, Record)>,
    root: Option<Mounted>,
}

/// The record of `capture`, from `kept` if it is there.
fn kept<'a>(kept: &'a mut Option<(PathBuf, Record)>, capture: &Path) -> Result<&'a Record> {
    if kept.as_ref().is_none_or(|(of, _)| of != capture) {
        *kept = None;
    }
    match kept {
        Some((_, record)) => Ok(record),
        None => Ok(&kept.insert((capture.to_owned(), record(capture)?)).1),
    }
}

fn phases(record: &Record) -> analysis::Phases {
    analysis::phases_with(record, &analysis::Options::default())
}

impl Judge for Captures {
    fn first_light(&mut self, capture: &Path) -> Result<Option<Nanos>, JudgeError> {
        let record = kept(&mut self.last, capture)?;
        Ok(phases(record).first_light.map(|f| f.at))
    }

    fn health(
        &mut self,
        before: &Path,
        after: &Path,
        masked: &[String],
    ) -> Result<Vec<Health>, JudgeError> {
        let before = kept(&mut self.before, before)?;
        let after = kept(&mut self.last, after)?;
        let checks = analysis::health(before, after, &phases(after), masked);
        let checks = checks.into_iter().map(|c| Health {
            check: c.check,
            ok: c.ok,
            detail: c.detail,
        });
        Ok(checks.collect())
    }

    fn recommended(&mut self, capture: &Path) -> Result<Vec<Recommended>, JudgeError> {
        let record = kept(&mut self.last, capture)?;
        let facts = analysis::SystemFacts::default();
        let advice = analysis::advice(record, &phases(record), &facts);
        let all = advice.findings.into_iter().map(|f| Recommended {
            finding: f.id.to_owned(),
            price: f.cost,
            is_vague: f.saving.is_none() && f.confidence == analysis::Confidence::Low,
            treatment: f.treatment,
        });
        Ok(all.collect())
    }

    fn limits(&mut self, capture: &Path) -> Result<Vec<(String, Nanos)>, JudgeError> {
        let record = kept(&mut self.last, capture)?;
        let path = analysis::critical_path(record, &phases(record));
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
        let root = Mounted::new(image, options, why).map_err(anyhow::Error::from)?;
        self.root = Some(root);
        Ok(())
    }

    fn access_list(&mut self, capture: &Path, list: &Path) -> Result<(), JudgeError> {
        let root = self.root.as_ref().context("no root is open")?;
        import::write(&Import {
            inputs: vec![capture.to_owned()],
            root: root.folder().to_owned(),
            out: list.to_owned(),
            machine: "x86_64".to_owned(),
            page: 4096,
        })?;
        Ok(())
    }
}
