//! What recordings left that died together with their guards: trace instances that
//! go on recording, settings, files.

use super::changed::{CHANGED, Changed, UNWRITTEN, remove_instance, restore};
use super::error::RecordingError;
use super::lock::Lock;
use super::owner::Owner;
use super::session::INSTANCE;
use agent::trace::Tracefs;
use record::counted;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where recordings say what they changed. It is empty after a restart, and so
/// are the changes.
pub(super) const FOLDER: &str = "/run/firstlight";

/// How long a sweep waits for another one.
const PATIENCE: Duration = Duration::from_secs(1);

/// Where recordings leave something.
#[derive(Debug)]
pub(super) struct Places {
    /// Where they say what they changed.
    pub state: PathBuf,
    /// The trace instances, where the kernel has any.
    pub instances: Option<PathBuf>,
}

impl Places {
    /// Those of this machine.
    pub fn here(tracefs: Option<&Tracefs>) -> Self {
        Self {
            state: FOLDER.into(),
            instances: tracefs.map(|t| t.path().join("instances")),
        }
    }
}

/// What was swept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// The trace instances that were removed, by name.
    pub instances: Vec<String>,
    /// How many recordings' settings were put back.
    pub recordings: usize,
    /// How many settings those were.
    pub settings: usize,
    /// What could not be swept, a sentence each.
    pub failed: Vec<String>,
}

impl Swept {
    /// What was swept, in a sentence; `None` if there was nothing.
    #[must_use]
    pub fn sentence(&self) -> Option<String> {
        let (instances, settings) = (self.instances.len(), self.settings);
        if instances == 0 && self.recordings == 0 {
            return None;
        }
        Some(format!(
            "cleaned up after a killed recording: {} removed, {} restored",
            counted(instances, "trace instance"),
            counted(settings, "setting")
        ))
    }
}

/// Removes and restores what recordings left whose process and guard are dead. Those
/// of living ones are not touched.
///
/// # Errors
/// If the caller is not root, or a recording runs.
pub fn sweep() -> Result<Swept, RecordingError> {
    if !rustix::process::geteuid().is_root() {
        return Err(RecordingError::NotRoot);
    }
    let tracefs = Tracefs::find().ok();
    let places = Places::here(tracefs.as_ref());
    let _lock = Lock::take(&places.state, PATIENCE)?;
    Ok(sweep_held(&places))
}

/// The same, for one who has the lock.
pub(super) fn sweep_held(places: &Places) -> Swept {
    let mut swept = Swept::default();
    // Settings first: their files name instances too.
    let instances = || {
        let all = places.instances.iter().flat_map(|folder| names(folder));
        let dead = all.filter(|(name, _)| {
            let owner = name.strip_prefix(INSTANCE).and_then(Owner::read);
            owner.is_some_and(|o| o.is_dead())
        });
        dead.collect::<Vec<_>>()
    };
    let before = instances();
    for (name, path) in names(&places.state) {
        if name.starts_with(UNWRITTEN) {
            // Nothing was changed yet.
            fs::remove_file(&path).ok();
        } else if name.starts_with(CHANGED) {
            let changed = Changed::read(&path);
            let owner = changed.ok().flatten().and_then(|c| c.owner);
            if owner.is_some_and(|o| !o.is_dead()) {
                continue;
            }
            match restore(&path) {
                Ok(settings) => {
                    swept.recordings += 1;
                    swept.settings += settings.unwrap_or(0);
                }
                Err(e) => swept.failed.push(e.to_string()),
            }
        }
    }
    for (name, path) in before {
        match !path.exists() || remove_instance(&path) {
            true => swept.instances.push(name),
            false => swept.failed.push(format!(
                "{}: cannot be removed, because a program reads from it",
                path.display()
            )),
        }
    }
    swept
}

/// What is in a folder, in order.
fn names(folder: &Path) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries.filter_map(|e| Some((e.file_name().into_string().ok()?, e.path())));
    let mut all: Vec<_> = named.collect();
    all.sort();
    all
}

#[cfg(test)]
mod tests {
    use super::{INSTANCE, Owner, Places, sweep_held};
    use std::fs;

    #[test]
    fn what_the_dead_left_goes_and_what_the_living_have_stays() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        let (state, instances) = (at("run"), at("instances"));
        fs::create_dir(&state).unwrap();
        fs::create_dir(&instances).unwrap();
        let this = Owner::this().unwrap();
        let words: Vec<String> = this.to_string().split('-').map(str::to_owned).collect();
        // One that had this process's number before.
        let dead = format!("{}-1-{}-{}", words[0], words[2], words[3]);
        let old = format!("{}-1-{}-{}", words[0], words[2], "0".repeat(32));
        for (owner, setting) in [(&this.to_string(), "a"), (&dead, "b"), (&old, "c")] {
            let instance = instances.join(format!("{INSTANCE}{owner}"));
            fs::create_dir(&instance).unwrap();
            fs::write(at(setting), "0").unwrap();
            let text = format!(
                "firstlight-changed-settings 2\nowner {owner}\ninstance {}\nset {} 128\n",
                instance.display(),
                at(setting).display()
            );
            fs::write(state.join(format!("changed-{owner}")), text).unwrap();
        }
        for other in ["firstlight-test-1", "somebody", "firstlight-7"] {
            fs::create_dir(instances.join(other)).unwrap();
        }
        fs::write(state.join("new-1"), "half").unwrap();
        fs::write(state.join("changed-unknown"), "half").unwrap();
        let places = Places {
            state: state.clone(),
            instances: Some(instances.clone()),
        };
        let swept = sweep_held(&places);
        assert_eq!((swept.recordings, swept.settings), (2, 1));
        let mut gone = [&old, &dead].map(|o| format!("{INSTANCE}{o}"));
        gone.sort();
        assert_eq!(swept.instances, gone);
        assert!(swept.failed[0].contains("changed-unknown"), "{swept:?}");
        let value = |name: &str| fs::read_to_string(at(name)).unwrap();
        // The settings of another boot went with it.
        assert_eq!(
            [value("a"), value("b"), value("c")].map(|v| v.len()),
            [1, 3, 1]
        );
        let left: Vec<_> = super::names(&instances).into_iter().map(|n| n.0).collect();
        assert_eq!(left.len(), 4, "{left:?}");
        assert!(left.contains(&format!("{INSTANCE}{this}")));
        assert!(
            swept
                .sentence()
                .unwrap()
                .contains("2 trace instances removed, 1 setting restored")
        );
        assert_eq!(sweep_held(&places).sentence(), None);
    }
}
