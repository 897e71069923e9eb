//! The files that the rows go into.

use super::args::Rows;
use analysis::{FleetRow, FleetSource, RowStatus};
use anyhow::{Context, Result};
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use views::export::FleetTables;
use views::json::{self, Document};

type Writer = BufWriter<File>;

/// With `--every`, a pair of files ends also at so many items: who reads a pair at once needs
/// about 1 KB of memory for each.
const MOST_ITEMS: u64 = 500_000;

/// The tables in a folder. Files have a name that ends in `.part` until they are whole.
pub struct Tables<'a> {
    dir: &'a Path,
    every: Option<u64>,
    open: Option<Pair>,
    pub done: json::Rows,
}

struct Pair {
    tables: FleetTables<Writer>,
    names: json::RowsTables,
}

impl<'a> Tables<'a> {
    pub fn new(args: &'a Rows) -> Result<Self> {
        let dir = args.out.as_path();
        let shown = dir.display();
        std::fs::create_dir_all(dir).with_context(|| format!("{shown}: cannot be created"))?;
        Ok(Self {
            dir,
            every: args.every.map(std::num::NonZeroU64::get),
            open: None,
            done: json::Rows {
                dir: dir.display().to_string(),
                tables: Vec::new(),
                ok: 0,
                no_first_light: 0,
                implausible: 0,
                bad: 0,
                items: 0,
                schema: json::Rows::SCHEMA,
            },
        })
    }

    /// Adds a boot; the pair of files that is complete now, if one is.
    pub fn add(&mut self, source: &FleetSource, row: &FleetRow) -> Result<Option<String>> {
        let every = self.every;
        match row.status {
            RowStatus::Ok => self.done.ok += 1,
            RowStatus::NoFirstLight => self.done.no_first_light += 1,
            RowStatus::Implausible => self.done.implausible += 1,
            RowStatus::Bad => self.done.bad += 1,
        }
        let pair = self.pair()?;
        pair.tables.add(source, row)?;
        pair.names.boots += 1;
        pair.names.items += row.items.len() as u64;
        let full = |n| pair.names.boots >= n || pair.names.items >= MOST_ITEMS;
        match every.is_some_and(full) {
            true => self.finish_pair(),
            false => Ok(None),
        }
    }

    fn pair(&mut self) -> Result<&mut Pair> {
        let pair = match self.open.take() {
            Some(pair) => pair,
            None => {
                let number = match self.every {
                    Some(_) => format!("-{:05}", self.done.tables.len()),
                    None => String::new(),
                };
                let names = json::RowsTables {
                    boots_file: format!("boots{number}.parquet"),
                    items_file: format!("items{number}.parquet"),
                    boots: 0,
                    items: 0,
                };
                let boots = created(&part(self.dir, &names.boots_file))?;
                let items = created(&part(self.dir, &names.items_file))?;
                let tables = FleetTables::new(boots, items)?;
                Pair { tables, names }
            }
        };
        Ok(self.open.insert(pair))
    }

    fn finish_pair(&mut self) -> Result<Option<String>> {
        let Some(pair) = self.open.take() else {
            return Ok(None);
        };
        pair.tables.finish()?;
        for name in [&pair.names.items_file, &pair.names.boots_file] {
            let (from, to) = (part(self.dir, name), self.dir.join(name));
            let shown = to.display();
            let moved = capture::beside::rename(&from, &to);
            moved.with_context(|| format!("{shown}: cannot be written"))?;
        }
        let n = &pair.names;
        let line = format!(
            "{} {} {} boots, {} items\n",
            n.boots_file, n.items_file, n.boots, n.items
        );
        self.done.items += n.items;
        self.done.tables.push(pair.names);
        Ok(Some(line))
    }

    /// Ends the last files; there is a pair also without any boot.
    pub fn finish(&mut self) -> Result<Option<String>> {
        if self.done.tables.is_empty() {
            self.pair()?;
        }
        self.finish_pair()
    }
}

fn part(dir: &Path, name: &str) -> PathBuf {
    dir.join(format!("{name}.part"))
}

fn created(path: &Path) -> Result<Writer> {
    let shown = path.display();
    let file = File::create(path).with_context(|| format!("{shown}: cannot be written"))?;
    Ok(BufWriter::new(file))
}
