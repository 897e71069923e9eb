//! What a board can be asked to do, whatever stands between it and this host.

use super::error::BoardError;
use super::file::Board;
use crate::serial::listen::Console;
use std::time::Duration;

/// When power came on, on `CLOCK_MONOTONIC`, in nanoseconds. It was between the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switched {
    /// Before the switch was told.
    pub began_ns: u64,
    /// After it had answered.
    pub ended_ns: u64,
}

/// What is put onto a board, for its commands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deployment {
    /// The variant's name.
    pub variant: String,
    /// Its treatments.
    pub treatments: Vec<String>,
    /// The whole kernel command line, with the nonce.
    pub cmdline: String,
    /// Variables of the loader's environment to set, or to remove (`None`).
    pub environment: Vec<(String, Option<String>)>,
    /// What the kernel command line must contain for this trial alone.
    pub nonce: String,
}

impl Deployment {
    /// The environment of the commands that deploy and restore.
    #[must_use]
    pub fn envs(&self, board: &Board) -> Vec<(&'static str, String)> {
        let changed = self.environment.iter();
        let set = changed.clone().filter_map(|(n, v)| Some((n, v.as_ref()?)));
        let set: Vec<String> = set.map(|(name, value)| format!("{name}={value}")).collect();
        let removed = changed.filter(|(_, v)| v.is_none());
        let removed: Vec<&str> = removed.map(|(name, _)| name.as_str()).collect();
        let files = board.deploy.files.as_ref();
        vec![
            ("FIRSTLIGHT_BOARD", board.name.clone()),
            ("FIRSTLIGHT_VARIANT", self.variant.clone()),
            ("FIRSTLIGHT_TREATMENTS", self.treatments.join("\n")),
            ("FIRSTLIGHT_CMDLINE", self.cmdline.clone()),
            ("FIRSTLIGHT_ENV_SET", set.join("\n")),
            ("FIRSTLIGHT_ENV_REMOVE", removed.join("\n")),
            ("FIRSTLIGHT_NONCE", self.nonce.clone()),
            (
                "FIRSTLIGHT_FILES",
                files.map_or_else(String::new, |f| f.display().to_string()),
            ),
        ]
    }
}

/// A boot that others ran and recorded. Times are nanoseconds since their record began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// When switching the power on began, and when it ended.
    pub power: (u64, u64),
    /// Lines of the console, each with its end, and when each was read.
    pub lines: Vec<(u64, Vec<u8>)>,
    /// What they say of a boot that failed.
    pub failure: Option<String>,
    /// Their files, for the capture.
    pub files: Vec<(String, Vec<u8>)>,
}

/// A board within reach. What it acquired is let go when it is dropped, and when this
/// program dies.
pub trait Adapter: Send {
    /// The board and what reaches it, for captures.
    fn description(&self) -> String;

    /// Whether the power can stay off.
    fn switches_off(&self) -> bool;

    /// Switches the power on. Where only a cycle is possible, the board is off for as
    /// long as that takes.
    ///
    /// # Errors
    /// If the switch fails or does not answer in time; so with all others.
    fn power_on(&mut self) -> Result<Switched, BoardError>;

    /// Switches the power off; nothing where only a cycle is possible.
    fn power_off(&mut self) -> Result<(), BoardError>;

    /// Where the console is, and how long to wait for it to appear.
    fn console(&mut self) -> Result<(Console, Duration), BoardError>;

    /// Brings the files that the board boots from within reach of this host, if that takes a
    /// command. The board is off then.
    fn mount(&mut self) -> Result<(), BoardError> {
        Ok(())
    }

    /// Gives them back to the board.
    fn unmount(&mut self) -> Result<(), BoardError> {
        Ok(())
    }

    /// Puts a variant onto the board.
    fn deploy(&mut self, what: &Deployment) -> Result<(), BoardError>;

    /// Puts the baseline back.
    fn restore(&mut self, what: &Deployment) -> Result<(), BoardError>;

    /// Brings back a board that does not boot its baseline. Returns whether there is a
    /// way to.
    fn recover(&mut self, what: &Deployment) -> Result<bool, BoardError>;

    /// What a command of the board's file, which has it as `key`, prints after first light, with
    /// what was deployed in its environment.
    fn evidence(
        &mut self,
        key: &'static str,
        command: &str,
        limit: Duration,
        what: &Deployment,
    ) -> Result<Vec<u8>, BoardError>;

    /// Lets others boot what was deployed last, unless it `stops`. `None`: this host switches
    /// the power and listens itself.
    fn recorded(&mut self, _stops: &dyn Fn() -> bool) -> Result<Option<Recorded>, BoardError> {
        Ok(None)
    }

    /// What is doubtful about all boots that it brings, in sentences.
    fn caveat(&self) -> Option<&'static str> {
        None
    }
}
