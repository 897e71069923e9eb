//! The user's inputs: read by the room `input`, with its notes on standard error.

use crate::args::Reading;
use analysis::BootTimes;
use anyhow::Result;
use history::Part;
use record::{Record, Recorder};
use std::fs::File;
use std::path::{Path, PathBuf};

pub use ::input::history::entry as history_entry;
pub use ::input::{HERE, Input, STDIN, line, names, redacted};

/// Says a note on an input.
#[expect(clippy::needless_pass_by_value, reason = "the form of a callback")]
pub fn say(note: String) {
    anstream::eprintln!("firstlight: {note}");
}

/// [`::input::read`].
pub fn read(path: &Path) -> Result<Input> {
    Ok(::input::read(path)?)
}

/// [`::input::file`].
pub fn file(path: &Path) -> Result<(File, PathBuf)> {
    Ok(::input::file(path)?)
}

/// [`::input::read_named`].
pub fn read_named(file: File, path: &Path) -> Result<Input> {
    Ok(::input::read_named(file, path)?)
}

/// These inputs in full, for a sentence to the user.
pub fn shown(paths: &[PathBuf]) -> String {
    if paths.is_empty() {
        return HERE.to_owned();
    }
    let name = |path: &PathBuf| match path == Path::new(STDIN) {
        true => "standard input".to_owned(),
        false => path.display().to_string(),
    };
    paths.iter().map(name).collect::<Vec<_>>().join(", ")
}

/// [`::input::history::read`].
pub fn history(path: &Path, machine: Option<&str>, part: Part) -> Result<::input::history::Read> {
    Ok(::input::history::read(path, machine, part, &say)?)
}

/// [`::input::of_one_boot`].
pub fn of_one_boot(paths: &[PathBuf]) -> Result<Vec<Input>> {
    Ok(::input::of_one_boot(paths, &say)?)
}

/// [`::input::boot`].
pub fn boot(paths: &[PathBuf], reading: &Reading) -> Result<Record> {
    boot_into(Recorder::new(), paths, reading)
}

/// [`::input::boot_into`].
pub fn boot_into(recorder: Recorder, paths: &[PathBuf], reading: &Reading) -> Result<Record> {
    cut::end_in_a_sentence();
    Ok(::input::boot_into(
        recorder,
        paths,
        &reading.chosen(),
        &say,
    )?)
}

/// [`::input::record_from`].
pub fn record_from(inputs: &[Input], reading: &Reading) -> Result<Record> {
    cut::end_in_a_sentence();
    Ok(::input::record_from(inputs, &reading.chosen())?)
}

/// Refuses standard input on both sides of a comparison.
pub fn read_once(paths: &[&[PathBuf]]) -> Result<()> {
    let named = paths.iter().copied().flatten();
    if named.filter(|p| *p == Path::new(STDIN)).count() > 1 {
        anyhow::bail!("standard input (-) can be read only once");
    }
    Ok(())
}

/// [`::input::boots::of`].
pub fn boots(paths: &[PathBuf], reading: &Reading) -> Result<Vec<BootTimes>> {
    cut::end_in_a_sentence();
    Ok(::input::boots::of(paths, &reading.chosen(), &say)?)
}

/// A mapped file that another program cuts while it is read.
mod cut {
    use std::sync::Once;

    static INSTALLED: Once = Once::new();

    #[expect(
        unsafe_code,
        reason = "there is no safe way to handle a signal of the machine's"
    )]
    pub fn end_in_a_sentence() {
        extern "C" fn handler(_signal: libc::c_int) {
            let name = ::input::first_mapped().unwrap_or(b"an input");
            let parts: [&[u8]; 3] = [
                b"firstlight: ",
                name,
                b" (or another large input): got shorter while it was read; take a copy, and read \
                  that\n",
            ];
            // SAFETY: the calls are async-signal-safe, and the texts are immutable.
            unsafe {
                for part in parts {
                    libc::write(2, part.as_ptr().cast(), part.len());
                }
                libc::_exit(2);
            }
        }
        INSTALLED.call_once(|| {
            // SAFETY: the handler only makes async-signal-safe calls and ends.
            unsafe {
                let handler: extern "C" fn(libc::c_int) = handler;
                libc::signal(libc::SIGBUS, handler as libc::sighandler_t);
            }
        });
    }
}
