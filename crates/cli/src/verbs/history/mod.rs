//! `firstlight history`: boots of commits and releases, and where their times changed.

mod add;
pub mod args;
mod store;

use crate::input::names;
use crate::out::Out;
use crate::{beside, outputs};
use analysis::{HistoryQuestion, HistoryVerdict};
use anyhow::{Context, Result, bail};
use args::{History, HistoryAnnotate, HistoryCheck, HistoryShow, HistoryVerb, Judged};
use history::{Annotation, NOTES, Part};
use std::io::Write;

pub fn run(args: &History, out: &mut Out) -> Result<()> {
    match &args.verb {
        HistoryVerb::Add(a) => add::run(a, out),
        HistoryVerb::Check(a) => check(a, out),
        HistoryVerb::Show(a) => show(a, out),
        HistoryVerb::Annotate(a) => annotate(a, out),
    }
}

/// The answer to what was asked, and what is wrong with the input.
fn answer(args: &Judged) -> Result<(analysis::History, Vec<String>)> {
    let part = match args.of {
        Some(_) => Part::Whole,
        None => Part::OfBoot,
    };
    let read = crate::input::history(&args.input, args.machine.as_deref(), part)?;
    let question = HistoryQuestion {
        of: args.of.as_deref(),
        allow: args.allow,
        see: args.see,
        accepted: read.accepted,
    };
    let history = analysis::history(&read.entries, read.clock, &question);
    Ok((history, read.notes))
}

fn check(args: &HistoryCheck, out: &mut Out) -> Result<()> {
    let (history, notes) = answer(&args.judged)?;
    let input = args.judged.input.display().to_string();
    let text = match out.json {
        true => views::json::text(&views::json::history(&history, &notes)),
        false => views::terminal::history(&history, &input, &notes, &out.style),
    };
    outputs::write(&args.outputs, &views::ci::of_history(&history, &input), out)?;
    out.exit_code(match history.verdict {
        HistoryVerdict::Fine => 0,
        HistoryVerdict::Regressed(_) => 1,
        HistoryVerdict::CannotTell(_) => 2,
    });
    out.text(&text)
}

fn show(args: &HistoryShow, out: &mut Out) -> Result<()> {
    let (history, notes) = answer(&args.judged)?;
    let input = args.judged.input.display().to_string();
    if let Some(path) = &args.out {
        // The page is sent to others: it names the file, not the folder.
        let title = names::one(&args.judged.input);
        let page = views::trend::page(&history, &title, &notes);
        beside::write(path, |file| Ok(file.write_all(page.as_bytes())?))?;
        if !out.json {
            return out.text(&format!("wrote {}\n", path.display()));
        }
    }
    let text = match out.json {
        true => views::json::text(&views::json::history_show(&history, &notes)),
        false => views::terminal::history(&history, &input, &notes, &out.style),
    };
    out.text(&text)
}

fn annotate(args: &HistoryAnnotate, out: &mut Out) -> Result<()> {
    if args.store.is_file() {
        bail!(
            "{}: is a file, and only a store keeps annotations; `firstlight history add` makes one",
            args.store.display()
        );
    }
    let store = input::history::store::read(&args.store, 0)?;
    let entry = store.label(&args.entry);
    let entry = entry.with_context(|| args.store.display().to_string())?;
    let texts = [&args.accept, &args.reject, &args.text];
    let text = texts
        .into_iter()
        .flatten()
        .next()
        .cloned()
        .unwrap_or_default();
    let mut note = Annotation::new(entry.clone(), text, add::now());
    note.accepted = args.accept.is_some();
    note.remark = args.text.is_some();
    note.item.clone_from(&args.of);
    let (file, _) = store::add(&args.store, NOTES, &history::text_of(&note))?;
    match out.json {
        true => out.text(&views::json::text(&views::json::HistoryAnnotate::of(file))),
        false => out.text(&format!("annotated {entry}\n")),
    }
}
