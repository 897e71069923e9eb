//! The agent's program, for each kind of processor that it is built for.
//!
//! A release has it as `firstlight-agent-ARCH` beside `firstlight`, or in
//! `lib/firstlight` beside that folder, where packages install it. In a checkout it is
//! built when it is wanted, so that it is never an old one.

use crate::arch::Arch;
use crate::error::LabError;
use crate::tools::last_words;
use bootimage::kernel::elf;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The variable that names the agent's program, or a folder that holds one for
/// each kind of processor.
const VARIABLE: &str = "FIRSTLIGHT_AGENT";

/// The program that `cargo build` leaves beside `firstlight`, for the machine
/// that it was built on.
const PLAIN: &str = "firstlight-agent";

impl Arch {
    /// The targets of the compiler, the better one first: the other one's
    /// program is half as large again, and its linker is another package.
    const fn targets(self) -> [&'static str; 2] {
        match self {
            Self::X86_64 => ["x86_64-unknown-linux-musl", "x86_64-unknown-linux-gnu"],
            Self::Aarch64 => ["aarch64-unknown-linux-musl", "aarch64-unknown-linux-gnu"],
            Self::Armv7 => [
                "armv7-unknown-linux-musleabihf",
                "armv7-unknown-linux-gnueabihf",
            ],
            // The linker of the first builds the kernel of such a board too.
            Self::Armv5 => [
                "armv5te-unknown-linux-gnueabi",
                "armv5te-unknown-linux-musleabi",
            ],
            Self::Riscv64 => [
                "riscv64gc-unknown-linux-musl",
                "riscv64gc-unknown-linux-gnu",
            ],
        }
    }

    /// Its number in the header of an ELF file (`e_machine`).
    const fn elf_machine(self) -> u16 {
        match self {
            Self::X86_64 => 62,
            Self::Aarch64 => 183,
            Self::Armv7 | Self::Armv5 => 40,
            Self::Riscv64 => 243,
        }
    }
}

/// The agent's program for `arch`: one that `FIRSTLIGHT_AGENT` names, else
/// `firstlight-agent-ARCH` beside the program that runs or in `../lib/firstlight`, else, in
/// a checkout, the one that is built now, else `firstlight-agent` beside the program that runs.
/// `say` is told what takes time or is second best.
///
/// # Errors
/// If there is none, or it needs shared libraries, or is for another processor.
pub fn agent_program(arch: Arch, say: &mut dyn FnMut(String)) -> Result<Vec<u8>, LabError> {
    let (path, bytes) = find(arch, say)?;
    match elf::header(&bytes) {
        Some(header) if header.machine == arch.elf_machine() => {}
        _ => return Err(LabError::AgentOfAnother { path, arch }),
    }
    if elf::has_interpreter(&bytes) {
        return Err(LabError::AgentNotStatic { path });
    }
    Ok(bytes)
}

/// Why there can be no agent for `arch` on this host, in a clause; `None` if there is
/// one, or one can be built. Nothing is built.
#[must_use]
pub fn no_agent(arch: Arch) -> Option<String> {
    let running = std::env::current_exe().unwrap_or_default();
    let folder = running.parent().unwrap_or(Path::new("/"));
    let own_name = format!("{PLAIN}-{arch}");
    let (place, is_named) = match std::env::var_os(VARIABLE).map(PathBuf::from) {
        Some(named) if named.is_dir() => (named.join(&own_name), true),
        Some(named) => (named, true),
        None => (folder.join(&own_name), false),
    };
    if place.is_file() || (!is_named && installed(folder, &own_name).is_file()) {
        return None;
    }
    match Checkout::of(&running) {
        Some(_) if !is_named => choose(arch, &Host::THIS).err(),
        _ => Some(format!(
            "{} does not exist; set {VARIABLE} to a folder with {own_name}",
            place.display()
        )),
    }
}

fn find(arch: Arch, say: &mut dyn FnMut(String)) -> Result<(PathBuf, Vec<u8>), LabError> {
    let read = |path: PathBuf| Some((fs::read(&path).ok()?, path)).map(|(b, p)| (p, b));
    let running = std::env::current_exe().unwrap_or_default();
    let folder = running.parent().unwrap_or(Path::new("/"));
    let own_name = format!("{PLAIN}-{arch}");
    if let Some(named) = std::env::var_os(VARIABLE).map(PathBuf::from) {
        let path = match named.is_dir() {
            true => named.join(&own_name),
            false => named,
        };
        return read(path.clone()).ok_or(LabError::NoAgent { arch, place: path });
    }
    for place in [folder.join(&own_name), installed(folder, &own_name)] {
        if let Some(found) = read(place) {
            return Ok(found);
        }
    }
    let why_not = match Checkout::of(&running) {
        None => None,
        Some(checkout) => match checkout.build(arch, say)? {
            Built::Program(path) => {
                return read(path.clone()).ok_or(LabError::NoAgent { arch, place: path });
            }
            Built::NoTarget(why) => Some(why),
        },
    };
    // Tests run one folder below the programs.
    let places = folder.ancestors().take(2).map(|f| f.join(PLAIN));
    for path in places {
        if let Some((path, bytes)) = read(path)
            && elf::header(&bytes).is_some_and(|h| h.machine == arch.elf_machine())
        {
            if let Some(why) = why_not {
                say(format!("{why}; using {} instead", path.display()));
            }
            return Ok((path, bytes));
        }
    }
    match why_not {
        Some(why) => Err(LabError::NoAgentTools { arch, why }),
        None => Err(LabError::NoAgent {
            arch,
            place: folder.join(own_name),
        }),
    }
}

/// Where packages install the agent `name` for a program in `folder`.
fn installed(folder: &Path, name: &str) -> PathBuf {
    let prefix = folder.parent().unwrap_or(Path::new("/"));
    prefix.join("lib/firstlight").join(name)
}

/// The folder of this source, where a program that is not released was built.
const SOURCE: Option<&str> = match option_env!("FIRSTLIGHT_COMMIT") {
    // `./x release` sets it: the same bytes come from any folder.
    Some(_) => None,
    None => Some(env!("CARGO_MANIFEST_DIR")),
};

/// The source that the running program was built from, if it still lies in that
/// source's build folder.
struct Checkout {
    source: PathBuf,
    build: PathBuf,
}

enum Built {
    Program(PathBuf),
    /// This host lacks what builds for the target; a clause that says what to install.
    NoTarget(String),
}

impl Checkout {
    fn of(running: &Path) -> Option<Self> {
        let source = Path::new(SOURCE?).ancestors().nth(2)?;
        // Cargo marks the build folders that it makes with this file. The usual one may have
        // been made for another folder in it.
        let usual = source.join("target");
        let marked = |folder: &&Path| folder.join("CACHEDIR.TAG").is_file() || **folder == *usual;
        let build = running.ancestors().find(marked)?;
        source
            .join("crates/agent/Cargo.toml")
            .is_file()
            .then(|| Self {
                source: source.to_owned(),
                build: build.to_owned(),
            })
    }

    fn build(&self, arch: Arch, say: &mut dyn FnMut(String)) -> Result<Built, LabError> {
        let way = match choose(arch, &Host::THIS) {
            Ok(way) => way,
            Err(why) => return Ok(Built::NoTarget(why)),
        };
        // A build folder of its own: whoever builds the rest does not wait.
        let folder = self.build.join("agent");
        let program = folder.join(way.target).join("agent").join(PLAIN);
        if !program.is_file() {
            say(format!("building the agent for {arch} (only once)"));
        }
        let better = way.better.unwrap_or(way.target);
        let larger = format!(
            "the agent uses glibc and is larger than necessary; for a small one, run `rustup \
             target add {better}` or `rustup component add rust-src`"
        );
        let mut output = self.cargo(way.target, way.own_library, &folder);
        let mut own_library = way.own_library;
        if let Ok(Output { stderr, .. }) = &output
            && own_library
            && way.library
            && nothing_fetched(stderr)
        {
            own_library = false;
            output = self.cargo(way.target, own_library, &folder);
        }
        if way.better.is_some() && !own_library {
            say(larger);
        }
        let why = match output {
            Ok(output) if output.status.success() => return Ok(Built::Program(program)),
            Ok(output) if own_library && nothing_fetched(&output.stderr) => {
                return Ok(Built::NoTarget(format!(
                    "cannot fetch the crates for the standard library of {arch} ({}); connect to \
                     a network once",
                    last_words(&output.stderr)
                )));
            }
            Ok(output) => last_words(&output.stderr),
            Err(e) => format!("cannot start cargo: {e}"),
        };
        Err(LabError::CannotBuildAgent { arch, why })
    }

    /// Builds the agent for `target` in `folder`, and the target's standard library too
    /// if it is to be the agent's `own`.
    fn cargo(&self, target: &str, own: bool, folder: &Path) -> io::Result<Output> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        if own {
            // Only so does a stable compiler build its own library.
            command
                .env("RUSTC_BOOTSTRAP", "1")
                .arg("-Zbuild-std=std,panic_abort")
                .arg("-Zbuild-std-features=optimize_for_size");
        }
        command
            .current_dir(&self.source)
            .args([
                "build",
                "--quiet",
                "--locked",
                "--package",
                "firstlight-agent",
            ])
            .args(["--bin", PLAIN, "--profile", "agent", "--target", target])
            .args(more_flags(target))
            .arg("--target-dir")
            .arg(folder)
            .stdin(Stdio::null())
            .output()
    }
}

/// How the agent is built.
#[derive(Debug, PartialEq, Eq)]
struct Way {
    target: &'static str,
    /// Whether the target's standard library is built too.
    own_library: bool,
    /// Whether the compiler has one.
    library: bool,
    /// The target of a smaller program, which the compiler lacks.
    better: Option<&'static str>,
}

/// What a host has to build programs with.
struct Host {
    has_library: fn(&str) -> bool,
    has_source: fn() -> bool,
    has_linker: fn(&Linker) -> bool,
}

impl Host {
    const THIS: Self = Self {
        has_library: has_standard_library,
        has_source: has_source_of_library,
        has_linker: Linker::is_there,
    };
}

/// How the agent for `arch` is built on this host.
///
/// # Errors
/// A clause: what is missing, and how to get it.
fn choose(arch: Arch, host: &Host) -> Result<Way, String> {
    let [best, other] = arch.targets();
    let mut no_linker = None;
    for target in [best, other] {
        let library = (host.has_library)(target);
        // Rustup has none for ARMv5 with glibc. The others of those with glibc have one
        // that tells where a panic came from, which is a third of the program.
        let glibc = !target.contains("musl");
        let wanted = glibc && (library || (arch == Arch::Armv5 && target == best));
        let own_library = wanted && (host.has_source)();
        if !library && !own_library {
            continue;
        }
        match Linker::of(target).filter(|linker| !(host.has_linker)(linker)) {
            Some(linker) => no_linker = no_linker.or(Some(linker)),
            None => {
                return Ok(Way {
                    target,
                    own_library,
                    library,
                    better: (target != best && arch != Arch::Armv5).then_some(best),
                });
            }
        }
    }
    Err(match no_linker {
        Some(Linker {
            program, packages, ..
        }) => format!(
            "cannot link programs for {arch} without {program} and its static C library; run \
             `apt-get install {packages}`"
        ),
        None => {
            let or_source = match arch {
                Arch::Armv5 => " or `rustup component add rust-src`",
                _ => "",
            };
            format!(
                "the compiler cannot build for {arch}; run `rustup target add {best}`{or_source}"
            )
        }
    })
}

/// What links the programs of a target, where the compiler does not by itself.
struct Linker {
    target: &'static str,
    /// As `.cargo/config.toml` names it.
    program: &'static str,
    /// Debian's packages of it and of the C library.
    packages: &'static str,
}

impl Linker {
    const ALL: [Self; 4] = [
        Self {
            target: "riscv64gc-unknown-linux-gnu",
            program: "riscv64-linux-gnu-gcc",
            packages: "gcc-riscv64-linux-gnu libc6-dev-riscv64-cross",
        },
        Self {
            target: "armv5te-unknown-linux-gnueabi",
            program: "arm-linux-gnueabi-gcc",
            packages: "gcc-arm-linux-gnueabi libc6-dev-armel-cross",
        },
        Self {
            target: "armv7-unknown-linux-gnueabihf",
            program: "arm-linux-gnueabihf-gcc",
            packages: "gcc-arm-linux-gnueabihf libc6-dev-armhf-cross",
        },
        Self {
            target: "aarch64-unknown-linux-gnu",
            program: "aarch64-linux-gnu-gcc",
            packages: "gcc-aarch64-linux-gnu libc6-dev-arm64-cross",
        },
    ];

    fn of(target: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|l| l.target == target)
    }

    /// Whether it is installed, with a C library to link statically.
    fn is_there(&self) -> bool {
        // Cargo takes another one from there.
        let variable = self.target.to_uppercase().replace('-', "_");
        if std::env::var_os(format!("CARGO_TARGET_{variable}_LINKER")).is_some() {
            return true;
        }
        // A compiler gives the name back if it does not know the file.
        let output = Command::new(self.program)
            .arg("-print-file-name=libc.a")
            .stdin(Stdio::null())
            .output();
        let Ok(output) = output else { return false };
        Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_file()
    }
}

/// Whether cargo failed because it could not fetch a crate.
fn nothing_fetched(said: &[u8]) -> bool {
    let said = String::from_utf8_lossy(said);
    [
        "failed to download",
        "download of",
        "(--offline)",
        "but --offline",
    ]
    .iter()
    .any(|words| said.contains(words))
}

/// More for cargo. glibc's static part is large: in the compact Thumb code, which
/// every ARMv7 processor runs, the whole stays below 1 MB. ARMv5 has no such code worth having:
/// there what unwinds a stack goes, which a program that aborts does not need.
fn more_flags(target: &str) -> Vec<String> {
    let flag = match target {
        "armv7-unknown-linux-gnueabihf" => "-Ctarget-feature=+thumb-mode",
        "armv5te-unknown-linux-gnueabi" => "-Cforce-unwind-tables=no",
        _ => return Vec::new(),
    };
    vec![
        "--config".to_owned(),
        format!("target.{target}.rustflags=['{flag}']"),
    ]
}

/// Whether the compiler can build programs for `target`.
fn has_standard_library(target: &str) -> bool {
    let output = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", target])
        .stdin(Stdio::null())
        .output();
    let Ok(output) = output else { return false };
    let folder = String::from_utf8_lossy(&output.stdout);
    output.status.success() && Path::new(folder.trim()).is_dir()
}

/// Whether the source of the compiler's library is there, to build it from.
fn has_source_of_library() -> bool {
    let output = Command::new("rustc")
        .args(["--print", "sysroot"])
        .stdin(Stdio::null())
        .output();
    let Ok(output) = output else { return false };
    let sysroot = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    sysroot
        .join("lib/rustlib/src/rust/library/Cargo.lock")
        .is_file()
}

#[cfg(test)]
mod tests {
    use super::{Arch, Host, Way, choose, nothing_fetched};

    #[test]
    fn what_is_missing_to_build_is_said() {
        let bare = Host {
            has_library: |_| false,
            has_source: || false,
            has_linker: |_| false,
        };
        let said = choose(Arch::Armv5, &bare).unwrap_err();
        assert!(said.contains("rustup component add rust-src"), "{said}");
        let said = choose(Arch::Aarch64, &bare).unwrap_err();
        assert!(said.contains("rustup target add aarch64-unknown-linux-musl"));
        let no_linker = Host {
            has_source: || true,
            ..bare
        };
        let said = choose(Arch::Armv5, &no_linker).unwrap_err();
        assert!(
            said.contains("apt-get install gcc-arm-linux-gnueabi libc6-dev-armel-cross"),
            "{said}"
        );
        let source = Host {
            has_linker: |_| true,
            ..no_linker
        };
        let way = Way {
            target: "armv5te-unknown-linux-gnueabi",
            own_library: true,
            library: false,
            better: None,
        };
        assert_eq!(choose(Arch::Armv5, &source), Ok(way));
        // Musl needs no other linker than the compiler's.
        let libraries = Host {
            has_library: |_| true,
            has_source: || false,
            has_linker: |_| false,
        };
        let way = choose(Arch::Armv5, &libraries).unwrap();
        assert_eq!(way.target, "armv5te-unknown-linux-musleabi");
        let way = choose(Arch::Armv7, &libraries).unwrap();
        assert_eq!(way.target, "armv7-unknown-linux-musleabihf");
        let larger = Host {
            has_library: |target| target.ends_with("gnueabihf"),
            has_linker: |_| true,
            ..libraries
        };
        let way = choose(Arch::Armv7, &larger).unwrap();
        assert_eq!(way.better, Some("armv7-unknown-linux-musleabihf"));
        assert!(!way.own_library);
        let smaller = Host {
            has_source: || true,
            ..larger
        };
        assert!(choose(Arch::Armv7, &smaller).unwrap().own_library);
        assert!(nothing_fetched(
            b"error: failed to download from `https://x`"
        ));
        assert!(!nothing_fetched(b"error[E0425]: cannot find value"));
    }

    #[test]
    fn processors_are_told_apart() {
        assert_eq!(Arch::of_machine("aarch64"), Some(Arch::Aarch64));
        assert_eq!(Arch::of_machine("armv7l"), Some(Arch::Armv7));
        assert_eq!(Arch::of_machine("riscv64"), Some(Arch::Riscv64));
        assert_eq!(Arch::of_machine("mips"), None);
    }
}
