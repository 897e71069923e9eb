//! The command line as a whole: help, completions and the man page come from here.

#[cfg(feature = "serve")]
use crate::args::Serve;
use crate::args::{Capture, Demo, Lab, Output, Treat, Tune};
use crate::verbs::advise::Advise;
use crate::verbs::bisect::args::Bisect;
use crate::verbs::blame::Blame;
use crate::verbs::boots::args::{Boots, Gate};
use crate::verbs::calibrate::args::Calibrate;
use crate::verbs::cold::args::Cold;
use crate::verbs::diff::Diff;
use crate::verbs::export::Export;
use crate::verbs::flash::args::Flash;
use crate::verbs::fleet::Fleet;
use crate::verbs::help::Help;
use crate::verbs::history::args::History;
use crate::verbs::image::args::Image;
use crate::verbs::install_agent::InstallAgent;
use crate::verbs::io::Io;
use crate::verbs::path::Path;
use crate::verbs::prefetch::args::Prefetch;
use crate::verbs::redact::Redact;
use crate::verbs::report::Report;
#[cfg(feature = "parquet")]
use crate::verbs::rows::args::Rows;
use crate::verbs::show::Show;
use clap::{CommandFactory, Parser, Subcommand};
use std::fmt::Write;

/// Show where every millisecond of a Linux boot goes, say what to change, change it, and
/// prove that it helped
#[derive(Debug, Parser)]
#[command(
    name = "firstlight",
    version,
    disable_help_subcommand = true,
    disable_version_flag = true
)]
pub struct Cli {
    /// Print version
    #[arg(short = 'V', long)]
    pub version: bool,
    /// With --version, also print commit, target, features and format versions
    #[arg(long, requires = "version")]
    pub verbose: bool,
    #[command(subcommand)]
    pub verb: Option<Verb>,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Show phases, milestones, findings and data quality of one boot
    #[command(
        after_help = "Examples:\n  $ firstlight show dmesg.txt systemd-analyze.txt\n  \
            $ ssh board dmesg | firstlight show -"
    )]
    Show(Show),
    /// List what took longest: initcalls, probes, units, processes, functions
    #[command(after_help = "Example:\n  $ firstlight blame --kind initcall --top 20 dmesg.txt")]
    Blame(Blame),
    /// Show the critical path to first light, and forecast it without some items
    #[command(after_help = "Examples:\n  $ firstlight path boot.tar.zst\n  \
            $ firstlight path chain.txt blame.txt time.txt --without 'cloud-*'\n  \
            $ firstlight path boot.tar.zst --shorten NetworkManager.service=2s --first-light multi-user.target")]
    Path(Path),
    /// Show block I/O: which requests, from which process, and how long they took
    #[command(
        after_help = "Example:\n  $ blktrace -d /dev/sda -w 30\n  $ firstlight io sda.blktrace.*"
    )]
    Io(Io),
    /// Write one interactive page of a boot or of two, in one HTML file
    #[command(
        after_help = "Examples:\n  $ firstlight report boot.tar.zst -o boot.html\n  \
            $ firstlight report before.tar.zst --against after.tar.zst -o compared.html"
    )]
    Report(Report),
    /// Serve the pages of a folder of captures and experiments to a browser
    #[command(after_help = "Example:\n  $ firstlight serve boots\n\n\
            By default only this machine can reach the server. With --bind 0.0.0.0:7788, others need\n\
            the printed address, which contains a token.")]
    #[cfg(feature = "serve")]
    Serve(Serve),
    /// Convert a boot for other viewers and data tools
    #[command(
        after_help = "Example:\n  $ firstlight export boot.tar.zst --to perfetto -o boot.pftrace\n\n\
            Open perfetto in ui.perfetto.dev or trace_processor, chrome in chrome://tracing, parquet\n\
            in DuckDB or pandas, and folded in flame graph tools."
    )]
    Export(Export),
    /// Take addresses, names, identifiers and secrets out of a capture, log or page
    #[command(
        after_help = "Examples:\n  $ firstlight redact boot.tar.zst -o sent.tar.zst\n  \
            $ dmesg | firstlight redact - -o dmesg.txt\n\n\
            Times are unchanged, and equal values get equal replacements. Read the file before you\n\
            send it."
    )]
    Redact(Redact),
    /// Compare two boots item by item
    #[command(after_help = "Example:\n  $ firstlight diff before.tar.zst --against after.tar.zst")]
    Diff(Diff),
    /// Compare several boots: scatter of each time, and the effect of a change
    #[command(after_help = "Examples:\n  $ firstlight boots run_*.tar.zst\n  \
            $ firstlight boots before/*.txt --against after/*.txt\n  \
            $ firstlight boots before.csv --against after.csv\n\n\
            A table (.csv, .tsv) has one boot per row. Columns whose names end in _s, _sec, _ms, _us\n\
            or _ns are durations.")]
    Boots(Boots),
    /// Fail a CI job if the boot got slower, and name the items that did
    #[command(
        after_help = "Examples:\n  $ firstlight gate base/trials/baseline --against new/trials/baseline\n  \
            $ firstlight gate before.tar.zst --against after.tar.zst --allow 50ms\n  \
            $ firstlight gate before.csv --against after.csv --of Total_Sec\n  \
            $ firstlight gate --against boot.log --budget first-light=2s --budget userspace=800ms\n  \
            $ firstlight gate base --against new --markdown gate.md --junit gate.xml --github\n\n\
            Exit codes: 0 not slower and within all budgets, 1 slower or over budget, 2 cannot tell."
    )]
    Gate(Gate),
    /// Turn the logs of many boots into two tables: boots, and what took time in each
    #[command(after_help = "Examples:\n  $ firstlight rows fleet/ --out tables\n  \
            $ find fleet -name '*.log' | firstlight rows --from-list - --out tables\n\n\
            A folder of folders holds a boot in each. An input that cannot be read is a row with\n\
            status `bad` and the reason.")]
    #[cfg(feature = "parquet")]
    Rows(Rows),
    /// Store the boots of a fleet and ask which release, board or unit made them slower
    #[command(
        disable_help_flag = true,
        after_help = "Examples:\n  $ firstlight fleet ingest store --release 1.10 logs/\n  \
            $ firstlight fleet blame store --base 1.9 --release 1.10"
    )]
    Fleet(Fleet),
    /// Keep boots of commits and releases, and find where they changed
    History(History),
    /// Find the difference between two systems or commits that makes the boot slower
    Bisect(Bisect),
    /// Rank what to change, with evidence, expected saving and cost
    #[command(after_help = "Examples:\n  $ firstlight advise dmesg.txt\n  \
            $ firstlight advise boot.tar.zst --image vmlinuz --image rootfs/ --config .config\n  \
            $ firstlight advise --all serial.log")]
    Advise(Advise),
    /// Plan, apply and undo changes of files that make a boot faster
    Treat(Treat),
    /// Search for the smallest set of treatments that helps, in the lab or on a board, with proof
    #[command(
        after_help = "Examples:\n  $ firstlight tune experiments/micro.toml --out micro\n  \
            $ firstlight tune root.img --kernel debian --until unit:multi-user.target --storage sd-card\n  \
            $ firstlight tune none --kernel debian --with cmdline+=quiet\n  \
            $ firstlight tune board.toml --with cmdline+=quiet --limit-cycles 200"
    )]
    Tune(Tune),
    /// Measure a board for the lab, and compare the lab's forecasts with the board
    Calibrate(Calibrate),
    /// Record what a boot or a program reads from disk, and prefetch it
    Prefetch(Prefetch),
    /// Take a capture of this machine, a serial console, or a host
    Capture(Capture),
    /// Install the agent on a target, so that each boot leaves one capture there
    #[command(
        after_help = "Examples:\n  $ firstlight install-agent rootfs/ --dry-run\n  \
            $ firstlight install-agent ssh:root@board\n  \
            $ firstlight install-agent rootfs/ --start dracut\n  \
            $ firstlight install-agent --undo rootfs/\n\n\
            The capture of the last boot is /var/lib/firstlight-agent/boot.tar on the target."
    )]
    InstallAgent(InstallAgent),
    /// Measure cold and warm starts of a program, and what prefetch and file order save
    #[command(
        after_help = "Examples:\n  $ sudo firstlight cold -- editor --version\n  \
            $ sudo firstlight cold --runs 20 --prefetch --order -- editor --version\n  \
            $ firstlight cold --on root@board -- editor --version"
    )]
    Cold(Cold),
    /// Run experiments in the exact lab
    Lab(Lab),
    /// Show the whole loop on a real Debian: boot, explain, change, prove
    #[command(after_help = "Example:\n  $ firstlight demo --out demo-boot")]
    Demo(Demo),
    /// Check, summarize, list, extract and verify flash images
    Flash(Flash),
    /// Look into kernels, initramfs archives, disks and filesystems, and rearrange them
    Image(Image),
    /// Print help of a verb, or the list of input formats
    #[command(after_help = "Examples:\n  $ firstlight help formats\n  $ firstlight help lab run")]
    Help(Help),
    /// Print completions for a shell
    #[command(
        after_help = "Example:\n  $ firstlight completions bash > /etc/bash_completion.d/firstlight"
    )]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    #[command(after_help = "Example:\n  $ firstlight man | man -l -")]
    Man,
}

/// The verbs by job. A test requires that each verb is in one group.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "Look at a boot",
        &[
            "show", "blame", "path", "io", "report", "serve", "export", "redact",
        ],
    ),
    (
        "Compare boots",
        &["diff", "boots", "gate", "history", "bisect"],
    ),
    ("Many boots", &["rows", "fleet"]),
    ("Take evidence", &["capture", "install-agent", "cold"]),
    ("Make it faster", &["advise", "treat", "tune", "prefetch"]),
    ("Exact lab", &["lab", "calibrate", "demo"]),
    ("Flash and images", &["flash", "image"]),
    ("Program", &["help", "completions", "man"]),
];

/// The command line with its verbs grouped by job.
pub fn command() -> clap::Command {
    let command = Cli::command();
    let mut verbs = String::new();
    for (group, names) in GROUPS {
        writeln!(verbs, "{group}:").ok();
        for name in *names {
            // A build without a feature lacks its verb.
            let Some(verb) = command.find_subcommand(name) else {
                continue;
            };
            let about = verb
                .get_about()
                .map(ToString::to_string)
                .unwrap_or_default();
            writeln!(verbs, "  {name:<14}{about}").ok();
        }
        verbs.push('\n');
    }
    command.help_template(format!(
        "{{about}}\n\nUsage: firstlight [VERB] [INPUT]...\n\n\
         Without a verb: show this machine's last boot.\n\n{verbs}\
         Options:\n{{options}}\n\n\
         Example:\n  $ dmesg > boot.log\n  $ firstlight show boot.log\n\n\
         `firstlight VERB --help` shows the options of a verb.\n\
         Exit codes: 0 fine, 1 a gate says \"slower\", 2 could not do it."
    ))
}

#[cfg(test)]
mod tests {
    use super::{GROUPS, command};
    use std::collections::BTreeSet;

    #[test]
    fn each_verb_is_in_one_group_and_has_an_example() {
        let command = command();
        let grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        let once: BTreeSet<&str> = grouped.iter().copied().collect();
        assert_eq!(once.len(), grouped.len());
        let verbs: BTreeSet<&str> = command.get_subcommands().map(|c| c.get_name()).collect();
        assert_eq!(once, verbs);
    }
}
