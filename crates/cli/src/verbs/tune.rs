//! `firstlight tune`: tries treatments in the lab, and keeps what helps.
//!
//! All treatments together, then each left out; or, if all together do no good, each
//! alone and then those that help. What a treatment is worth is measured where it
//! stands, and never added up.

mod alone;
mod health;
mod reading;
mod report;
mod search;

pub use search::{in_lab, options};

use crate::args::Tune;
use crate::beside;
use crate::out::Out;
use crate::progress;
use crate::verbs::{lab as lab_verb, report as page};
use anyhow::{Context, Result, bail};
use lab::Experiment;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use treat::Treatment;

pub fn run(args: &Tune, out: &mut Out) -> Result<()> {
    let experiment = experiment(args)?;
    let dir = args
        .out
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("{}.tune", experiment.name)));
    if args.dry_run {
        return plan(&experiment, args, out);
    }
    let mut lab = search::Lab::new(experiment, dir.clone(), args)?;
    let found = search::search(&mut lab, &args.with)?;
    progress::clear();
    let document = report::document(&found, &command(args, &dir));
    let json = views::json::text(&document);
    let markdown = report::markdown(&document);
    for (name, text) in [("tune.json", &json), ("tune.md", &markdown)] {
        write(&dir.join(name), text)?;
    }
    for (form, text) in report::patches(&found) {
        write(&dir.join(format!("patch.{form}")), &text)?;
    }
    let mut config = String::new();
    for kept in &found.kept {
        if let Treatment::Build(fragment) = &kept.treatment {
            config.push_str(&lab::artifacts::kernel_fragment(fragment)?);
        }
    }
    let path = dir.join("kernel.config");
    match config.is_empty() {
        // One of an earlier search is not this one's.
        true if path.exists() => std::fs::remove_file(path)?,
        true => {}
        false => write(&path, &config)?,
    }
    compare(&found, &dir)?;
    match out.json {
        true => out.text(&json),
        false => out.text(&report::screen(&document, &dir, &out.style)),
    }
}

fn write(path: &Path, text: &str) -> Result<()> {
    beside::write(path, |f| Ok(f.write_all(text.as_bytes())?))
}

/// The page that shows the best boot beside the first one.
fn compare(found: &search::Found, dir: &Path) -> Result<()> {
    let before = lab_verb::record(&found.baseline.capture)?;
    let after = lab_verb::record(&found.best.capture)?;
    let shown = |title: &str, record| page::Shown {
        title: title.to_owned(),
        record,
        inputs: &[],
    };
    let text = page::page(
        &shown("before", &before),
        Some(&shown("after", &after)),
        None,
        &analysis::Options::default(),
    )?;
    write(&dir.join("compare.html"), &text)
}

/// The words that do all this again.
fn command(args: &Tune, dir: &Path) -> String {
    let mut words = vec![
        "firstlight tune".to_owned(),
        args.what.display().to_string(),
    ];
    if let Some(kernel) = &args.kernel {
        words.push(format!("--kernel {}", kernel.display()));
    }
    if let Some(until) = &args.until {
        words.push(format!("--until '{until}'"));
    }
    if let Some(storage) = &args.storage {
        words.push(format!("--storage {storage}"));
    }
    words.extend(args.with.iter().map(|t| format!("--with '{t}'")));
    if args.tries != 24 {
        words.push(format!("--tries {}", args.tries));
    }
    if i64::from(args.enough) != analysis::ENOUGH {
        words.push(format!("--enough {}", args.enough));
    }
    if let Some(n) = args.leave_out {
        words.push(format!("--leave-out {n}"));
    }
    if let Some(n) = args.ensemble {
        words.push(format!("--ensemble {n}"));
    }
    if let Some(n) = args.jobs {
        words.push(format!("--jobs {n}"));
    }
    words.push(format!("--out {}", dir.display()));
    words.join(" ")
}

/// The experiment that was named, or one of the image that was.
fn experiment(args: &Tune) -> Result<Experiment> {
    let shown = args.what.display();
    let is_file = args.what.extension().is_some_and(|e| e == "toml");
    if is_file {
        if args.kernel.is_some() || args.until.is_some() || args.storage.is_some() {
            bail!(
                "{shown}: an experiment names its kernel, storage and first light itself; take \
                 --kernel, --until and --storage away, or name an image"
            );
        }
        return Ok(Experiment::read(&args.what)?);
    }
    let none = args.what == Path::new("none");
    let minimal = args.what == Path::new("debian-minimal");
    if !none && !minimal && !args.what.is_file() {
        bail!(
            "{shown}: is not there; expected an experiment (FILE.toml), an ext4 image of a root, \
             `debian-minimal`, or `none` for a boot that ends in the initramfs"
        );
    }
    let absolute = |p: &Path| -> Result<String> {
        let path = std::fs::canonicalize(p)
            .with_context(|| format!("{}: cannot be opened", p.display()))?;
        let text = path.to_str().map(str::to_owned);
        text.with_context(|| format!("{}: its path is no text", p.display()))
    };
    let root = match none || minimal {
        true => shown.to_string(),
        false => absolute(&args.what)?,
    };
    let kernel = match &args.kernel {
        Some(path) if path != Path::new("debian") => absolute(path)?,
        _ => "debian".to_owned(),
    };
    let storage = args.storage.clone();
    let storage = storage.unwrap_or_else(|| if none { "none" } else { "emmc" }.to_owned());
    let storage = match lab::storage::of_file(&storage) {
        Some((file, Some(own))) => format!("{}#{own}", absolute(Path::new(file))?),
        Some((file, None)) => absolute(Path::new(file))?,
        None => storage,
    };
    let until = args.until.clone();
    let until = until.unwrap_or_else(|| {
        if none {
            "init"
        } else {
            "unit:multi-user.target"
        }
        .to_owned()
    });
    let text = |t: &str| serde_json::Value::from(t).to_string();
    let mut lines = vec![
        "firstlight_experiment = 1".to_owned(),
        "[base]".to_owned(),
        "machine = \"pc\"".to_owned(),
        "memory_mb = 1024".to_owned(),
        format!("storage = {}", text(&storage)),
        format!("kernel = {}", text(&kernel)),
        format!("root = {}", text(&root)),
        format!("first_light = {}", text(&until)),
        "cmdline = [\"console=ttyS0\", \"nokaslr\", \"panic=-1\", \"tsc=reliable\"]".to_owned(),
        "record = [\"initcalls\"]".to_owned(),
        "ensemble = 2".to_owned(),
    ];
    if let Some(modules) = &args.modules {
        lines.push(format!("modules = {}", text(&absolute(modules)?)));
    }
    let stem = args.what.file_stem().unwrap_or_default().to_string_lossy();
    let name = format!("{stem}.toml");
    Ok(Experiment::parse(&name, &lines.join("\n"))?)
}

/// What would be tried, as far as it is known before the first boot.
fn plan(experiment: &Experiment, args: &Tune, out: &mut Out) -> Result<()> {
    let named = search::candidates(experiment, &args.with)?;
    let ensemble = search::ensemble(experiment, args);
    let options = search::options(Path::new("."), 1);
    let each = lab::forecast(experiment, &options);
    let boots = each.boots.first().map_or(60.0, |b| b.wall_s);
    let n = named.len();
    let text: Vec<String> = named.iter().map(Treatment::to_string).collect();
    if out.json {
        let plan = serde_json::json!({
            "schema": "firstlight.tune.plan/1",
            "machine": experiment.base.platform.to_string(),
            "candidates": text,
            "ensemble": ensemble,
            "wall_s_each": boots,
        });
        return out.text(&views::json::text(&plan));
    }
    out.text(&format!(
        "One boot on {} to see what its findings recommend; then, {ensemble} boots each:\n\
         the baseline, all treatments together, and each of them left out; if all together do no\n\
         good, each alone before that.\n\
         Known so far: {n} {}{}\n\
         A boot takes about {boots:.0} s here; with ten treatments that is {:.0} minutes.\n",
        experiment.base.platform,
        views::plural(n, "treatment"),
        if n == 0 {
            String::new()
        } else {
            format!(" ({})", text.join(", "))
        },
        boots * f64::from(ensemble) * 15.0 / 60.0,
    ))
}
