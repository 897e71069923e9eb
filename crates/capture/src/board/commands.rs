//! The adapter of commands: whatever a shell can do.

use super::adapter::{Adapter, Deployment, Switched};
use super::command::{Asked, Done, ask};
use super::error::BoardError;
use super::file::{Board, ConsoleAt, Link, Power};
use crate::serial::listen::Console;
use std::time::Duration;

/// Runs the commands of a board's file.
#[derive(Debug)]
pub struct Commands {
    board: Board,
    /// Variables that commands about a deployment get besides.
    more: Vec<(&'static str, String)>,
}

impl Commands {
    /// The commands of `board`.
    pub fn new(board: &Board) -> Self {
        Self {
            board: board.clone(),
            more: Vec::new(),
        }
    }

    /// Gives commands about a deployment these variables, too.
    pub fn also(&mut self, more: Vec<(&'static str, String)>) {
        self.more = more;
    }

    /// Runs one of the file's commands.
    pub fn run(
        &self,
        key: &'static str,
        command: &str,
        envs: &[(&'static str, String)],
        limit: Duration,
    ) -> Result<Done, BoardError> {
        let asked = Asked {
            command,
            folder: &self.board.folder(),
            envs,
            limit,
        };
        let done = ask(&asked, &|| false).map_err(|e| e.how());
        done.and_then(Done::success)
            .map_err(|how| BoardError::Command {
                board: self.board.file.display().to_string(),
                key,
                command: command.to_owned(),
                how,
            })
    }

    /// The same with what is deployed in its environment, if the file has the command.
    pub fn deploying(
        &self,
        key: &'static str,
        command: Option<&String>,
        what: &Deployment,
    ) -> Result<bool, BoardError> {
        let Some(command) = command else {
            return Ok(false);
        };
        self.run(key, command, &self.envs(what), self.board.deploy.limit)?;
        Ok(true)
    }

    /// The environment of commands about what is deployed.
    fn envs(&self, what: &Deployment) -> Vec<(&'static str, String)> {
        let mut envs = what.envs(&self.board);
        envs.extend(self.more.iter().cloned());
        envs
    }

    fn power(&self) -> Result<(&Power, Duration), BoardError> {
        match &self.board.link {
            Link::Commands { power, limit, .. } => Ok((power, *limit)),
            Link::Labgrid { .. } | Link::Lava { .. } => Err(not_by_commands()),
        }
    }
}

fn not_by_commands() -> BoardError {
    std::io::Error::other("this board is not reached by commands").into()
}

impl Adapter for Commands {
    fn description(&self) -> String {
        format!("board {}, by commands", self.board.name)
    }

    fn switches_off(&self) -> bool {
        matches!(self.power(), Ok((Power::Switch { .. }, _)))
    }

    fn power_on(&mut self) -> Result<Switched, BoardError> {
        let (power, limit) = self.power()?;
        let (key, command) = match power {
            Power::Switch { on, .. } => ("power.on", on),
            Power::Cycle(cycle) => ("power.cycle", cycle),
        };
        let done = self.run(key, command, &[], limit)?;
        Ok(Switched {
            began_ns: done.began_ns,
            ended_ns: done.ended_ns,
        })
    }

    fn power_off(&mut self) -> Result<(), BoardError> {
        match self.power()? {
            (Power::Switch { off, .. }, limit) => self.run("power.off", off, &[], limit).map(drop),
            (Power::Cycle(_), _) => Ok(()),
        }
    }

    fn console(&mut self) -> Result<(Console, Duration), BoardError> {
        let Link::Commands { console, .. } = &self.board.link else {
            return Err(not_by_commands());
        };
        Ok(match console {
            ConsoleAt::Port {
                place,
                settings,
                wait,
            } => (Console::At(place.clone(), *settings), *wait),
            ConsoleAt::Exec(command) => {
                let folder = self.board.folder().display().to_string();
                let folder = folder.replace('\'', "'\\''");
                let command = format!("cd '{folder}' || exit 2\n{command}");
                (Console::Of(command), Duration::ZERO)
            }
        })
    }

    fn mount(&mut self) -> Result<(), BoardError> {
        let mount = self.board.deploy.mount.as_ref().map(|(m, _)| m);
        self.deploying("deploy.mount", mount, &Deployment::default())
            .map(drop)
    }

    fn unmount(&mut self) -> Result<(), BoardError> {
        let unmount = self.board.deploy.mount.as_ref().map(|(_, u)| u);
        self.deploying("deploy.unmount", unmount, &Deployment::default())
            .map(drop)
    }

    fn deploy(&mut self, what: &Deployment) -> Result<(), BoardError> {
        let run = self.board.deploy.run.as_ref();
        self.deploying("deploy.run", run, what).map(drop)
    }

    fn restore(&mut self, what: &Deployment) -> Result<(), BoardError> {
        let restore = self.board.deploy.restore.as_ref();
        self.deploying("deploy.restore", restore, what).map(drop)
    }

    fn recover(&mut self, what: &Deployment) -> Result<bool, BoardError> {
        let recover = self.board.deploy.recover.as_ref();
        self.deploying("deploy.recover", recover, what)
    }

    fn evidence(
        &mut self,
        key: &'static str,
        command: &str,
        limit: Duration,
        what: &Deployment,
    ) -> Result<Vec<u8>, BoardError> {
        let done = self.run(key, command, &self.envs(what), limit)?;
        Ok(done.output)
    }
}
