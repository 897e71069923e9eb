//! Starts on another machine: this program goes there by ssh, measures, and is removed.

use super::args::Cold;
use crate::{interrupt, progress};
use anyhow::{Context, Result, bail};
use capture::ssh::host::Host;
use capture::ssh::plan::{Facts, Root};
use capture::ssh::session;
use std::fs;
use views::json;

/// Measures on a host.
pub fn measured(args: &Cold, name: &str) -> Result<json::Cold> {
    let words = words(args)?;
    let mut host = Host::new(name, &args.ssh, interrupt::told()?)?;
    progress::say(format!("asking {name}"));
    let facts = session::ask(&host)?;
    let program = program(args, &facts, name)?;
    let Some(place) = facts.passing_folder() else {
        bail!("{name}: has no folder from which a program can be run");
    };
    progress::clear();
    anstream::eprintln!(
        "On {name}:\n  1. copy firstlight ({}) into a new folder below {place}\n  2. run it there{}{}\n  \
         3. remove that folder",
        crate::size::show(program.len() as u64),
        match facts.root {
            Root::Yes => " as root",
            Root::Sudo => " by sudo",
            Root::No => ", not as root",
        },
        match (facts.root, args.evict, args.order) {
            (Root::No, ..) | (_, true, _) => "",
            (_, _, false) => ": it drops that machine's caches before each cold start",
            (_, _, true) =>
                ": it drops that machine's caches before each cold start, and moves the \
                 program's files and puts them back",
        }
    );
    let visit = Visit::begin(&mut host, &facts, place)?;
    let folder = visit.folder.clone();
    let told = visit.told(program, args, &words);
    let removed = visit.remove();
    progress::clear();
    if let Err(why) = removed {
        let left = format!("{name}: {folder} could not be removed: {why:#}");
        return match told {
            Ok(_) => bail!(left),
            Err(e) => Err(e.context(left)),
        };
    }
    let mut report: json::Cold = serde_json::from_slice(&told?)
        .with_context(|| format!("what firstlight said on {name} cannot be understood"))?;
    report.host = Some(name.to_owned());
    Ok(report)
}

/// The options and the program, as words.
fn words(args: &Cold) -> Result<Vec<String>> {
    let mut words = vec![
        "cold".to_owned(),
        "--json".to_owned(),
        format!("--runs={}", args.runs),
    ];
    let flags = [
        (args.prefetch, "--prefetch"),
        (args.order, "--order"),
        (args.evict, "--evict"),
        (args.ignore_failure, "--ignore-failure"),
    ];
    words.extend(flags.iter().filter(|f| f.0).map(|f| f.1.to_owned()));
    if let Some(below) = &args.below {
        let Some(below) = below.to_str() else {
            bail!("{}: what goes to a host has to be text", below.display());
        };
        words.push(format!("--below={below}"));
    }
    words.push("--".to_owned());
    for word in &args.command {
        let Some(word) = word.to_str() else {
            bail!(
                "{}: a word that goes to a host has to be text",
                word.display()
            );
        };
        words.push(word.to_owned());
    }
    Ok(words)
}

/// The program for the host.
fn program(args: &Cold, facts: &Facts, name: &str) -> Result<Vec<u8>> {
    let own = rustix::system::uname();
    let path = match &args.program {
        Some(path) => path.clone(),
        None if *own.machine() == *std::ffi::CString::new(&*facts.machine)? => {
            std::env::current_exe().context("where this program lies is not known")?
        }
        None => bail!(
            "{name}: its architecture ({}) differs from this machine's; name a firstlight built for it with \
             --program",
            facts.machine
        ),
    };
    fs::read(&path).with_context(|| format!("{}: cannot be read", path.display()))
}

/// What is done on a host, and its folder there.
struct Visit<'a> {
    host: &'a mut Host,
    facts: &'a Facts,
    folder: String,
}

impl<'a> Visit<'a> {
    /// Makes a folder there that was nobody's.
    fn begin(host: &'a mut Host, facts: &'a Facts, place: &str) -> Result<Self> {
        let mut visit = Self {
            host,
            facts,
            folder: String::new(),
        };
        let text = r#"umask 077 && mktemp -d "${1%/}/firstlight-cold-XXXXXX""#;
        let made = visit.run("making a folder", text, &[place], Vec::new())?;
        visit.folder = String::from_utf8(made)
            .context("the name of the folder is no text")?
            .trim_end()
            .to_owned();
        Ok(visit)
    }

    fn run(
        &self,
        what: &'static str,
        text: &'static str,
        arguments: &[&str],
        input: Vec<u8>,
    ) -> Result<Vec<u8>> {
        let script = self.facts.script(what, text, arguments);
        Ok(self.host.run(script, input)?)
    }

    /// Copies all that is needed, and runs it: what it printed.
    fn told(&self, program: Vec<u8>, args: &Cold, words: &[String]) -> Result<Vec<u8>> {
        let say = |what: &str| progress::say(format!("{}: {what}", self.host.name()));
        say("copying firstlight");
        let text = r#"umask 077 && cat >"$1/firstlight" && chmod 700 "$1/firstlight""#;
        self.run("copying firstlight", text, &[&self.folder], program)?;
        let text = r#""$1/firstlight" --version"#;
        self.run("starting firstlight", text, &[&self.folder], Vec::new())
            .context("a firstlight that runs there can be named by --program")?;
        let mut arguments: Vec<&str> = vec![&self.folder];
        if let Some(list) = &args.list {
            let bytes =
                fs::read(list).with_context(|| format!("{}: cannot be read", list.display()))?;
            let text = r#"umask 077 && cat >"$1/list""#;
            self.run("copying the list", text, &[&self.folder], bytes)?;
        }
        arguments.push(match args.list {
            Some(_) => "list",
            None => "",
        });
        arguments.extend(words.iter().map(String::as_str));
        say("measuring");
        let text = r#"
folder=$1 list=$2 verb=$3
shift 3
if [ -n "$list" ]; then set -- --list "$folder/$list" "$@"; fi
echo $$ >"$folder/pid"
exec "$folder/firstlight" "$verb" "$@"
"#;
        self.run("measuring", text, &arguments, Vec::new())
    }

    /// Ends what still runs there, which puts back what it moved, and removes the folder.
    /// The user's wish to end does not stop it.
    fn remove(self) -> Result<()> {
        self.host.insist();
        let text = r#"
pid=$(cat "$1/pid" 2>/dev/null)
seconds=0
while [ "$(readlink "/proc/$pid/exe")" = "$1/firstlight" ] && [ $seconds -lt 120 ]; do
    [ $seconds -gt 0 ] || kill -TERM "$pid"
    sleep 1
    seconds=$((seconds + 1))
done
rm -rf -- "$1"
"#;
        self.run("removing the folder", text, &[&self.folder], Vec::new())?;
        Ok(())
    }
}
