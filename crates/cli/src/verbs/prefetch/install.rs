//! `firstlight prefetch install` and `uninstall`: the prefetcher in a root
//! filesystem, and out of it again.

use super::args::{Init, Install, Uninstall};
use crate::out::Out;
use crate::progress;
use anyhow::{Context, Result};
use lab::artifacts::{Arch, agent_program};
use lab::layout::read_list;
use std::path::Path;
use treat::prefetcher;
use views::json::{Document, PrefetchInstall};
use views::terminal;

/// Installs.
pub fn install(args: &Install, out: &mut Out) -> Result<()> {
    let list = args.list.as_deref().map(read_list).transpose()?;
    let own = rustix::system::uname();
    let own = own.machine().to_string_lossy();
    let machine = list.as_ref().map_or(&*own, |l| &l.machine);
    let agent = || {
        let arch = Arch::of_machine(machine)
            .with_context(|| format!("there is no prefetcher for a {machine}"))?;
        let agent = agent_program(arch, &mut |what| progress::say(what))?;
        progress::clear();
        anyhow::Ok(agent)
    };
    let init = args.init.map(|init| match init {
        Init::Systemd => prefetcher::Init::Systemd,
        Init::Busybox => prefetcher::Init::Busybox,
        Init::Initramfs => prefetcher::Init::Initramfs,
    });
    let done = prefetcher::install(&args.root, agent, list.as_ref(), init, args.dry_run)?;
    print(out, "install", args.dry_run, &args.root, done)
}

/// Takes the installation back.
pub fn uninstall(args: &Uninstall, out: &mut Out) -> Result<()> {
    let done = prefetcher::uninstall(&args.root, args.dry_run)?;
    print(out, "uninstall", args.dry_run, &args.root, done)
}

fn print(
    out: &mut Out,
    action: &'static str,
    planned: bool,
    root: &Path,
    changes: Vec<String>,
) -> Result<()> {
    let done = PrefetchInstall {
        action,
        changes,
        done: !planned,
        root: root.display().to_string(),
        schema: PrefetchInstall::SCHEMA,
    };
    out.show(|| &done, |_| terminal::prefetch::install(&done))
}
