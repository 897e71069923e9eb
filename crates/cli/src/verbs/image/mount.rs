//! What mounting the filesystems of an image costs.

use disk::mount::{Cost, LAB, Plan};
use flash::jffs2::mount::PROFILES;
use inspect::mounting::On;
use lab::LabError;
use lab::profiles::{named, of_file};
use storage::{Profile, ProfileError};

/// The profile of a block device, if none is named.
const DEFAULT: &str = "emmc";

/// What a filesystem appears to lie on.
#[derive(Clone, Debug)]
pub enum Storage {
    /// A storage profile of the lab, or of a file of the user's.
    Block(Box<Profile>),
    /// A flash chip.
    Chip(&'static str),
}

impl Storage {
    /// Finds it by its name.
    pub fn parse(name: &str) -> Result<Self, String> {
        if let Some(chip) = PROFILES.iter().find(|p| p.name == name) {
            return Ok(Self::Chip(chip.name));
        }
        match named(name) {
            Ok(profile) => Ok(Self::Block(Box::new(profile))),
            Err(e @ LabError::Profile(ProfileError::Unknown { .. })) if of_file(name).is_none() => {
                let chips: Vec<_> = PROFILES.iter().map(|p| p.name).collect();
                Err(format!("{e}, and of chips {}", chips.join(", ")))
            }
            Err(e) => Err(e.to_string()),
        }
    }
}

impl Storage {
    /// The same, for the room that reads images.
    pub fn on(&self) -> On<'_> {
        match self {
            Self::Block(profile) => On::Block(&profile.name),
            Self::Chip(name) => On::Chip(name),
        }
    }
}

/// What a mount on a block device costs: on the one that was named, or the default.
pub fn of_block(
    storage: Option<&Storage>,
) -> impl Fn(&Plan, u64) -> Result<(Cost, String), String> {
    let profile = match storage {
        Some(Storage::Block(profile)) => Ok((**profile).clone()),
        _ => named(DEFAULT).map_err(|e| e.to_string()),
    };
    move |plan, bytes| {
        let profile = profile.clone()?;
        let cost = lab::mounts::cost(plan, &LAB, &profile.storage, bytes);
        Ok((cost, profile.name))
    }
}
