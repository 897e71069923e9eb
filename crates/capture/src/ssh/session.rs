//! Carrying out a plan, and taking back what it installed.

use super::host::{Host, HostError, Script};
use super::plan::{self, FOLDER, Facts, Plan, Step, UNIT, UNIT_PATH};
use std::thread;
use std::time::{Duration, Instant};

/// How often a host that restarts is asked whether it is back.
const AGAIN: Duration = Duration::from_secs(1);

/// Why there is no capture.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// Something on the host.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The host does not answer as a host with a shell does.
    #[error("{host}: unexpected answer; check that its login shell runs commands")]
    Answer {
        /// The host.
        host: String,
    },
    /// It did not come back.
    #[error(
        "{host} did not answer within {seconds} s after the restart{why}; when it does, run \
         `firstlight capture ssh --clean {host}` to remove the installed files"
    )]
    Gone {
        /// The host.
        host: String,
        /// How long was waited.
        seconds: u64,
        /// What `ssh` said last.
        why: String,
    },
    /// Nobody can log in after the restart.
    #[error(
        "{host} asks for a password, which is impossible during a restart; install a key with \
         `ssh-copy-id {host}`"
    )]
    Password {
        /// The host.
        host: String,
    },
    /// The unit took no capture.
    #[error("{host}: the boot was not captured: {why}")]
    Untaken {
        /// The host.
        host: String,
        /// Why.
        why: String,
    },
}

/// A capture that is being taken on a host.
pub struct Session<'a> {
    host: &'a mut Host,
    facts: &'a Facts,
    /// What was installed, and must go: the folder, and the unit.
    folder: Option<String>,
    unit: bool,
    /// Told what is being done.
    say: &'a dyn Fn(&str),
}

/// Asks a host what a plan needs to know.
///
/// # Errors
/// If it cannot be reached, or does not answer as expected.
pub fn ask(host: &Host) -> Result<Facts, SessionError> {
    let answer = host.run(
        Script {
            what: "querying the host",
            text: plan::ASK,
            arguments: &[FOLDER, UNIT_PATH],
            sudo: false,
        },
        Vec::new(),
    )?;
    let facts = Facts::read(&String::from_utf8_lossy(&answer));
    facts.ok_or_else(|| SessionError::Answer {
        host: host.name().to_owned(),
    })
}

impl<'a> Session<'a> {
    /// A session on a host of which this is known.
    pub fn new(host: &'a mut Host, facts: &'a Facts, say: &'a dyn Fn(&str)) -> Self {
        Self {
            host,
            facts,
            folder: None,
            unit: false,
            say,
        }
    }

    /// Carries out a plan with this agent: the capture, as a tar. Whatever
    /// happens, what was installed is removed; what could not be removed is the
    /// second thing that is returned.
    ///
    /// # Errors
    /// The first of the pair: why there is no capture.
    pub fn run(
        mut self,
        plan: &Plan,
        agent: &[u8],
    ) -> (Result<Vec<u8>, SessionError>, Option<String>) {
        let capture = self.steps(plan, agent);
        let left = self.remove().err().map(|why| {
            format!(
                "{host}: cannot remove the installed files: {why}; run `firstlight capture ssh \
                 --clean {host}` to try again",
                host = self.host.name()
            )
        });
        (capture, left)
    }

    /// Removes what captures that did not end may have left.
    ///
    /// # Errors
    /// If the host cannot be reached, or does not let it go.
    pub fn clean(mut self) -> Result<(), SessionError> {
        self.folder = Some(FOLDER.to_owned());
        self.unit = true;
        self.remove()
    }

    fn steps(&mut self, plan: &Plan, agent: &[u8]) -> Result<Vec<u8>, SessionError> {
        let mut capture = Vec::new();
        if plan.steps.contains(&Step::Restart) {
            self.needs_no_password()?;
        }
        for step in &plan.steps {
            match step {
                Step::Copy { folder } => self.copy(folder, agent)?,
                Step::Install { target } => self.install(target)?,
                Step::Restart => self.restart()?,
                Step::WaitBack { limit } => self.wait_back(*limit)?,
                Step::Fetch { limit } => capture = self.fetch(*limit)?,
                Step::Collect { folder } => {
                    (self.say)("collecting");
                    let arguments = [folder.as_str()];
                    let text = r#"exec "$1/firstlight-agent" collect -o -"#;
                    capture = self.root("collecting", text, &arguments, Vec::new())?;
                }
                // When all else is done, or has failed.
                Step::Remove { .. } => {}
            }
        }
        Ok(capture)
    }

    /// Runs a script as root, if anybody can be that.
    fn root(
        &self,
        what: &'static str,
        text: &'static str,
        arguments: &[&str],
        input: Vec<u8>,
    ) -> Result<Vec<u8>, SessionError> {
        let script = self.facts.script(what, text, arguments);
        Ok(self.host.run(script, input)?)
    }

    fn needs_no_password(&self) -> Result<(), SessionError> {
        match self.host.try_run(BOOT_ID) {
            Err(HostError::Unreachable { host, .. }) => Err(SessionError::Password { host }),
            answer => Ok(answer.map(|_| ())?),
        }
    }

    fn copy(&mut self, folder: &str, agent: &[u8]) -> Result<(), SessionError> {
        (self.say)("copying the agent");
        // A folder that is there already, or a link, is somebody else's.
        let text = r#"umask 077 && mkdir -- "$1""#;
        self.root("making a folder", text, &[folder], Vec::new())?;
        self.folder = Some(folder.to_owned());
        let text = r#"umask 077 && cat >"$1/firstlight-agent" && chmod 700 "$1/firstlight-agent""#;
        self.root("copying the agent", text, &[folder], agent.to_vec())?;
        Ok(())
    }

    fn install(&mut self, target: &str) -> Result<(), SessionError> {
        (self.say)("installing the unit");
        let take = plan::TAKE.as_bytes().to_vec();
        let text = r#"umask 022 && cat >"$1/take""#;
        self.root("copying the unit's script", text, &[FOLDER], take)?;
        self.unit = true;
        let unit = plan::unit(target).into_bytes();
        // Without clobbering: a file that is there already is somebody else's.
        let text = r#"umask 022 && set -C && cat >"$1" && systemctl daemon-reload && systemctl --quiet enable "$2""#;
        self.root("installing the unit", text, &[UNIT_PATH, UNIT], unit)?;
        Ok(())
    }

    fn restart(&mut self) -> Result<(), SessionError> {
        (self.say)("restarting the host");
        let text = "systemctl reboot 2>/dev/null || reboot";
        match self.root("restarting", text, &[], Vec::new()) {
            // The connection may end before the command does.
            Ok(_) | Err(SessionError::Host(HostError::Unreachable { .. })) => {}
            Err(e) => return Err(e),
        }
        self.host.forget_connection();
        Ok(())
    }

    fn wait_back(&mut self, limit: Duration) -> Result<(), SessionError> {
        let begun = Instant::now();
        let mut why = String::new();
        while begun.elapsed() < limit {
            let seconds = begun.elapsed().as_secs();
            (self.say)(&format!(
                "waiting for the host to answer again ({seconds} s)"
            ));
            match self.host.try_run(BOOT_ID) {
                Ok(id) if String::from_utf8_lossy(&id).trim() != self.facts.boot => return Ok(()),
                Ok(_) => why = ": it answers but has not restarted".to_owned(),
                Err(HostError::Interrupted) => return Err(HostError::Interrupted.into()),
                Err(e) => why = format!(": {e}"),
            }
            thread::sleep(AGAIN);
        }
        Err(SessionError::Gone {
            host: self.host.name().to_owned(),
            seconds: limit.as_secs(),
            why,
        })
    }

    fn fetch(&mut self, limit: Duration) -> Result<Vec<u8>, SessionError> {
        (self.say)("waiting for the boot to finish");
        let seconds = limit.as_secs().to_string();
        let text = r#"
n=0
while ! [ -e "$1/boot.tar" ] && ! [ -e "$1/failed" ] && [ "$n" -lt "$2" ]; do
    sleep 1
    n=$((n + 1))
done
if [ -e "$1/boot.tar" ]; then echo taken; elif [ -e "$1/failed" ]; then echo failed; cat "$1/failed"; fi
"#;
        let answer = self.root(
            "waiting for the capture",
            text,
            &[FOLDER, &seconds],
            Vec::new(),
        )?;
        let answer = String::from_utf8_lossy(&answer);
        let host = self.host.name().to_owned();
        match answer.trim().split_once('\n') {
            None if answer.trim() == "taken" => {}
            Some(("failed", why)) => {
                let why = why.trim().replace('\n', "; ");
                return Err(SessionError::Untaken { host, why });
            }
            // Where a disk is full, its words cannot be kept either.
            None if answer.trim() == "failed" => {
                let why = format!(
                    "the agent failed without a message; check whether {FOLDER} is \
                    full"
                );
                return Err(SessionError::Untaken { host, why });
            }
            _ => {
                let why = format!(
                    "the boot did not finish within {seconds} s; list the pending jobs there with \
                     `systemctl list-jobs`"
                );
                return Err(SessionError::Untaken { host, why });
            }
        }
        (self.say)("fetching the capture");
        self.root(
            "fetching the capture",
            r#"exec cat "$1/boot.tar""#,
            &[FOLDER],
            Vec::new(),
        )
    }

    /// Removes what was installed. The user's wish to end does not stop it.
    fn remove(&mut self) -> Result<(), SessionError> {
        if self.folder.is_none() && !self.unit {
            return Ok(());
        }
        (self.say)("removing the installed files");
        self.host.insist();
        if self.unit {
            let text = r#"
systemctl --quiet disable "$2" 2>/dev/null
systemctl stop "$2" 2>/dev/null
rm -f -- "$1" && systemctl daemon-reload
"#;
            self.root("removing the unit", text, &[UNIT_PATH, UNIT], Vec::new())?;
            self.unit = false;
        }
        if let Some(folder) = self.folder.take() {
            self.root(
                "removing the folder",
                r#"rm -rf -- "$1""#,
                &[&folder],
                Vec::new(),
            )?;
        }
        Ok(())
    }
}

/// Asks for the id of the boot.
const BOOT_ID: Script<'static> = Script {
    what: "querying the boot ID",
    text: "cat /proc/sys/kernel/random/boot_id",
    arguments: &[],
    sudo: false,
};
