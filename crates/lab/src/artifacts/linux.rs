//! Kernels that the lab builds itself, of Debian's package `linux-source-6.1`.
//!
//! A kernel is kept under the hash of everything that went into it: source,
//! configuration, compiler. Built again it costs nothing. The objects of the last
//! build of each optimisation are kept too, so that a kernel that differs only in
//! its compression takes seconds.

mod config;

use super::apt::{Apt, debian};
use super::{Arch, Cache, hash_bytes};
use crate::error::{LabError, io_error};
use crate::files::read;
use crate::tools::{Tool, find, last_words};
use config::{changes_a_kernel, first_lost, has_modules};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The package, and where it puts the source.
const PACKAGE: &str = "linux-source-6.1";
const TARBALL: &str = "/usr/src/linux-source-6.1.tar.xz";

/// The programs that a build needs, and Debian's packages of them.
const TOOLS: &[(&str, &str)] = &[
    ("make", "make"),
    ("gcc", "gcc"),
    ("bc", "bc"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("xz", "xz-utils"),
    ("lzop", "lzop"),
    ("lz4", "lz4"),
    ("depmod", "kmod"),
];

/// What is built for one kind of machine.
struct Port {
    /// Its name, in the cache and for the reader.
    name: &'static str,
    /// The compiler, and Debian's package of it.
    compiler: (&'static str, &'static str),
    /// A header that the kernel's own tools are compiled with, and Debian's package.
    header: Option<(&'static str, &'static str)>,
    /// What `make` is told of it.
    words: &'static [&'static str],
    /// The configuration of the kernel's own that is begun with.
    begin: &'static str,
    /// Whether what `make` is told and the configuration are in the cache's key. They
    /// came later than the first kernels of `arm9`, whose keys stay as they are: what
    /// is added to this port here has to change its fragment too.
    key_has_port: bool,
    /// What is made.
    targets: &'static [&'static str],
    /// What is kept of it: the file's name, and where `make` leaves it.
    files: &'static [(&'static str, &'static str)],
}

/// The board `arm9`.
const ARM9_PORT: Port = Port {
    name: "arm9",
    compiler: ("arm-linux-gnueabi-gcc", "gcc-arm-linux-gnueabi"),
    header: None,
    words: &["ARCH=arm", "CROSS_COMPILE=arm-linux-gnueabi-"],
    begin: "versatile_defconfig",
    key_has_port: false,
    targets: &["zImage", "modules", "versatile-pb.dtb"],
    files: &[
        ("zImage", "arch/arm/boot/zImage"),
        ("Image", "arch/arm/boot/Image"),
        ("versatile-pb.dtb", "arch/arm/boot/dts/versatile-pb.dtb"),
    ],
};

/// The machine `pc`, of which nothing is there that no fragment asks for.
const PC_PORT: Port = Port {
    name: "pc",
    compiler: ("gcc", "gcc"),
    // Of objtool, which looks through what is compiled for this machine.
    header: Some(("gelf.h", "libelf-dev")),
    words: &["ARCH=x86_64"],
    begin: "allnoconfig",
    key_has_port: true,
    targets: &["bzImage", "modules"],
    files: &[("bzImage", "arch/x86/boot/bzImage")],
};

/// What the board's kernel has beyond its own configuration in the source.
const ARM9: &str = include_str!("linux/arm9.config");

/// The fragment of `build=micro`: a micro-VM, from an initramfs.
const MICRO: &str = include_str!("linux/micro.config");

/// The lines of a fragment: a file's, or those of one that this program brings.
///
/// # Errors
/// If it is neither.
pub fn fragment(name: &str) -> Result<String, LabError> {
    if name == "micro" {
        return Ok(MICRO.to_owned());
    }
    let path = Path::new(name);
    let bytes = read(path)?;
    String::from_utf8(bytes).map_err(|_| LabError::Kernel {
        path: path.to_owned(),
        why: "the kernel configuration fragment is not text; write lines such as `CONFIG_X=y`"
            .into(),
    })
}

/// What is asked of a kernel for the board `arm9`, beyond its configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct KernelConfig {
    /// Lines of a configuration: `CONFIG_X=y`, `# CONFIG_X is not set`.
    pub lines: Vec<String>,
    /// An initramfs that becomes a part of the kernel.
    pub initramfs: Option<Vec<u8>>,
}

/// A kernel that was built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltKernel {
    /// The zImage.
    pub image: PathBuf,
    /// The kernel proper, without its decompressor.
    pub unpacked: PathBuf,
    /// The description of the board.
    pub device_tree: PathBuf,
    /// The folder of its modules.
    pub modules: PathBuf,
}

impl BuiltKernel {
    fn in_folder(folder: &Path) -> Option<Self> {
        is_whole(folder).then(|| Self {
            image: folder.join("zImage"),
            unpacked: folder.join("Image"),
            device_tree: folder.join("versatile-pb.dtb"),
            modules: folder.join("modules"),
        })
    }
}

/// Whether a kernel was built into this folder: its modules come last.
fn is_whole(folder: &Path) -> bool {
    folder.join("modules/modules.dep").is_file()
}

/// A kernel that was built for the machine `pc`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PcKernel {
    /// The bzImage.
    pub image: PathBuf,
    /// The folder of its modules.
    pub modules: PathBuf,
}

/// What a build for the board `arm9` would need and this host does not have:
/// programs and packages.
#[must_use]
pub fn missing() -> Vec<(&'static str, &'static str)> {
    missing_for(&ARM9_PORT)
}

/// What a build of `build` for the machine `pc` would need and this host does not
/// have: programs or headers, and packages.
#[must_use]
pub fn pc_build_missing() -> Vec<(&'static str, &'static str)> {
    missing_for(&PC_PORT)
}

fn missing_for(port: &Port) -> Vec<(&'static str, &'static str)> {
    let gone = |t: &&(&str, &str)| find(t.0).is_none();
    let all = TOOLS.iter().chain([&port.compiler]).filter(gone);
    let header = port.header.filter(|(h, _)| !compiler_knows(h));
    all.copied().chain(header).collect()
}

/// Whether the host's compiler finds a header; without a compiler, whether the header
/// is where Debian puts it.
fn compiler_knows(header: &str) -> bool {
    if find("gcc").is_none() {
        return Path::new("/usr/include").join(header).is_file();
    }
    Tool::new("gcc", "gcc", "build a kernel")
        .args(["-E", "-include", header, "-x", "c", "/dev/null"])
        .run()
        .is_ok()
}

impl Cache {
    /// Whether a kernel for `arm9` was built on this host: the next one takes less.
    #[must_use]
    pub fn built_for_arm9(&self) -> bool {
        self.has_built(&ARM9_PORT)
    }

    /// Whether a kernel of `build` was built on this host: the next one takes less.
    #[must_use]
    pub fn built_for_pc(&self) -> bool {
        self.has_built(&PC_PORT)
    }

    /// To its end: a build that was broken off leaves objects and no kernel.
    fn has_built(&self, port: &Port) -> bool {
        let entries = fs::read_dir(self.path("linux")).into_iter().flatten();
        let mut names = entries.filter_map(|e| e.ok()?.file_name().into_string().ok());
        let beginning = format!("{}-", port.name);
        names.any(|n| n.starts_with(&beginning) && is_whole(&self.path(&format!("linux/{n}"))))
    }

    /// The kernel for the board `arm9` as `config` wants it: from the cache, or
    /// built, which takes a quarter of an hour the first time.
    ///
    /// # Errors
    /// If a tool is missing, or the build fails.
    pub fn arm9_kernel(
        &self,
        config: &KernelConfig,
        say: &mut dyn FnMut(String),
    ) -> Result<BuiltKernel, LabError> {
        let place = self.built(&ARM9_PORT, ARM9, config, say)?;
        BuiltKernel::in_folder(&place).ok_or_else(not_there)
    }

    /// The kernel for the machine `pc` with the lines of these fragments, each over
    /// those before it, and nothing else: from the cache, or built, which takes some
    /// minutes the first time.
    ///
    /// # Errors
    /// If a tool or a fragment is missing, or the build fails.
    pub fn pc_kernel(
        &self,
        fragments: &[String],
        say: &mut dyn FnMut(String),
    ) -> Result<PcKernel, LabError> {
        let mut config = KernelConfig::default();
        for name in fragments {
            config
                .lines
                .extend(fragment(name)?.lines().map(str::to_owned));
        }
        let place = self.built(&PC_PORT, "", &config, say)?;
        Ok(PcKernel {
            image: place.join("bzImage"),
            modules: place.join("modules"),
        })
    }

    /// The folder of a kernel that was built.
    fn built(
        &self,
        port: &'static Port,
        base: &str,
        config: &KernelConfig,
        say: &mut dyn FnMut(String),
    ) -> Result<PathBuf, LabError> {
        if let Some((tool, package)) = missing_for(port).first().copied() {
            return Err(LabError::MissingTool {
                tool,
                package,
                why: "build a kernel",
            });
        }
        let source = source(self, say)?;
        let (program, package) = port.compiler;
        let compiler = Tool::new(program, package, "build a kernel");
        let compiler = compiler.args(["--version"]).run()?;
        let initramfs = config.initramfs.as_deref().map(hash_bytes);
        let inputs = format!(
            "{}\n{}\n{base}\n{:?}\n{initramfs:?}",
            source.display(),
            String::from_utf8_lossy(&compiler),
            config.lines
        );
        let name = port.name;
        let inputs = match port.key_has_port {
            true => format!("{inputs}\n{}\n{:?}", port.begin, port.words),
            false => inputs,
        };
        let hash = hash_bytes(inputs.as_bytes());
        let place = self.path(&format!("linux/{name}-{hash}"));
        if is_whole(&place) {
            return Ok(place);
        }
        // One at a time: all builds share their objects.
        let making = self.make(&format!("linux-{name}"))?;
        if is_whole(&place) {
            return Ok(place);
        }
        let whole = making.folder.path().join("kernel");
        fs::create_dir(&whole).map_err(io_error(&whole, "cannot be created"))?;
        let build = Build {
            port,
            source,
            objects: self.path(&format!("linux/objects-{name}{}", config.optimisation())),
            log: self.path(&format!("linux/build-{name}.log")),
        };
        build.run(base, config, making.folder.path(), &whole, say)?;
        fs::rename(&whole, &place).map_err(io_error(&place, "cannot be moved into place"))?;
        if is_whole(&place) {
            return Ok(place);
        }
        Err(not_there())
    }
}

fn not_there() -> LabError {
    LabError::Bug {
        why: "the kernel build left no image".into(),
    }
}

impl KernelConfig {
    /// What tells folders of objects apart: nearly nothing can be shared between
    /// two levels of optimisation.
    fn optimisation(&self) -> &'static str {
        let size = |l: &String| l == "CONFIG_CC_OPTIMIZE_FOR_SIZE=y";
        match self.lines.iter().any(size) {
            true => "-size",
            false => "",
        }
    }
}

/// The source, unpacked: from the cache, from the host's package, or fetched.
fn source(cache: &Cache, say: &mut dyn FnMut(String)) -> Result<PathBuf, LabError> {
    let installed = Path::new(TARBALL);
    let fetched = cache.path("linux/linux-source-6.1.tar.xz");
    let tarball = if installed.is_file() {
        installed
    } else {
        if !fetched.is_file() {
            fetch(cache, &fetched, say)?;
        }
        &fetched
    };
    let hash = cache.hash_of(tarball)?;
    let short: String = hash.iter().take(6).map(|b| format!("{b:02x}")).collect();
    let place = cache.path(&format!("linux/source-{short}"));
    if place.is_dir() {
        return Ok(place);
    }
    let making = cache.make("linux-source")?;
    if place.is_dir() {
        return Ok(place);
    }
    say("unpacking the kernel source, 1.5 GB".into());
    let tree = making.folder.path().join("tree");
    fs::create_dir(&tree).map_err(io_error(&tree, "cannot be created"))?;
    Tool::new("tar", "tar", "unpack the kernel source")
        .args(["--strip-components=1", "-xJf"])
        .args([tarball.as_os_str(), "-C".as_ref(), tree.as_os_str()])
        .run()?;
    let parent = place.parent().unwrap_or(&tree);
    fs::create_dir_all(parent)
        .and_then(|()| fs::rename(&tree, &place))
        .map_err(io_error(&place, "cannot be moved into place"))?;
    Ok(place)
}

fn fetch(cache: &Cache, to: &Path, say: &mut dyn FnMut(String)) -> Result<(), LabError> {
    let making = cache.make("linux-source")?;
    let working = making.folder.path();
    let host = Arch::of_machine(std::env::consts::ARCH).map_or("amd64", debian);
    let apt = Apt::open(host, &working.join("apt"), say)?;
    say(format!("fetching {PACKAGE} from Debian, 135 MB"));
    let (download, tree) = (working.join("deb"), working.join("tree"));
    for new in [&download, &tree] {
        fs::create_dir(new).map_err(io_error(new, "cannot be created"))?;
    }
    let deb = apt.download(PACKAGE, &download)?;
    Tool::new("dpkg-deb", "dpkg", "unpack the kernel source")
        .args(["-x".as_ref(), deb.as_os_str(), tree.as_os_str()])
        .run()?;
    let found = tree.join(TARBALL.trim_start_matches('/'));
    let parent = to.parent().unwrap_or(working);
    fs::create_dir_all(parent)
        .and_then(|()| fs::rename(&found, to))
        .map_err(io_error(to, "cannot be moved into place"))
}

/// A build in the making.
struct Build {
    port: &'static Port,
    source: PathBuf,
    objects: PathBuf,
    log: PathBuf,
}

impl Build {
    fn run(
        &self,
        base: &str,
        config: &KernelConfig,
        working: &Path,
        to: &Path,
        say: &mut dyn FnMut(String),
    ) -> Result<(), LabError> {
        fs::create_dir_all(&self.objects).map_err(io_error(&self.objects, "cannot be created"))?;
        let mut fragment = format!("{base}\n{}\n", config.lines.join("\n"));
        let initramfs = self.objects.join("initramfs.cpio");
        if let Some(archive) = &config.initramfs {
            fs::write(&initramfs, archive).map_err(io_error(&initramfs, "cannot be written"))?;
            fragment.push_str(&format!(
                "CONFIG_INITRAMFS_SOURCE=\"{}\"\n",
                initramfs.display()
            ));
        }
        let fragment_file = working.join("fragment");
        fs::write(&fragment_file, &fragment)
            .map_err(io_error(&fragment_file, "cannot be written"))?;
        let has_modules = self.configure(&fragment_file, &fragment)?;
        let name = self.port.name;
        say(format!(
            "building a kernel for {name}, about 15 min the first time"
        ));
        let makes = |t: &&&str| has_modules || **t != "modules";
        for target in self.port.targets.iter().filter(makes) {
            self.make(&[*target], say)?;
        }
        for (name, from) in self.port.files.iter().chain(&[("config", ".config")]) {
            let (from, to) = (self.objects.join(from), to.join(name));
            fs::copy(&from, &to).map_err(io_error(&from, "cannot be copied"))?;
        }
        match has_modules {
            true => self.modules(working, to, say),
            false => self.no_modules(to),
        }
    }

    /// The configuration: the board's own, and what is laid over it. A line that
    /// the kernel's own rules do not let stand is an error: what was asked for is
    /// what is booted. Gives whether the kernel can have modules.
    fn configure(&self, fragment_file: &Path, fragment: &str) -> Result<bool, LabError> {
        let mut quiet = |_| {};
        self.make(&[self.port.begin], &mut quiet)?;
        let merge = self.source.join("scripts/kconfig/merge_config.sh");
        let config = self.objects.join(".config");
        Tool::new("sh", "dash", "merge the kernel configuration")
            .args([merge.as_os_str(), "-m".as_ref(), "-O".as_ref()])
            .args([
                self.objects.as_os_str(),
                config.as_os_str(),
                fragment_file.as_os_str(),
            ])
            .folder(&self.objects)
            // Else it takes them from who called us.
            .env("KCONFIG_CONFIG", &config.to_string_lossy())
            .env("CONFIG_", "CONFIG_")
            .run()?;
        self.make(&["olddefconfig"], &mut quiet)?;
        let found = String::from_utf8_lossy(&read(&config)?).into_owned();
        match first_lost(fragment, &found) {
            Some((line, instead)) => Err(LabError::Kernel {
                path: config,
                why: format!(
                    "`{line}` is not in the final kernel configuration, which has it {instead}; \
                     enable its dependencies or remove the line"
                ),
            }),
            None => Ok(has_modules(&found)),
        }
    }

    fn modules(
        &self,
        working: &Path,
        to: &Path,
        say: &mut dyn FnMut(String),
    ) -> Result<(), LabError> {
        let installed = working.join("installed");
        let path = format!("INSTALL_MOD_PATH={}", installed.display());
        self.make(&["modules_install", &path], say)?;
        let folder = installed.join("lib/modules");
        let failed = || io_error(&folder, "cannot be listed");
        let release = fs::read_dir(&folder).map_err(failed())?.next();
        let release = release.transpose().map_err(failed())?;
        let release = release.map_or(folder.clone(), |r| r.path());
        // They point into the source.
        for link in ["build", "source"] {
            let _ = fs::remove_file(release.join(link));
        }
        let to = to.join("modules");
        fs::rename(&release, &to).map_err(io_error(&to, "cannot be moved into place"))
    }

    /// The folder of the modules of a kernel that has none: what is built in.
    fn no_modules(&self, to: &Path) -> Result<(), LabError> {
        let to = to.join("modules");
        fs::create_dir(&to).map_err(io_error(&to, "cannot be created"))?;
        let built_in = self.objects.join("modules.builtin");
        fs::copy(&built_in, to.join("modules.builtin"))
            .map_err(io_error(&built_in, "cannot be copied"))?;
        let none = to.join("modules.dep");
        fs::write(&none, "").map_err(io_error(&none, "cannot be written"))
    }

    fn make(&self, targets: &[&str], say: &mut dyn FnMut(String)) -> Result<(), LabError> {
        let log = || File::options().create(true).append(true).open(&self.log);
        let failed = || io_error(&self.log, "cannot be written");
        let (out, errors) = (log().map_err(failed())?, log().map_err(failed())?);
        let jobs = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        if let [target] = targets
            && !target.ends_with("config")
        {
            say(format!("make {target} ({})", self.log.display()));
        }
        // Nothing of this host and this hour goes into the kernel.
        let mut command = Command::new("nice");
        let variables = std::env::vars_os().map(|(name, _)| name);
        for name in variables.filter(|n| n.to_str().is_none_or(changes_a_kernel)) {
            command.env_remove(name);
        }
        let status = command
            .args(["-n", "10", "make", "-s", "-C"])
            .arg(&self.source)
            .arg(format!("O={}", self.objects.display()))
            .arg(format!("-j{jobs}"))
            .args(self.port.words)
            .args([
                "KBUILD_BUILD_TIMESTAMP=2026-01-01T00:00:00Z",
                "KBUILD_BUILD_USER=firstlight",
                "KBUILD_BUILD_HOST=lab",
                "KBUILD_BUILD_VERSION=1",
                "LOCALVERSION=",
            ])
            .args(targets)
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(errors)
            .status()
            .map_err(|e| LabError::ToolFailed {
                what: "make".into(),
                detail: e.to_string(),
            })?;
        if status.success() {
            return Ok(());
        }
        let said = fs::read(&self.log).unwrap_or_default();
        Err(LabError::ToolFailed {
            what: format!("building a kernel (make {})", targets.join(" ")),
            detail: format!(
                "{}; the full log is {}",
                last_words(&said),
                self.log.display()
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Cache, compiler_knows, fragment};
    use std::fs;

    #[test]
    fn a_build_that_was_broken_off_left_no_kernel() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache {
            folder: folder.path().to_owned(),
        };
        assert!(!cache.built_for_pc());
        for name in ["linux/objects-pc", "linux/pc-1", "linux/arm9-2/modules"] {
            fs::create_dir_all(cache.path(name)).unwrap();
        }
        assert!(!cache.built_for_pc() && !cache.built_for_arm9());
        fs::write(cache.path("linux/arm9-2/modules/modules.dep"), "").unwrap();
        assert!(!cache.built_for_pc() && cache.built_for_arm9());
    }

    #[test]
    fn a_header_that_is_not_there_is_missed() {
        assert!(!compiler_knows("no/such/header.h"));
    }

    #[test]
    fn a_fragment_is_ours_or_a_file() {
        assert!(fragment("micro").unwrap().contains("CONFIG_64BIT=y\n"));
        let said = fragment("no/such.config").unwrap_err().to_string();
        assert!(said.contains("no/such.config"), "{said}");
    }
}
