//! What the agent's processes of one boot tell each other.

use agent::capture::NoteInfo;
use agent::clocks::Stamp;
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::fs;
use std::path::Path;

/// Where the agent keeps its things from its start to first light.
pub const FOLDER: &str = "/run/firstlight";

/// Where systemd's unit leaves the stamp of first light for the watcher.
pub const LIGHT: &str = "/run/firstlight/first-light";

/// The mark at the start of the root's init.
const USERSPACE_START: &str = "userspace-start";

/// What `init` leaves for those who come after it.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct State {
    /// The instants so far, in their order.
    pub marks: Vec<Mark>,
    /// The process that serves the root of a trial.
    pub storage_server: Option<u32>,
    /// Whether a watcher runs, which ends the work itself.
    pub watcher: bool,
    /// What there is to say in the capture.
    pub notes: Vec<NoteInfo>,
}

/// An instant.
#[derive(Debug, Serialize, Deserialize)]
pub struct Mark {
    /// Its name.
    pub name: String,
    /// The phase that begins there, if one does.
    pub begins: Option<String>,
    /// When.
    pub stamp: Stamp,
}

impl State {
    /// Adds an instant.
    pub fn mark(&mut self, name: &str, begins: &str, stamp: Stamp) {
        self.marks.push(Mark {
            name: name.into(),
            begins: Some(begins.into()),
            stamp,
        });
    }

    /// The start of the root's init.
    pub fn userspace_begins(&mut self, stamp: Stamp) {
        self.mark(USERSPACE_START, "userspace", stamp);
    }

    /// When the root's init was about to be started, if that is known.
    pub fn userspace_start(&self) -> Option<Stamp> {
        let mark = self.marks.iter().find(|m| m.name == USERSPACE_START);
        mark.map(|m| m.stamp)
    }

    /// Says something in the capture; `kind` is one of [`agent::capture::note`].
    pub fn note(&mut self, kind: &str, text: String) {
        self.notes.push(NoteInfo {
            kind: kind.into(),
            text,
        });
    }

    /// Keeps it in [`FOLDER`].
    pub fn keep(&self) -> Result<(), Box<dyn Error>> {
        let path = Path::new(FOLDER).join("state.json");
        Ok(fs::write(path, serde_json::to_vec(self)?)?)
    }

    /// Finds it again.
    pub fn find() -> Result<Self, Box<dyn Error>> {
        let path = format!("{FOLDER}/state.json");
        let bytes = fs::read(&path).map_err(|e| {
            format!(
                "{path} cannot be read ({e}); `finish` runs only in a boot that the agent started"
            )
        })?;
        Ok(serde_json::from_slice(&bytes)?)
    }
}
