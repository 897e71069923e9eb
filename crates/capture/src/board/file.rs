//! A board's file: `boards/NAME.toml`.

use super::error::BoardError;
use super::light::FirstLight;
use super::shape::{
    BootFile, ConsoleFile, DeployFile, File, LabgridFile, LavaFile, PowerFile, ProofFile, StateFile,
};
use crate::error::FileError;
use crate::serial::engine::{Action, Rule};
use crate::serial::input::Place;
use crate::serial::port::Settings;
use std::ffi::OsStr;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;
use toml::Spanned;

/// The version of the format that this program reads.
pub const VERSION: u32 = 1;

/// What the template of a LAVA job must have, or all variants would be the same job.
pub const CMDLINE: &str = "{cmdline}";

/// What a panic looks like if the file does not say.
const PANIC: &[&str] = &[r"Kernel panic - not syncing"];

/// A board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Board {
    /// Its file, for messages.
    pub file: PathBuf,
    /// Its name: that of the file without `.toml`, unless the file says otherwise.
    pub name: String,
    /// The file that only one run holds; `None`: in `/run/lock`, by the board's name.
    pub lock: Option<PathBuf>,
    /// How power and console are reached.
    pub link: Link,
    /// For how long the board is without power before a measured boot.
    pub off: Duration,
    /// How often a power command is tried.
    pub power_tries: u32,
    /// The command whose first line is power-on: a program that watches the supply.
    pub power_seen: Option<String>,
    /// What a boot looks like.
    pub boot: Boot,
    /// How a trial proves which variant booted.
    pub proof: Proof,
    /// How a variant gets onto the board.
    pub deploy: Deploy,
    /// What tells the state that the board is in, such as its temperature.
    pub state: Option<StateCommand>,
}

/// A command that prints the state of a board after first light, as lines `NAME NUMBER`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateCommand {
    /// The command.
    pub run: String,
    /// How long it may take.
    pub limit: Duration,
}

/// How power and console are reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link {
    /// By commands for the shell.
    Commands {
        /// The power.
        power: Power,
        /// The console.
        console: ConsoleAt,
        /// How long a power command may take.
        limit: Duration,
    },
    /// By labgrid.
    Labgrid {
        /// The place that is acquired.
        place: String,
        /// The coordinator's address; `None`: as labgrid's own tools find it.
        coordinator: Option<String>,
        /// The Python that has `firstlight_labgrid`.
        python: String,
        /// How long one request may take.
        limit: Duration,
        /// How the console's line is driven.
        settings: Settings,
    },
    /// By jobs of LAVA.
    Lava {
        /// The template of a job.
        job: PathBuf,
        /// Its text.
        template: String,
        /// The command that submits a job, waits for its end and fetches its log.
        run: String,
        /// How long it may take.
        limit: Duration,
    },
}

/// Commands that switch the power.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Power {
    /// One switches it on, the other off.
    Switch {
        /// On.
        on: String,
        /// Off.
        off: String,
    },
    /// One command switches it off and on; how long it is off is the command's choice.
    Cycle(String),
}

/// Where the console is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConsoleAt {
    /// At a place.
    Port {
        /// The place.
        place: Place,
        /// How a serial line is driven.
        settings: Settings,
        /// How long to wait for the place to appear.
        wait: Duration,
    },
    /// A program writes it.
    Exec(String),
}

/// What a boot looks like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Boot {
    /// What ends it.
    pub first_light: FirstLight,
    /// What each boot's first line of the loader looks like; `None`: the first byte
    /// begins the boot and resets are not counted.
    pub loader: Option<String>,
    /// What a panic looks like.
    pub panic: Vec<String>,
    /// What the console shows when the board boots a fallback slot.
    pub fallback: Option<String>,
    /// How often a good boot resets the board.
    pub resets: u32,
    /// A boot that takes longer hangs.
    pub limit: Duration,
    /// A console that is silent for longer hangs; `None`: only `limit` counts.
    pub silence: Option<Duration>,
    /// By how much first light may be seen late, as the user knows it.
    pub light_error: Option<Duration>,
}

/// How a trial proves which variant booted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The nonce of the kernel command line stands on the console.
    Nonce,
    /// The console shows this pattern; `{variant}` and `{nonce}` stand for the trial's.
    Console(String),
    /// This command prints the nonce after first light, such as `ssh board cat
    /// /proc/cmdline`.
    Command {
        /// The command.
        run: String,
        /// What its output must have in place of the nonce; `{variant}` and `{nonce}` stand for
        /// the trial's.
        pattern: Option<String>,
        /// How long it may take.
        limit: Duration,
    },
}

/// How a variant gets onto the board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deploy {
    /// A folder or an image that the board boots from, which treatments change.
    pub files: Option<PathBuf>,
    /// The commands that bring these files within reach of this host, and back to the board:
    /// a card in a multiplexer.
    pub mount: Option<(String, String)>,
    /// The command that puts a variant onto the board.
    pub run: Option<String>,
    /// The command that puts the baseline back.
    pub restore: Option<String>,
    /// The command that brings back a board that does not boot its baseline.
    pub recover: Option<String>,
    /// Whether the board must be off or on meanwhile.
    pub power: DeployPower,
    /// How long each command may take.
    pub limit: Duration,
    /// How often a run may write to the card; `None`: as often as it has to.
    pub most: Option<u64>,
}

/// What power a deployment needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeployPower {
    /// The board is off, as with a card in a multiplexer.
    Off,
    /// The board runs, as with `fw_setenv` over ssh.
    On,
}

impl Board {
    /// Reads a board's file. Paths and commands in it are relative to its folder.
    ///
    /// # Errors
    /// One sentence with file and line.
    pub fn read(path: &Path) -> Result<Self, BoardError> {
        let text = std::fs::read_to_string(path).map_err(FileError::of(path, "cannot be read"))?;
        Self::parse(path, &text)
    }

    /// Reads a board from its text; `path` is named in errors.
    ///
    /// # Errors
    /// One sentence with file and line.
    pub fn parse(path: &Path, text: &str) -> Result<Self, BoardError> {
        let at = |span: Range<usize>, why: String| {
            let before = text.get(..span.start).unwrap_or(text);
            BoardError::File {
                name: path.display().to_string(),
                line: before.matches('\n').count() + 1,
                why,
            }
        };
        let file: File = toml::from_str(text).map_err(|e| {
            let why = e.message().replace('\n', ", ");
            at(e.span().unwrap_or(0..0), why)
        })?;
        let version = &file.firstlight_board;
        if *version.get_ref() != VERSION {
            let found = version.get_ref();
            let why = format!(
                "the board has version {found}, but this program supports version {VERSION}; \
                 update the file or the program"
            );
            return Err(at(version.span(), why));
        }
        Reader { path, at: &at }.board(file)
    }

    /// The folder that paths and commands are relative to.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        folder(&self.file)
    }

    /// Everything that decides how the board boots, as `key = value` lines.
    #[must_use]
    pub fn inputs(&self) -> String {
        let Self {
            name,
            link,
            off,
            boot,
            deploy,
            ..
        } = self;
        // Limits and locks do not change a boot.
        let power = match link {
            Link::Commands { power, .. } => format!("{power:?}"),
            Link::Labgrid {
                place, coordinator, ..
            } => format!("labgrid {place} {coordinator:?}"),
            Link::Lava { template, run, .. } => format!("lava {run:?} {template:?}"),
        };
        let mut text = format!(
            "board = {name}\npower = {power}\noff_ns = {}\nfirst_light = {}\nloader = {:?}\n\
             deploy = {:?} {:?}\n",
            off.as_nanos(),
            boot.first_light,
            boot.loader,
            deploy.files,
            deploy.run
        );
        if let Some(seen) = &self.power_seen {
            text.push_str("power_seen = ");
            text.push_str(seen);
            text.push('\n');
        }
        text
    }
}

fn folder(file: &Path) -> PathBuf {
    match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

struct Reader<'a, At> {
    path: &'a Path,
    at: &'a At,
}

impl<At: Fn(Range<usize>, String) -> BoardError> Reader<'_, At> {
    fn board(&self, file: File) -> Result<Board, BoardError> {
        let name = self.name(file.name.as_ref())?;
        let power = file.power.as_ref();
        let off = self.seconds(power.and_then(|p| p.get_ref().off_s.as_ref()), 3.0)?;
        let tries = power.and_then(|p| p.get_ref().tries.as_ref());
        if let Some(tries) = tries.filter(|t| !(1..=20).contains(t.get_ref())) {
            return Err((self.at)(tries.span(), "write 1 to 20 `tries`".into()));
        }
        let link = match file.adapter.as_ref().map(|a| a.get_ref().as_str()) {
            None | Some("commands") => self.commands(&file)?,
            Some("labgrid") => self.labgrid(&file)?,
            Some("lava") => self.lava(&file)?,
            Some(other) => {
                let span = file.adapter.as_ref().map_or(0..0, Spanned::span);
                let why = format!("expected `commands`, `labgrid` or `lava`, found `{other}`");
                return Err((self.at)(span, why));
            }
        };
        let proof = self.proof(&file.proof)?;
        let mount = file.deploy.mount.as_ref().map(Spanned::span);
        let power_seen = self.power_seen(&file)?;
        let deploy = self.deploy(file.deploy)?;
        let only_cycles = matches!(
            &link,
            Link::Commands {
                power: Power::Cycle(_),
                ..
            }
        );
        if let Some(span) = mount.filter(|_| only_cycles || deploy.power == DeployPower::On) {
            let why = "`mount` takes the files from the board, so it must be off: write `on` and \
                `off` in `[power]`, and no `power = \"on\"` in `[deploy]`";
            return Err((self.at)(span, why.into()));
        }
        Ok(Board {
            file: self.path.to_owned(),
            name,
            lock: file.lock.as_ref().map(|l| folder(self.path).join(l)),
            link,
            off,
            power_tries: tries.map_or(2, |t| *t.get_ref()),
            power_seen,
            boot: self.boot(file.boot.get_ref())?,
            proof,
            deploy,
            state: self.state(file.state.as_ref())?,
        })
    }

    fn power_seen(&self, file: &File) -> Result<Option<String>, BoardError> {
        let power = file.power.as_ref().map(Spanned::get_ref);
        let Some(seen) = power.and_then(|p| p.seen.as_ref()) else {
            return Ok(None);
        };
        if power.is_some_and(|p| p.cycle.is_some()) {
            let why = "`seen` needs `on` and `off`, because the program must watch before power-on";
            return Err((self.at)(seen.span(), why.into()));
        }
        self.command(seen).map(Some)
    }

    fn state(&self, file: Option<&StateFile>) -> Result<Option<StateCommand>, BoardError> {
        let Some(file) = file else {
            return Ok(None);
        };
        Ok(Some(StateCommand {
            run: self.command(&file.command)?,
            limit: self.seconds(file.limit_s.as_ref(), 30.0)?,
        }))
    }

    fn name(&self, given: Option<&Spanned<String>>) -> Result<String, BoardError> {
        let stem = self.path.file_stem().unwrap_or_default().to_string_lossy();
        let (span, name) = match given {
            Some(name) => (name.span(), name.get_ref().as_str()),
            None => (0..0, &*stem),
        };
        // It becomes part of a file's name.
        let legal = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || name.starts_with('.') || !name.chars().all(legal) {
            let why = format!(
                "`{name}` is not a valid board name; set `name` to letters, digits, `-`, `_` and \
                 `.`"
            );
            return Err((self.at)(span, why));
        }
        Ok(name.to_owned())
    }

    fn commands(&self, file: &File) -> Result<Link, BoardError> {
        if let Some(labgrid) = &file.labgrid {
            let why = "`[labgrid]` works only with `adapter = \"labgrid\"`; remove it".to_owned();
            return Err((self.at)(labgrid.span(), why));
        }
        let missing = |what: &str| {
            let why = format!("the adapter `commands` needs the table `[{what}]`");
            (self.at)(0..0, why)
        };
        let given = file.power.as_ref().ok_or_else(|| missing("power"))?;
        let console = file.console.as_ref().ok_or_else(|| missing("console"))?;
        let PowerFile { on, off, cycle, .. } = given.get_ref();
        let text = |t: &Spanned<String>| self.command(t);
        let power = match (on, off, cycle) {
            (Some(on), Some(off), None) => Power::Switch {
                on: text(on)?,
                off: text(off)?,
            },
            (None, None, Some(cycle)) => Power::Cycle(text(cycle)?),
            _ => {
                let why = "`[power]` needs `on` and `off`, or only `cycle`".to_owned();
                return Err((self.at)(given.span(), why));
            }
        };
        if let (Power::Cycle(_), Some(off_s)) = (&power, &given.get_ref().off_s) {
            let why = "`off_s` needs `on` and `off`, because `cycle` chooses its own off time; \
                remove it"
                .to_owned();
            return Err((self.at)(off_s.span(), why));
        }
        Ok(Link::Commands {
            power,
            console: self.console(console)?,
            limit: self.seconds(given.get_ref().limit_s.as_ref(), 30.0)?,
        })
    }

    fn console(&self, file: &Spanned<ConsoleFile>) -> Result<ConsoleAt, BoardError> {
        let ConsoleFile {
            port,
            exec,
            baud,
            wait_s,
        } = file.get_ref();
        match (port, exec) {
            (Some(port), None) => {
                let place = Place::parse(OsStr::new(port.get_ref()));
                let beside = |p: PathBuf| folder(self.path).join(p);
                let place = match place {
                    Place::Stdin => {
                        let why = "standard input is no console of a board; name its port";
                        return Err((self.at)(port.span(), why.into()));
                    }
                    Place::Unix(path) => Place::Unix(beside(path)),
                    Place::Path(path) => Place::Path(beside(path)),
                    other => other,
                };
                Ok(ConsoleAt::Port {
                    place,
                    settings: self.settings(baud.as_ref())?,
                    wait: self.seconds(wait_s.as_ref(), 5.0)?,
                })
            }
            (None, Some(exec)) => Ok(ConsoleAt::Exec(self.command(exec)?)),
            _ => {
                let why = "`[console]` needs either `port` or `exec`".to_owned();
                Err((self.at)(file.span(), why))
            }
        }
    }

    fn settings(&self, baud: Option<&Spanned<u32>>) -> Result<Settings, BoardError> {
        match baud {
            Some(baud) if *baud.get_ref() == 0 => {
                Err((self.at)(baud.span(), "`baud` must be above 0".into()))
            }
            baud => Ok(Settings {
                baud: baud.map_or(Settings::default().baud, |b| *b.get_ref()),
                ..Settings::default()
            }),
        }
    }

    fn labgrid(&self, file: &File) -> Result<Link, BoardError> {
        let Some(given) = &file.labgrid else {
            let why = "the adapter `labgrid` needs the table `[labgrid]` with a `place`";
            return Err((self.at)(0..0, why.into()));
        };
        let LabgridFile {
            place,
            coordinator,
            python,
            limit_s,
        } = given.get_ref();
        let commands = file.power.as_ref().and_then(|p| {
            let p = p.get_ref();
            p.on.as_ref().or(p.off.as_ref()).or(p.cycle.as_ref())
        });
        if let Some(command) = commands {
            let why = "labgrid switches the power itself; remove this command".to_owned();
            return Err((self.at)(command.span(), why));
        }
        let console = file.console.as_ref().map(Spanned::get_ref);
        if let Some(place) = console.and_then(|c| c.port.as_ref().or(c.exec.as_ref())) {
            let why = "labgrid names the console itself; remove this key".to_owned();
            return Err((self.at)(place.span(), why));
        }
        if place.get_ref().is_empty() {
            return Err((self.at)(place.span(), "`place` is empty".into()));
        }
        // A path is relative to the file; a name is looked up.
        let python = match python {
            Some(path) if path.contains('/') => {
                folder(self.path).join(path).to_string_lossy().into_owned()
            }
            Some(name) => name.clone(),
            None => "python3".to_owned(),
        };
        Ok(Link::Labgrid {
            place: place.get_ref().clone(),
            coordinator: coordinator.clone(),
            python,
            limit: self.seconds(limit_s.as_ref(), 60.0)?,
            settings: self.settings(console.and_then(|c| c.baud.as_ref()))?,
        })
    }

    fn lava(&self, file: &File) -> Result<Link, BoardError> {
        let Some(given) = &file.lava else {
            let why = "the adapter `lava` needs the table `[lava]` with `job` and `run`";
            return Err((self.at)(0..0, why.into()));
        };
        let LavaFile { job, run, limit_s } = given.get_ref();
        let power = file.power.as_ref().map(Spanned::span);
        let other = power.or(file.console.as_ref().map(Spanned::span));
        if let Some(span) = other {
            let why = "LAVA switches the power and reads the console; remove this table";
            return Err((self.at)(span, why.into()));
        }
        let deploy = &file.deploy;
        if deploy.files.is_some() || deploy.run.is_some() {
            let why = "LAVA deploys by its job; remove `files` and `run` from `[deploy]`";
            return Err((self.at)(given.span(), why.into()));
        }
        if let Some(state) = &file.state {
            let why = "no command reaches the board after its job; remove `[state]`";
            return Err((self.at)(state.command.span(), why.into()));
        }
        if file.proof.get_ref().by.get_ref() == "command" {
            let why = "no command reaches the board after its job; write `nonce` or `console`";
            return Err((self.at)(file.proof.get_ref().by.span(), why.into()));
        }
        let light = &file.boot.get_ref().first_light;
        if !light.get_ref().starts_with("console:") {
            let why = "in LAVA's log only `console:REGEX` can be seen";
            return Err((self.at)(light.span(), why.into()));
        }
        let path = folder(self.path).join(job.get_ref());
        let template = std::fs::read_to_string(&path).map_err(|e| {
            (self.at)(
                job.span(),
                format!("{}: cannot be read: {e}", path.display()),
            )
        })?;
        if !template.contains(CMDLINE) {
            let why = format!(
                "{} has no `{CMDLINE}`, so all variants would be the same job; write it where the \
                 kernel command line belongs, such as `extra_kernel_args: \"{CMDLINE}\"`",
                path.display()
            );
            return Err((self.at)(job.span(), why));
        }
        Ok(Link::Lava {
            job: path,
            template,
            run: self.command(run)?,
            limit: self.seconds(limit_s.as_ref(), 3600.0)?,
        })
    }

    fn boot(&self, file: &BootFile) -> Result<Boot, BoardError> {
        let text = file.first_light.get_ref();
        let first_light = FirstLight::parse(text)
            .map_err(|why| (self.at)(file.first_light.span(), why.to_string()))?;
        let given = file.panic.iter().flatten();
        let mut panic = given.map(|p| self.pattern(p)).collect::<Result<_, _>>()?;
        if file.panic.is_none() {
            panic = PANIC.iter().map(|p| (*p).to_owned()).collect();
        }
        let optional =
            |p: &Option<Spanned<String>>| p.as_ref().map(|p| self.pattern(p)).transpose();
        let silence = match &file.silence_s {
            Some(_) => Some(self.seconds(file.silence_s.as_ref(), 0.0)?),
            None => None,
        };
        let light_error = match &file.light_error_s {
            Some(_) => Some(self.seconds(file.light_error_s.as_ref(), 0.0)?),
            None => None,
        };
        Ok(Boot {
            first_light,
            loader: optional(&file.loader)?,
            panic,
            fallback: optional(&file.fallback)?,
            resets: file.resets.unwrap_or(0),
            limit: self.seconds(file.limit_s.as_ref(), 120.0)?,
            silence,
            light_error,
        })
    }

    fn proof(&self, file: &Spanned<ProofFile>) -> Result<Proof, BoardError> {
        let ProofFile {
            by,
            pattern,
            command,
            limit_s,
        } = file.get_ref();
        let needs = |what: &str| {
            let why = format!("`by = \"{}\"` needs `{what}`", by.get_ref());
            (self.at)(by.span(), why)
        };
        let is_nonce = by.get_ref() == "nonce";
        if let Some(pattern) = pattern.as_ref().filter(|_| is_nonce) {
            let why =
                "`pattern` works only with `by = \"console\"` or `by = \"command\"`; remove it";
            return Err((self.at)(pattern.span(), why.into()));
        }
        if let Some(command) = command.as_ref().filter(|_| by.get_ref() != "command") {
            let why = "`command` works only with `by = \"command\"`; remove it";
            return Err((self.at)(command.span(), why.into()));
        }
        let pattern_of = |pattern: &Spanned<String>| {
            let text = pattern.get_ref();
            if !text.contains("{variant}") && !text.contains("{nonce}") {
                let why = "the pattern must contain `{variant}` or `{nonce}`; otherwise every \
                    variant would match";
                return Err((self.at)(pattern.span(), why.into()));
            }
            let sample = text.replace("{variant}", "v").replace("{nonce}", "0");
            self.check(&sample, pattern.span())?;
            Ok(text.clone())
        };
        match by.get_ref().as_str() {
            "nonce" => Ok(Proof::Nonce),
            "console" => {
                let pattern = pattern.as_ref().ok_or_else(|| needs("pattern"))?;
                Ok(Proof::Console(pattern_of(pattern)?))
            }
            "command" => Ok(Proof::Command {
                run: self.command(command.as_ref().ok_or_else(|| needs("command"))?)?,
                pattern: pattern.as_ref().map(pattern_of).transpose()?,
                limit: self.seconds(limit_s.as_ref(), 30.0)?,
            }),
            other => {
                let why = format!("expected `nonce`, `console` or `command`, found `{other}`");
                Err((self.at)(by.span(), why))
            }
        }
    }

    fn deploy(&self, file: DeployFile) -> Result<Deploy, BoardError> {
        let DeployFile {
            files,
            mount,
            unmount,
            run,
            restore,
            recover,
            power,
            limit_s,
            most,
        } = file;
        if let (Some(run), None) = (&run, &restore) {
            let why = "`run` needs `restore`, the command that puts the baseline back".to_owned();
            return Err((self.at)(run.span(), why));
        }
        let mount = match (&mount, &unmount) {
            (None, None) => None,
            (Some(mount), Some(unmount)) => {
                if files.is_none() {
                    let why = "`mount` needs `files`, the folder where it mounts";
                    return Err((self.at)(mount.span(), why.into()));
                }
                Some((self.command(mount)?, self.command(unmount)?))
            }
            (Some(one), None) | (None, Some(one)) => {
                let why = "`mount` and `unmount` need each other";
                return Err((self.at)(one.span(), why.into()));
            }
        };
        let power = match power.as_ref().map(|p| p.get_ref().as_str()) {
            None | Some("off") => DeployPower::Off,
            Some("on") => DeployPower::On,
            Some(other) => {
                let span = power.as_ref().map_or(0..0, Spanned::span);
                let why = format!("expected `off` or `on`, found `{other}`");
                return Err((self.at)(span, why));
            }
        };
        let optional =
            |c: &Option<Spanned<String>>| c.as_ref().map(|c| self.command(c)).transpose();
        Ok(Deploy {
            files: files.map(|f| folder(self.path).join(f)),
            mount,
            run: optional(&run)?,
            restore: optional(&restore)?,
            recover: optional(&recover)?,
            power,
            limit: self.seconds(limit_s.as_ref(), 300.0)?,
            most,
        })
    }

    fn command(&self, text: &Spanned<String>) -> Result<String, BoardError> {
        match text.get_ref().trim() {
            "" => Err((self.at)(text.span(), "the command is empty".into())),
            _ => Ok(text.get_ref().clone()),
        }
    }

    fn pattern(&self, text: &Spanned<String>) -> Result<String, BoardError> {
        self.check(text.get_ref(), text.span())?;
        Ok(text.get_ref().clone())
    }

    fn check(&self, pattern: &str, span: Range<usize>) -> Result<(), BoardError> {
        match Rule::new(Action::End, pattern) {
            Ok(_) => Ok(()),
            Err(why) => Err((self.at)(span, why.to_string())),
        }
    }

    fn seconds(&self, given: Option<&Spanned<f64>>, usual: f64) -> Result<Duration, BoardError> {
        let (span, seconds) = match given {
            Some(given) => (given.span(), *given.get_ref()),
            None => (0..0, usual),
        };
        match (0.0..=86_400.0).contains(&seconds) {
            true => Ok(Duration::from_secs_f64(seconds)),
            false => Err((self.at)(span, "write 0 to 86400 seconds".into())),
        }
    }
}
