//! Treatments that are stopped at any step.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "a test fails by panicking"
)]

mod common;

use common::{apply, content, go_on, parse, root, seen, undo};
use firstlight_treat::files::{Journal, Target};
use std::io;

/// Stops before the `at`th step, as if the process had been killed there; gives
/// how many steps there were.
fn run_until(at: usize, work: impl FnOnce(&mut dyn FnMut(&str) -> io::Result<()>)) -> usize {
    let mut steps = 0;
    work(&mut |_: &str| {
        steps += 1;
        if steps > at {
            return Err(io::Error::from_raw_os_error(28));
        }
        Ok(())
    });
    steps
}

#[test]
fn a_stop_at_any_step_leaves_the_old_state_or_the_new_one() {
    // Two files and a new folder, and a file that a link replaces.
    for text in ["cmdline+=quiet", "journald=volatile", "mask=a.service"] {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = {
            let root = root(&folder.path().join("model"));
            let old = content(&root);
            apply(&root, text).unwrap();
            (old, content(&root))
        };
        let mut at = 0;
        let (mut stayed, mut changed) = (0, 0);
        loop {
            let root = root(&folder.path().join(format!("{at}")));
            let steps = run_until(at, |fault| {
                let target = Target::open(&root).unwrap();
                let mut journal = Journal::open(&target, &mut go_on).unwrap();
                let done = journal.apply(&parse(text), None, fault);
                assert_eq!(done.is_ok(), content(&root) == new && done.is_ok());
            });
            let target = Target::open(&root).unwrap();
            drop(Journal::open(&target, &mut go_on).unwrap());
            let is = content(&root);
            match is == new {
                true => changed += 1,
                false if is == old => stayed += 1,
                false => panic!("{text}, stopped at step {at}: {is:#?}"),
            }
            // And it can be done, and undone, from there.
            apply(&root, text).unwrap();
            assert_eq!(content(&root), new);
            undo(&root, text).unwrap();
            assert_eq!(content(&root), old);
            if steps <= at {
                break;
            }
            at += 1;
        }
        assert!(
            at >= 8 && stayed > 4 && changed > 1,
            "{text}: {stayed} {changed}"
        );
    }
}

#[test]
fn a_stop_while_undoing_leaves_the_old_state_or_the_new_one() {
    for text in ["cmdline+=quiet", "journald=volatile", "mask=a.service"] {
        let folder = tempfile::tempdir().unwrap();
        let mut at = 0;
        loop {
            let root = root(&folder.path().join(format!("{at}")));
            let old = seen(&root);
            apply(&root, text).unwrap();
            let new = content(&root);
            let steps = run_until(at, |fault| {
                let target = Target::open(&root).unwrap();
                let mut journal = Journal::open(&target, &mut go_on).unwrap();
                let _ = journal.undo(None, fault);
            });
            let target = Target::open(&root).unwrap();
            drop(Journal::open(&target, &mut go_on).unwrap());
            if content(&root) == new {
                undo(&root, text).unwrap();
            }
            assert_eq!(seen(&root), old, "{text}, stopped at step {at}");
            if steps <= at {
                break;
            }
            at += 1;
        }
        assert!(at > 6, "{text}");
    }
}
