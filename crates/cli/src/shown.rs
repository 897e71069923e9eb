//! How far a run in the lab is.

use crate::progress;
use lab::{Event, TrialId};
use std::collections::BTreeMap;

/// What is going on, in one line at the bottom and a line for each trial.
#[derive(Default)]
pub struct Shown {
    always: bool,
    trials: usize,
    ended: usize,
    running: BTreeMap<TrialId, String>,
}

impl Shown {
    /// With a line a trial on a standard error that is no terminal, if `always`.
    pub fn new(always: bool) -> Self {
        Self {
            always,
            ..Self::default()
        }
    }

    /// Shows what happens.
    pub fn event(&mut self, event: &Event) {
        match event {
            Event::Planned {
                trials,
                reused,
                jobs,
            } => {
                *self = Self::new(self.always);
                self.trials = *trials;
                let reused = match reused {
                    0 => String::new(),
                    n => format!(", {n} of them done already"),
                };
                progress::done(
                    &format!("{trials} boots, {jobs} at once{reused}"),
                    self.always,
                );
            }
            Event::PowerOn { trial } => {
                self.running.insert(trial.clone(), "power on".to_owned());
            }
            Event::Console {
                trial, last_line, ..
            } => {
                self.running.insert(trial.clone(), last_line.clone());
            }
            Event::Finished { trial, reused } => {
                self.ended += 1;
                self.running.remove(&trial.id);
                let how = match (&trial.failure, reused) {
                    (Some(f), _) => format!("failed: {}", f.detail),
                    (None, true) => match &trial.shared_by {
                        Some(by) => format!("booted by {by}"),
                        None => "done already".to_owned(),
                    },
                    (None, false) => format!("booted in {:.0} s", trial.wall_s),
                };
                let digest = trial.digest.get(..12).unwrap_or_default();
                let count = format!("[{}/{}]", self.ended, self.trials);
                progress::done(
                    &format!("{count:>7} {:<28} {digest}  {how}", trial.id.to_string()),
                    self.always,
                );
            }
            Event::Note { text } => progress::done(text, self.always),
        }
        let running: Vec<String> = self
            .running
            .iter()
            .map(|(id, line)| format!("{id}: {line}"))
            .collect();
        if !running.is_empty() {
            progress::say(format!(
                "{}/{}  {}",
                self.ended,
                self.trials,
                running.join("  |  ")
            ));
        }
    }
}
