//! Measuring on another machine: this program goes there by ssh, measures, and is
//! removed.

use crate::ssh::host::{Host, HostError};
use crate::ssh::plan::Facts;

/// Why nothing was measured on a host.
#[derive(Debug, thiserror::Error)]
pub enum ElsewhereError {
    /// Something on the host.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The name of the folder there.
    #[error("the name of the folder is no text")]
    Folder,
    /// The program does not run there.
    #[error("a firstlight that runs there can be named by --program")]
    Start(#[source] HostError),
}

/// What goes to a host.
pub struct Luggage<'a> {
    /// A firstlight for it.
    pub program: Vec<u8>,
    /// An access list.
    pub list: Option<Vec<u8>>,
    /// The verb and its arguments.
    pub words: &'a [String],
}

/// What is done on a host, and its folder there.
pub struct Visit<'a> {
    host: &'a mut Host,
    facts: &'a Facts,
    /// Its folder there.
    pub folder: String,
}

impl<'a> Visit<'a> {
    /// Makes a folder there, below `place`, that was nobody's.
    ///
    /// # Errors
    /// What the host says.
    pub fn begin(
        host: &'a mut Host,
        facts: &'a Facts,
        place: &str,
    ) -> Result<Self, ElsewhereError> {
        let mut visit = Self {
            host,
            facts,
            folder: String::new(),
        };
        let text = r#"umask 077 && mktemp -d "${1%/}/firstlight-cold-XXXXXX""#;
        let made = visit.run("making a folder", text, &[place], Vec::new())?;
        visit.folder = String::from_utf8(made)
            .map_err(|_| ElsewhereError::Folder)?
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
    ) -> Result<Vec<u8>, HostError> {
        let script = self.facts.script(what, text, arguments);
        self.host.run(script, input)
    }

    /// Copies all that is needed, and runs it: what it printed. `say` is told what is
    /// done.
    ///
    /// # Errors
    /// What the host says.
    pub fn told(
        &self,
        luggage: Luggage<'_>,
        say: &dyn Fn(&str),
    ) -> Result<Vec<u8>, ElsewhereError> {
        say("copying firstlight");
        let text = r#"umask 077 && cat >"$1/firstlight" && chmod 700 "$1/firstlight""#;
        self.run("copying firstlight", text, &[&self.folder], luggage.program)?;
        let text = r#""$1/firstlight" --version"#;
        self.run("starting firstlight", text, &[&self.folder], Vec::new())
            .map_err(ElsewhereError::Start)?;
        let mut arguments: Vec<&str> = vec![&self.folder];
        arguments.push(match luggage.list {
            Some(bytes) => {
                let text = r#"umask 077 && cat >"$1/list""#;
                self.run("copying the list", text, &[&self.folder], bytes)?;
                "list"
            }
            None => "",
        });
        arguments.extend(luggage.words.iter().map(String::as_str));
        say("measuring");
        let text = r#"
folder=$1 list=$2 verb=$3
shift 3
if [ -n "$list" ]; then set -- --list "$folder/$list" "$@"; fi
echo $$ >"$folder/pid"
exec "$folder/firstlight" "$verb" "$@"
"#;
        Ok(self.run("measuring", text, &arguments, Vec::new())?)
    }

    /// Ends what still runs there, which puts back what it moved, and removes the folder.
    /// The user's wish to end does not stop it.
    ///
    /// # Errors
    /// What the host says.
    pub fn remove(self) -> Result<(), HostError> {
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
