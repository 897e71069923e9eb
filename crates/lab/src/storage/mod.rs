//! Storage profiles: named figures of devices, each with its source.

pub(crate) mod own;
pub mod page_cache;
pub mod reads;
pub mod simulate;

use crate::error::{LabError, io_error};
use agent::config::{Model, Storage};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::Path;

/// The profiles that come with the program.
const PROFILES: &str = include_str!("profiles.toml");

/// A named device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Its name, as experiments say it: `emmc`.
    pub name: String,
    /// What it is, in one clause.
    pub summary: String,
    /// The figures, as the agent takes them.
    pub storage: Storage,
    /// Where each figure comes from, by the figure's name.
    pub sources: BTreeMap<String, String>,
}

/// A number or a name, and where it comes from.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Figure<T> {
    value: T,
    source: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    summary: String,
    model: ModelName,
    figures: Figures,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ModelName {
    None,
    Flash,
    Disk,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Figures {
    command_ns: Option<Figure<u64>>,
    write_command_ns: Option<Figure<u64>>,
    command_interval_ns: Option<Figure<u64>>,
    read_bytes_per_s: Option<Figure<u64>>,
    write_bytes_per_s: Option<Figure<u64>>,
    rotation_ns: Option<Figure<u64>>,
    seek_min_ns: Option<Figure<u64>>,
    seek_max_ns: Option<Figure<u64>>,
    near_bytes: Option<Figure<u64>>,
    queue_depth: Option<Figure<NonZeroU32>>,
    read_ahead_kb: Option<Figure<u32>>,
    nr_requests: Option<Figure<u32>>,
    scheduler: Option<Figure<String>>,
}

/// Every profile that comes with the program, by name.
///
/// # Errors
/// If they cannot be read: a bug.
pub fn profiles() -> Result<Vec<Profile>, LabError> {
    parse("profiles.toml", PROFILES)
}

/// The profiles of a text in the form of `profiles.toml`; `file` is named in errors.
///
/// # Errors
/// One sentence with file and line.
fn parse(file: &str, text: &str) -> Result<Vec<Profile>, LabError> {
    let wrong = |line: usize, why: String| LabError::Experiment {
        name: file.to_owned(),
        line,
        why,
    };
    let entries: BTreeMap<String, toml::Spanned<Entry>> = toml::from_str(text).map_err(|e| {
        let line = line_of(text, e.span().map_or(0, |s| s.start));
        wrong(line, e.message().replace('\n', ", "))
    })?;
    entries
        .into_iter()
        .map(|(name, entry)| {
            let line = line_of(text, entry.span().start);
            let profile = profile(name, entry.into_inner());
            match too_much(&profile.storage) {
                Some(figure) => Err(wrong(
                    line,
                    format!(
                        "the `{figure}` of the profile `{}` is more than {MOST_NS} ns, an hour",
                        profile.name
                    ),
                )),
                None => Ok(profile),
            }
        })
        .collect()
}

fn line_of(text: &str, byte: usize) -> usize {
    text.get(..byte).unwrap_or(text).matches('\n').count() + 1
}

/// No device takes longer for anything, in nanoseconds.
const MOST_NS: u64 = 3_600_000_000_000;

/// The time among the figures that no device has.
fn too_much(storage: &Storage) -> Option<&'static str> {
    let times = [
        ("command_ns", storage.command_ns),
        ("write_command_ns", storage.write_command_ns),
        ("command_interval_ns", storage.command_interval_ns),
        ("rotation_ns", storage.rotation_ns),
        ("seek_min_ns", storage.seek_min_ns),
        ("seek_max_ns", storage.seek_max_ns),
    ];
    let most = times.into_iter().find(|(_, ns)| *ns > MOST_NS);
    most.map(|(figure, _)| figure)
}

/// The profile called `name`: one that comes with the program, or, as
/// `FILE.toml#NAME`, one of a file of the same form. `#NAME` may be left out if the
/// file has only one.
///
/// # Errors
/// If there is none, or the file cannot be read or is not what it should be.
pub fn named(name: &str) -> Result<Profile, LabError> {
    let (all, own) = match of_file(name) {
        None => (profiles()?, Some(name)),
        Some((file, own)) => {
            let path = Path::new(file);
            let text = std::fs::read_to_string(path).map_err(io_error(path, "cannot be read"))?;
            (parse(file, &text)?, own)
        }
    };
    let names: Vec<_> = all.iter().map(|p| p.name.clone()).collect();
    let only = all.len() == 1;
    let mut all = all.into_iter();
    let found = match own {
        Some(own) => all.find(|p| p.name == own),
        None => all.next().filter(|_| only),
    };
    found.ok_or_else(|| LabError::NoProfile {
        name: name.to_owned(),
        known: names.join(", "),
    })
}

/// The file of a profile's name, and its name in there, if it is one of a file.
#[must_use]
pub fn of_file(name: &str) -> Option<(&str, Option<&str>)> {
    let (file, own) = match name.rsplit_once('#') {
        Some((file, own)) => (file, Some(own)),
        None => (name, None),
    };
    file.ends_with(".toml").then_some((file, own))
}

fn profile(name: String, entry: Entry) -> Profile {
    let mut sources = BTreeMap::new();
    let mut storage = Storage {
        model: match entry.model {
            ModelName::None => Model::None,
            ModelName::Flash => Model::Flash,
            ModelName::Disk => Model::Disk,
        },
        ..Storage::default()
    };
    let f = entry.figures;
    macro_rules! take {
        ($($figure:ident),*) => {$(
            if let Some(Figure { value, source }) = f.$figure {
                storage.$figure = value;
                sources.insert(stringify!($figure).to_owned(), source);
            }
        )*};
    }
    take!(
        command_ns,
        write_command_ns,
        command_interval_ns,
        read_bytes_per_s,
        write_bytes_per_s,
        rotation_ns,
        seek_min_ns,
        seek_max_ns,
        near_bytes,
        queue_depth,
        read_ahead_kb,
        nr_requests,
        scheduler
    );
    Profile {
        name,
        summary: entry.summary,
        storage,
        sources,
    }
}

#[cfg(test)]
mod tests {
    use super::{named, profiles};
    use agent::config::{AgentConfig, FirstLight, Model};

    #[test]
    fn the_five_profiles_are_there_and_each_figure_has_a_source() {
        let all = profiles().unwrap();
        let names: Vec<_> = all.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(
            names,
            ["emmc", "hdd-laptop", "none", "sd-card", "usb-flash"]
        );
        for p in &all {
            assert!(p.sources.values().all(|s| s.len() > 5), "{}", p.name);
            let figures = match p.storage.model {
                Model::None => 2,
                // Only a queue needs the interval between its commands.
                Model::Flash if p.storage.queue_depth.get() > 1 => 9,
                Model::Flash => 8,
                Model::Disk => 12,
            };
            assert_eq!(p.sources.len(), figures, "{}", p.name);
        }
    }

    #[test]
    fn the_agent_takes_each_profile() {
        for p in profiles().unwrap() {
            let config = AgentConfig {
                machine: "pc".into(),
                out_size: 1 << 20,
                root: None,
                first_light: FirstLight::Init,
                counter_hz: 1,
                storage: p.storage,
                board: agent::config::Board::default(),
            };
            let text = config.to_text().unwrap();
            assert_eq!(AgentConfig::parse(&text).unwrap(), config);
        }
    }

    #[test]
    fn a_file_brings_profiles_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("board.toml");
        let name = file.to_str().unwrap();
        let card = "[card]\nsummary = \"ours\"\nmodel = \"flash\"\n[card.figures]\n\
                    command_ns = { value = 900000, source = \"measured on the board\" }\n";
        std::fs::write(&file, card).unwrap();
        assert_eq!(named(name).unwrap().storage.command_ns, 900_000);
        assert_eq!(named(&format!("{name}#card")).unwrap().name, "card");
        let said = |name: &str| named(name).unwrap_err().to_string();
        assert!(said(&format!("{name}#disk")).contains("there are card"));
        std::fs::write(&file, format!("{card}{}", card.replace("card", "other"))).unwrap();
        assert!(
            said(name).contains("there are card, other"),
            "{}",
            said(name)
        );
        std::fs::write(&file, card.replace("900000", "9000000000000")).unwrap();
        assert!(
            said(name).contains("board.toml:1: the `command_ns`"),
            "{}",
            said(name)
        );
        std::fs::write(&file, "[card]\nsummary = 1\n").unwrap();
        assert!(said(name).contains("board.toml:2: "), "{}", said(name));
        assert!(said("no/such.toml").contains("no/such.toml: cannot be read"));
    }

    #[test]
    fn an_unknown_profile_names_the_known_ones() {
        let said = named("floppy").unwrap_err().to_string();
        assert!(
            said.contains("`floppy`") && said.contains("sd-card"),
            "{said}"
        );
    }
}
