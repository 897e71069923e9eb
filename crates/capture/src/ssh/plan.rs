//! What will be done on a host, decided before anything is.

use super::host::Script;
use std::fmt;
use std::time::Duration;

/// Where the agent and the capture wait over a restart.
pub const FOLDER: &str = "/var/lib/firstlight-capture";

/// The unit that takes the capture after it.
pub const UNIT: &str = "firstlight-capture.service";

/// Where the unit is.
pub const UNIT_PATH: &str = "/etc/systemd/system/firstlight-capture.service";

const UNIT_FOLDER: &str = "/etc/systemd/system";

/// Asks a host what a plan needs to know: a word and its value a line. Nothing
/// is changed.
pub const ASK: &str = r#"
echo "machine $(uname -m)"
echo "boot $(cat /proc/sys/kernel/random/boot_id)"
echo "user $(id -u)"
if [ "$(id -u)" != 0 ] && sudo -n true 2>/dev/null; then echo "sudo yes"; fi
if [ -d /run/systemd/system ]; then echo "systemd $(systemctl get-default 2>/dev/null)"; fi
if [ -e "$1" ] || [ -e "$2" ]; then echo "left yes"; fi
for folder in /tmp /var/tmp "$HOME" /dev/shm /run; do
    if [ -n "$folder" ] && [ -d "$folder" ] && [ -w "$folder" ]; then echo "folder $folder"; fi
done
while read -r device point kind options rest; do echo "mount $options $point"; done </proc/mounts
"#;

/// What is known of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Its processor, as `uname -m` says it.
    pub machine: String,
    /// The id of its boot.
    pub boot: String,
    /// Who can be root there.
    pub root: Root,
    /// systemd's default target, if systemd runs.
    pub systemd: Option<String>,
    /// What a capture left behind that did not end.
    pub left: bool,
    /// Folders that can be written to.
    folders: Vec<String>,
    /// Mount options and points, in the order of mounting.
    mounts: Vec<(String, String)>,
}

/// Who can be root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Root {
    /// Nobody.
    #[default]
    No,
    /// The user is.
    Yes,
    /// `sudo` makes it so without a password.
    Sudo,
}

impl Facts {
    /// A script that runs as root, if anybody can be that.
    pub fn script<'a>(
        &self,
        what: &'static str,
        text: &'static str,
        arguments: &'a [&'a str],
    ) -> Script<'a> {
        Script {
            what,
            text,
            arguments,
            sudo: self.root == Root::Sudo,
        }
    }

    /// Reads what [`ASK`] printed; `None` if it is not an answer to that.
    pub fn read(answer: &str) -> Option<Self> {
        let mut facts = Self::default();
        for line in answer.lines() {
            let (word, value) = line.split_once(' ').unwrap_or((line, ""));
            match word {
                "machine" => facts.machine = value.to_owned(),
                "boot" => facts.boot = value.to_owned(),
                "user" if value == "0" => facts.root = Root::Yes,
                "sudo" if facts.root == Root::No => facts.root = Root::Sudo,
                "systemd" => facts.systemd = Some(value.to_owned()),
                "left" => facts.left = true,
                "folder" => facts.folders.push(value.to_owned()),
                "mount" => {
                    let (options, point) = value.split_once(' ')?;
                    // The kernel writes blanks and the like as octal numbers.
                    let point = point.replace("\\040", " ");
                    facts.mounts.push((options.to_owned(), point));
                }
                _ => {}
            }
        }
        (!facts.machine.is_empty() && !facts.boot.is_empty()).then_some(facts)
    }

    /// Whether the filesystem that a path is on has this option.
    fn has_option(&self, path: &str, option: &str) -> bool {
        let holds = |point: &str| {
            let inside = path.strip_prefix(point.trim_end_matches('/'));
            inside.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let mounts = self.mounts.iter().filter(|(_, point)| holds(point));
        // Of equals the last: it was mounted over the others.
        let mount = mounts.max_by_key(|(_, point)| point.trim_end_matches('/').len());
        mount.is_some_and(|(options, _)| options.split(',').any(|o| o == option))
    }

    /// A folder to run a program from for a while.
    pub fn passing_folder(&self) -> Option<&str> {
        let runs = |folder: &&String| !self.has_option(folder, "noexec");
        self.folders.iter().find(runs).map(String::as_str)
    }

    /// Why the next boot cannot be made to capture itself; `None` if it can.
    fn why_not_armed(&self) -> Option<&'static str> {
        if self.systemd.is_none() {
            return Some("the host does not run systemd");
        }
        if self.has_option(FOLDER, "ro") || self.has_option(UNIT_FOLDER, "ro") {
            return Some("the host's root is mounted read-only");
        }
        if self.has_option(FOLDER, "noexec") {
            return Some("programs under /var/lib cannot run (noexec)");
        }
        None
    }
}

/// Something that is done on the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Copy the agent into a new folder.
    Copy {
        /// The folder.
        folder: String,
    },
    /// Install the unit that takes the capture after the next boot.
    Install {
        /// The target that wants it.
        target: String,
    },
    /// Restart.
    Restart,
    /// Wait until it is back.
    WaitBack {
        /// For how long.
        limit: Duration,
    },
    /// Wait until the unit has taken the capture, and fetch it.
    Fetch {
        /// For how long.
        limit: Duration,
    },
    /// Run the agent now, and take what it prints.
    Collect {
        /// The agent's folder.
        folder: String,
    },
    /// Remove what was installed.
    Remove {
        /// The folder.
        folder: String,
        /// Whether the unit is there too.
        unit: bool,
    },
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Copy { folder } => write!(f, "copy the agent into the new folder {folder}"),
            Self::Install { target } => write!(
                f,
                "install {UNIT_PATH}, wanted by {target}; after the next boot it runs the agent, \
                 which writes the capture to {FOLDER}"
            ),
            Self::Restart => f.write_str("restart the host"),
            Self::WaitBack { limit } => {
                write!(f, "wait up to {} s until it answers again", limit.as_secs())
            }
            Self::Fetch { limit } => write!(
                f,
                "wait up to {} s for the capture, and fetch it",
                limit.as_secs()
            ),
            Self::Collect { .. } => f.write_str(
                "run the agent, and save the capture that it \
                prints",
            ),
            Self::Remove { folder, unit: true } => write!(f, "remove {folder} and {UNIT_PATH}"),
            Self::Remove { folder, .. } => write!(f, "remove {folder}"),
        }
    }
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish<'a> {
    /// Whether the host is restarted, and the next boot captured.
    pub restart: bool,
    /// How long to wait for the host, and for the capture.
    pub limit: Duration,
    /// What makes the name of a passing folder new.
    pub token: &'a str,
}

/// A plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What is done, in order.
    pub steps: Vec<Step>,
    /// What the plan does not do that it could, and why.
    pub remarks: Vec<String>,
}

/// Why nothing can be planned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// What an earlier capture left must go first.
    #[error(
        "{FOLDER} or {UNIT_PATH} exists, so an earlier capture was interrupted or another one is \
         running; remove them with `--clean`"
    )]
    Left,
    /// Nobody is root.
    #[error(
        "a restart of the host needs root; log in as root or allow the user `sudo` without a \
         password"
    )]
    NotRoot,
    /// There is no folder to run the agent from.
    #[error(
        "no writable folder of the host can run programs (tried /tmp, /var/tmp, the home folder, \
         /dev/shm and /run); remount one without noexec"
    )]
    NoFolder,
}

/// Plans a capture.
///
/// # Errors
/// If the host does not allow it.
pub fn plan(facts: &Facts, wish: Wish<'_>) -> Result<Plan, PlanError> {
    if facts.left {
        return Err(PlanError::Left);
    }
    if wish.restart && facts.root == Root::No {
        return Err(PlanError::NotRoot);
    }
    let mut remarks = Vec::new();
    if facts.root == Root::No {
        remarks.push(
            "the agent runs as an ordinary user, so the capture may be incomplete; log in as root \
             or allow `sudo` without a password"
                .to_owned(),
        );
    }
    let limit = wish.limit;
    let why_not = facts.why_not_armed();
    if wish.restart && why_not.is_none() {
        let target = facts.systemd.clone().filter(|t| is_target(t));
        let target = target.unwrap_or_else(|| "multi-user.target".to_owned());
        let folder = FOLDER.to_owned();
        let steps = vec![
            Step::Copy {
                folder: folder.clone(),
            },
            Step::Install { target },
            Step::Restart,
            Step::WaitBack { limit },
            Step::Fetch { limit },
            Step::Remove { folder, unit: true },
        ];
        return Ok(Plan { steps, remarks });
    }
    let folder = facts.passing_folder().ok_or(PlanError::NoFolder)?;
    let folder = format!(
        "{}/firstlight-capture-{}",
        folder.trim_end_matches('/'),
        wish.token
    );
    let mut steps = Vec::new();
    if let Some(why) = why_not.filter(|_| wish.restart) {
        remarks.push(format!(
            "the boot is captured when the host answers again, not when the boot finishes: {why}"
        ));
        steps.extend([Step::Restart, Step::WaitBack { limit }]);
    }
    steps.extend([
        Step::Copy {
            folder: folder.clone(),
        },
        Step::Collect {
            folder: folder.clone(),
        },
        Step::Remove {
            folder,
            unit: false,
        },
    ]);
    Ok(Plan { steps, remarks })
}

/// Whether a name goes into a unit as it is.
fn is_target(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.@:".contains(c);
    name.ends_with(".target") && name.chars().all(plain)
}

/// The unit that takes the capture: after the default target, so that nothing of
/// the boot waits for it, and as a simple service, so that the boot is not
/// unfinished because of it.
pub fn unit(target: &str) -> String {
    format!(
        "# Written by `firstlight capture ssh`, which removes it when it has the capture.\n\
         [Unit]\n\
         Description=Capture of this boot by Firstlight\n\
         DefaultDependencies=no\n\
         After={target}\n\
         Conflicts=shutdown.target\n\
         Before=shutdown.target\n\
         RequiresMountsFor={FOLDER}\n\
         ConditionPathExists=!{FOLDER}/boot.tar\n\
         \n\
         [Service]\n\
         Type=simple\n\
         ExecStart=/bin/sh {FOLDER}/take\n\
         \n\
         [Install]\n\
         WantedBy={target}\n"
    )
}

/// What the unit runs. Its argument is the folder, so that tests have their own.
pub const TAKE: &str = r#"#!/bin/sh
# Takes a capture of this boot when it is finished.
cd "${1:-/var/lib/firstlight-capture}" || exit 1
systemctl is-system-running --wait >/dev/null 2>&1
# Before version 240 of systemd that did not wait.
while state=$(systemctl is-system-running 2>/dev/null)
    [ "$state" = starting ] || [ "$state" = initializing ]
do sleep 1; done
if ./firstlight-agent collect -o new.tar 2>said; then mv new.tar boot.tar; else mv said failed; fi
"#;

#[cfg(test)]
mod tests {
    use super::{FOLDER, Facts, Plan, PlanError, Root, Step, Wish, plan, unit};
    use std::time::Duration;

    const ANSWER: &str = "machine aarch64\nboot 0123\nuser 0\nsystemd graphical.target\n\
        folder /tmp\nfolder /var/tmp\nfolder /home/it s\n\
        mount rw,relatime /\nmount rw,noexec,nosuid /tmp\nmount rw,noexec /run\n";

    fn planned(answer: &str, restart: bool) -> Result<Plan, PlanError> {
        let wish = Wish {
            restart,
            limit: Duration::from_secs(300),
            token: "42",
        };
        plan(&Facts::read(answer).unwrap(), wish)
    }

    #[test]
    fn the_last_boot_is_captured_from_a_folder_that_runs_programs() {
        let plan = planned(ANSWER, false).unwrap();
        let folder = "/var/tmp/firstlight-capture-42".to_owned();
        assert_eq!(
            plan.steps,
            [
                Step::Copy {
                    folder: folder.clone()
                },
                Step::Collect {
                    folder: folder.clone()
                },
                Step::Remove {
                    folder,
                    unit: false
                }
            ]
        );
        assert_eq!(plan.remarks, [""; 0]);
    }

    #[test]
    fn a_restart_is_armed_where_it_can_be() {
        let plan = planned(ANSWER, true).unwrap();
        let first = Step::Copy {
            folder: FOLDER.to_owned(),
        };
        let last = Step::Remove {
            folder: FOLDER.to_owned(),
            unit: true,
        };
        assert_eq!(
            (plan.steps.first(), plan.steps.last()),
            (Some(&first), Some(&last))
        );
        let text = plan
            .steps
            .iter()
            .map(|s| format!("{s}\n"))
            .collect::<String>();
        assert!(text.contains("wanted by graphical.target"), "{text}");

        for (was, is, why) in [
            ("systemd graphical.target\n", "", "does not run systemd"),
            (
                "mount rw,relatime /\n",
                "mount ro,relatime /\n",
                "read-only",
            ),
            (
                "mount rw,noexec /run\n",
                "mount rw,noexec /var\n",
                "cannot run",
            ),
        ] {
            let plan = planned(&ANSWER.replace(was, is), true).unwrap();
            assert!(plan.remarks[0].contains(why), "{:?}", plan.remarks);
            assert_eq!(plan.steps[0], Step::Restart);
            assert!(!plan.steps.iter().any(|s| matches!(s, Step::Install { .. })));
        }
        // A name that is no plain one does not reach the unit.
        let odd = ANSWER.replace("graphical.target", "a\tb.target");
        assert!(
            planned(&odd, true)
                .unwrap()
                .steps
                .iter()
                .any(|s| matches!(s, Step::Install { target } if target == "multi-user.target"))
        );
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let user = ANSWER.replace("user 0", "user 1000");
        assert_eq!(planned(&user, true), Err(PlanError::NotRoot));
        let plan = planned(&user, false).unwrap();
        assert!(plan.remarks[0].contains("ordinary user"));
        let sudo = format!("{user}sudo yes\n");
        assert_eq!(Facts::read(&sudo).unwrap().root, Root::Sudo);
        assert!(planned(&sudo, true).is_ok());
        assert_eq!(
            planned(&format!("{ANSWER}left yes\n"), false),
            Err(PlanError::Left)
        );
        let none = ANSWER.replace("folder ", "nothing ");
        assert_eq!(planned(&none, false), Err(PlanError::NoFolder));
        assert_eq!(Facts::read("bash: line 1: command not found"), None);
        assert_eq!(Facts::read("machine \nboot 1\n"), None);
        assert_eq!(Facts::read("machine x\nboot 1\nmount broken"), None);
    }

    #[test]
    fn a_later_mount_hides_an_earlier_one() {
        let answer = format!("{ANSWER}mount rw /tmp\n");
        let folder = planned(&answer, false).unwrap().steps;
        assert!(matches!(&folder[0], Step::Copy { folder } if folder.starts_with("/tmp/")));
        // /tmpx is not in /tmp.
        let answer = ANSWER.replace("folder /tmp\n", "folder /tmpx\n");
        let folder = planned(&answer, false).unwrap().steps;
        assert!(matches!(&folder[0], Step::Copy { folder } if folder.starts_with("/tmpx/")));
    }

    #[test]
    fn the_unit_has_no_place_for_anything_else() {
        let unit = unit("multi-user.target");
        assert!(unit.contains("After=multi-user.target\n"));
        assert!(unit.lines().all(|l| !l.contains('%') && !l.contains('$')));
    }
}
