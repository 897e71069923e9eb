//! What is recorded while a trial boots, by words of the kernel's command line.
//!
//! All but `samples` and `opens` begins with the kernel's first initcalls and needs no program
//! on the target (`Documentation/admin-guide/kernel-parameters.txt`). There is
//! one trace ring, so events and functions share it; the agent takes it out.

use treat::{BootSpec, CommandLine, Treatment};

/// What is recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// What was asked for, as the experiment's file says it.
    pub asked: Vec<String>,
    /// The words that bring it, beyond those of the experiment's own.
    pub words: Vec<String>,
}

/// The names that `record` takes, for messages.
pub const NAMES: &str = "`console`, `initcalls`, `samples`, `block`, `filemap`, `sched`, \
     `opens`, `events:LIST` or `function_graph:FUNCTION`";

/// What asks for the files that are opened, and those that are looked for in vain.
pub const OPENS: &str = "opens";

/// Trace events, by the name that asks for them, and the MiB of ring that they
/// want. A Debian boot of 30 MB read: 12,000 block events, 520,000 of the page
/// cache, 2,000 of processes.
const EVENTS: &[(&str, &str, u32)] = &[
    ("block", "block:*", 4),
    ("filemap", "filemap:*", 32),
    (
        "sched",
        "sched:sched_process_exec,sched:sched_process_fork,sched:sched_process_exit,\
         sched:sched_switch,sched:sched_waking",
        8,
    ),
];

/// The MiB of ring that other events want, a function's graph, and files that are opened: a
/// Debian boot opens some 20,000.
const EVENTS_MB: u32 = 16;
const GRAPH_MB: u32 = 16;
const OPENS_MB: u32 = 8;

/// Words that recording sets. A user's own of the same key would be overridden,
/// or would override.
const KEYS: &[&str] = &[
    "trace_event",
    "trace_buf_size",
    "ftrace",
    "ftrace_graph_filter",
];

impl Recording {
    /// What `asked` needs on a command line that has `cmdline`'s words already.
    ///
    /// # Errors
    /// Which of `asked` is wrong, by its place, and a clause about it.
    pub fn of(asked: &[&str], cmdline: &CommandLine) -> Result<Self, (usize, String)> {
        let mut words: Vec<String> = Vec::new();
        let (mut events, mut functions, mut ring_mb) = (Vec::new(), Vec::new(), 0);
        for (i, name) in asked.iter().enumerate() {
            if asked.iter().take(i).any(|before| before == name) {
                return Err((i, format!("`record` lists `{name}` twice; remove one")));
            }
            let known = EVENTS.iter().find(|e| e.0 == *name);
            match (*name, name.split_once(':')) {
                // The console is always there.
                ("console", _) => {}
                // Without a large buffer the start of the log is lost.
                ("initcalls", _) => {
                    words.extend(["initcall_debug".to_owned(), "log_buf_len=4M".to_owned()]);
                }
                // The agent sets probes of the kernel before the root's first program.
                (OPENS, _) => {
                    words.push("firstlight.opens=1".to_owned());
                    ring_mb += OPENS_MB;
                }
                // The agent reads /proc while the machine boots.
                ("samples", _) => words.push("firstlight.sample_ms=100".to_owned()),
                (_, Some(("events", which))) if which.split(',').all(is_event) => {
                    events.push(which);
                    ring_mb += EVENTS_MB;
                }
                (_, Some(("function_graph", function))) if is_function(function) => {
                    functions.push(function);
                    ring_mb += GRAPH_MB;
                }
                _ => {
                    let Some((_, which, mb)) = known else {
                        let why = format!("`record` has the unknown value `{name}`; write {NAMES}");
                        return Err((i, why));
                    };
                    events.push(*which);
                    ring_mb += mb;
                }
            }
        }
        if ring_mb > 0 {
            let key = |word: &String| word.split('=').next().unwrap_or_default().to_owned();
            if let Some(own) = cmdline.words().iter().find(|w| KEYS.contains(&&*key(w))) {
                let why = format!(
                    "the kernel command line has `{own}`, but `record` sets the same parameter; \
                     remove one of them"
                );
                return Err((0, why));
            }
            words.push(format!("trace_buf_size={ring_mb}M"));
        }
        // Without it nobody knows which module an initcall is of.
        let of_initcalls = |e: &&str| e.split(',').any(|e| e.starts_with("initcall"));
        let of_modules = |e: &&str| e.split(',').any(|e| e.starts_with("module"));
        if events.iter().any(of_initcalls) && !events.iter().any(of_modules) {
            events.push("module:module_load");
        }
        if !events.is_empty() {
            words.push(format!("trace_event={}", events.join(",")));
        }
        if !functions.is_empty() {
            words.push("ftrace=function_graph".to_owned());
            words.push(format!("ftrace_graph_filter={}", functions.join(",")));
        }
        words.retain(|w| !cmdline.contains(w));
        Ok(Self {
            asked: asked.iter().map(|a| (*a).to_owned()).collect(),
            words,
        })
    }

    /// Whether anything is recorded that a boot could notice.
    #[must_use]
    pub fn is_noticed(&self) -> bool {
        !self.words.is_empty()
    }

    /// The same boot with nothing recorded. A variant may have taken words of the
    /// recording away itself.
    #[must_use]
    pub fn without(&self, mut spec: BootSpec) -> BootSpec {
        for word in &self.words {
            if let Ok((after, _)) = Treatment::RemoveWord(word.clone()).apply(&spec) {
                spec = after;
            }
        }
        spec
    }
}

/// Whether this can name events: `block:*`, `sched:sched_switch`, `initcall`.
fn is_event(name: &str) -> bool {
    let legal = |c: char| c.is_ascii_alphanumeric() || "_:*?-".contains(c);
    !name.is_empty() && name.chars().all(legal)
}

/// Whether this can be a function of the kernel, or a pattern of some.
fn is_function(name: &str) -> bool {
    let legal = |c: char| c.is_ascii_alphanumeric() || "_.*?".contains(c);
    !name.is_empty() && name.chars().all(legal)
}

#[cfg(test)]
mod tests {
    use super::Recording;
    use treat::CommandLine;

    fn words(asked: &[&str], cmdline: &str) -> Result<String, String> {
        let cmdline = CommandLine::parse(cmdline).unwrap();
        let recording = Recording::of(asked, &cmdline).map_err(|(i, why)| format!("{i}: {why}"));
        recording.map(|r| r.words.join(" "))
    }

    #[test]
    fn events_share_one_word_and_one_ring() {
        assert_eq!(words(&[], "quiet"), Ok(String::new()));
        assert_eq!(words(&["console"], "quiet"), Ok(String::new()));
        assert_eq!(
            words(&["initcalls"], "log_buf_len=4M"),
            Ok("initcall_debug".to_owned())
        );
        assert_eq!(
            words(&["filemap", "block"], "").unwrap(),
            "trace_buf_size=36M trace_event=filemap:*,block:*"
        );
        assert_eq!(
            words(&["sched", "events:irq:*,timer:timer_start"], "").unwrap(),
            "trace_buf_size=24M trace_event=sched:sched_process_exec,sched:sched_process_fork,\
             sched:sched_process_exit,sched:sched_switch,sched:sched_waking,irq:*,timer:timer_start"
        );
        assert_eq!(
            words(&["events:initcall:*"], "").unwrap(),
            "trace_buf_size=16M trace_event=initcall:*,module:module_load"
        );
        assert_eq!(
            words(&["events:module:*,initcall:*"], "").unwrap(),
            "trace_buf_size=16M trace_event=module:*,initcall:*"
        );
        assert_eq!(
            words(&["opens", "block"], "").unwrap(),
            "firstlight.opens=1 trace_buf_size=12M trace_event=block:*"
        );
        assert_eq!(
            words(&["function_graph:do_mount", "function_graph:vfs_*"], "").unwrap(),
            "trace_buf_size=32M ftrace=function_graph ftrace_graph_filter=do_mount,vfs_*"
        );
    }

    #[test]
    fn what_cannot_be_recorded_is_said() {
        for (asked, cmdline, said) in [
            (
                &["console", "probes"][..],
                "",
                "1: `record` has the unknown value `probes`",
            ),
            (
                &["function_graph:"],
                "",
                "0: `record` has the unknown value",
            ),
            (
                &["function_graph:a b"],
                "",
                "0: `record` has the unknown value",
            ),
            (
                &["sched", "sched"],
                "",
                "1: `record` lists `sched` twice; remove one",
            ),
            (
                &["sched"],
                "quiet trace_event=x",
                "0: the kernel command line has `trace_event=x`",
            ),
        ] {
            let found = words(asked, cmdline).unwrap_err();
            assert!(found.starts_with(said), "{found}");
        }
        assert!(words(&["initcalls"], "trace_event=x").is_ok());
    }
}
