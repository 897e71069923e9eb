//! Storage profiles by name, of the program or of a file of the user's; and as the lab serves
//! them.

use crate::artifacts::Arch;
use crate::error::{LabError, io_error};
use crate::pace::Pace;
use std::path::Path;
use storage::profiles::{find, parse, profiles};
use storage::{Model, Profile, ServerCost, Storage};

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
    Ok(find(all, own, name)?)
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

/// What the agent serves of `profile`: nothing where no root is on the storage. Loading is
/// charged all the same.
#[must_use]
pub(crate) fn for_root(profile: &Profile, has_root: bool) -> Storage {
    match has_root || profile.storage.model == Model::None {
        true => profile.storage.clone(),
        false => Storage::default(),
    }
}

/// What serving a request costs such a processor; `None`: it was not measured.
const fn cost(arch: Arch) -> Option<ServerCost> {
    match arch {
        Arch::X86_64 => Some(ServerCost::X86_64),
        Arch::Armv7 => Some(ServerCost::ARMV7),
        Arch::Aarch64 => Some(ServerCost::AARCH64),
        Arch::Armv5 | Arch::Riscv64 => None,
    }
}

/// The figures as they are served on such a processor, less the server's own cost. In real
/// time that cost is unknown, and nothing is subtracted.
pub(crate) fn served(storage: Storage, arch: Arch, pace: Pace) -> Storage {
    match (cost(arch), pace) {
        (Some(cost), Pace::Counted(shift)) => storage.served(cost, shift),
        _ => storage,
    }
}

/// A profile as it is served on such a processor.
pub(crate) fn served_profile(profile: Profile, arch: Arch, pace: Pace) -> Profile {
    Profile {
        storage: served(profile.storage, arch, pace),
        ..profile
    }
}

#[cfg(test)]
mod tests {
    use super::{named, profiles, served_profile};
    use crate::artifacts::Arch;
    use crate::pace::Pace;
    use agent::config::{AgentConfig, FirstLight};
    use storage::not_given_back;

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
        assert!(said(&format!("{name}#disk")).contains("known profiles: card"));
        std::fs::write(&file, format!("{card}{}", card.replace("card", "other"))).unwrap();
        assert!(
            said(name).contains("known profiles: card, other"),
            "{}",
            said(name)
        );
        std::fs::write(&file, card.replace("900000", "9000000000000")).unwrap();
        assert!(
            said(name).contains("board.toml:1: `command_ns` of profile `card`"),
            "{}",
            said(name)
        );
        std::fs::write(&file, "[card]\nsummary = 1\n").unwrap();
        assert!(said(name).contains("board.toml:2: "), "{}", said(name));
        assert!(said("no/such.toml").contains("no/such.toml: cannot be read"));
    }

    fn said(profile: &str, arch: Arch, pace: Pace) -> Option<String> {
        let served = served_profile(named(profile).unwrap(), arch, pace);
        not_given_back(profile, &served.storage)
    }

    #[test]
    fn what_cannot_be_given_back_is_said() {
        let exact = Pace::Counted(0);
        for arch in [Arch::X86_64, Arch::Armv7, Arch::Aarch64] {
            for profile in ["none", "sd-card", "usb-flash", "hdd-laptop"] {
                assert_eq!(said(profile, arch, exact), None, "{profile}");
            }
        }
        assert_eq!(said("emmc", Arch::X86_64, exact), None);
        let queue = said("emmc", Arch::Aarch64, exact).unwrap();
        assert!(
            queue.contains("every 90.9 us at full") && queue.contains("needs 108.3 us"),
            "{queue}"
        );
        let slow = said("emmc", Arch::X86_64, Pace::Counted(3)).unwrap();
        assert!(slow.contains("the fastest reads"), "{slow}");
        let unknown = said("emmc", Arch::Armv5, exact).unwrap();
        assert!(unknown.contains("was not measured"), "{unknown}");
    }
}
