//! The machine `pc`: an x86-64 q35 of QEMU with one processor, whose time is
//! the number of instructions it has executed.

mod bzimage;
mod direct;
mod kernels;
mod machine;

pub use machine::{MACHINE, QEMU};

use crate::artifacts::{Arch, Cache, agent_program};
use crate::emulated::{Common, Hardware, Inputs, Kernels, loading_word};
use crate::emulator::setup::{INITRAMFS, KERNEL, OUT, ROOT, Setup, Source, Template};
use crate::emulator::stages::{CpuKind, KnownStages};
use crate::emulator::{Clock, Qemu};
use crate::error::{LabError, io_error};
use crate::experiment::{Base, Experiment, Mode, Root};
use crate::files::{HashedFile, read};
use crate::initramfs::{self, Tree};
use crate::layout;
use crate::pace::Pace;
use crate::prepared::EarlyStages;
use crate::profiles::{for_root, served_profile};
use crate::trial::Plan;
use agent::access::encode;
use agent::config::{AgentConfig, Board};
use kernels::WithModules;
use machine::OUT_BYTES;
use std::fs;
use std::path::{Path, PathBuf};
use storage::Profile;
use treat::reading::Reading;
use treat::{BootSpec, KernelForm};

/// Linux wants persistent memory in whole pieces of this many bytes.
const PIECE_BYTES: u64 = 2 << 20;

/// What an emulated processor's counter ticks at, whatever its speed. In real time
/// it is the host's, of which only the booted kernel finds out how fast it is: 0.
const fn counter_hz(mode: Mode) -> u64 {
    match mode {
        Mode::Exact => 1_000_000_000,
        Mode::Statistical(_) => 0,
    }
}

/// A machine with all its files, ready to boot any variant of an experiment.
#[derive(Debug)]
pub struct Pc {
    common: Common,
    /// Those of the baseline.
    plain: Own,
    /// Those of variants whose kernel is built or whose reading is treated.
    treated: Vec<Own>,
}

/// What some boots have of their own.
#[derive(Clone, Debug)]
struct Own {
    /// What their kernel was built with.
    build: Vec<String>,
    /// How their reading is treated.
    reading: Reading,
    /// How their initramfs is treated.
    treated: treat::Initramfs,
    /// Whether their kernel is entered directly.
    direct: bool,
    initramfs: HashedFile,
    root: Option<HashedFile>,
}

impl Own {
    fn is_of(&self, spec: &BootSpec) -> bool {
        let own = (&self.build, &self.reading, self.treated, self.direct);
        let direct = spec.kernel == KernelForm::Direct;
        own == (&spec.build, &spec.reading, spec.initramfs, direct)
    }
}

impl Pc {
    /// Gets everything that the experiment needs, from the cache or by making it.
    ///
    /// # Errors
    /// If a tool or file is missing or wrong, in one sentence.
    pub fn prepare(inputs: Inputs<'_>) -> Result<Self, LabError> {
        let Inputs {
            experiment,
            cache,
            out,
            say,
        } = inputs;
        let mut base = experiment.base.clone();
        let pace = Pace::of(&base, "x86_64");
        base.storage = served_profile(base.storage, Arch::X86_64, pace);
        let qemu = Qemu::find(QEMU, cache)?;
        let agent = agent_program(Arch::X86_64, say)?;
        let profile = base.storage.clone();
        let mut all = kernels::all(experiment, cache, say)?;
        let busybox = match base.root.busybox() {
            true => Some(cache.busybox("amd64", say)?),
            false => None,
        };
        let tree = match &base.root {
            Root::Initramfs { folder, .. } => Some(Tree::read(folder, busybox.as_deref())?),
            _ => None,
        };
        let root = match &base.root {
            Root::None | Root::Initramfs { .. } => None,
            Root::DebianMinimal => Some(cache.debian_minimal_root(say)?),
            Root::Image(path) => Some(path.clone()),
            Root::Tree { folder, form, .. } => {
                Some(form.image_of(cache, folder, busybox.as_deref(), say)?)
            }
        };
        let root = match root {
            None => None,
            Some(path) => Some(root_file(path, cache)?),
        };
        let description = describe(&qemu, pace, &base, &profile);
        let mut config = agent_config(&base, &profile, &description, root.as_ref());
        if let Some(tree) = &tree {
            config.root = Some(tree.root());
        }
        let mut wanted = vec!["nfit", "nd_pmem"];
        wanted.extend(initramfs::root_modules(&config, false));
        // Without firmware there is no persistent memory that ACPI describes.
        let direct_config = AgentConfig {
            board: Board {
                out_at: direct::payload_at(base.memory_mb),
                ..Board::default()
            },
            ..config.clone()
        };
        let make = |kernel: &WithModules, list: Option<&[u8]>, spec: &BootSpec| {
            let treated = spec.initramfs;
            let (config, wanted) = match spec.kernel {
                KernelForm::Direct => (&direct_config, &[][..]),
                KernelForm::Image | KernelForm::Uncompressed => (&config, &wanted[..]),
            };
            let mut archive = initramfs::make(&initramfs::Parts {
                agent: &agent,
                config,
                tree: kernel.modules.as_deref(),
                wanted,
                unsigned: treated.unsigned,
                list,
                root: tree.as_ref(),
            })?;
            initramfs::pack(&base.root, treated, &mut archive)?;
            Ok(archive)
        };
        let making = Making {
            kernels: &all,
            root: root.as_ref(),
            make: &make,
        };
        let treated = making.treated(experiment, (out, cache), say)?;
        let first = all.first().ok_or_else(not_prepared)?;
        let plain = Own {
            build: Vec::new(),
            reading: Reading::default(),
            treated: treat::Initramfs::default(),
            direct: false,
            initramfs: HashedFile::write(
                out,
                "initramfs.cpio",
                &make(first, None, &BootSpec::default())?,
            )?,
            root,
        };
        let built = all.split_off(1).into_iter().map(|k| (k.build, k.kernels));
        let built = built.collect();
        let kernels = all.pop().ok_or_else(not_prepared)?.kernels;
        Ok(Self {
            plain,
            treated,
            common: Common {
                qemu,
                base,
                pace,
                description,
                kernels: Kernels { built, ..kernels },
                stages: KnownStages::new(cache),
            },
        })
    }
}

impl Pc {
    /// The initramfs and the root of a boot.
    fn files(&self, spec: &BootSpec) -> (&HashedFile, Option<&HashedFile>) {
        let mine = |o: &&Own| o.is_of(spec);
        let own = self.treated.iter().find(mine).unwrap_or(&self.plain);
        (&own.initramfs, own.root.as_ref())
    }
}

impl Hardware for Pc {
    fn common(&self) -> &Common {
        &self.common
    }

    fn clock(&self) -> Clock {
        Clock::Pc
    }

    fn payload_at(&self, spec: &BootSpec) -> u64 {
        match spec.kernel {
            KernelForm::Direct => direct::payload_at(self.common.base.memory_mb),
            KernelForm::Image | KernelForm::Uncompressed => 0,
        }
    }

    fn setup(&self, spec: &BootSpec) -> Result<Setup, LabError> {
        let (initramfs, root) = self.files(spec);
        if spec.kernel == KernelForm::Direct {
            let kernel = self.common.kernels.of(spec)?;
            let entry = kernel.entries.first().copied().unwrap_or_default();
            return direct::setup(
                (&kernel.file, entry),
                initramfs,
                &spec.cmdline.to_string(),
                self.common.base.memory_mb,
                self.common.pace,
            );
        }
        let root_bytes = root.map(|r| r.bytes);
        let words = words(
            self.common.base.memory_mb,
            &spec.cmdline.to_string(),
            root_bytes,
        );
        let mut setup = Setup::new(words, self.common.pace);
        setup.put(
            KERNEL,
            Source::Input(self.common.kernels.of(spec)?.file.clone()),
        );
        setup.put(INITRAMFS, Source::Input(initramfs.clone()));
        if let Some(root) = root {
            setup.put(ROOT, Source::Input(root.clone()));
        }
        setup.put(OUT, Source::Empty(OUT_BYTES));
        self.common.attach_devices(&mut setup);
        Ok(setup)
    }

    fn initramfs(&self, spec: &BootSpec) -> &HashedFile {
        self.files(spec).0
    }

    /// The baseline's command line stands for all: another one moves the stages by a few
    /// microseconds (seen: 2), and a measurement takes 10 s of the host.
    fn early(&self, plan: &Plan) -> Result<EarlyStages, String> {
        let spec = &plan.spec;
        let measured = BootSpec {
            kernel: spec.kernel,
            cmdline: self.common.base.cmdline.clone(),
            build: spec.build.clone(),
            ..BootSpec::default()
        };
        for cmdline in [&spec.cmdline, &measured.cmdline] {
            if !cmdline.contains("nokaslr") && spec.kernel == KernelForm::Image {
                return Err(
                    "firmware and decompression cannot be distinguished without the kernel \
                     parameter `nokaslr`, because the kernel entry point is unknown"
                        .into(),
                );
            }
        }
        let kernel = self.common.kernels.of(spec).map_err(|e| e.to_string())?;
        Ok(EarlyStages {
            boot: self.setup(&measured).map_err(|e| e.to_string())?,
            processor: CpuKind::X86_64,
            waypoints: kernel.entries.clone(),
            console: None,
            loader_first: false,
            unpacks_itself: kernel.entries.len() > 1,
        })
    }
}

fn describe(qemu: &Qemu, pace: Pace, base: &Base, profile: &Profile) -> String {
    format!(
        "pc, 1 vCPU {}, {} MiB, storage {}, {}",
        pace.describe(qemu.version()),
        base.memory_mb,
        profile.name,
        loading_word(base)
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
        root: root.map(|root| initramfs::root(root.bytes, base.root.fstype())),
        first_light: base.first_light.clone(),
        counter_hz: counter_hz(base.mode),
        storage: for_root(profile, root.is_some()),
        board: Board::default(),
    }
}

fn not_prepared() -> LabError {
    LabError::Bug {
        why: "an experiment without a kernel".into(),
    }
}

/// Makes the initramfs for a kernel, with an access list or without one, of such a boot.
type MakeInitramfs<'a> =
    dyn Fn(&WithModules, Option<&[u8]>, &BootSpec) -> Result<Vec<u8>, LabError> + 'a;

/// What initramfs and root of treated variants are made of.
struct Making<'a> {
    kernels: &'a [WithModules],
    root: Option<&'a HashedFile>,
    make: &'a MakeInitramfs<'a>,
}

impl Making<'_> {
    /// The initramfs and the root of every variant whose kernel is built or whose
    /// reading or initramfs is treated; both are written into `out`.
    fn treated(
        &self,
        experiment: &Experiment,
        (out, cache): (&Path, &Cache),
        say: &mut dyn FnMut(String),
    ) -> Result<Vec<Own>, LabError> {
        let mut all: Vec<Own> = Vec::new();
        for spec in experiment.variants.iter().map(|v| &v.spec) {
            let known = all.iter().any(|o| o.is_of(spec));
            let BootSpec { build, reading, .. } = spec;
            let plain = build.is_empty()
                && *reading == Reading::default()
                && spec.kernel != KernelForm::Direct
                && spec.initramfs == treat::Initramfs::default();
            let kernel = self.kernels.iter().find(|k| k.build == *build);
            let (false, false, Some(kernel)) = (known, plain, kernel) else {
                continue;
            };
            let number = all.len();
            let direct = spec.kernel == KernelForm::Direct;
            if direct && self.root.is_some() {
                let why = "`kernel=direct` boots no root on storage, because no firmware describes \
                    one to the kernel; use `root = \"none\"` or `filesystem = \"initramfs\"`";
                return Err(LabError::Search(why.into()));
            }
            let mut list = reading.prefetch.as_ref().map(PathBuf::from);
            let mut root = self.root.cloned();
            let mut ordered = None;
            if let (Some(order), Some(plain)) = (&reading.order, &root) {
                say(format!(
                    "rearranging the root in the order of {}",
                    order.list
                ));
                let list_path = Path::new(&order.list);
                let by = layout::read_list(list_path)?;
                let unit = layout::Unit::new(order.read_around);
                let path = out.join(format!("root-{number}.img"));
                fs::create_dir_all(out).map_err(io_error(out, "cannot be created"))?;
                let file = fs::File::create(&path).map_err(io_error(&path, "cannot be created"))?;
                let done = layout::order(&plain.path, &by, unit, (&file, &path))?;
                // The same list is read ahead where its metadata lies now.
                if list.as_deref() == Some(list_path) {
                    list = None;
                    ordered = Some(encode(&done.list));
                }
                root = Some(root_file(path, cache)?);
            }
            let bytes = match list {
                Some(path) => Some(read(&path)?),
                None => ordered,
            };
            let name = format!("initramfs-{number}.cpio");
            let made = (self.make)(kernel, bytes.as_deref(), spec)?;
            all.push(Own {
                build: build.clone(),
                reading: reading.clone(),
                treated: spec.initramfs,
                direct,
                initramfs: HashedFile::write(out, &name, &made)?,
                root,
            });
        }
        Ok(all)
    }
}

fn root_file(path: PathBuf, cache: &Cache) -> Result<HashedFile, LabError> {
    let root = HashedFile::large(path, cache)?;
    let unfit = |why: &'static str| {
        let wrong = std::io::Error::new(std::io::ErrorKind::InvalidInput, why);
        io_error(&root.path, "cannot be used as a root")(wrong)
    };
    if root.bytes == 0 || !root.bytes.is_multiple_of(PIECE_BYTES) {
        return Err(unfit(
            "its size is not a multiple of 2 MiB; run `truncate -s %2M FILE`",
        ));
    }
    if root.bytes == OUT_BYTES {
        return Err(unfit(
            "it has exactly 64 MiB, the size of the payload memory, but the agent finds memory by \
             size; make it larger",
        ));
    }
    Ok(root)
}

/// The command line of QEMU; `root` is the length of the root's image, if there is one.
fn words(memory_mb: u32, cmdline: &str, root: Option<u64>) -> Template {
    let mut words = Template::of(MACHINE);
    let persistent = root.unwrap_or(0).saturating_add(OUT_BYTES);
    let all = (u64::from(memory_mb) << 20).saturating_add(persistent);
    // Room for the persistent memory, in whole GiB, and not less than 4.
    let room = all.div_ceil(1 << 30).max(3) + 1;
    words.pair("-m", format!("{memory_mb},slots=2,maxmem={room}G"));
    words.file("-kernel", KERNEL);
    words.file("-initrd", INITRAMFS);
    words.pair("-append", cmdline);
    if let Some(bytes) = root {
        // Not shared: what the guest writes is the trial's own.
        words.memory(ROOT, false, bytes, "nvdimm");
    }
    words.memory(OUT, true, OUT_BYTES, "nvdimm");
    words
}

#[cfg(test)]
mod tests {
    use super::words;

    fn line(root: Option<u64>) -> String {
        serde_json::to_string(&words(1024, "console=ttyS0 a=\"b c\"", root)).unwrap()
    }

    #[test]
    fn the_command_line_is_that_of_an_exact_machine() {
        let line = line(Some(420 << 20));
        for part in [
            r#""-M","q35,nvdimm=on,hpet=off","-smp","1""#,
            r#""-rtc","base=2026-01-01,clock=vm""#,
            r#""-m","1024,slots=2,maxmem=4G""#,
            r#""-append","console=ttyS0 a=\"b c\"""#,
            r#"id=root,share=off,readonly=off,mem-path=","option":"root","after":",size=440401920""#,
            r#"id=out,share=on,mem-path=","option":"out","after":",size=67108864"},"-device","nvdimm,memdev=out"#,
        ] {
            assert!(line.contains(part), "{part} in {line}");
        }
    }

    #[test]
    fn memory_has_room_for_the_root() {
        assert!(line(Some(8 << 30)).contains("maxmem=11G"));
        let line = line(None);
        assert!(line.contains("maxmem=4G") && !line.contains("id=root"));
    }
}
