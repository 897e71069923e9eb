//! A command of the user's that boots a trial somewhere.

use super::outbox::Outbox;
use crate::error::{LabError, io_error};
use crate::event::Event;
use crate::tools::last_words;
use crate::trial::Trial;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

/// How often a trial is given to a host before the run ends.
pub(super) const ATTEMPTS: u32 = 3;

/// Refuses a command that cannot boot a trial.
///
/// # Errors
/// If it lacks a place for the plan or for the result.
pub fn check(command: &str) -> Result<(), LabError> {
    match ["{plan}", "{out}"].iter().find(|p| !command.contains(*p)) {
        None => Ok(()),
        Some(missing) => Err(LabError::Plan {
            name: command.to_owned(),
            why: format!(
                "the command lacks `{missing}`; write both `{{plan}}` and `{{out}}`, as in \
                 `firstlight lab trial {{plan}} --out {{out}}`"
            ),
        }),
    }
}

/// Boots the trial `i` with `command`, and collects its result. What a host fails at is
/// tried again.
///
/// # Errors
/// If no attempt brings a result.
pub fn boot_by(
    command: &str,
    outbox: &Outbox<'_>,
    i: usize,
    tell: &mut dyn FnMut(Event),
) -> Result<Trial, LabError> {
    let (job, _) = outbox.export(i)?;
    let id = outbox.plan(i)?.id.clone();
    let folder = outbox.folder();
    let log = folder.join(format!("{}.log", job.name));
    let [plan, out] =
        ["json", "tar.zst"].map(|end| quoted(&folder.join(format!("{}.{end}", job.name))));
    let line = command
        .replace("{plan}", &plan)
        .replace("{out}", &out)
        .replace("{inputs}", &quoted(&folder));
    let mut attempt = 0;
    loop {
        attempt += 1;
        outbox.discard(i);
        tell(Event::PowerOn { trial: id.clone() });
        let why = match run(&line, &log)? {
            Some(why) => why,
            None => match outbox.collect(i) {
                // What the host ended may end otherwise on another one.
                Ok(Some(trial)) if attempt == ATTEMPTS || !trial.host_failed() => {
                    return Ok(trial);
                }
                Ok(Some(trial)) => trial.failure.map_or_else(String::new, |f| f.detail),
                Ok(None) => "the command ended well but left no result".to_owned(),
                Err(why) => format!("the result is damaged or not ours: {why}"),
            },
        };
        if attempt == ATTEMPTS {
            return Err(LabError::Plan {
                name: id.to_string(),
                why: format!(
                    "the command brought no result in {ATTEMPTS} attempts: {why}; see {} and run \
                     again to continue",
                    log.display()
                ),
            });
        }
        let text = format!("{id}: attempt {attempt} failed: {why}; trying again");
        tell(Event::Note { text });
    }
}

/// Runs `line` in a shell to its end; gives why it failed, if it did.
fn run(line: &str, log: &Path) -> Result<Option<String>, LabError> {
    let failed = || io_error(log, "cannot be written");
    let file = File::create(log).map_err(failed())?;
    let both = file.try_clone().map_err(failed())?;
    let status = Command::new("sh")
        .args(["-c", line])
        .stdin(Stdio::null())
        .stdout(file)
        .stderr(both)
        .status();
    let status = status.map_err(io_error(Path::new("sh"), "cannot be started"))?;
    if status.success() {
        return Ok(None);
    }
    let said = fs::read(log).unwrap_or_default();
    Ok(Some(format!(
        "{status}, last output: {}",
        last_words(&said)
    )))
}

/// A path as one word of the shell.
pub(super) fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::{check, quoted};
    use std::path::Path;

    #[test]
    fn a_command_names_plan_and_result() {
        assert!(check("run {plan} {out}").is_ok());
        let said = check("run {plan}").unwrap_err().to_string();
        assert!(said.contains("lacks `{out}`"), "{said}");
    }

    #[test]
    fn a_path_is_one_word() {
        assert_eq!(quoted(Path::new("/a b/it's")), r"'/a b/it'\''s'");
    }
}
