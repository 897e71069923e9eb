//! `firstlight lab classics`: published results, run again.

use crate::args::LabClassics;
use crate::beside;
use crate::out::Out;
use crate::progress;
use anyhow::{Context, Result, bail};
use lab::classics::{Classic, classics, of_file};
use std::io::Write as _;
use std::path::Path;
use views::json::ClassicsResults;

pub fn run(args: &LabClassics, out: &mut Out) -> Result<()> {
    let mut all = classics()?;
    let Some(folder) = args.out.as_deref().filter(|_| !args.list) else {
        let rows: Vec<_> = all.iter().map(proof::published).collect();
        let text = if out.json {
            views::json::text(&views::json::classics(&rows))
        } else {
            views::terminal::classics(&rows, &out.style)
        };
        return out.text(&text);
    };
    for id in args.ids.iter().filter(|id| is_file(id)) {
        proof::put(&mut all, of_file(Path::new(id))?);
    }
    let named = |c: &Classic, id: &String| match is_file(id) {
        true => Path::new(id).file_stem().is_some_and(|s| *s == *c.id),
        false => c.id == *id,
    };
    if let Some(unknown) = args.ids.iter().find(|id| !all.iter().any(|c| named(c, id))) {
        bail!("there is no classic `{unknown}`; `firstlight lab classics --list` names them");
    }
    let wanted = all.iter().filter(|c| match args.all {
        true => c.missing().is_empty(),
        false => args.ids.iter().any(|id| named(c, id)),
    });
    let wanted: Vec<&Classic> = wanted.collect();
    let mut results = Vec::new();
    for classic in &wanted {
        // One alone has the folder for itself.
        let folder = match (args.all, wanted.len()) {
            (false, 1) => folder.to_owned(),
            _ => folder.join(&classic.id),
        };
        results.push(run_one(classic, &folder, args)?);
    }
    let text = if out.json {
        let results: Vec<_> = results.iter().map(views::json::classics_result).collect();
        match &results[..] {
            [one] if !args.all => views::json::text(one),
            _ => views::json::text(&ClassicsResults::of(results)),
        }
    } else if args.markdown {
        views::markdown::classics(&results)
    } else {
        let screens = results.iter();
        screens
            .map(|r| views::terminal::classics_result(r, &out.style))
            .collect::<String>()
    };
    out.text(&text)?;
    out.flush()?;
    let failed = results.iter().filter(|r| !r.failures.is_empty());
    let failed: Vec<&str> = failed.map(|r| r.classic.id.as_str()).collect();
    if !failed.is_empty() {
        bail!("not all boots of {} came to their end", failed.join(", "));
    }
    Ok(())
}

/// Whether it is the name of a file, and not of a classic.
fn is_file(id: &str) -> bool {
    Path::new(id).extension().is_some_and(|e| e == "toml")
}

/// Runs one and writes its `result.json`.
fn run_one(classic: &Classic, folder: &Path, args: &LabClassics) -> Result<views::ClassicResult> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("{}: cannot be made", folder.display()))?;
    progress::say(classic.id.clone());
    let say = &mut |text: String| progress::done(&format!("{}: {text}", classic.id), args.all);
    let hosts = args.hosts.hosts(Some(args.jobs))?;
    let report = lab::classics::run(classic, folder, &hosts, say);
    progress::clear();
    let result = proof::classic_result(classic, report?);
    let text = views::json::text(&views::json::classics_result(&result));
    let path = folder.join("result.json");
    beside::write(&path, |f| Ok(f.write_all(text.as_bytes())?))?;
    Ok(result)
}
