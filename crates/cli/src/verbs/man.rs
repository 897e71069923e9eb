//! `firstlight man`: one page of all verbs, from the same definitions as the
//! help.

use crate::out::Out;
use anyhow::Result;

pub fn run(mut command: clap::Command, out: &mut Out) -> Result<()> {
    let mut page = Vec::new();
    // Built whole, so that a verb knows the options that all verbs share.
    command.build();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    for verb in command.get_subcommands() {
        verb_section(&mut page, "firstlight", verb)?;
    }
    out.bytes(&page)
}

fn verb_section(page: &mut Vec<u8>, above: &str, verb: &clap::Command) -> Result<()> {
    let name = format!("{above} {}", verb.get_name());
    let verb = verb.clone().display_name(name.clone());
    let man = clap_mangen::Man::new(verb.clone());
    page.extend_from_slice(format!(".SH {}\n", name.to_uppercase()).as_bytes());
    if let Some(about) = verb.get_about() {
        page.extend_from_slice(format!("{about}.\n.PP\n").as_bytes());
    }
    let mut options = Vec::new();
    man.render_options_section(&mut options)?;
    page.extend_from_slice(&options);
    for inner in verb.get_subcommands() {
        verb_section(page, &name, inner)?;
    }
    Ok(())
}
