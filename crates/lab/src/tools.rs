//! Programs that the lab runs on the host.

use crate::error::LabError;
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where programs lie that are not on every user's path.
const MORE_FOLDERS: &[&str] = &["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// The file of a program on the path.
#[must_use]
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(MORE_FOLDERS.iter().map(PathBuf::from));
    folders
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

/// What gives programs a fixed time and fixed random numbers, and its Debian package.
pub const FAKETIME: (&str, &str) = ("faketime", "faketime");

/// What gives programs namespaces of their own, and its Debian package.
pub const UNSHARE: (&str, &str) = ("unshare", "util-linux");

/// Mounts a filesystem in memory on `$0`, and copies the folder `$1` into it. Its inode
/// numbers follow the order of copying, so that they are the same each time: `mkfs.btrfs`
/// keeps them in the image. Its own are those below 256, which are used up first.
const STAGE: &str = r#"
mount -t tmpfs stage "$0"
i=0
while [ $i -lt 512 ]; do
    i=$((i + 1))
    : >"$0/$i"
    rm "$0/$i"
done
# Two steps, so that a file that cannot be read ends it.
tar -C "$1" --sort=name --xattrs --acls -cf "$0.tar" .
tar -C "$0" --xattrs --xattrs-include='*' --acls -xpf "$0.tar"
rm "$0.tar"
shift
exec "$@"
"#;

/// A call of a program: to its end, with its output.
#[derive(Debug)]
pub struct Tool {
    name: &'static str,
    package: &'static str,
    why: &'static str,
    /// The program that it runs in namespaces of its own.
    inner: Option<&'static str>,
    command: Command,
}

impl Tool {
    /// A call of `name` of the Debian package `package`; `why` completes "is
    /// not installed but needed to ...".
    #[must_use]
    pub fn new(name: &'static str, package: &'static str, why: &'static str) -> Self {
        let file = find(name).unwrap_or_else(|| PathBuf::from(name));
        let mut command = Command::new(file);
        command.stdin(Stdio::null());
        Self {
            name,
            package,
            why,
            inner: None,
            command,
        }
    }

    /// A call of `name` for which it is always `time`, as `faketime` takes it, and whose
    /// random numbers and process id are always the same: what it makes has no chance in
    /// it. With `stage`, a folder and an empty one, it finds a copy of the first in the
    /// second, whose inode numbers are always the same too.
    #[must_use]
    pub fn without_chance(
        name: &'static str,
        package: &'static str,
        why: &'static str,
        time: &str,
        stage: Option<[&Path; 2]>,
    ) -> Self {
        let Some(program) = find(name) else {
            return Self::new(name, package, why);
        };
        let (faketime, its_package) = FAKETIME;
        let Some(fake) = find(faketime) else {
            return Self::new(faketime, its_package, "make the image reproducible");
        };
        let mut tool = Self::new(UNSHARE.0, UNSHARE.1, "make the image reproducible");
        tool.inner = Some(name);
        if !rustix::process::geteuid().is_root() {
            // Only root mounts, if only one of a namespace: then all files are root's.
            let who = stage.map_or("--map-current-user", |_| "--map-root-user");
            tool = tool.args(["--user", who]);
        }
        // libuuid mixes the ids of process and thread into what is random; in a
        // namespace of its own a process has the same ones each time.
        tool = tool.args(["--pid", "--fork"]);
        if let Some([tree, copy]) = stage {
            tool = tool
                .args(["--mount", "sh", "-e", "-c", STAGE])
                .args([copy, tree]);
        }
        tool.args([fake.as_os_str(), "-f".as_ref(), time.as_ref()])
            .args([program])
            .env("FAKERANDOM_SEED", "0x4700")
            .env("TZ", "UTC")
    }

    /// More words of the call.
    #[must_use]
    pub fn args<S: AsRef<OsStr>>(mut self, words: impl IntoIterator<Item = S>) -> Self {
        self.command.args(words);
        self
    }

    /// A variable of its environment.
    #[must_use]
    pub fn env(mut self, key: &str, value: &str) -> Self {
        self.command.env(key, value);
        self
    }

    /// The folder that it runs in.
    #[must_use]
    pub fn folder(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Runs it; gives what it wrote.
    ///
    /// # Errors
    /// If it is not installed, or fails.
    pub fn run(self) -> Result<Vec<u8>, LabError> {
        self.feed(&[])
    }

    /// Runs it with `input`; gives what it wrote.
    ///
    /// # Errors
    /// If it is not installed, or fails.
    pub fn feed(mut self, input: &[u8]) -> Result<Vec<u8>, LabError> {
        let failed = |detail: String| LabError::ToolFailed {
            what: self.inner.unwrap_or(self.name).to_owned(),
            detail,
        };
        if !input.is_empty() {
            self.command.stdin(Stdio::piped());
        }
        self.command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = match self.command.spawn() {
            Ok(child) => child,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                return Err(LabError::MissingTool {
                    tool: self.name,
                    package: self.package,
                    why: self.why,
                });
            }
            Err(e) => return Err(failed(e.to_string())),
        };
        let pipe = child.stdin.take();
        let output = std::thread::scope(|scope| {
            // It may write before it has read all: so both at once.
            scope.spawn(move || pipe.map(|mut pipe| pipe.write_all(input)));
            child.wait_with_output()
        });
        let output = output.map_err(|e| failed(e.to_string()))?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let words = last_words(&output.stderr);
        if self.inner.is_some() && refused(&output.stderr) {
            return Err(failed(format!(
                "a reproducible image needs separate namespaces, which this system refuses \
                 ({words}); run this once as root outside a container, or in a privileged one"
            )));
        }
        Err(failed(format!("{}, last output: {words}", output.status)))
    }
}

/// Whether `unshare`, or the mount in its namespace, complained, and not the program
/// that was to run there.
fn refused(stderr: &[u8]) -> bool {
    let text = String::from_utf8_lossy(stderr);
    let mut lines = text.lines();
    lines.any(|l| l.starts_with("unshare: ") || l.starts_with("mount: "))
}

/// The last lines of a program's complaints, as one line.
#[must_use]
pub fn last_words(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<_> = text
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .collect();
    match lines.len().checked_sub(3) {
        Some(first) => lines[first..].join("; "),
        None if lines.is_empty() => "nothing".into(),
        None => lines.join("; "),
    }
}

#[cfg(test)]
mod tests {
    use super::{Tool, last_words};

    #[test]
    fn a_missing_program_names_its_package() {
        let said = Tool::new("no-such-program-here", "its-package", "run a test")
            .run()
            .unwrap_err()
            .to_string();
        assert_eq!(
            said,
            "no-such-program-here is not installed but needed to run a test; \
             run `apt-get install its-package`"
        );
    }

    #[test]
    fn input_goes_in_and_output_comes_out() {
        let input = vec![b'x'; 1 << 20];
        let output = Tool::new("cat", "coreutils", "run a test").feed(&input);
        assert_eq!(output.unwrap(), input);
    }

    #[test]
    fn a_failure_has_the_last_words() {
        let said = Tool::new("sh", "dash", "run a test")
            .args(["-c", "echo a >&2; echo oh no >&2; exit 3"])
            .run()
            .unwrap_err()
            .to_string();
        assert!(
            said.contains("status: 3") && said.ends_with("a; oh no"),
            "{said}"
        );
        assert_eq!(last_words(b"1\n\n2\n3\n4\n"), "2; 3; 4");
    }
}
