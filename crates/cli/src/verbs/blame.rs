//! `firstlight blame`: what took longest.

use crate::args::Inputs;
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
    #[arg(long)]
    pub kind: Option<Kind>,
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
        conflicts_with = "tree"
    )]
    pub sort: Option<FunctionColumn>,
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

/// A column of the table of functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FunctionColumn {
    Function,
    Count,
    Time,
    Average,
    Local,
    MaxSub,
    MsCount,
}

/// A kind of row.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Kind {
    Initcall,
    Probe,
    Unit,
    Process,
    File,
    Stage,
    Phase,
}

pub fn run(args: &Blame, out: &mut Out) -> Result<()> {
    // The program ends after its answer; to free a large record first takes
    // longer than to leave that to the kernel.
    let record = ManuallyDrop::new(input::boot(&args.inputs.inputs, &args.inputs.reading)?);
    if args.functions {
        return functions(args, &record, out);
    }
    if args.deferrals {
        let all = analysis::deferrals(&record);
        return out.text(&match out.json {
            true => views::json::text(&views::json::deferrals(&all, args.top)),
            false => views::terminal::deferrals(&all, args.top, &out.style),
        });
    }
    if args.gaps {
        let all = analysis::gaps(&record, args.top);
        return out.text(&match out.json {
            true => views::json::text(&views::json::gaps(&all)),
            false => views::terminal::gaps(&all, &out.style),
        });
    }
    if args.by == Some(By::Subsystem) {
        let all = analysis::subsystems(&record, args.top);
        return out.text(&match out.json {
            true => views::json::text(&views::json::subsystems(&all)),
            false => views::terminal::subsystems(&all, &out.style),
        });
    }
    let phases = analysis::phases_with(&record, &args.inputs.reading.options());
    let blame = analysis::blame_with(&record, &phases, args.kind.map(kind), args.top);
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
        let order = args.sort.map_or_else(FunctionOrder::default, order);
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

const fn order(column: FunctionColumn) -> FunctionOrder {
    match column {
        FunctionColumn::Function => FunctionOrder::Function,
        FunctionColumn::Count => FunctionOrder::Count,
        FunctionColumn::Time => FunctionOrder::Time,
        FunctionColumn::Average => FunctionOrder::Average,
        FunctionColumn::Local => FunctionOrder::Local,
        FunctionColumn::MaxSub => FunctionOrder::MaxSub,
        FunctionColumn::MsCount => FunctionOrder::MaxSubCount,
    }
}

const fn kind(kind: Kind) -> BlameKind {
    match kind {
        Kind::Initcall => BlameKind::Initcall,
        Kind::Probe => BlameKind::Probe,
        Kind::Unit => BlameKind::Unit,
        Kind::Process => BlameKind::Process,
        Kind::File => BlameKind::File,
        Kind::Stage => BlameKind::Stage,
        Kind::Phase => BlameKind::Phase,
    }
}
