//! The machine `pc`: an x86-64 q35 of QEMU with one processor, whose time is
//! the number of instructions it has executed.

mod bzimage;
mod gdb;
mod qemu;
mod stages;

pub use qemu::{PACKAGE as QEMU_PACKAGE, PROGRAM as QEMU_PROGRAM};
pub use stages::Stages;

use crate::artifacts::{Arch, Cache, agent_program, hash_bytes};
use crate::capture::hex;
use crate::cpio::Archive;
use crate::error::{LabError, io_error};
use crate::experiment::{Base, Experiment, Kernel, Root};
use crate::machine::{Boot, Machine};
use crate::modules::Modules;
use crate::storage::{self, Profile};
use crate::trial::Plan;
use agent::config::{AgentConfig, MODULES, Model, PATH};
use bzimage::BzImage;
use qemu::Qemu;
use stages::Entries;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use treat::{BootSpec, KernelForm};

/// The persistent memory for the payload, in bytes.
const OUT_BYTES: u64 = 64 << 20;

/// Linux wants persistent memory in whole pieces of this many bytes.
const PIECE_BYTES: u64 = 2 << 20;

/// What an emulated processor's counter ticks at, whatever its speed.
const COUNTER_HZ: u64 = 1_000_000_000;

/// A machine with all its files, ready to boot any variant of an experiment.
#[derive(Debug)]
pub struct Pc {
    qemu: Qemu,
    base: Base,
    description: String,
    image: KernelFile,
    /// The kernel unpacked, if a variant wants it so.
    unpacked: Option<KernelFile>,
    initramfs: HashedFile,
    root: Option<HashedFile>,
    cache: Cache,
    stages: Mutex<BTreeMap<String, StagesOnce>>,
}

/// Stages that are measured once, while others that need them wait.
type StagesOnce = Arc<OnceLock<Result<Stages, String>>>;

#[derive(Debug)]
struct HashedFile {
    path: PathBuf,
    bytes: u64,
    sha256: String,
}

#[derive(Debug)]
struct KernelFile {
    file: HashedFile,
    entries: Entries,
}

impl Pc {
    /// Gets everything that `experiment` needs, from the cache or by making it;
    /// `say` is told what takes time. The initramfs is written into `out`.
    ///
    /// # Errors
    /// If a tool or file is missing or wrong, in one sentence.
    pub fn prepare(
        experiment: &Experiment,
        cache: &Cache,
        out: &Path,
        say: &mut dyn FnMut(String),
    ) -> Result<Self, LabError> {
        let base = experiment.base.clone();
        let qemu = Qemu::find()?;
        let agent = agent_program(Arch::X86_64, say)?;
        let profile = storage::named(&base.storage)?;
        let (vmlinuz, modules) = match &base.kernel {
            Kernel::Debian => {
                let kernel = cache.debian_kernel(say)?;
                (kernel.image, Some(kernel.modules))
            }
            Kernel::File { image, modules } => (image.clone(), modules.clone()),
        };
        let bytes = read(&vmlinuz)?;
        let bz = BzImage::parse(&vmlinuz, &bytes)?;
        let wants = |form| experiment.variants.iter().any(|v| v.spec.kernel == form);
        let unpacked = match wants(KernelForm::Uncompressed) {
            true => Some(unpack(&bz, &vmlinuz, &bytes, cache)?),
            false => None,
        };
        let image = KernelFile {
            entries: Entries {
                decompressor: Some(bz.code32_start),
                kernel: bz.preferred_address,
            },
            file: HashedFile {
                bytes: bytes.len() as u64,
                sha256: hash_bytes(&bytes),
                path: vmlinuz,
            },
        };
        let root = match &base.root {
            Root::None => None,
            Root::DebianMinimal => Some(cache.debian_minimal_root(say)?),
            Root::Image(path) => Some(path.clone()),
        };
        let root = match root {
            None => None,
            Some(path) => Some(root_file(path, cache)?),
        };
        let description = describe(&qemu, &base, &profile);
        let config = agent_config(&base, &profile, &description, root.as_ref());
        let wanted = wanted_modules(&base, &profile);
        let files = match &modules {
            Some(tree) => Modules::read(tree)?.order(&wanted)?,
            None => Vec::new(),
        };
        let archive = initramfs(&agent, &config.to_text()?, &files)?;
        let path = out.join("initramfs.cpio");
        fs::create_dir_all(out).map_err(io_error(out, "cannot be made"))?;
        fs::write(&path, &archive).map_err(io_error(&path, "cannot be written"))?;
        Ok(Self {
            initramfs: HashedFile {
                bytes: archive.len() as u64,
                sha256: hash_bytes(&archive),
                path,
            },
            qemu,
            base,
            description,
            image,
            unpacked,
            root,
            cache: cache.clone(),
            stages: Mutex::default(),
        })
    }

    fn kernel(&self, form: KernelForm) -> Result<&KernelFile, LabError> {
        let bug = || LabError::Bug {
            why: "a variant wants a kernel that was not prepared".into(),
        };
        match form {
            KernelForm::Image => Ok(&self.image),
            KernelForm::Uncompressed => self.unpacked.as_ref().ok_or_else(bug),
        }
    }

    /// The command line of QEMU, all but console and debugger.
    fn arguments(&self, spec: &BootSpec, out_file: &Path) -> Result<qemu::Arguments, LabError> {
        let root = self.root.as_ref();
        Ok(qemu::Arguments {
            memory_mb: self.base.memory_mb,
            cpu_shift: self.base.cpu_shift,
            kernel: self.kernel(spec.kernel)?.file.path.clone(),
            initramfs: self.initramfs.path.clone(),
            cmdline: spec.cmdline.to_string(),
            root: root.map(|r| (r.path.clone(), r.bytes)),
            out: (out_file.to_owned(), OUT_BYTES),
        })
    }

    /// When firmware and decompression end: known from an earlier boot of the
    /// same inputs, or measured now. The baseline's command line stands for all:
    /// another one moves them by a few microseconds (seen: 2), and a measurement
    /// takes 10 s of the host.
    fn stages(&self, spec: &BootSpec) -> Result<Stages, String> {
        let measured = BootSpec {
            kernel: spec.kernel,
            cmdline: self.base.cmdline.clone(),
        };
        for cmdline in [&spec.cmdline, &measured.cmdline] {
            if !cmdline.contains("nokaslr") && spec.kernel == KernelForm::Image {
                return Err(
                    "without `nokaslr` on the command line the kernel's entry is not \
                            known, so firmware and decompression are not told apart"
                        .into(),
                );
            }
        }
        let key = self.stages_key(&measured);
        let once = {
            let mut known = self.stages.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(known.entry(key.clone()).or_default())
        };
        once.get_or_init(|| self.measure(&measured, &key)).clone()
    }

    fn measure(&self, spec: &BootSpec, key: &str) -> Result<Stages, String> {
        let known = self.cache.path(&format!("stages/{key}.json"));
        let stored = fs::read(&known).ok();
        if let Some(stages) = stored.and_then(|b| serde_json::from_slice(&b).ok()) {
            return Ok(stages);
        }
        let measured = || -> Result<Stages, LabError> {
            // A short path: names of sockets have at most 107 bytes.
            let tmp = std::env::temp_dir();
            let folder = tempfile::Builder::new().prefix("firstlight-").tempdir();
            let folder = folder.map_err(io_error(&tmp, "cannot hold a temporary folder"))?;
            let out_file = folder.path().join("out");
            qemu::make_out_file(&out_file, OUT_BYTES)?;
            let arguments = self.arguments(spec, &out_file)?;
            let start = |socket: &Path| self.qemu.start_recording(&arguments, socket);
            let entries = self.kernel(spec.kernel)?.entries;
            let stages = stages::measure(entries, self.base.cpu_shift, folder.path(), &start)?;
            let text =
                serde_json::to_vec(&stages).map_err(|e| LabError::Bug { why: e.to_string() })?;
            self.cache.write(&known, &text)?;
            Ok(stages)
        };
        measured().map_err(|e| format!("firmware and decompression are not told apart: {e}"))
    }

    /// What the stages depend on: all but the contents of initramfs and root,
    /// which nobody reads so early.
    fn stages_key(&self, spec: &BootSpec) -> String {
        let root = self.root.as_ref().map_or(0, |r| r.bytes);
        let text = format!("{}root_bytes = {root}\n", self.early_inputs(spec));
        hash_bytes(text.as_bytes())
    }

    fn early_inputs(&self, spec: &BootSpec) -> String {
        let form = spec.kernel;
        let kernel = self.kernel(form).map_or("", |k| &k.file.sha256);
        let mut text = String::new();
        for (key, value) in [
            ("qemu", self.qemu.version().to_owned()),
            ("machine", qemu::MACHINE.to_owned()),
            ("memory_mb", self.base.memory_mb.to_string()),
            ("cpu_shift", self.base.cpu_shift.to_string()),
            ("kernel_form", form.as_str().to_owned()),
            ("kernel", kernel.to_owned()),
            ("initramfs_bytes", self.initramfs.bytes.to_string()),
            ("out_bytes", OUT_BYTES.to_string()),
            ("cmdline", spec.cmdline.to_string()),
        ] {
            // Writing into a string does not fail.
            let _ = writeln!(text, "{key} = {value}");
        }
        text
    }
}

impl Machine for Pc {
    fn description(&self) -> String {
        self.description.clone()
    }

    fn inputs(&self, spec: &BootSpec) -> String {
        let root = self.root.as_ref().map_or("none", |r| &r.sha256);
        format!(
            "{}initramfs = {}\nroot = {root}\nlimit_virtual_s = {:?}\n",
            self.early_inputs(spec),
            self.initramfs.sha256,
            self.base.limit_virtual_s
        )
    }

    fn boot(
        &self,
        plan: &Plan,
        work: &Path,
        seen: &mut dyn FnMut(u64, &str),
    ) -> Result<Boot, LabError> {
        let out_file = work.join("out");
        qemu::make_out_file(&out_file, OUT_BYTES)?;
        let arguments = self.arguments(&plan.spec, &out_file)?;
        let limits = qemu::Limits {
            wall_s: self.base.limit_wall_s,
            virtual_s: self.base.limit_virtual_s,
        };
        let mut boot = self.qemu.boot(&arguments, limits, work, seen)?;
        if boot.payload.is_some() {
            match self.stages(&plan.spec) {
                Ok(stages) => boot.stages = Some(stages),
                Err(why) => boot.notes.push(why),
            }
        }
        Ok(boot)
    }
}

fn describe(qemu: &Qemu, base: &Base, profile: &Profile) -> String {
    let shift = base.cpu_shift;
    let speed = match shift {
        0 => "1 GIPS".to_owned(),
        _ => format!("{} MIPS", 1000.0 / f64::from(1u32 << shift.min(31))),
    };
    format!(
        "pc, 1 vCPU at {speed} (QEMU {} TCG, icount shift={shift}), {} MiB, storage {}",
        qemu.version(),
        base.memory_mb,
        profile.name
    )
}

fn agent_config(
    base: &Base,
    profile: &Profile,
    machine: &str,
    root: Option<&HashedFile>,
) -> AgentConfig {
    AgentConfig {
        machine: machine.to_owned(),
        out_size: OUT_BYTES,
        root: root.map(|root| agent::config::Root {
            size: root.bytes,
            fstype: "ext4".into(),
            options: "rw".into(),
            init: "/sbin/init".into(),
        }),
        first_light: base.first_light.clone(),
        counter_hz: COUNTER_HZ,
        storage: profile.storage.clone(),
    }
}

/// The modules that the agent and the root need.
fn wanted_modules(base: &Base, profile: &Profile) -> Vec<&'static str> {
    let mut wanted = vec!["nfit", "nd_pmem"];
    if profile.storage.model != Model::None {
        wanted.push("nbd");
    }
    if base.root != Root::None {
        // ext4 checks its metadata with crc32c, which depmod does not know.
        wanted.extend(["crc32c_generic", "ext4"]);
    }
    wanted
}

fn initramfs(agent: &[u8], config: &str, modules: &[PathBuf]) -> Result<Vec<u8>, LabError> {
    let mut archive = Archive::default();
    let plain = |path: &str| path.trim_start_matches('/').to_owned();
    archive.folder("dev");
    // The kernel opens it for init before anything is mounted.
    archive.device("dev/console", 5, 1);
    archive.file("init", 0o755, agent);
    archive.folder("firstlight");
    archive.file(&plain(PATH), 0o644, config.as_bytes());
    archive.folder(&plain(MODULES));
    for (i, path) in modules.iter().enumerate() {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !name.ends_with(".ko") {
            return Err(LabError::Kernel {
                path: path.clone(),
                why: "the module is compressed, and nothing in the initramfs can unpack it; \
                      name a tree of uncompressed modules as `modules`"
                    .into(),
            });
        }
        let name = format!("{}/{:02}-{name}", plain(MODULES), i + 10);
        archive.file(&name, 0o644, &read(path)?);
    }
    Ok(archive.finish())
}

/// The kernel proper, unpacked into the cache.
fn unpack(bz: &BzImage, path: &Path, image: &[u8], cache: &Cache) -> Result<KernelFile, LabError> {
    let file = cache.path(&format!("vmlinux/{}", hash_bytes(image)));
    let elf = match fs::read(&file) {
        Ok(elf) => elf,
        Err(_) => {
            let elf = bz.unpack(path, image)?;
            cache.write(&file, &elf)?;
            elf
        }
    };
    Ok(KernelFile {
        entries: Entries {
            decompressor: None,
            kernel: bzimage::pvh_entry(path, &elf)?,
        },
        file: HashedFile {
            bytes: elf.len() as u64,
            sha256: hash_bytes(&elf),
            path: file,
        },
    })
}

fn root_file(path: PathBuf, cache: &Cache) -> Result<HashedFile, LabError> {
    let meta = fs::metadata(&path).map_err(io_error(&path, "cannot be read"))?;
    let bytes = meta.len();
    let unfit = |why: &'static str| {
        let wrong = std::io::Error::new(std::io::ErrorKind::InvalidInput, why);
        io_error(&path, "cannot be a root")(wrong)
    };
    if bytes == 0 || !bytes.is_multiple_of(PIECE_BYTES) {
        return Err(unfit(
            "its size must be a multiple of 2 MiB; `truncate -s %2M FILE` makes it so",
        ));
    }
    if bytes == OUT_BYTES {
        return Err(unfit(
            "it has the size of the payload's memory, 64 MiB, and the agent finds memory by size; \
             make it larger",
        ));
    }
    let sha256 = hex(&cache.hash_of(&path)?);
    Ok(HashedFile {
        path,
        bytes,
        sha256,
    })
}

fn read(path: &Path) -> Result<Vec<u8>, LabError> {
    fs::read(path).map_err(io_error(path, "cannot be read"))
}
