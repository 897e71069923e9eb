//! Running scripts on a host.

use std::io::{self, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// What a host may send at most: a capture and a little.
const MOST_BYTES: u64 = 2 << 30;

/// What `ssh` itself ends with when there is no connection.
const NO_CONNECTION: i32 = 255;

/// How often is looked whether a program has ended, or the user wants to.
const LOOK: Duration = Duration::from_millis(10);

/// A host that is reached by `ssh`.
#[derive(Debug)]
pub struct Host {
    name: String,
    /// The program and the user's options, for the shell.
    ssh: String,
    /// Where the shared connection's socket is, and how many there were.
    control: tempfile::TempDir,
    connection: u32,
    interrupted: Arc<AtomicBool>,
    /// What is being done must be done even though the user wants to end.
    insists: bool,
}

/// Why something could not be done on a host.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// Its name would be an option of `ssh`.
    #[error("`{name}` is not a valid host name; write HOST or USER@HOST")]
    Name {
        /// The name.
        name: String,
    },
    /// `ssh` could not be started, or its pipes failed.
    #[error("cannot run `{ssh}`: {why}")]
    Ssh {
        /// The program.
        ssh: String,
        /// What the system says.
        why: io::Error,
    },
    /// There is no connection.
    #[error("{host}: cannot connect: {why}")]
    Unreachable {
        /// The host.
        host: String,
        /// What `ssh` says.
        why: String,
    },
    /// A script failed there.
    #[error("{host}: {what} failed: {why}")]
    Failed {
        /// The host.
        host: String,
        /// What was tried.
        what: &'static str,
        /// What it said.
        why: String,
    },
    /// The user wants to end.
    #[error("interrupted")]
    Interrupted,
}

/// A script for the shell of a host. What varies comes as its arguments `$1` and
/// on, and never into its text.
#[derive(Clone, Copy, Debug)]
pub struct Script<'a> {
    /// What it does, for an error: `copying the agent`.
    pub what: &'static str,
    /// Its text.
    pub text: &'static str,
    /// Its arguments.
    pub arguments: &'a [&'a str],
    /// Whether it runs as root by way of `sudo`.
    pub sudo: bool,
}

impl Host {
    /// A host by its name, and the `ssh` program with the user's options, such
    /// as `ssh -p 2222`. `interrupted` is set when the user wants to end.
    ///
    /// # Errors
    /// If the name is none, or there is no place for the connection's socket.
    pub fn new(name: &str, ssh: &str, interrupted: Arc<AtomicBool>) -> Result<Self, HostError> {
        if name.is_empty() || name.starts_with('-') || name.contains(char::is_whitespace) {
            return Err(HostError::Name { name: name.into() });
        }
        let control = tempfile::Builder::new().prefix("firstlight-ssh-").tempdir();
        Ok(Self {
            name: name.to_owned(),
            ssh: ssh.to_owned(),
            control: control.map_err(|why| HostError::Ssh {
                ssh: ssh.to_owned(),
                why,
            })?,
            connection: 0,
            interrupted,
            insists: false,
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the user wants to end.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// From here on the user's wish to end stops nothing.
    pub fn insist(&mut self) {
        self.insists = true;
    }

    /// Runs a script with these bytes as its input: what it prints.
    ///
    /// # Errors
    /// If there is no connection, or the script fails, or the user wants to end.
    pub fn run(&self, script: Script<'_>, input: Vec<u8>) -> Result<Vec<u8>, HostError> {
        // One connection for all, so that a password is asked for once.
        let shared = [
            "ControlMaster=auto".to_owned(),
            format!("ControlPath={}", self.socket()),
            "ControlPersist=120".to_owned(),
            "ServerAliveInterval=10".to_owned(),
            "ServerAliveCountMax=3".to_owned(),
        ];
        self.run_with(&shared, script, input)
    }

    /// The same on a connection of its own, if nobody needs to be asked for
    /// anything: is the host there?
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn try_run(&self, script: Script<'_>) -> Result<Vec<u8>, HostError> {
        let alone = ["ControlPath=none", "BatchMode=yes", "ConnectTimeout=5"];
        self.run_with(&alone.map(str::to_owned), script, Vec::new())
    }

    /// The host restarts: the shared connection is of no use any more.
    pub fn forget_connection(&mut self) {
        self.close();
        self.connection += 1;
    }

    fn socket(&self) -> String {
        // Short: the path of a socket has 107 bytes.
        format!("{}/{}", self.control.path().display(), self.connection)
    }

    fn run_with(
        &self,
        options: &[String],
        script: Script<'_>,
        input: Vec<u8>,
    ) -> Result<Vec<u8>, HostError> {
        let failed = |why| HostError::Ssh {
            ssh: self.ssh.clone(),
            why,
        };
        let mut command = self.command(options, &[]);
        command.arg(remote(script));
        let child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let stop = || self.is_interrupted() && !self.insists;
        let done = talk(child.map_err(failed)?, input, stop).map_err(failed)?;
        if stop() {
            return Err(HostError::Interrupted);
        }
        if done.status.success() {
            return Ok(done.output);
        }
        let host = self.name.clone();
        Err(match done.status.code() {
            Some(NO_CONNECTION) => HostError::Unreachable {
                host,
                why: no_connection(&done.said),
            },
            _ => HostError::Failed {
                host,
                what: script.what,
                why: last_line(&done.said).unwrap_or_else(|| "no message".to_owned()),
            },
        })
    }

    /// `ssh` with the user's options, these and a request of `ssh` itself, and
    /// the host.
    fn command(&self, options: &[String], request: &[&str]) -> Command {
        let mut command = Command::new("sh");
        // The user's words are for the shell; ours are not.
        command.args(["-c", &format!("exec {} \"$@\"", self.ssh), "ssh"]);
        for option in options {
            command.args(["-o", option]);
        }
        command.args(request).arg(&self.name);
        command
    }

    /// Ends the shared connection, if there is one.
    fn close(&self) {
        let options = [format!("ControlPath={}", self.socket())];
        let mut command = self.command(&options, &["-O", "exit"]);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(Stdio::null()).status().ok();
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.close();
    }
}

/// What is handed to the host's login shell, whichever that is: one command, of
/// quoted words only.
fn remote(script: Script<'_>) -> String {
    let mut words = Vec::new();
    if script.sudo {
        words.extend(["sudo".to_owned(), "-n".to_owned()]);
    }
    words.extend([
        "sh".to_owned(),
        "-c".to_owned(),
        quoted(script.text),
        "sh".to_owned(),
    ]);
    words.extend(script.arguments.iter().map(|a| quoted(a)));
    words.join(" ")
}

/// A word for a shell that stands for itself.
pub fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

struct Done {
    status: ExitStatus,
    output: Vec<u8>,
    said: Vec<u8>,
}

/// Gives a program its input and takes all that it prints, until it ends or is
/// stopped.
fn talk(mut child: Child, input: Vec<u8>, stop: impl Fn() -> bool) -> io::Result<Done> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let writer = thread::spawn(move || {
        if let Some(mut stdin) = stdin {
            // It may end without having read it all, and says why.
            stdin.write_all(&input).ok();
        }
    });
    let reader = thread::spawn(move || take(stdout, MOST_BYTES));
    let listener = thread::spawn(move || take(stderr, 1 << 20));
    let mut stopped = false;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if !stopped && stop() {
            child.kill()?;
            stopped = true;
        }
        thread::sleep(LOOK);
    };
    if stopped {
        // What it started may hold the pipes open: nobody waits for that.
        return Ok(Done {
            status,
            output: Vec::new(),
            said: Vec::new(),
        });
    }
    let output = reader.join().unwrap_or_default();
    let said = listener.join().unwrap_or_default();
    writer.join().ok();
    Ok(Done {
        status,
        output,
        said,
    })
}

fn take(from: Option<impl Read>, most: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        // What came until it failed is what there is.
        from.take(most).read_to_end(&mut bytes).ok();
    }
    bytes
}

/// The last line that says something.
fn last_line(said: &[u8]) -> Option<String> {
    let said = String::from_utf8_lossy(said);
    let line = said.lines().map(str::trim).rfind(|l| !l.is_empty());
    line.map(str::to_owned)
}

/// What `ssh` said of a connection that there is not, and what helps against it.
fn no_connection(said: &[u8]) -> String {
    let Some(line) = last_line(said) else {
        return "the connection or the remote command ended without a message".to_owned();
    };
    let has = |words: &[u8]| said.windows(words.len()).any(|w| w == words);
    let advice = if has(b"IDENTIFICATION HAS CHANGED") {
        "; its host key has changed, so if you expected that, remove the old key with `ssh-keygen \
         -R`"
    } else if has(b"Host key verification failed") {
        "; its host key is unknown, so log in once with `ssh` to check and accept it"
    } else {
        ""
    };
    line + advice
}

#[cfg(test)]
mod tests {
    use super::{Host, Script, no_connection, quoted, remote};
    use std::process::Command;
    use std::sync::Arc;

    #[test]
    fn what_ssh_says_of_no_connection_is_said_with_what_helps() {
        let unknown = b"Host key verification failed.\r\n";
        let changed = b"@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\n\
            It is also possible that a host key has just been changed.\n\
            Host key verification failed.\n";
        let refused = "ssh: connect to host x port 22: Connection refused";
        for (said, why) in [
            (&unknown[..], "log in once with `ssh`"),
            (changed, "its host key has changed"),
            (
                b"\n",
                "the connection or the remote command ended without a message",
            ),
        ] {
            assert!(no_connection(said).contains(why), "{why}");
        }
        assert_eq!(no_connection(refused.as_bytes()), refused);
    }

    const NASTY: [&str; 6] = ["a b", "it's", "$(touch x)`y`", "\"\\\n*?", "-n", ""];

    #[test]
    fn a_word_stands_for_itself_through_two_shells() {
        let script = Script {
            what: "a test",
            text: r#"for word in "$@"; do printf '%s\0' "$word"; done"#,
            arguments: &NASTY,
            sudo: false,
        };
        // The host's login shell gets one string.
        let output = Command::new("sh")
            .args(["-c", &remote(script)])
            .output()
            .unwrap();
        let all: String = NASTY.iter().map(|w| format!("{w}\0")).collect();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), all);
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }

    #[test]
    fn a_name_is_no_option() {
        for name in ["-oProxyCommand=x", "", "a b"] {
            let host = Host::new(name, "ssh", Arc::default());
            let error = host.unwrap_err().to_string();
            assert!(error.contains("is not a valid host name"), "{error}");
        }
    }
}
