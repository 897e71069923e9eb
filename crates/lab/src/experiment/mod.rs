//! The experiment file: what is booted, and which variants of it.

mod base;
mod device;
mod factors;
mod file;
mod kernel;
mod mode;
mod platform;
mod possible;
mod quick;
mod reader;
mod recording;
mod root;
mod variant;

pub use crate::arch::ArmArch;
pub use base::Base;
pub use kernel::Kernel;
pub use mode::{Mode, Sampling};
pub use platform::{Loader, Platform};
pub use quick::Quick;
pub use recording::Recording;
pub use root::Root;
pub use variant::{BASELINE, Variant};

use crate::arm9::board::{in_place, sized};
use crate::error::LabError;
use std::path::Path;
use treat::{BootSpec, Treatment};

/// The version of the format that this program reads.
pub const VERSION: u32 = 1;

/// The variable that has the loader's commands.
const BOOTCMD: &str = "bootcmd";

/// An experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// Its file's name without `.toml`, for the reader.
    pub name: String,
    /// What all variants share.
    pub base: Base,
    /// The baseline first, then the file's variants in their order, then every
    /// combination of its factors' levels.
    pub variants: Vec<Variant>,
}

impl Experiment {
    /// What the machine's loader can do about a finding that has no treatment for all
    /// loaders.
    #[must_use]
    pub fn loader_treatment(&self, finding: &str) -> Option<Treatment> {
        let Platform::Arm9 { nand: Some(nand) } = &self.base.platform else {
            return None;
        };
        let bootcmd = nand.get(BOOTCMD).map(String::as_str);
        let value = match finding {
            "loader-whole-partition" => sized(bootcmd)?,
            "moved-kernel" => in_place(bootcmd)?,
            _ => return None,
        };
        Some(Treatment::SetVariable {
            name: BOOTCMD.to_owned(),
            value,
        })
    }

    /// Reads an experiment's file. Paths in it are relative to its folder.
    ///
    /// # Errors
    /// One sentence with file and line.
    pub fn read(path: &Path) -> Result<Self, LabError> {
        let text = std::fs::read_to_string(path).map_err(|source| LabError::ReadExperiment {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(&path.to_string_lossy(), &text)
    }

    /// Reads an experiment from its text; `path` is named in errors, and paths
    /// in the text are relative to its folder.
    ///
    /// # Errors
    /// One sentence with file and line.
    pub fn parse(path: &str, text: &str) -> Result<Self, LabError> {
        let at = |span: &std::ops::Range<usize>, why: String| {
            let before = text.get(..span.start).unwrap_or(text);
            LabError::Experiment {
                name: path.to_owned(),
                line: before.matches('\n').count() + 1,
                why,
            }
        };
        let file: file::File = toml::from_str(text).map_err(|e| {
            let why = e.message().replace('\n', ", ");
            at(&e.span().unwrap_or(0..0), why)
        })?;
        let version = file.firstlight_experiment;
        if *version.get_ref() != VERSION {
            let found = version.get_ref();
            let why = format!(
                "the experiment has version {found}, but this program supports version {VERSION}; \
                 update the file or the program"
            );
            return Err(at(&version.span(), why));
        }
        let reader = reader::Reader { path, at: &at };
        let (base, baseline) = reader.base(file.base)?;
        let mut variants = vec![baseline];
        let combined = factors::variants(&file.factor).map_err(|(span, why)| at(&span, why))?;
        for variant in file.variant.into_iter().chain(combined) {
            let next = reader.variant(&variant, &base, &variants)?;
            variants.push(next);
        }
        let stem = Path::new(path).file_stem().unwrap_or_default();
        Ok(Self {
            name: stem.to_string_lossy().into_owned(),
            base,
            variants,
        })
    }

    /// The same experiment with nothing recorded, since recording takes time.
    #[must_use]
    pub fn unrecorded(&self) -> Self {
        let mut all = self.clone();
        let recording = std::mem::take(&mut all.base.recording);
        all.base.cmdline = recording
            .without(BootSpec {
                cmdline: all.base.cmdline,
                ..BootSpec::default()
            })
            .cmdline;
        for variant in &mut all.variants {
            variant.spec = recording.without(std::mem::take(&mut variant.spec));
        }
        all
    }
}
