//! Storage profiles: named figures of devices, each with its source.

use crate::figures::{Model, Storage};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::num::NonZeroU32;

/// The profiles that come with the program.
const PROFILES: &str = include_str!("profiles.toml");

/// Why there is no such profile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// The text is not what it should be.
    #[error("{file}:{line}: {why}")]
    Text {
        /// The file.
        file: String,
        /// Counted from 1.
        line: usize,
        /// A clause: what is wrong.
        why: String,
    },
    /// No profile has this name.
    #[error("unknown storage profile `{name}`; known profiles: {known}")]
    Unknown {
        /// The name.
        name: String,
        /// The ones there are.
        known: String,
    },
}

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
pub fn profiles() -> Result<Vec<Profile>, ProfileError> {
    parse("profiles.toml", PROFILES)
}

/// The profiles of a text in the form of `profiles.toml`; errors name `file`.
///
/// # Errors
/// One sentence with file and line.
pub fn parse(file: &str, text: &str) -> Result<Vec<Profile>, ProfileError> {
    let wrong = |line: usize, why: String| ProfileError::Text {
        file: file.to_owned(),
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
                        "`{figure}` of profile `{}` exceeds {MOST_NS} ns (1 hour)",
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

/// The profile called `name` of `all`. Without a name, the only one.
///
/// # Errors
/// If there is none, or no name and more than one; `shown` is what the error calls it.
pub fn find(all: Vec<Profile>, name: Option<&str>, shown: &str) -> Result<Profile, ProfileError> {
    let known: Vec<_> = all.iter().map(|p| p.name.clone()).collect();
    let only = all.len() == 1;
    let mut all = all.into_iter();
    let found = match name {
        Some(name) => all.find(|p| p.name == name),
        None => all.next().filter(|_| only),
    };
    found.ok_or_else(|| ProfileError::Unknown {
        name: shown.to_owned(),
        known: known.join(", "),
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
    use super::{find, parse, profiles};
    use crate::figures::Model;

    #[test]
    fn the_six_profiles_are_there_and_each_figure_has_a_source() {
        let all = profiles().unwrap();
        let names: Vec<_> = all.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "emmc",
                "hdd-laptop",
                "none",
                "sd-card",
                "usb-flash",
                "usb-flash-slow"
            ]
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
    fn an_unknown_profile_names_the_known_ones() {
        let said = find(profiles().unwrap(), Some("floppy"), "floppy").unwrap_err();
        let said = said.to_string();
        assert!(
            said.contains("`floppy`") && said.contains("sd-card"),
            "{said}"
        );
    }

    #[test]
    fn a_wrong_text_is_reported_with_its_line() {
        let said = |text: &str| parse("board.toml", text).unwrap_err().to_string();
        let said = said("[card]\nsummary = 1\n");
        assert!(said.starts_with("board.toml:2: "), "{said}");
    }
}
