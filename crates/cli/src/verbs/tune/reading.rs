//! What a boot reads, as the list that treatments of reading work by: laid out in the
//! order of need, and read ahead.

use super::search::{Dropped, Lab};
use crate::mounted::Mounted;
use crate::progress;
use crate::verbs::prefetch::{args::Import, import};
use anyhow::{Context, Result, bail};
use lab::{Experiment, Platform, Recording, Root, Variant};
use std::path::PathBuf;
use treat::{KernelForm, Treatment};

/// What a boot is recorded on: no delay, and no read-ahead, so that a page comes into
/// memory only because somebody asked for it.
const STILL: &str = r#"[still]
summary = "no delay, and no read-ahead"
model = "flash"

[still.figures]
read_ahead_kb = { value = 0, source = "the recording: with read-ahead, pages come that nobody asked for" }
queue_depth = { value = 8, source = "any: nothing waits" }
nr_requests = { value = 128, source = "Linux's default" }
scheduler = { value = "none", source = "there is nothing to be scheduled" }
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
        Root::DebianMinimal => lab::artifacts::cached_root(),
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
pub fn treatments(
    lab: &mut Lab,
    others: &[Treatment],
    dropped: &mut Vec<Dropped>,
) -> Result<Vec<Treatment>> {
    let mut found = Vec::new();
    let Some(image) = image(&lab.experiment) else {
        return Ok(Vec::new());
    };
    let mounted = Mounted::new(
        &image,
        "ro,loop,noload",
        "which names the files that the boot read",
    )?;
    // A boot that was recorded of the same inputs is not booted again.
    let capture = match record(lab, others) {
        // One of them breaks the boot; which one, the search finds out.
        Err(why) if !others.is_empty() => {
            progress::clear();
            anstream::eprintln!("firstlight: {why:#}; what the baseline reads is recorded instead");
            record(lab, &[])?
        }
        done => done?,
    };
    let list = lab.out.join("boot.list");
    import::write(&Import {
        inputs: vec![capture],
        root: mounted.folder().to_owned(),
        out: list.clone(),
        machine: "x86_64".to_owned(),
        page: 4096,
    })?;
    // What cannot be laid out can still be read ahead.
    match lab::layout::plan(&image, &lab::layout::read_list(&list)?) {
        Ok(_) => found.push("order"),
        Err(why) => dropped.push(Dropped {
            treatment: "order=LIST".to_owned(),
            why: format!("not tried: {why}"),
        }),
    }
    found.push("prefetch");
    let list = list.to_str().context("its path is no text")?;
    let all = found
        .iter()
        .map(|t| Treatment::parse(&format!("{t}={list}")));
    Ok(all.collect::<Result<_, _>>()?)
}

/// Boots once with these treatments and records the page cache; where the capture is.
fn record(lab: &mut Lab, treatments: &[Treatment]) -> Result<PathBuf> {
    let mut experiment = lab.experiment.clone();
    let still = lab.out.join("still.toml");
    crate::beside::write(&still, |f| {
        Ok(std::io::Write::write_all(f, STILL.as_bytes())?)
    })?;
    experiment.base.storage = lab::storage::named(&still.display().to_string())?;
    let recording = Recording::of(&["filemap"], &experiment.base.cmdline);
    let recording = recording.map_err(|(_, why)| anyhow::anyhow!(why))?;
    let Some(mut spec) = experiment.variants.first().map(|v| v.spec.clone()) else {
        bail!("the experiment has no baseline");
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
    lab.boot_once(&experiment)
}
