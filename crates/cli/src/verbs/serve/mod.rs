//! `firstlight serve`: the pages of a folder of captures and experiments.

use crate::args::{Images, Reading, Serve};
use crate::out::Out;
use crate::verbs::report;
use anyhow::{Context, Result, bail};
use input::listing::{Entry, Folder, Kind};
use serve::{Answer, Request, Server};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use views::html::{Listed, ListedKind};
use views::json::{self, Document};

pub fn run(args: &Serve, out: &mut Out) -> Result<()> {
    let shown = args.dir.display().to_string();
    if !args.dir.is_dir() {
        bail!("{shown}: not a folder; expected one that holds captures or experiments");
    }
    let address = args.bind;
    let server = Server::bind(address)
        .with_context(|| format!("{address}: cannot listen here; choose another --bind"))?;
    let url = server.url();
    if out.json {
        let serving = json::Serve {
            dir: shown.clone(),
            schema: json::Serve::SCHEMA,
            url: url.clone(),
        };
        out.text(&json::text(&serving))?;
    } else {
        out.text(&format!("{url}\n"))?;
    }
    out.flush()?;
    let folder = Mutex::new(Folder::new(&args.dir));
    Ok(server.run(move |request| answer(request, &folder, &shown))?)
}

fn answer(request: &Request, folder: &Mutex<Folder>, title: &str) -> Answer {
    let folder = || folder.lock().unwrap_or_else(PoisonError::into_inner);
    match request.path.as_str() {
        "/" => {
            let entries = folder().list(&crate::input::say);
            let listed: Vec<Listed> = entries.into_iter().map(listed).collect();
            Answer::page(views::html::list(title, &listed))
        }
        "/page" => {
            let names = request.query.iter().filter(|(name, _)| name == "path");
            let paths: Option<Vec<PathBuf>> = {
                let folder = folder();
                names.map(|(_, value)| folder.path(value)).collect()
            };
            match paths {
                Some(paths) if !paths.is_empty() => {
                    // Two are compared.
                    let (base, against) = paths.split_at(1);
                    match report::of_paths(base, against, &Reading::default(), &Images::default()) {
                        Ok(page) => Answer::page(page),
                        Err(e) => Answer::unreadable(&input::sentence(e.as_ref())),
                    }
                }
                _ => Answer::nothing(),
            }
        }
        _ => Answer::nothing(),
    }
}

fn listed(entry: Entry) -> Listed {
    Listed {
        path: entry.path,
        kind: match entry.kind {
            Kind::Capture => ListedKind::Capture,
            Kind::Experiment => ListedKind::Experiment,
            Kind::Published => ListedKind::Published,
            Kind::Log => ListedKind::Log,
        },
        bytes: entry.bytes,
        modified_s: entry.modified_s,
        first_light_ns: entry.known.first_light_ns,
        clock: entry.known.clock.map(record::ClockKind::as_str),
        machine: entry.known.machine,
        kernel: entry.known.kernel,
    }
}
