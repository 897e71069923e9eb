//! `firstlight help`: a verb's help, and the formats that can be read.

use crate::out::Out;
use anyhow::{Result, bail};
use clap::{Args, Command};

/// The arguments of `help`.
#[derive(Debug, Args)]
pub struct Help {
    /// A verb and its parts, such as `lab run`; or `formats`
    #[arg(value_name = "VERB|formats")]
    pub topic: Vec<String>,
}

/// Prints help from the definition of the whole command line.
pub fn run(args: &Help, mut command: Command, out: &mut Out) -> Result<()> {
    if args.topic == ["formats"] {
        return formats(out);
    }
    command.build();
    let mut found = &mut command;
    for word in &args.topic {
        match found.find_subcommand_mut(word) {
            Some(inner) => found = inner,
            None => bail!(
                "no help on `{}`; `firstlight help` lists the verbs, `firstlight help formats` \
                 the input formats",
                args.topic.join(" ")
            ),
        }
    }
    let help = found.render_long_help();
    let help = match out.style.color {
        true => help.ansi().to_string(),
        false => help.to_string(),
    };
    out.text(&help)
}

fn formats(out: &mut Out) -> Result<()> {
    let formats = sources::SOURCES.iter().map(|s| (s.name(), s.description()));
    let formats: Vec<_> = formats.collect();
    out.text(&match out.json {
        true => views::json::text(&views::json::formats(&formats)),
        false => views::terminal::formats(&formats, &out.style),
    })
}
