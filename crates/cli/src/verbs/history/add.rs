//! `firstlight history add`.

use super::args::HistoryAdd;
use super::store;
use crate::input;
use crate::out::Out;
use anyhow::{Context, Result, bail};
use history::{At, ENTRIES, Entry};
use sha2::{Digest, Sha256};
use std::time::{SystemTime, UNIX_EPOCH};

pub fn run(args: &HistoryAdd, out: &mut Out) -> Result<()> {
    let boots = input::boots(&args.boots, &args.reading)?;
    let config = args.config.as_deref().map(digest).transpose()?;
    let at = match (&args.at, &args.release) {
        (Some(at), _) => Some(*at),
        (None, Some(_)) => None,
        (None, None) => Some(now()),
    };
    let entries: Vec<Entry> = boots
        .iter()
        .map(|boot| {
            let machine = args.machine.as_deref();
            let mut entry = input::history_entry(boot, machine, config.as_deref());
            entry.commit.clone_from(&args.commit);
            entry.release.clone_from(&args.release);
            entry.at = at;
            entry
        })
        .collect();
    let empty = entries
        .iter()
        .filter(|e| e.first_light.is_none() && e.times.is_empty());
    if entries.is_empty() || empty.count() > 0 {
        bail!(
            "{}: a boot has no times; nothing was added",
            input::shown(&args.boots)
        );
    }
    store::made(&args.store)?;
    let mut added = Vec::new();
    let mut known = 0;
    for entry in entries {
        let (name, is_new) = store::add(&args.store, ENTRIES, &history::text_of(&entry))?;
        match is_new {
            true => added.push(name),
            false => known += 1,
        }
    }
    if out.json {
        let document = views::json::HistoryAdd::of(added, known);
        return out.text(&views::json::text(&document));
    }
    let mut text = format!(
        "added {} to {}\n",
        views::counted(added.len(), "boot"),
        args.store.display()
    );
    if known > 0 {
        let boots = views::counted(known, "boot");
        text += &format!("{boots} already in the history\n");
    }
    out.text(&text)
}

pub fn now() -> At {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    At::Date(since.map_or(0, |s| i64::try_from(s.as_secs()).unwrap_or(0)))
}

/// The SHA-256 digest of a file, in hexadecimal digits.
fn digest(path: &std::path::Path) -> Result<String> {
    let bytes =
        std::fs::read(path).with_context(|| format!("{}: cannot be read", path.display()))?;
    let digest = Sha256::digest(&bytes);
    Ok(digest.iter().map(|b| format!("{b:02x}")).collect())
}
