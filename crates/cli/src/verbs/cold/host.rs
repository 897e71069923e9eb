//! Starts on another machine: this program goes there by ssh, measures, and is removed.

use super::args::Cold;
use crate::{interrupt, progress};
use anyhow::{Context, Result, anyhow, bail};
use capture::cold::elsewhere::{Luggage, Visit};
use capture::ssh::host::Host;
use capture::ssh::plan::{Facts, Root};
use capture::ssh::session;
use std::fs;
use views::json;

/// Measures on a host.
pub fn measured(args: &Cold, name: &str) -> Result<json::Cold> {
    let words = words(args)?;
    let mut host = Host::new(name, &args.ssh, interrupt::told()?)?;
    progress::say(format!("asking {name}"));
    let facts = session::ask(&host)?;
    let program = program(args, &facts, name)?;
    let Some(place) = facts.passing_folder() else {
        bail!("{name}: has no folder from which a program can be run");
    };
    progress::clear();
    anstream::eprintln!(
        "On {name}:\n  1. copy firstlight ({}) into a new folder below {place}\n  2. run it there{}{}\n  \
         3. remove that folder",
        views::size(program.len() as u64),
        match facts.root {
            Root::Yes => " as root",
            Root::Sudo => " by sudo",
            Root::No => ", not as root",
        },
        match (facts.root, args.evict, args.order) {
            (Root::No, ..) | (_, true, _) => "",
            (_, _, false) => ": it drops that machine's caches before each cold start",
            (_, _, true) =>
                ": it drops that machine's caches before each cold start, and moves the \
                 program's files and puts them back",
        }
    );
    let list = match &args.list {
        Some(list) => {
            let bytes = fs::read(list);
            Some(bytes.with_context(|| format!("{}: cannot be read", list.display()))?)
        }
        None => None,
    };
    let visit = Visit::begin(&mut host, &facts, place)?;
    let folder = visit.folder.clone();
    let luggage = Luggage {
        program,
        list,
        words: &words,
    };
    let told = visit.told(luggage, &|what| progress::say(format!("{name}: {what}")));
    let removed = visit.remove();
    progress::clear();
    if let Err(why) = removed {
        let left = format!("{name}: {folder} could not be removed: {why:#}");
        return Err(match told {
            Ok(_) => anyhow!(left),
            Err(e) => anyhow::Error::new(e).context(left),
        });
    }
    let mut report: json::Cold = serde_json::from_slice(&told?)
        .with_context(|| format!("what firstlight said on {name} cannot be understood"))?;
    report.host = Some(name.to_owned());
    Ok(report)
}

/// The options and the program, as words.
fn words(args: &Cold) -> Result<Vec<String>> {
    let mut words = vec![
        "cold".to_owned(),
        "--json".to_owned(),
        format!("--runs={}", args.runs),
    ];
    let flags = [
        (args.prefetch, "--prefetch"),
        (args.order, "--order"),
        (args.evict, "--evict"),
        (args.ignore_failure, "--ignore-failure"),
    ];
    words.extend(flags.iter().filter(|f| f.0).map(|f| f.1.to_owned()));
    if let Some(below) = &args.below {
        let Some(below) = below.to_str() else {
            bail!("{}: what goes to a host has to be text", below.display());
        };
        words.push(format!("--below={below}"));
    }
    words.push("--".to_owned());
    for word in &args.command {
        let Some(word) = word.to_str() else {
            bail!(
                "{}: a word that goes to a host has to be text",
                word.display()
            );
        };
        words.push(word.to_owned());
    }
    Ok(words)
}

/// The program for the host.
fn program(args: &Cold, facts: &Facts, name: &str) -> Result<Vec<u8>> {
    let own = rustix::system::uname();
    let path = match &args.program {
        Some(path) => path.clone(),
        None if *own.machine() == *std::ffi::CString::new(&*facts.machine)? => {
            std::env::current_exe().context("where this program lies is not known")?
        }
        None => bail!(
            "{name}: its architecture ({}) differs from this machine's; name a firstlight built for it with \
             --program",
            facts.machine
        ),
    };
    fs::read(&path).with_context(|| format!("{}: cannot be read", path.display()))
}
