//! What a boot reads, as the list that treatments of reading work by: laid out in the
//! order of need, and read ahead.

use super::bench::{Bench, of_capture};
use super::outcome::Dropped;
use super::sets::no_baseline;
use crate::artifacts::cached_root;
use crate::error::{LabError, io_error};
use crate::experiment::{Experiment, Platform, Recording, Root, Variant};
use crate::layout;
use crate::profiles::named;
use std::path::PathBuf;
use treat::{KernelForm, Treatment};

/// The storage of a recorded boot: no delay and no read-ahead, so that a page enters
/// memory only because a program requested it.
const STILL: &str = r#"[still]
summary = "no delay and no read-ahead"
model = "flash"

[still.figures]
read_ahead_kb = { value = 0, source = "recording: read-ahead adds pages that no program requested" }
queue_depth = { value = 8, source = "any value: no request waits" }
nr_requests = { value = 128, source = "Linux's default" }
scheduler = { value = "none", source = "no request waits, so there is nothing to schedule" }
"#;

/// The set's name: it is no candidate.
const RECORDED: &str = "what-is-read";

/// The ext4 image that this experiment boots from, if its storage costs time.
fn image(experiment: &Experiment) -> Option<PathBuf> {
    let base = &experiment.base;
    if base.platform != Platform::Pc || base.storage.name == "none" {
        return None;
    }
    match &base.root {
        Root::DebianMinimal => cached_root(),
        Root::Image(path) => Some(path.clone()),
        Root::None | Root::Tree { .. } | Root::Initramfs { .. } => None,
    }
}

/// The treatments of reading for this experiment: none where storage costs no time. One
/// boot records what they need, with the other treatments that are tried: what these
/// save reading need not be read ahead. What cannot be done goes to `dropped`.
///
/// # Errors
/// The boot cannot be recorded, or its files cannot be named.
pub(super) fn treatments(
    bench: &mut Bench<'_>,
    others: &[Treatment],
    dropped: &mut Vec<Dropped>,
    say: &mut dyn FnMut(String),
) -> Result<Vec<Treatment>, LabError> {
    let mut found = Vec::new();
    let Some(image) = image(&bench.experiment) else {
        return Ok(Vec::new());
    };
    bench.judge.open_root(&image).map_err(of_capture(&image))?;
    // A boot that was recorded of the same inputs is not booted again.
    let capture = match record(bench, others) {
        // One of them breaks the boot; which one, the search finds out.
        Err(why) if !others.is_empty() => {
            say(format!(
                "{}; firstlight records the accesses of the baseline instead",
                why.with_causes()
            ));
            record(bench, &[])?
        }
        done => done?,
    };
    let list = bench.settings.out.join("boot.list");
    let written = bench.judge.access_list(&capture, &list);
    written.map_err(of_capture(&capture))?;
    // What cannot be laid out can still be read ahead.
    match layout::plan(&image, &layout::read_list(&list)?, layout::Unit::Pages) {
        Ok(_) => found.push("order"),
        Err(why) => dropped.push(Dropped {
            treatment: "order=LIST".to_owned(),
            why: format!("not tried: {why}"),
        }),
    }
    found.push("prefetch");
    let shown = list.to_str().ok_or_else(|| LabError::Output {
        path: list.clone(),
        why: "the path is not valid UTF-8".to_owned(),
    })?;
    let all = found
        .iter()
        .map(|t| Treatment::parse(&format!("{t}={shown}")));
    let all: Result<_, _> = all.collect();
    all.map_err(|e| LabError::Search(e.to_string()))
}

/// Boots once with these treatments and records the page cache; where the capture is.
fn record(bench: &mut Bench<'_>, treatments: &[Treatment]) -> Result<PathBuf, LabError> {
    let mut experiment = bench.experiment.clone();
    let still = bench.settings.out.join("still.toml");
    std::fs::write(&still, STILL).map_err(io_error(&still, "cannot be written"))?;
    experiment.base.storage = named(&still.display().to_string())?;
    let recording = Recording::of(&["filemap"], &experiment.base.cmdline);
    let recording = recording.map_err(|(_, why)| LabError::Search(why))?;
    let Some(mut spec) = experiment.variants.first().map(|v| v.spec.clone()) else {
        return Err(no_baseline());
    };
    // A prefetcher's reading is not the boot's, and what leaves out tracers records nothing.
    let hides = |t: &&Treatment| match t {
        Treatment::Prefetch(_) | Treatment::Order(_) => true,
        Treatment::AddWord(word) => word
            .strip_prefix("initcall_blacklist=")
            .is_some_and(|functions| functions.contains("trace")),
        _ => false,
    };
    for treatment in treatments.iter().filter(|t| !hides(t)) {
        // A word that is not there needs not be taken away.
        if let Ok((after, _)) = treatment.apply(&spec) {
            spec = after;
        }
    }
    // What is read does not change, and it is recorded sooner.
    spec.kernel = KernelForm::Uncompressed;
    for word in &recording.words {
        spec.cmdline.add(word);
        experiment.base.cmdline.add(word);
    }
    experiment.base.recording = recording;
    experiment.variants = vec![Variant {
        name: RECORDED.to_owned(),
        treatments: treatments.to_vec(),
        spec,
    }];
    bench.boot_once(&experiment)
}
