//! Which lines begin a stage of firmware, loader or kernel.

use memchr::memmem;
use record::Phase;
use serde::Deserialize;
use std::sync::OnceLock;

/// A table of the lines that begin a stage of the boot.
///
/// [`Stages::builtin`] knows the usual ones. A user's table, read by
/// [`stages_from_toml`], is put before it by [`Stages::before`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stages {
    stages: Vec<Stage>,
}

/// Why a table of stages cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StagesError {
    /// It is no TOML, or has a key or a phase that is not known.
    #[error(
        "the stage table is malformed: {0}; write [[stage]] with name, phase (firmware, loader, \
         decompression or kernel) and starts_with or contains"
    )]
    Toml(String),
    /// A stage would never be found, or in every line.
    #[error("stage {name:?} has no pattern; add a non-empty starts_with or contains")]
    NoPattern {
        /// The stage's name.
        name: String,
    },
    /// A stage without a name.
    #[error("stage {number} has an empty name; set its name")]
    NoName {
        /// Its place in the table, from one.
        number: usize,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stage {
    /// The mark's name.
    pub name: String,
    /// The phase that begins.
    phase: StagePhase,
    #[serde(default)]
    starts_with: Vec<String>,
    #[serde(default)]
    contains: Vec<Within>,
}

/// A text that is looked for anywhere in many lines.
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "String")]
struct Within(memmem::Finder<'static>);

impl From<String> for Within {
    fn from(text: String) -> Self {
        Self(memmem::Finder::new(text.as_bytes()).into_owned())
    }
}

impl PartialEq for Within {
    fn eq(&self, other: &Self) -> bool {
        self.0.needle() == other.0.needle()
    }
}

impl Eq for Within {}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StagePhase {
    Firmware,
    Loader,
    Decompression,
    Kernel,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(default)]
    stage: Vec<Stage>,
}

/// Reads a table in the form of the built-in one: `[[stage]]` with `name`,
/// `phase` (`firmware`, `loader`, `decompression` or `kernel`), and the
/// patterns `starts_with`, `contains` or both.
///
/// # Errors
///
/// If it is no such table, or a stage has no name or no pattern.
pub fn stages_from_toml(text: &str) -> Result<Stages, StagesError> {
    let table: Table = toml::from_str(text).map_err(|e| {
        // The message has lines with a picture of the place; one sentence is kept.
        let place = e.span().map_or(0, |s| s.start);
        let line = text.get(..place).unwrap_or("").lines().count().max(1);
        StagesError::Toml(format!("line {line}: {}", e.message()))
    })?;
    for (i, stage) in table.stage.iter().enumerate() {
        if stage.name.trim().is_empty() {
            let number = i.saturating_add(1);
            return Err(StagesError::NoName { number });
        }
        let starts = stage.starts_with.iter().map(String::is_empty);
        let within = stage.contains.iter().map(|w| w.0.needle().is_empty());
        let mut are_empty = starts.chain(within).peekable();
        if are_empty.peek().is_none() || are_empty.any(|is_empty| is_empty) {
            let name = stage.name.clone();
            return Err(StagesError::NoPattern { name });
        }
    }
    Ok(Stages {
        stages: table.stage,
    })
}

impl Stages {
    /// The stages that this program knows.
    #[must_use]
    pub fn builtin() -> &'static Self {
        static BUILTIN: OnceLock<Stages> = OnceLock::new();
        // The table is part of the program, and a test reads it.
        BUILTIN.get_or_init(|| stages_from_toml(include_str!("stages.toml")).unwrap_or_default())
    }

    /// These stages, and then those of `next`.
    #[must_use]
    pub fn before(mut self, next: &Self) -> Self {
        self.stages.extend(next.stages.iter().cloned());
        self
    }

    /// The first stage that a line begins, by its place in the table.
    pub(crate) fn find(&self, line: &str) -> Option<usize> {
        let start = line.trim_start();
        self.stages.iter().position(|s| {
            s.starts_with.iter().any(|p| start.starts_with(p.as_str()))
                || s.contains
                    .iter()
                    .any(|w| w.0.find(line.as_bytes()).is_some())
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.stages.len()
    }

    pub(crate) fn get(&self, place: usize) -> Option<&Stage> {
        self.stages.get(place)
    }
}

impl Stage {
    pub(crate) fn phase(&self) -> Phase {
        match self.phase {
            StagePhase::Firmware => Phase::Firmware,
            StagePhase::Loader => Phase::Loader,
            StagePhase::Decompression => Phase::Decompression,
            StagePhase::Kernel => Phase::Kernel,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Stages, StagesError, stages_from_toml};

    #[test]
    fn the_usual_banners_are_known() {
        let stages = Stages::builtin();
        for (line, name) in [
            (
                "U-Boot SPL 2014.04-00014-g47880f5 (Apr 22 2014 - 13:23:54)",
                "U-Boot SPL",
            ),
            (
                "U-Boot 1.1.4-gcebe815a-dirty (Aug 16 2010 - 10:34:46)",
                "U-Boot",
            ),
            (
                "Texas Instruments X-Loader 1.41 (Sep  1 2010 - 13:43:00)",
                "X-Loader",
            ),
            ("NOTICE:  BL1: v2.8(release):v2.8", "TF-A BL1"),
            ("NOTICE:  BL31: Built : 12:00:00", "TF-A BL31"),
            ("I/TC: OP-TEE version: 3.20.0 (gcc)", "OP-TEE"),
            (
                "barebox 2023.01.0 #1 Mon Jan 1 00:00:00 UTC 2023",
                "barebox",
            ),
            (
                "[NOTE ]  coreboot-4.19 Thu Jan 1 x86_32 bootblock starting (log level: 7)...",
                "coreboot bootblock",
            ),
            ("SeaBIOS (version 1.16.2-debian-1.16.2-1)", "SeaBIOS"),
            ("AT91Bootstrap 3.10.3 (2022-01-01)", "AT91Bootstrap"),
            ("Starting kernel ...", "loader-finished"),
            (
                "Uncompressing Linux... done, booting the kernel.",
                "decompression-start",
            ),
            ("Linux version 6.1.0 (gcc)", "kernel-start"),
        ] {
            let found = stages.find(line).and_then(|at| stages.get(at));
            assert_eq!(found.map(|s| s.name.as_str()), Some(name), "{line}");
        }
        assert_eq!(stages.find("Hit any key to stop autoboot:  1"), None);
    }

    #[test]
    fn a_users_stage_comes_first() {
        let own = "[[stage]]\nname = \"ours\"\nphase = \"firmware\"\nstarts_with = [\"U-Boot\"]\n";
        let stages = stages_from_toml(own).unwrap_or_default();
        let both = stages.before(Stages::builtin());
        assert_eq!(both.find("U-Boot 2023.01"), Some(0));
        assert!(both.find("SeaBIOS (version 1)").is_some_and(|at| at > 0));
    }

    #[test]
    fn a_bad_table_is_refused_in_one_sentence() {
        let none = "[[stage]]\nname = \"x\"\nphase = \"loader\"\n";
        let error = StagesError::NoPattern {
            name: "x".to_owned(),
        };
        assert_eq!(stages_from_toml(none), Err(error));
        for text in [
            "stage = 1",
            "[[stage]]\nname = \"x\"\nphase = \"soup\"\nstarts_with = [\"a\"]\n",
            "[[stage]]\nname = \"x\"\nphase = \"loader\"\nbegins = [\"a\"]\n",
            "[[stage",
        ] {
            let message = stages_from_toml(text).map_err(|e| e.to_string());
            let message = message.err().unwrap_or_default();
            assert!(message.contains("line "), "{message}");
            assert!(!message.contains('\n'), "{message}");
        }
    }
}
