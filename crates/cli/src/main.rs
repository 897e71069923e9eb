//! The `firstlight` command: arguments, the user's files, the terminal.

mod args;
mod beside;
mod command;
mod input;
mod interrupt;
mod out;
mod outputs;
mod progress;
mod shown;
mod size;
mod verbs;

use args::{LabVerb, Reading};
use clap::FromArgMatches;
use command::{Cli, Verb, command};
use out::Out;
use std::process::ExitCode;

/// Parts of a large log are read at once. The program that is shipped is linked with musl,
/// whose own allocator has one lock for all threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = match command()
        .try_get_matches()
        .and_then(|m| Cli::from_arg_matches(&m))
    {
        Ok(cli) => cli,
        Err(e) => {
            // Help and version are no errors; a closed pipe is fine.
            let code = if e.use_stderr() { 2 } else { 0 };
            e.print().ok();
            return ExitCode::from(code);
        }
    };
    let mut out = Out::new(&cli.output);
    let done = match &cli.verb {
        _ if cli.version => verbs::version::run(cli.verbose, &mut out),
        None => verbs::show::of(&[], &Reading::default(), &mut out),
        Some(Verb::Show(a)) => verbs::show::run(a, &mut out),
        Some(Verb::Blame(a)) => verbs::blame::run(a, &mut out),
        Some(Verb::Io(a)) => verbs::io::run(a, &mut out),
        Some(Verb::Boots(a)) => verbs::boots::run(a, &mut out),
        Some(Verb::History(a)) => verbs::history::run(a, &mut out),
        Some(Verb::Bisect(a)) => verbs::bisect::run(a, &mut out),
        Some(Verb::Gate(a)) => verbs::boots::gate::run(a, &mut out),
        #[cfg(feature = "parquet")]
        Some(Verb::Rows(a)) => verbs::rows::run(a, &mut out),
        Some(Verb::Fleet(a)) => verbs::fleet::run(a),
        Some(Verb::Diff(a)) => verbs::diff::run(a, &mut out),
        Some(Verb::Path(a)) => verbs::path::run(a, &mut out),
        Some(Verb::Redact(a)) => verbs::redact::run(a, &mut out),
        Some(Verb::Export(a)) => verbs::export::run(a, &mut out),
        Some(Verb::Report(a)) => verbs::report::run(a, &mut out),
        #[cfg(feature = "serve")]
        Some(Verb::Serve(a)) => verbs::serve::run(a, &mut out),
        Some(Verb::InstallAgent(a)) => verbs::install_agent::run(a, &mut out),
        Some(Verb::Capture(a)) => verbs::capture::run(a, &mut out),
        Some(Verb::Lab(a)) => match &a.verb {
            LabVerb::Run(a) => verbs::lab::run(a, &mut out),
            LabVerb::Trial(a) => verbs::trial::run(a, &mut out),
            LabVerb::Classics(a) => verbs::classics::run(a, &mut out),
            LabVerb::Mounts(a) => verbs::mounts::run(a, &mut out),
            LabVerb::Findings(a) => verbs::findings::run(a, &mut out),
            LabVerb::Resolution(a) => verbs::resolution::run(a, &mut out),
            LabVerb::Doctor(a) => verbs::lab::doctor(a, &mut out),
            LabVerb::Restore(a) => verbs::board::restore(&a.board, &mut out),
        },
        Some(Verb::Flash(a)) => verbs::flash::run(a, &mut out),
        Some(Verb::Image(a)) => verbs::image::run(a, &mut out),
        Some(Verb::Prefetch(a)) => verbs::prefetch::run(a, &mut out),
        Some(Verb::Cold(a)) => verbs::cold::run(a, &mut out),
        Some(Verb::Advise(a)) => verbs::advise::run(a, &mut out),
        Some(Verb::Treat(a)) => verbs::treat::run(a, &mut out),
        Some(Verb::Tune(a)) => verbs::tune::run(a, &mut out),
        Some(Verb::Calibrate(a)) => verbs::calibrate::run(a, &mut out),
        Some(Verb::Demo(a)) => verbs::demo::run(a, &mut out),
        Some(Verb::Help(a)) => verbs::help::run(a, command(), &mut out),
        Some(Verb::Completions { shell }) => {
            let mut text = Vec::new();
            clap_complete::generate(*shell, &mut command(), "firstlight", &mut text);
            out.bytes(&text)
        }
        Some(Verb::Man) => verbs::man::run(command(), &mut out),
    };
    match done.and_then(|()| out.finish()) {
        Ok(code) => code,
        Err(e) if out::is_closed_pipe(&e) => ExitCode::SUCCESS,
        Err(e) => {
            progress::clear();
            anstream::eprintln!("firstlight: {}", ::input::sentence(e.as_ref()));
            ExitCode::from(2)
        }
    }
}
