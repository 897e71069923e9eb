//! `firstlight capture ssh`: another machine's boot.

use crate::args::CaptureSsh;
use crate::out::Out;
use crate::{interrupt, progress};
use agent::capture::{Limits, Manifest, Member, manifest, read_tar, write_tar};
use anyhow::{Context, Result, bail};
use capture::keep;
use capture::ssh::host::Host;
use capture::ssh::plan::{self, Facts, Plan, Wish};
use capture::ssh::session::{self, Session};
use lab::artifacts::{Arch, agent_program};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use views::json::{self, Document};

pub fn run(args: &CaptureSsh, out: &mut Out) -> Result<()> {
    if !args.clean && !args.dry_run {
        keep::check(&args.out)?;
    }
    let interrupted = Arc::new(AtomicBool::new(false));
    let wish = Arc::clone(&interrupted);
    interrupt::on_interrupt(move || {
        wish.store(true, Ordering::Relaxed);
        progress::done(
            "ending; what was installed is removed first, once more leaves it",
            true,
        );
    })?;
    let mut host = Host::new(&args.host, &args.ssh, interrupted)?;
    progress::say(format!("asking {}", args.host));
    let facts = session::ask(&host)?;
    if args.clean {
        return clean(args, &mut host, &facts, out);
    }
    let token = std::process::id().to_string();
    let plan = plan::plan(
        &facts,
        Wish {
            restart: args.reboot,
            limit: args.wait,
            token: &token,
        },
    )
    .with_context(|| args.host.clone())?;
    let agent = agent(args, &facts)?;
    progress::clear();
    if args.dry_run {
        return print_plan(args, &facts, &plan, agent.len(), out);
    }
    anstream::eprint!("{}", plan_text(args, &facts, &plan, agent.len()));
    let say = |what: &str| progress::say(format!("{}: {what}", args.host));
    let (taken, left) = Session::new(&mut host, &facts, &say).run(&plan, &agent);
    progress::clear();
    if let Some(left) = &left {
        anstream::eprintln!("firstlight: {left}");
    }
    let taken = taken?;
    let (manifest, members) =
        read(&taken).with_context(|| format!("what {} sent is no capture", args.host))?;
    keep::pack(&args.out, |to| write_tar(to, &members))?;
    print(args, &facts, &plan, &manifest, out)?;
    if left.is_some() {
        bail!(
            "the capture is in {}, but something is left on the host",
            args.out.display()
        );
    }
    Ok(())
}

/// The agent for the host's processor.
fn agent(args: &CaptureSsh, facts: &Facts) -> Result<Vec<u8>> {
    if let Some(path) = &args.agent {
        return std::fs::read(path).with_context(|| format!("{}: cannot be read", path.display()));
    }
    let machine = &facts.machine;
    let Some(arch) = Arch::of_machine(machine) else {
        let known: Vec<&str> = Arch::ALL.iter().map(|a| a.as_str()).collect();
        bail!(
            "{}: there is no agent for its processor ({machine}), only for {}; build one, and name \
             it by --agent",
            args.host,
            known.join(", ")
        );
    };
    agent_program(arch, &mut |what| progress::say(what))
        .context("an agent can also be named by --agent")
}

/// What the agent sent: checked, before it is kept.
fn read(tar: &[u8]) -> Result<(Manifest, Vec<Member>)> {
    let members = read_tar(tar, Limits::default())?;
    Ok((manifest(&members)?, members))
}

fn clean(args: &CaptureSsh, host: &mut Host, facts: &Facts, out: &mut Out) -> Result<()> {
    let folder = plan::FOLDER.to_owned();
    let step = plan::Step::Remove { folder, unit: true };
    progress::clear();
    if args.dry_run || !facts.left {
        let what = if facts.left {
            format!("1. {step}\n")
        } else {
            "nothing is left there\n".to_owned()
        };
        return out.text(&format!("{}: {what}", args.host));
    }
    anstream::eprintln!("On {}:\n  1. {step}", args.host);
    Session::new(host, facts, &|_| {}).clean()?;
    out.text(&format!("{}: removed\n", args.host))
}

fn plan_text(args: &CaptureSsh, facts: &Facts, plan: &Plan, agent: usize) -> String {
    let mut text = format!(
        "On {} ({}; the agent has {} KiB):\n",
        args.host,
        facts.machine,
        agent.div_ceil(1024)
    );
    for (i, step) in plan.steps.iter().enumerate() {
        text += &format!("  {}. {step}\n", i + 1);
    }
    for remark in &plan.remarks {
        text += &format!("  note: {remark}\n");
    }
    text
}

fn print_plan(
    args: &CaptureSsh,
    facts: &Facts,
    plan: &Plan,
    agent: usize,
    out: &mut Out,
) -> Result<()> {
    if out.json {
        let document = document(args, facts, plan, None);
        return out.text(&json::text(&document));
    }
    out.text(&plan_text(args, facts, plan, agent))
}

fn print(
    args: &CaptureSsh,
    facts: &Facts,
    plan: &Plan,
    manifest: &Manifest,
    out: &mut Out,
) -> Result<()> {
    if out.json {
        let document = document(args, facts, plan, Some(manifest));
        return out.text(&json::text(&document));
    }
    out.flush()?;
    for note in &manifest.notes {
        anstream::eprintln!("firstlight: {}", note.text);
    }
    let files = manifest.sources.len();
    out.text(&format!("{}: {files} files\n", args.out.display()))
}

fn document(
    args: &CaptureSsh,
    facts: &Facts,
    plan: &Plan,
    manifest: Option<&Manifest>,
) -> json::Capture {
    let files = manifest.iter().flat_map(|m| &m.sources).map(|s| &s.file);
    let notes = manifest.iter().flat_map(|m| &m.notes).map(|n| &n.text);
    json::Capture {
        capture: args.out.display().to_string(),
        files: files.cloned().collect(),
        missing: notes.cloned().collect(),
        schema: json::Capture::SCHEMA,
        serial: None,
        ssh: Some(json::CaptureSsh {
            done: manifest.is_some(),
            host: args.host.clone(),
            machine: facts.machine.clone(),
            plan: plan.steps.iter().map(ToString::to_string).collect(),
            remarks: plan.remarks.clone(),
        }),
        board: None,
    }
}
