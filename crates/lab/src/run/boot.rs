//! Booting trials, several at once.

use super::fingerprint::fingerprint;
use crate::boot::Boot;
use crate::capture;
use crate::console;
use crate::error::{LabError, io_error};
use crate::event::Event;
use crate::machine::Machine;
use crate::store::{self, Store};
use crate::trial::{self, Failure, Plan, Reason, Trial};
use agent::capture::{CaptureError, Member};
use std::collections::VecDeque;
use std::fs;
use std::path::Path;
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

enum Message {
    Event(Event),
    Ended(usize, Box<Result<Trial, LabError>>),
}

/// What boots one trial: its number, its plan, and who is told what happens.
pub type Boots<'a> =
    dyn Fn(usize, &Plan, &mut dyn FnMut(Event)) -> Result<Trial, LabError> + Sync + 'a;

/// Boots the trials of `open` with `boot`, several at once, and keeps each as it ends.
///
/// # Errors
/// If one cannot be run at all. Those that were running are kept all the same.
pub fn boot_all(
    boot: &Boots<'_>,
    plans: &[Plan],
    open: VecDeque<usize>,
    jobs: usize,
    store: &mut Store,
    results: &mut [Option<Trial>],
    on: &mut dyn FnMut(Event),
) -> Result<(), LabError> {
    let jobs = jobs.min(open.len());
    let queue = Mutex::new(open);
    let queue = || queue.lock().unwrap_or_else(PoisonError::into_inner);
    let (send, receive) = channel();
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            let (send, queue) = (send.clone(), &queue);
            scope.spawn(move || {
                loop {
                    // Not in the loop's head: the lock would last for the body.
                    let next = queue().pop_front();
                    let Some((i, plan)) = next.and_then(|i| Some((i, plans.get(i)?))) else {
                        return;
                    };
                    let tell = &mut |event| {
                        // The other end listens for as long as there are machines.
                        let _ = send.send(Message::Event(event));
                    };
                    let ended = Box::new(boot(i, plan, tell));
                    if ended.is_err() {
                        // What runs may end; nothing new begins.
                        queue().clear();
                    }
                    if send.send(Message::Ended(i, ended)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(send);
        let mut done = Ok(());
        for message in receive {
            let kept = match message {
                Message::Event(event) => {
                    on(event);
                    continue;
                }
                Message::Ended(i, ended) => {
                    (*ended).and_then(|trial| keep(trial, i, store, results, on))
                }
            };
            if kept.is_err() {
                queue().clear();
                done = done.and(kept);
            }
        }
        done
    })
}

/// Keeps the trial of number `i`, which has ended.
///
/// # Errors
/// If it cannot be written.
pub fn keep(
    trial: Trial,
    i: usize,
    store: &mut Store,
    results: &mut [Option<Trial>],
    on: &mut dyn FnMut(Event),
) -> Result<(), LabError> {
    store.keep(&trial)?;
    if let Some(slot) = results.get_mut(i) {
        *slot = Some(trial.clone());
    }
    on(Event::Finished {
        trial: Box::new(trial),
        reused: false,
    });
    Ok(())
}

/// Boots one trial and writes its capture into the output folder `out`: here and on every
/// other host, trials are booted by this function alone.
///
/// # Errors
/// If it cannot be run at all. A boot that fails is a [`Trial`].
pub fn boot_one(
    machine: &dyn Machine,
    plan: &Plan,
    out: &Path,
    tell: &mut dyn FnMut(Event),
) -> Result<Trial, LabError> {
    let folder = store::begin(out, &plan.id)?;
    let work = folder.join("work");
    fs::create_dir(&work).map_err(io_error(&work, "cannot be created"))?;
    tell(Event::PowerOn {
        trial: plan.id.clone(),
    });
    let begin = Instant::now();
    let mut boot = machine.boot(plan, &work, &mut |bytes, last_line| {
        tell(Event::Console {
            trial: plan.id.clone(),
            bytes,
            last_line: last_line.to_owned(),
        });
    })?;
    let wall_s = begin.elapsed().as_secs_f64();
    // A console that found no room is cut without a word.
    disk_has_room(&work)?;
    let (digest, members, virtual_end_ns) = taken(machine, plan, &mut boot)?;
    if boot.failure.is_none()
        && let Some(detail) = capture::gave_up(&members)
    {
        boot.failure = Some(Failure {
            reason: Reason::Agent,
            detail,
            last_lines: console::last_lines(&boot.console),
        });
    }
    capture::write(&folder.join("capture"), &members)?;
    fs::remove_dir_all(&work).map_err(io_error(&work, "cannot be removed"))?;
    store::take_place(out, &plan.id)?;
    Ok(Trial {
        firstlight_trial: trial::VERSION,
        id: plan.id.clone(),
        fingerprint: fingerprint(machine, plan)?,
        digest,
        capture: plan.id.folder().join("capture"),
        virtual_end_ns,
        wall_s,
        shared_by: None,
        failure: boot.failure,
        kernel: plan.spec.kernel.as_str().to_owned(),
        cmdline: plan.spec.cmdline.to_string(),
        notes: boot.notes,
        board: None,
    })
}

/// The least room on a disk that is not full, in bytes.
const ROOM_BYTES: u64 = 1 << 20;

/// # Errors
/// If the disk that holds `folder` is full, so that what was written there may be
/// cut.
fn disk_has_room(folder: &Path) -> Result<(), LabError> {
    let Ok(disk) = rustix::fs::statvfs(folder) else {
        return Ok(());
    };
    if disk.f_bavail.saturating_mul(disk.f_frsize) >= ROOM_BYTES {
        return Ok(());
    }
    let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
    Err(io_error(
        folder,
        "the disk is full, so this boot may be incomplete; free some space and run again to \
         continue",
    )(full))
}

/// The digest of a boot, its capture, and the last time that the target read.
fn taken(
    machine: &dyn Machine,
    plan: &Plan,
    boot: &mut Boot,
) -> Result<(String, Vec<Member>, Option<u64>), LabError> {
    let bug = |e: CaptureError| LabError::Bug { why: e.to_string() };
    if let Some(members) = boot.stored.take() {
        let end = capture::end_of_stored(&members);
        return Ok((capture::digest_of_stored(&members), members, end));
    }
    let digest = capture::digest(boot);
    let (description, cmdline) = (machine.description(), plan.spec.cmdline.to_string());
    let exact = machine.is_exact();
    let (members, end) = capture::members(boot, &description, (&cmdline, &plan.recording), exact)
        .or_else(|e| {
        boot.payload = None;
        boot.failure.get_or_insert_with(|| Failure {
            reason: Reason::Payload,
            detail: e.to_string(),
            last_lines: console::last_lines(&boot.console),
        });
        capture::members(boot, &description, (&cmdline, &plan.recording), exact).map_err(bug)
    })?;
    Ok((digest, members, end.filter(|_| exact)))
}
