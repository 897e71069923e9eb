//! The adapter of LAVA: a job for each boot.
//!
//! LAVA runs jobs by a schedule of its own and records what it saw. So a boot is a job made of
//! the user's template, and its console is read back from the job's log, with LAVA's stamps.
//! That is coarse: LAVA stamps a line after it has read all of it, types into boot loaders, and
//! boots other jobs in between.

use super::adapter::{Adapter, Deployment, Recorded, Switched};
use super::command::{Asked, Done, ask};
use super::error::BoardError;
use super::file::{Board, CMDLINE, Link};
use super::lava_log;
use crate::serial::listen::Console;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Validates a job by LAVA's own schema. 3: it is not installed.
const VALIDATE: &str = "import sys\n\
    try:\n    import yaml\n    from lava_common.schemas import validate\n\
    except ImportError:\n    sys.exit(3)\n\
    try:\n    validate(yaml.safe_load(open(sys.argv[1])))\n\
    except Exception as error:\n    sys.exit(str(error))\n";

/// Who may have the schema: Debian's package belongs to the first.
const PYTHONS: [&str; 2] = ["/usr/bin/python3", "python3"];

/// What is doubtful about such boots.
const COARSE: &str = "LAVA ran this boot. It stamps a line after it has read all of it, may type into \
    the boot loader, and does not hold the off time constant. Small effects are not visible.";

/// A board that LAVA has.
#[derive(Debug)]
pub struct Lava {
    board: Board,
    what: Deployment,
}

impl Lava {
    /// The jobs of `board`.
    pub fn new(board: &Board) -> Self {
        Self {
            board: board.clone(),
            what: Deployment::default(),
        }
    }

    fn failed(&self, why: String) -> BoardError {
        BoardError::Lava {
            board: self.board.file.display().to_string(),
            why,
        }
    }

    fn run(
        &self,
        template: &str,
        command: &str,
        limit: Duration,
        stops: &dyn Fn() -> bool,
    ) -> Result<Recorded, BoardError> {
        let folder = tempfile::tempdir()?;
        let [job, log] = ["job.yaml", "log.yaml"].map(|name| folder.path().join(name));
        let text = definition(template, &self.what);
        fs::write(&job, &text)?;
        check(&job).map_err(|why| self.failed(format!("LAVA's schema refuses the job: {why}")))?;
        let mut envs = self.what.envs(&self.board);
        envs.push(("FIRSTLIGHT_JOB", job.display().to_string()));
        envs.push(("FIRSTLIGHT_LOG", log.display().to_string()));
        let asked = Asked {
            command,
            folder: &self.board.folder(),
            envs: &envs,
            limit,
        };
        let done = ask(&asked, stops).map_err(|e| e.how());
        done.and_then(Done::success)
            .map_err(|how| BoardError::Command {
                board: self.board.file.display().to_string(),
                key: "lava.run",
                command: command.to_owned(),
                how,
            })?;
        let log = fs::read(&log).map_err(|e| {
            self.failed(format!(
                "`lava.run` left no log in `$FIRSTLIGHT_LOG` ({e}); write `lavacli jobs logs --raw` \
                 into it"
            ))
        })?;
        let mut recorded = lava_log::read(&log).map_err(|why| self.failed(why))?;
        recorded.files = vec![
            ("lava-job.yaml".to_owned(), text.into_bytes()),
            ("lava-log.yaml".to_owned(), log),
        ];
        Ok(recorded)
    }
}

/// The job of a boot: the template with its command line, variant and nonce, each as the
/// content of a double-quoted scalar of YAML.
pub fn definition(template: &str, what: &Deployment) -> String {
    let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
    template
        .replace(CMDLINE, &quoted(&what.cmdline))
        .replace("{variant}", &quoted(&what.variant))
        .replace("{nonce}", &quoted(&what.nonce))
}

/// Whether LAVA's own schema takes the job in this file; `false`: the schema is not installed.
///
/// # Errors
/// What the schema says.
pub fn check(job: &Path) -> Result<bool, String> {
    for python in PYTHONS {
        let done = Command::new(python)
            .args(["-c", VALIDATE])
            .arg(job)
            .stdin(Stdio::null())
            .output();
        match done {
            Ok(done) if done.status.success() => return Ok(true),
            Ok(done) if done.status.code() == Some(1) => {
                let said = String::from_utf8_lossy(&done.stderr);
                return Err(said.trim().replace('\n', ", "));
            }
            _ => {}
        }
    }
    Ok(false)
}

/// Checks the job of the baseline as [`check`] does, without a boot.
///
/// # Errors
/// What the schema says, or why there is no job.
pub fn check_template(template: &str) -> Result<bool, String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let job = folder.path().join("job.yaml");
    fs::write(&job, definition(template, &Deployment::default())).map_err(|e| e.to_string())?;
    check(&job)
}

impl Adapter for Lava {
    fn description(&self) -> String {
        format!("board {}, by LAVA jobs", self.board.name)
    }

    fn switches_off(&self) -> bool {
        false
    }

    fn power_on(&mut self) -> Result<Switched, BoardError> {
        Err(self.failed("LAVA itself switches the power".to_owned()))
    }

    fn power_off(&mut self) -> Result<(), BoardError> {
        Ok(())
    }

    fn console(&mut self) -> Result<(Console, Duration), BoardError> {
        Err(self.failed("the console is in the log of a job".to_owned()))
    }

    fn deploy(&mut self, what: &Deployment) -> Result<(), BoardError> {
        self.what = what.clone();
        Ok(())
    }

    fn restore(&mut self, what: &Deployment) -> Result<(), BoardError> {
        self.deploy(what)
    }

    fn recover(&mut self, _what: &Deployment) -> Result<bool, BoardError> {
        Ok(false)
    }

    fn evidence(
        &mut self,
        _key: &'static str,
        _command: &str,
        _limit: Duration,
        _what: &Deployment,
    ) -> Result<Vec<u8>, BoardError> {
        Err(self.failed("no command reaches the board after its job".to_owned()))
    }

    fn recorded(&mut self, stops: &dyn Fn() -> bool) -> Result<Option<Recorded>, BoardError> {
        let Link::Lava {
            template,
            run,
            limit,
            ..
        } = &self.board.link
        else {
            return Err(self.failed("this board is not reached by LAVA".to_owned()));
        };
        self.run(template, run, *limit, stops).map(Some)
    }

    fn caveat(&self) -> Option<&'static str> {
        Some(COARSE)
    }
}
