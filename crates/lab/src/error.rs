//! What can go wrong in the lab.

use crate::arch::Arch;
use crate::trial::TrialId;
use std::io;
use std::path::{Path, PathBuf};

/// A shared result, and another one of the same trial.
#[derive(Debug, thiserror::Error)]
#[error(
    "{trial}: the shared result of {made_by} has the digest {shared}, and the same trial booted \
     here has {here}; find out which host is not exact, and remove that result"
)]
pub struct Disagreement {
    /// Which trial.
    pub trial: TrialId,
    /// Who booted the shared one, and where it is.
    pub made_by: String,
    /// Its digest.
    pub shared: String,
    /// The digest of the boot here.
    pub here: String,
}

/// Why the lab could not do it. A trial that does not boot is no error: it is a
/// result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// The experiment's file cannot be read.
    #[error("{}: cannot be read: {source}", path.display())]
    ReadExperiment {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The experiment's file is not what it should be.
    #[error("{name}:{line}: {why}")]
    Experiment {
        /// The file.
        name: String,
        /// Counted from 1.
        line: usize,
        /// A clause: what was found, what was expected.
        why: String,
    },
    /// No such storage profile, or its file is not what it should be.
    #[error(transparent)]
    Profile(#[from] storage::ProfileError),
    /// A program that the lab runs is not installed.
    #[error("{tool} is not installed but needed to {why}; run `apt-get install {package}`")]
    MissingTool {
        /// The program.
        tool: &'static str,
        /// The Debian package that has it.
        package: &'static str,
        /// What it is for.
        why: &'static str,
    },
    /// An image of a workload cannot be treated.
    #[error("cannot apply `{treatment}` to the image `{name}`: {why}")]
    Image {
        /// Its name.
        name: String,
        /// The treatment.
        treatment: String,
        /// Why.
        why: String,
    },
    /// A program that the lab ran failed.
    #[error("{what} failed: {detail}")]
    ToolFailed {
        /// The program, and what it was to do.
        what: String,
        /// Its last words.
        detail: String,
    },
    /// The agent's program is nowhere to be found.
    #[error(
        "no agent for {arch}: cannot read {}; set FIRSTLIGHT_AGENT to an agent or a folder with \
         firstlight-agent-{arch}", place.display()
    )]
    NoAgent {
        /// The kind of processor.
        arch: Arch,
        /// Where it should be.
        place: PathBuf,
    },
    /// The agent's program is for another kind of processor.
    #[error(
        "{} is not a program for {arch}; set FIRSTLIGHT_AGENT to a folder with \
         firstlight-agent-{arch}", path.display()
    )]
    AgentOfAnother {
        /// The program.
        path: PathBuf,
        /// What it should be for.
        arch: Arch,
    },
    /// The agent's program is to be built and that fails.
    #[error("cannot build the agent for {arch}: {why}")]
    CannotBuildAgent {
        /// The kind of processor.
        arch: Arch,
        /// The compiler's last words.
        why: String,
    },
    /// This host lacks what builds the agent for a kind of processor.
    #[error("cannot build the agent for {arch} on this host: {why}")]
    NoAgentTools {
        /// The kind of processor.
        arch: Arch,
        /// A clause: what is missing, and how to get it.
        why: String,
    },
    /// The agent must not need libraries: there are none in an initramfs.
    #[error(
        "{} is linked to shared libraries, which an initramfs does not have; build it statically \
         with `cargo build --release -p firstlight-agent`", path.display()
    )]
    AgentNotStatic {
        /// The program.
        path: PathBuf,
    },
    /// The kernel image is not one that the machine boots.
    #[error("{}: {why}", path.display())]
    Kernel {
        /// The image.
        path: PathBuf,
        /// A clause: what was found, what was expected, what to do.
        why: String,
    },
    /// A kernel module is not in the kernel's tree.
    #[error(
        "the module `{module}` is not in {}; set `modules` to the module tree of exactly this \
         kernel", tree.display()
    )]
    NoModule {
        /// Its name.
        module: String,
        /// The tree.
        tree: PathBuf,
    },
    /// A shared result was booted again here, and came out otherwise.
    #[error(transparent)]
    Audit(#[from] Box<Disagreement>),
    /// What is named is no place for shared results: a sentence.
    #[error("{0}")]
    Shared(String),
    /// A file in the output folder is of another kind.
    #[error("{}: {why}", path.display())]
    Output {
        /// The file.
        path: PathBuf,
        /// A clause: what was found, what to do.
        why: String,
    },
    /// A folder of the user cannot become a root.
    #[error("{}: {why}", path.display())]
    Tree {
        /// What of it.
        path: PathBuf,
        /// A clause: what was found, what to do.
        why: String,
    },
    /// What is to be written into the initramfs does not fit its format.
    #[error("invalid configuration for the agent: {0}")]
    AgentConfig(#[from] agent::config::ConfigError),
    /// The debugger connection to QEMU broke off or made no sense.
    #[error("the debugger connection to QEMU: {0}")]
    Debugger(String),
    /// A file or folder could not be used.
    #[error("{}: {what}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried, as in "cannot be written".
        what: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// A prepared trial cannot be run here, or its result cannot be used.
    #[error("{name}: {why}")]
    Plan {
        /// The plan's file, or the trial.
        name: String,
        /// A clause: what was found, what to do.
        why: String,
    },
    /// Two boots in real time are never the same.
    #[error(
        "`--check-exact` needs exact boots, because boots in real time never repeat; remove it or \
         `mode = \"statistical\"`"
    )]
    NotExact,
    /// A board cannot be used.
    #[error(transparent)]
    Board(#[from] capture::board::BoardError),
    /// The files that a board boots from cannot be treated.
    #[error("{}: {why}", path.display())]
    BoardFiles {
        /// The folder or the image.
        path: PathBuf,
        /// What could not be done, and why.
        why: String,
    },
    /// A search cannot go on.
    #[error("{0}")]
    Search(String),
    /// A capture of a search cannot be judged.
    #[error("{}: {source}", capture.display())]
    Judge {
        /// The capture.
        capture: PathBuf,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Something that cannot happen did.
    #[error("a bug, please report it: {why}")]
    Bug {
        /// What happened.
        why: String,
    },
}

impl LabError {
    /// The error and what caused it, in one line.
    pub(crate) fn with_causes(&self) -> String {
        let mut line = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(next) = cause {
            let text = next.to_string();
            // Most errors say their cause themselves.
            if !line.contains(&text) {
                line = format!("{line}: {text}");
            }
            cause = next.source();
        }
        line
    }
}

/// Makes a [`LabError::Io`] of an error of the system.
pub(crate) fn io_error<'a>(
    path: &'a Path,
    what: &'static str,
) -> impl FnOnce(io::Error) -> LabError + 'a {
    move |source| LabError::Io {
        path: path.to_owned(),
        what,
        source,
    }
}
