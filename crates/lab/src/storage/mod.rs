//! Storage profiles: named figures of devices, each with its source.

pub mod simulate;

use crate::error::LabError;
use agent::config::{Model, Storage};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::num::NonZeroU32;

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

/// Every profile, by name.
///
/// # Errors
/// If the profiles that come with the program cannot be read: a bug.
pub fn profiles() -> Result<Vec<Profile>, LabError> {
    let entries: BTreeMap<String, Entry> = toml::from_str(PROFILES).map_err(|e| {
        let why = format!("the storage profiles of this program: {}", e.message());
        LabError::Bug { why }
    })?;
    Ok(entries.into_iter().map(|(n, e)| profile(n, e)).collect())
}

/// The profile called `name`.
///
/// # Errors
/// If there is none.
pub fn named(name: &str) -> Result<Profile, LabError> {
    let all = profiles()?;
    let names: Vec<_> = all.iter().map(|p| p.name.clone()).collect();
    let found = all.into_iter().find(|p| p.name == name);
    found.ok_or_else(|| LabError::NoProfile {
        name: name.to_owned(),
        known: names.join(", "),
    })
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
            };
            let text = config.to_text().unwrap();
            assert_eq!(AgentConfig::parse(&text).unwrap(), config);
        }
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
