//! `firstlight install-agent`: a target that captures its own boots.

use crate::out::Out;
use crate::{interrupt, progress};
use anyhow::{Context, Result, bail};
use capture::ssh::host::Host;
use capture::ssh::{install, session};
use clap::{Args, ValueEnum, ValueHint};
use lab::artifacts::{Arch, agent_program};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use treat::target_agent::{self, Start};
use views::json::{Document, InstallAgent as Report};
use views::terminal;

/// The arguments of `install-agent`.
#[derive(Debug, Args)]
pub struct InstallAgent {
    /// Root tree, or ssh:HOST
    #[arg(value_name = "ROOT|ssh:HOST", value_hint = ValueHint::DirPath)]
    pub target: PathBuf,
    /// What starts the agent [default: what the target has: systemd, openrc or busybox]
    #[arg(long, value_name = "WHAT")]
    pub start: Option<StartAs>,
    /// Agent for the target's processor [default: the one of this program]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub agent: Option<PathBuf>,
    /// Print the plan, but change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Remove the agent again; its captures stay
    #[arg(long, conflicts_with_all = ["start", "agent"])]
    pub undo: bool,
    /// ssh command with your own options
    #[arg(long, value_name = "CMD", default_value = "ssh", value_hint = ValueHint::CommandString)]
    pub ssh: String,
}

/// What starts the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StartAs {
    /// Unit of systemd, when the boot has ended
    Systemd,
    /// Service of OpenRC, the last one
    Openrc,
    /// Script /etc/init.d/S99firstlight-agent
    Busybox,
    /// init= on the kernel command line
    Kernel,
    /// rdinit= and a hook of initramfs-tools
    InitramfsTools,
    /// rdinit= and a module of dracut
    Dracut,
    /// rdinit= and a hook of mkinitcpio
    Mkinitcpio,
}

impl StartAs {
    const fn as_start(self) -> Start {
        match self {
            Self::Systemd => Start::Systemd,
            Self::Openrc => Start::Openrc,
            Self::Busybox => Start::Busybox,
            Self::Kernel => Start::Kernel,
            Self::InitramfsTools => Start::InitramfsTools,
            Self::Dracut => Start::Dracut,
            Self::Mkinitcpio => Start::Mkinitcpio,
        }
    }
}

pub fn run(args: &InstallAgent, out: &mut Out) -> Result<()> {
    let name = args.target.to_string_lossy();
    let changes = match name.strip_prefix("ssh:") {
        Some(host) => on_host(args, host)?,
        None => in_root(args, &args.target)?,
    };
    let report = Report {
        action: if args.undo { "undo" } else { "install" },
        changes,
        done: !args.dry_run,
        schema: Report::SCHEMA,
        target: name.into_owned(),
    };
    out.show(
        || &report,
        |_| terminal::changes(report.action, &report.target, report.done, &report.changes),
    )
}

fn in_root(args: &InstallAgent, root: &Path) -> Result<Vec<String>> {
    if args.undo {
        return Ok(target_agent::uninstall(root, args.dry_run)?);
    }
    let start = match args.start {
        Some(start) => start.as_start(),
        None => Start::of(root)?,
    };
    let agent = agent(args, target_agent::machine_of(root))?;
    Ok(target_agent::install(root, &agent, start, args.dry_run)?)
}

/// A mirror of the host's files takes the same plan as a root tree.
fn on_host(args: &InstallAgent, host: &str) -> Result<Vec<String>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let wish = Arc::clone(&interrupted);
    interrupt::on_interrupt(move || wish.store(true, Ordering::Relaxed))?;
    let host = Host::new(host, &args.ssh, interrupted)?;
    progress::say(format!("asking {}", host.name()));
    let facts = session::ask(&host)?;
    progress::clear();
    if args.undo {
        let list = target_agent::INSTALLED;
        return Ok(install::undo(&host, &facts, list, args.dry_run)?);
    }
    let mirror = tempfile::tempdir().context("cannot make a temporary folder")?;
    let root = mirror.path();
    let paths = target_agent::paths();
    install::mirror(&host, &facts, &paths, &target_agent::SCRIPTS, root)?;
    if root.join(target_agent::INSTALLED).exists() {
        bail!(
            "{0}: the agent is installed already; `firstlight install-agent --undo ssh:{0}` \
             removes it",
            host.name()
        );
    }
    let start = match args.start {
        Some(start) => start.as_start(),
        None => Start::of(root).ok().with_context(|| {
            format!(
                "{} has neither systemd nor OpenRC nor /etc/init.d/rcS; say with --start what \
                 starts the agent",
                host.name()
            )
        })?,
    };
    let agent = agent(args, Some(&facts.machine))?;
    let changes = target_agent::install(root, &agent, start, args.dry_run)?;
    if !args.dry_run {
        let made = target_agent::installed_in(root)?;
        let made: Vec<&str> = made.iter().map(String::as_str).collect();
        let mut tar = tar::Builder::new(Vec::new());
        tar.follow_symlinks(false);
        for path in &made {
            tar.append_path_with_name(root.join(path), path)?;
        }
        progress::say(format!("installing on {}", host.name()));
        install::apply(&host, &facts, &made, tar.into_inner()?)?;
        progress::clear();
    }
    Ok(changes)
}

/// The agent for a processor.
fn agent(args: &InstallAgent, machine: Option<&str>) -> Result<Vec<u8>> {
    if let Some(path) = &args.agent {
        return std::fs::read(path).with_context(|| format!("{}: cannot be read", path.display()));
    }
    let machine = machine
        .context("cannot tell the target's processor; name the agent's program with --agent")?;
    let arch = Arch::of_machine(machine).with_context(|| {
        format!("there is no agent for a {machine}; build one and name it with --agent")
    })?;
    let agent = agent_program(arch, &mut |what| progress::say(what))?;
    progress::clear();
    Ok(agent)
}
