//! What the agent's processes of one boot tell each other.

use firstlight_agent::capture::NoteInfo;
use firstlight_agent::clocks::Stamp;
use std::error::Error;
use std::fs;

/// Where the agent keeps its things from its start to first light.
pub const FOLDER: &str = "/run/firstlight";

/// Where `init` leaves its [`State`].
const FILE: &str = "/run/firstlight/state";

/// Where systemd's unit leaves the stamp of first light for the watcher.
pub const LIGHT: &str = "/run/firstlight/first-light";

/// The mark at the start of the root's init.
const USERSPACE_START: &str = "userspace-start";

/// What `init` leaves for those who come after it.
#[derive(Debug, Default, PartialEq)]
pub struct State {
    /// The instants so far, in their order.
    pub marks: Vec<Mark>,
    /// The process that serves the root of a trial.
    pub storage_server: Option<u32>,
    /// The block device that it serves the root from: major and minor number.
    pub served_from: Option<(u32, u32)>,
    /// Whether a watcher runs, which ends the work itself.
    pub watcher: bool,
    /// What there is to say in the capture.
    pub notes: Vec<NoteInfo>,
}

/// An instant.
#[derive(Debug, PartialEq)]
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

    /// Adds an instant at which no phase begins: now.
    pub fn pass(&mut self, name: &str) {
        self.marks.push(Mark {
            name: name.into(),
            begins: None,
            stamp: Stamp::now(),
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

    /// Says something in the capture; `kind` is one of [`firstlight_agent::capture::note`].
    pub fn note(&mut self, kind: &str, text: String) {
        self.notes.push(NoteInfo {
            kind: kind.into(),
            text,
        });
    }

    /// Keeps it in [`FOLDER`].
    pub fn keep(&self) -> Result<(), Box<dyn Error>> {
        Ok(fs::write(FILE, self.to_text())?)
    }

    /// Finds it again.
    pub fn find() -> Result<Self, Box<dyn Error>> {
        let text = fs::read_to_string(FILE).map_err(|e| {
            format!("cannot read {FILE} ({e}); run `finish` only in a boot that the agent started")
        })?;
        Self::parse(&text)
    }

    /// One line for each thing that it says.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for Mark {
            name,
            begins,
            stamp,
        } in &self.marks
        {
            let begins = begins.as_deref().unwrap_or("-");
            text += &format!("mark {name} {begins} {}\n", stamp.to_words());
        }
        if let Some(pid) = self.storage_server {
            text += &format!("storage-server {pid}\n");
        }
        if let Some((major, minor)) = self.served_from {
            text += &format!("served-from {major} {minor}\n");
        }
        if self.watcher {
            text += "watcher\n";
        }
        for NoteInfo { kind, text: note } in &self.notes {
            text += &format!("note {kind} {}\n", note.replace('\n', " "));
        }
        text
    }

    /// Reads what [`Self::to_text`] wrote.
    pub fn parse(text: &str) -> Result<Self, Box<dyn Error>> {
        let mut state = Self::default();
        for line in text.lines() {
            state.take(line).ok_or_else(|| {
                format!("the agent's state file contains the invalid line `{line}`")
            })?;
        }
        Ok(state)
    }

    fn take(&mut self, line: &str) -> Option<()> {
        let (key, rest) = line.split_once(' ').unwrap_or((line, ""));
        match key {
            "mark" => {
                let (name, rest) = rest.split_once(' ')?;
                let (begins, words) = rest.split_once(' ')?;
                self.marks.push(Mark {
                    name: name.into(),
                    begins: Some(begins).filter(|b| *b != "-").map(Into::into),
                    stamp: Stamp::from_words(words)?,
                });
            }
            "storage-server" => self.storage_server = Some(rest.parse().ok()?),
            "served-from" => {
                let (major, minor) = rest.split_once(' ')?;
                self.served_from = Some((major.parse().ok()?, minor.parse().ok()?));
            }
            "watcher" => self.watcher = true,
            "note" => {
                let (kind, text) = rest.split_once(' ')?;
                self.note(kind, text.into());
            }
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::State;
    use firstlight_agent::clocks::Stamp;

    #[test]
    fn what_is_left_is_found() {
        let mut state = State::default();
        assert_eq!(State::parse("").unwrap(), state);
        state.mark("initrd-start", "initrd", Stamp::now());
        state.pass("initrd-modules");
        state.userspace_begins(Stamp::now());
        state.storage_server = Some(81);
        state.served_from = Some((259, 0));
        state.watcher = true;
        state.note("refused", "two words\nand a line".into());
        let found = State::parse(&state.to_text()).unwrap();
        assert_eq!(found.marks, state.marks);
        assert_eq!(found.userspace_start(), state.userspace_start());
        assert_eq!((found.storage_server, found.watcher), (Some(81), true));
        assert_eq!(found.served_from, Some((259, 0)));
        assert_eq!(found.notes[0].text, "two words and a line");
        assert!(State::parse("mark initrd-start initrd 1 2 3\n").is_err());
        assert!(State::parse("lunch\n").is_err());
    }
}
