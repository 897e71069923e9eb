//! `firstlight blame`: what took longest.

use crate::args::{Inputs, one_of};
use crate::input;
use crate::out::Out;
use analysis::{BlameKind, FunctionOrder};
use anyhow::Result;
use clap::{Args, ValueEnum};
use record::Record;
use std::mem::ManuallyDrop;

/// The arguments of `blame`.
#[derive(Debug, Args)]
pub struct Blame {
    #[command(flatten)]
    pub inputs: Inputs,
    /// Show only this kind
    #[arg(long, value_parser = one_of(KINDS))]
    pub kind: Option<BlameKind>,
    /// Number of rows; 0 for all [default: 20]
    #[arg(
        long,
        value_name = "N",
        default_value_t = 20,
        hide_default_value = true
    )]
    pub top: usize,
    /// Print CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Show deferred probes, device by device
    #[arg(long, conflicts_with_all = ["kind", "csv"])]
    pub deferrals: bool,
    /// Show the longest silences between two consecutive log lines
    #[arg(long, conflicts_with_all = ["kind", "csv", "deferrals", "functions", "by"])]
    pub gaps: bool,
    /// Show the functions of a kernel function trace (function_graph, KFT, kd)
    #[arg(long, conflicts_with_all = ["kind", "deferrals"])]
    pub functions: bool,
    /// Sum initcalls by part of the kernel
    #[arg(long, value_name = "WHAT", conflicts_with_all = ["kind", "csv", "deferrals", "functions"])]
    pub by: Option<By>,
    /// Sort functions by this column [default: time]
    #[arg(
        long,
        value_name = "COLUMN",
        requires = "functions",
        conflicts_with = "tree",
        value_parser = one_of(COLUMNS)
    )]
    pub sort: Option<FunctionOrder>,
    /// Show the call tree
    #[arg(long, requires = "functions")]
    pub tree: bool,
}

/// How calls are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// Folder of the kernel source: drivers/usb, kernel/trace
    Subsystem,
}

pub fn run(args: &Blame, out: &mut Out) -> Result<()> {
    // The program ends after its answer: the kernel frees a large record faster.
    let record = ManuallyDrop::new(input::boot(&args.inputs.inputs, &args.inputs.reading)?);
    if args.functions {
        return functions(args, &record, out);
    }
    if args.deferrals {
        let all = analysis::deferrals(&record);
        return out.show(
            || views::json::deferrals(&all, args.top),
            |style| views::terminal::deferrals(&all, args.top, style),
        );
    }
    if args.gaps {
        let all = analysis::gaps(&record, args.top);
        return out.show(
            || views::json::gaps(&all),
            |style| views::terminal::gaps(&all, style),
        );
    }
    if args.by == Some(By::Subsystem) {
        let all = analysis::subsystems(&record, args.top);
        return out.show(
            || views::json::subsystems(&all),
            |style| views::terminal::subsystems(&all, style),
        );
    }
    let phases = analysis::phases_with(&record, &args.inputs.reading.options());
    let blame = analysis::blame_with(&record, &phases, args.kind, args.top);
    let text = if out.json {
        views::json::text(&views::json::blame(&blame))
    } else if args.csv {
        views::csv::blame(&blame)
    } else {
        views::terminal::blame(&blame, &out.style)
    };
    out.text(&text)
}

fn functions(args: &Blame, record: &Record, out: &mut Out) -> Result<()> {
    let text = if args.tree {
        let calls = analysis::calls(record, args.top);
        if out.json {
            views::json::text(&views::json::calls(&calls))
        } else if args.csv {
            views::csv::calls(&calls)
        } else {
            views::terminal::calls(&calls, &out.style)
        }
    } else {
        let order = args.sort.unwrap_or_default();
        let functions = analysis::functions(record, order, args.top);
        if out.json {
            views::json::text(&views::json::functions(&functions))
        } else if args.csv {
            views::csv::functions(&functions)
        } else {
            views::terminal::functions(&functions, &out.style)
        }
    };
    out.text(&text)
}

/// The kinds by the words that the user types.
const KINDS: &[(&str, BlameKind)] = &[
    ("initcall", BlameKind::Initcall),
    ("probe", BlameKind::Probe),
    ("unit", BlameKind::Unit),
    ("process", BlameKind::Process),
    ("file", BlameKind::File),
    ("stage", BlameKind::Stage),
    ("phase", BlameKind::Phase),
];

/// The columns of the table of functions.
const COLUMNS: &[(&str, FunctionOrder)] = &[
    ("function", FunctionOrder::Function),
    ("count", FunctionOrder::Count),
    ("time", FunctionOrder::Time),
    ("average", FunctionOrder::Average),
    ("local", FunctionOrder::Local),
    ("max-sub", FunctionOrder::MaxSub),
    ("ms-count", FunctionOrder::MaxSubCount),
];
