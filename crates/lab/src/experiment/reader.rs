//! What is checked beyond the file's shape.

use super::base::Base;
use super::device::Device;
use super::file::{BaseFile, RootFile, VariantFile};
use super::kernel::Kernel;
use super::mode::Mode;
use super::platform::{Loader, Platform};
use super::possible::possible;
use super::recording::{OPENS, Recording};
use super::root::Root;
use super::variant::{BASELINE, Variant};
use crate::arch::ArmArch;
use crate::arm9::board;
use crate::artifacts::Form;
use crate::error::LabError;
use crate::on_files;
use crate::profiles;
use agent::config::FirstLight;
use capture::board::{Board, FirstLight as FromOutside};
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use storage::Profile;
use toml::Spanned;
use treat::{BootSpec, CommandLine, FileTreatment, Order, Treatment};

/// Reads the parts of one file.
pub struct Reader<'a, At> {
    /// The file's path: paths in it are relative to its folder.
    pub path: &'a str,
    /// Makes an error of a place in the file and a clause.
    pub at: &'a At,
}

type Span = std::ops::Range<usize>;

/// What the words of perturbed boots need at most, in bytes.
const PERTURBATION_BYTES: usize = 96;

/// The most boots that each variant gets on a board, if nobody says otherwise: enough for
/// half a percent where boots scatter by half a percent.
const BOARD_ENSEMBLE: NonZeroU32 = NonZeroU32::new(40).unwrap();

/// What is said of an environment that nobody reads.
const NO_LOADER: &str = "`environment` needs a boot loader; set `loader = \"u-boot\"`, or \
    \"nand\" on `arm9`";

impl<At: Fn(&Span, String) -> LabError> Reader<'_, At> {
    /// What all variants share, and the baseline.
    pub fn base(&self, file: BaseFile) -> Result<(Base, Variant), LabError> {
        let at = self.at;
        let machine = file.machine.span();
        let platform = self.platform(&file)?;
        let on_board = matches!(platform, Platform::Board(_));
        let mode = Mode::read(&file, on_board).map_err(|(span, why)| at(&span, why))?;
        if let Some(rounds) = file.scatter_rounds.as_ref().filter(|_| !on_board) {
            let why = "`scatter_rounds` works only with the machine `board`; remove it";
            return Err(at(&rounds.span(), why.into()));
        }
        if let Some(shift) = file.cpu_shift.as_ref().filter(|s| *s.get_ref() > 10) {
            let why =
                "`cpu_shift` is too large; write at most 10 (1,024 ns per instruction)".into();
            return Err(at(&shift.span(), why));
        }
        let (usual_mb, usual_shift) = match platform {
            Platform::Arm9 { .. } => (board::MEMORY_MB.1, board::CPU_SHIFT),
            _ => (1536, 0),
        };
        if let Some(memory_mb) = &file.memory_mb {
            self.memory(memory_mb, &platform)?;
        }
        // Stored boots had all these, and a board has its own; here they are of no use.
        let replay = on_board || matches!(platform, Platform::Replay(_));
        let field = |given: Option<Spanned<String>>, name: &str, default: &str| match given {
            Some(given) => Ok(given),
            None if replay => Ok(Spanned::new(machine.clone(), default.to_owned())),
            None => Err(at(&machine, format!("missing field `{name}`"))),
        };
        let storage = field(file.storage.clone(), "storage", "none")?;
        let kernel = field(file.kernel.clone(), "kernel", "debian")?;
        let kernel = self.kernel(&kernel, &file, &platform)?;
        let root = match file.root {
            Some(given) => given,
            None if replay => Spanned::new(machine.clone(), RootFile::Name("none".into())),
            None => return Err(at(&machine, "missing field `root`".into())),
        };
        // That of a board is seen from outside, and already read.
        let own_light = file.first_light.filter(|_| !on_board);
        let first_light = field(own_light, "first_light", "init")?;
        let profile = self.profile(&storage)?;
        let light = self.first_light(&first_light)?;
        let root = self.root(&root, &platform)?;
        if root == Root::None && light != FirstLight::Init {
            return Err(self.wrong(&first_light, "`init`, since there is no root"));
        }
        if let Platform::Arm9 { nand: Some(_) } = platform {
            let why = match (&root, mode.is_exact()) {
                (Root::None | Root::Initramfs { .. }, true) => None,
                (_, true) => Some(
                    "the loader `nand` supports no root in flash; put the root into the \
                        initramfs",
                ),
                (_, false) => Some("the loader `nand` needs `mode = \"exact\"`"),
            };
            if let Some(why) = why {
                return Err(at(&machine, why.into()));
            }
        }
        // Elsewhere a root in memory is loaded from the storage with the kernel.
        if matches!(platform, Platform::Arm9 { .. }) && storage.get_ref() != "none" {
            let why = "`none`, since the root of `arm9` is in flash or memory";
            return Err(self.wrong(&storage, why));
        }
        let mut cmdline = self.cmdline(&file.cmdline)?;
        if let Some(first) = file
            .record
            .first()
            .filter(|r| on_board && r.get_ref() != "console")
        {
            let why = "a board records only its `console`; remove this";
            return Err(at(&first.span(), why.into()));
        }
        let recording = self.recording(&file.record, &cmdline)?;
        self.can_be_recorded(&recording, &kernel, &platform, &file.record)?;
        for word in &recording.words {
            cmdline.add(word);
        }
        let plain = BootSpec {
            cmdline: cmdline.clone(),
            ..BootSpec::default()
        };
        let (treatments, spec) = self.treated(&file.treatments, plain, &platform)?;
        let baseline = Variant {
            name: BASELINE.to_owned(),
            treatments,
            spec,
        };
        let device_tree = match &platform {
            // On `arm9` it goes with the kernel.
            Platform::ArmVirt { .. } => file.device_tree.as_ref(),
            _ => None,
        };
        let devices = self.devices(&file.devices, &platform)?;
        let base = Base {
            kernel,
            devices,
            device_tree: device_tree.map(|d| self.beside(d.get_ref())),
            platform,
            memory_mb: file.memory_mb.map_or(usual_mb, Spanned::into_inner),
            cpu_shift: file.cpu_shift.map_or(usual_shift, Spanned::into_inner),
            storage: profile,
            root,
            cmdline,
            recording,
            first_light: light,
            limit_virtual_s: file.limit_virtual_s,
            limit_wall_s: file.limit_wall_s,
            ensemble: file.ensemble.unwrap_or_else(|| match on_board {
                true => BOARD_ENSEMBLE,
                false => mode.ensemble(),
            }),
            mode,
        };
        self.fits(&baseline, &base, &machine)?;
        Ok((base, baseline))
    }

    fn devices(
        &self,
        names: &[Spanned<String>],
        platform: &Platform,
    ) -> Result<Vec<Device>, LabError> {
        let has_bus = matches!(platform, Platform::Pc | Platform::ArmVirt { .. });
        let found = names.iter().map(|name| {
            if !has_bus {
                let why = "`devices` works only with `pc` and `arm-virt`; remove it";
                return Err((self.at)(&name.span(), why.to_owned()));
            }
            let known = Device::ALL.iter().find(|d| d.name() == name.get_ref());
            known.copied().ok_or_else(|| {
                let names = Device::ALL.map(|d| format!("`{}`", d.name()));
                self.wrong(name, &names.join(" or "))
            })
        });
        found.collect()
    }

    fn wrong(&self, found: &Spanned<String>, expected: &str) -> LabError {
        let text = found.get_ref();
        (self.at)(
            &found.span(),
            format!("expected {expected}, found `{text}`"),
        )
    }

    fn platform(&self, file: &BaseFile) -> Result<Platform, LabError> {
        let at = self.at;
        let only = |span: Option<Span>, key: &str, machine: &str| match span {
            None => Ok(()),
            Some(span) => Err(at(
                &span,
                format!("`{key}` works only with the machine `{machine}`; remove it"),
            )),
        };
        let machine = file.machine.get_ref().as_str();
        if machine != "arm-virt" {
            only(file.arch.as_ref().map(Spanned::span), "arch", "arm-virt")?;
        }
        if !["arm-virt", "arm9"].contains(&machine) {
            let loader = file.loader.as_ref().map(Spanned::span);
            only(loader, "loader", "arm-virt` or `arm9")?;
            let environment = file.environment.as_ref().map(Spanned::span);
            only(environment, "environment", "arm-virt` or `arm9")?;
        }
        if machine != "replay" {
            only(file.replay.as_ref().map(Spanned::span), "replay", "replay")?;
        }
        if machine != "board" {
            only(file.board.as_ref().map(Spanned::span), "board", "board")?;
        }
        match machine {
            "pc" => Ok(Platform::Pc),
            "arm9" => Ok(Platform::Arm9 {
                nand: self.nand(file)?,
            }),
            "arm-virt" => {
                let arch = match &file.arch {
                    Some(arch) => match arch.get_ref().as_str() {
                        "armhf" => ArmArch::Armhf,
                        "arm64" => ArmArch::Arm64,
                        _ => return Err(self.wrong(arch, "`armhf` or `arm64`")),
                    },
                    None => {
                        let why = "the machine `arm-virt` needs `arch = \"armhf\"` or \"arm64\"";
                        return Err(at(&file.machine.span(), why.into()));
                    }
                };
                let loader = self.loader(file)?;
                Ok(Platform::ArmVirt { arch, loader })
            }
            "replay" => match &file.replay {
                Some(folder) => Ok(Platform::Replay(self.beside(folder.get_ref()))),
                None => {
                    let why = "the machine `replay` needs `replay = \"FOLDER\"` with the output \
                        folder of an earlier run";
                    Err(at(&file.machine.span(), why.into()))
                }
            },
            "board" => self.board(file).map(|b| Platform::Board(Box::new(b))),
            _ => Err(self.wrong(
                &file.machine,
                "the machine `pc`, `arm-virt`, `arm9`, `board` or `replay`",
            )),
        }
    }

    /// The board that the file names. What only a machine of the lab has is refused.
    fn board(&self, file: &BaseFile) -> Result<Board, LabError> {
        let lab_only = [
            ("memory_mb", file.memory_mb.as_ref().map(Spanned::span)),
            ("cpu_shift", file.cpu_shift.as_ref().map(Spanned::span)),
            ("storage", file.storage.as_ref().map(Spanned::span)),
            ("kernel", file.kernel.as_ref().map(Spanned::span)),
            ("root", file.root.as_ref().map(Spanned::span)),
        ];
        for (key, span) in lab_only {
            if let Some(span) = span {
                let why =
                    format!("`{key}` does not apply to a board, which has its own; remove it");
                return Err((self.at)(&span, why));
            }
        }
        let Some(path) = &file.board else {
            let why = "the machine `board` needs `board = \"boards/NAME.toml\"`".to_owned();
            return Err((self.at)(&file.machine.span(), why));
        };
        let mut board = Board::read(&self.beside(path.get_ref()))?;
        if let Some(light) = &file.first_light {
            board.boot.first_light = FromOutside::parse(light.get_ref())
                .map_err(|e| (self.at)(&light.span(), e.to_string()))?;
        }
        Ok(board)
    }

    fn loader(&self, file: &BaseFile) -> Result<Loader, LabError> {
        let at = self.at;
        let program = match file.loader.as_ref().map(|l| l.get_ref().as_str()) {
            None | Some("none") => {
                return match &file.environment {
                    Some(given) => Err(at(&given.span(), NO_LOADER.into())),
                    None => Ok(Loader::None),
                };
            }
            Some("u-boot") => None,
            Some(path) => Some(self.beside(path)),
        };
        let environment = self.environment(file)?;
        Ok(Loader::UBoot {
            program,
            environment,
        })
    }

    /// What starts the kernel of `arm9`, if not the emulator.
    fn nand(&self, file: &BaseFile) -> Result<Option<BTreeMap<String, String>>, LabError> {
        match (&file.loader, &file.environment) {
            (Some(loader), _) if loader.get_ref() == "nand" => Ok(Some(self.environment(file)?)),
            (Some(loader), _) if loader.get_ref() != "none" => {
                Err(self.wrong(loader, "`nand` or `none` on the machine `arm9`"))
            }
            (_, Some(given)) => Err((self.at)(&given.span(), NO_LOADER.into())),
            _ => Ok(None),
        }
    }

    /// The variables of the loader's environment that the file has.
    fn environment(&self, file: &BaseFile) -> Result<BTreeMap<String, String>, LabError> {
        let at = self.at;
        let mut environment = BTreeMap::new();
        if let Some(given) = &file.environment {
            for (name, value) in given.get_ref() {
                let set = Treatment::parse(&format!("env={name}={value}"));
                match set {
                    Ok(Treatment::SetVariable { name: same, .. }) if same == *name => {}
                    Ok(_) => {
                        let why = format!("`{name}` is not a valid variable name");
                        return Err(at(&given.span(), why));
                    }
                    Err(e) => return Err(at(&given.span(), e.to_string())),
                }
                environment.insert(name.clone(), value.clone());
            }
            if environment.contains_key("bootargs") {
                let why = "`bootargs` is the kernel command line; write it as `cmdline`";
                return Err(at(&given.span(), why.into()));
            }
        }
        Ok(environment)
    }

    fn memory(&self, memory_mb: &Spanned<u32>, platform: &Platform) -> Result<(), LabError> {
        // The board maps memory from 1 GiB up; with 32-bit addresses, 3 GiB.
        let range = match platform {
            Platform::ArmVirt { .. } => 256..=3_072,
            Platform::Arm9 { .. } => board::MEMORY_MB.0,
            _ => 256..=65_536,
        };
        if range.contains(memory_mb.get_ref()) {
            return Ok(());
        }
        let (least, most) = (range.start(), range.end());
        let why = format!("`memory_mb` is out of range; write {least} to {most}");
        Err((self.at)(&memory_mb.span(), why))
    }

    fn profile(&self, name: &Spanned<String>) -> Result<Profile, LabError> {
        let found = match profiles::of_file(name.get_ref()) {
            None => profiles::named(name.get_ref()),
            // Its file is beside the experiment's.
            Some((file, own)) => {
                let mut path = self.beside(file).to_string_lossy().into_owned();
                if let Some(own) = own {
                    path = format!("{path}#{own}");
                }
                profiles::named(&path)
            }
        };
        found.map_err(|e| (self.at)(&name.span(), e.to_string()))
    }

    fn first_light(&self, text: &Spanned<String>) -> Result<FirstLight, LabError> {
        let parsed = FirstLight::parse(text.get_ref());
        parsed.ok_or_else(|| self.wrong(text, FirstLight::EXPECTED))
    }

    fn root(&self, root: &Spanned<RootFile>, platform: &Platform) -> Result<Root, LabError> {
        let text = match root.get_ref() {
            RootFile::Name(text) => text,
            RootFile::Tree {
                tree,
                filesystem,
                busybox,
            } => {
                let (folder, busybox) = (self.beside(tree), *busybox);
                let wrong = |why| (self.at)(&root.span(), why);
                if let Some(rest) = filesystem.strip_prefix("initramfs") {
                    return Ok(Root::Initramfs {
                        folder,
                        packing: packing(rest).map_err(wrong)?,
                        busybox,
                    });
                }
                let form = Form::parse(filesystem).and_then(|form| match platform {
                    Platform::Arm9 { .. } => form.on_nor_flash(),
                    _ => form.on_a_block_device(),
                });
                return Ok(Root::Tree {
                    folder,
                    form: form.map_err(wrong)?,
                    busybox,
                });
            }
        };
        match (text.as_str(), platform) {
            ("none", _) => Ok(Root::None),
            (_, Platform::Arm9 { .. }) => Err(self.wrong_root(root, text)),
            ("debian-minimal", Platform::ArmVirt { .. }) => Err((self.at)(
                &root.span(),
                "`debian-minimal` is not available for `arm-virt`; write `none`, the path of an \
                 ext4 image or a `tree`"
                    .into(),
            )),
            ("debian-minimal", _) => Ok(Root::DebianMinimal),
            (path, _) => Ok(Root::Image(self.beside(path))),
        }
    }

    fn wrong_root(&self, root: &Spanned<RootFile>, found: &str) -> LabError {
        let why = format!("expected `none` or a `tree` on the machine `arm9`, found `{found}`");
        (self.at)(&root.span(), why)
    }

    fn kernel(
        &self,
        text: &Spanned<String>,
        file: &BaseFile,
        platform: &Platform,
    ) -> Result<Kernel, LabError> {
        let wrong = |span: Span, why: &str| Err((self.at)(&span, why.to_owned()));
        let on_arm9 = matches!(platform, Platform::Arm9 { .. });
        let on_arm_virt = matches!(
            platform,
            Platform::ArmVirt {
                loader: Loader::None,
                ..
            }
        );
        let name = text.get_ref().as_str();
        if let Some(lines) = file.kernel_config.as_ref().filter(|_| name != "built") {
            let why = "`kernel_config` works only with `kernel = \"built\"`; remove it or set the \
                kernel";
            return wrong(lines.span(), why);
        }
        if let Some(tree) = file.device_tree.as_ref()
            && !on_arm_virt
            && (!on_arm9 || name == "built")
        {
            let why = "`device_tree` works only on `arm-virt` without a loader, and with a kernel \
                file for the machine `arm9`; remove it";
            return wrong(tree.span(), why);
        }
        if let Some(modules) = file
            .modules
            .as_ref()
            .filter(|_| ["debian", "built"].contains(&name))
        {
            let why = format!(
                "`modules` works only with a kernel file; remove it, because the \
                kernel `{name}` has its own"
            );
            return wrong(modules.span(), &why);
        }
        match name {
            "built" if on_arm9 => Ok(Kernel::Built {
                lines: match &file.kernel_config {
                    Some(lines) => lines.get_ref().clone(),
                    None => Vec::new(),
                },
            }),
            "built" => Err(self.wrong(
                text,
                "`debian` or a path, since `built` works only with \
                `arm9`",
            )),
            "debian" if on_arm9 => Err(self.wrong(
                text,
                "`built` or a path, since Debian has no kernel for `arm9`",
            )),
            "debian" => Ok(Kernel::Debian),
            _ if on_arm9 && file.device_tree.is_none() => wrong(
                text.span(),
                "a kernel file for the machine `arm9` needs `device_tree = \"FILE.dtb\"` too",
            ),
            image => Ok(Kernel::File {
                image: self.beside(image),
                modules: file.modules.as_ref().map(|m| self.beside(m.get_ref())),
                device_tree: file
                    .device_tree
                    .as_ref()
                    .filter(|_| on_arm9)
                    .map(|d| self.beside(d.get_ref())),
            }),
        }
    }

    /// The lab's own kernel for `arm9` has no trace events unless it is told to. A kernel probe
    /// knows a function's arguments only where the kernel says in which registers they are
    /// (`CONFIG_HAVE_FUNCTION_ARG_ACCESS_API`), which one of 32-bit ARM does not.
    fn can_be_recorded(
        &self,
        recording: &Recording,
        kernel: &Kernel,
        platform: &Platform,
        asked: &[Spanned<String>],
    ) -> Result<(), LabError> {
        let on_arm = matches!(platform, Platform::ArmVirt { .. } | Platform::Arm9 { .. });
        let mut opens = asked.iter().filter(|a| a.get_ref() == OPENS);
        if let Some(opens) = opens.next().filter(|_| on_arm) {
            let why = format!("`{OPENS}` can be recorded only on the machine `pc`; remove it");
            return Err((self.at)(&opens.span(), why));
        }
        const TRACERS: &str = "CONFIG_ENABLE_DEFAULT_TRACERS=y";
        let traced = |w: &String| w.starts_with("trace_event=") || w.starts_with("ftrace=");
        match (kernel, asked.first()) {
            (Kernel::Built { lines }, Some(first))
                if recording.words.iter().any(traced) && !lines.iter().any(|l| l == TRACERS) =>
            {
                let why = format!(
                    "the kernel for `arm9` has no trace events; add `kernel_config = \
                     [\"{TRACERS}\"]`"
                );
                Err((self.at)(&first.span(), why))
            }
            _ => Ok(()),
        }
    }

    fn cmdline(&self, words: &[Spanned<String>]) -> Result<CommandLine, LabError> {
        let at = self.at;
        let mut cmdline = CommandLine::default();
        for word in words {
            let parsed = CommandLine::parse(word.get_ref());
            match parsed.as_ref().map(CommandLine::words) {
                Ok([one]) if one == word.get_ref() => {}
                Ok(_) => {
                    let why = format!(
                        "`{}` is not a single kernel parameter; write one parameter \
                        per string",
                        word.get_ref()
                    );
                    return Err(at(&word.span(), why));
                }
                Err(e) => return Err(at(&word.span(), e.to_string())),
            }
            if cmdline.add(word.get_ref()).is_none() {
                let why = format!("`{}` occurs twice; remove one", word.get_ref());
                return Err(at(&word.span(), why));
            }
        }
        Ok(cmdline)
    }

    fn recording(
        &self,
        asked: &[Spanned<String>],
        cmdline: &CommandLine,
    ) -> Result<Recording, LabError> {
        let names: Vec<&str> = asked.iter().map(|a| a.get_ref().as_str()).collect();
        Recording::of(&names, cmdline).map_err(|(i, why)| match asked.get(i) {
            Some(place) => (self.at)(&place.span(), why),
            None => LabError::Bug { why },
        })
    }

    /// A variant; `before` are those that the file has before it, the baseline
    /// first.
    pub fn variant(
        &self,
        file: &Spanned<VariantFile>,
        base: &Base,
        before: &[Variant],
    ) -> Result<Variant, LabError> {
        let at = self.at;
        let VariantFile { name, treatments } = file.get_ref();
        // The name becomes a folder's.
        let legal = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let text = name.get_ref();
        if text.is_empty() || text.starts_with('.') || !text.chars().all(legal) {
            let why = format!(
                "`{text}` is not a valid variant name; use letters, digits, `-`, `_` and `.`, and \
                 no leading `.`"
            );
            return Err(at(&name.span(), why));
        }
        if before.iter().any(|v| v.name == *text) {
            let why = format!("a variant `{text}` already exists; choose another name");
            return Err(at(&name.span(), why));
        }
        let Some(baseline) = before.first() else {
            let why = "no baseline".to_owned();
            return Err(LabError::Bug { why });
        };
        let (parsed, spec) = self.treated(treatments, baseline.spec.clone(), &base.platform)?;
        // A board's commands may know a variant by its name alone.
        let by_name = match &base.platform {
            Platform::Board(board) => board.deploy.run.is_some(),
            _ => false,
        };
        let same = before.iter().find(|v| v.spec == spec);
        if let Some(other) = same.filter(|_| !by_name) {
            let why = format!(
                "the variant `{text}` is identical to `{}`; remove one of them or change its \
                 treatments",
                other.name
            );
            return Err(at(&file.span(), why));
        }
        let variant = Variant {
            name: text.clone(),
            treatments: parsed,
            spec,
        };
        self.fits(&variant, base, &file.span())?;
        Ok(variant)
    }

    /// What a boot becomes by treatments, one after the other.
    fn treated(
        &self,
        treatments: &[Spanned<String>],
        mut spec: BootSpec,
        platform: &Platform,
    ) -> Result<(Vec<Treatment>, BootSpec), LabError> {
        let mut parsed = Vec::new();
        for treatment in treatments {
            let wrong = |why| (self.at)(&treatment.span(), why);
            let parsed_one = match platform {
                Platform::Board(_) => on_files::treatment(treatment.get_ref()),
                _ => Treatment::parse(treatment.get_ref()).map_err(|e| e.to_string()),
            };
            let applied = parsed_one.map(|t| self.placed(t)).and_then(|t| {
                let after = t.apply(&spec).map_err(|e| e.to_string())?.0;
                Ok((t, after))
            });
            let (treatment, after) = applied.map_err(wrong)?;
            possible(&treatment, platform).map_err(wrong)?;
            spec = after;
            parsed.push(treatment);
        }
        Ok((parsed, spec))
    }

    /// A kernel takes only so much of its command line, and says nothing of the
    /// rest (`COMMAND_LINE_SIZE` of `arch/*/include/asm/setup.h`).
    fn fits(&self, variant: &Variant, base: &Base, place: &Span) -> Result<(), LabError> {
        let (most, kernel) = match base.platform {
            Platform::ArmVirt {
                arch: ArmArch::Armhf,
                ..
            } => (1024, "an armhf kernel"),
            _ => (2048, "a kernel"),
        };
        let bytes = variant.spec.cmdline.to_string().len() + PERTURBATION_BYTES;
        if bytes < most {
            return Ok(());
        }
        let why = format!(
            "the kernel command line of `{}` has {bytes} bytes with a perturbation, but {kernel} \
             accepts {}; remove parameters",
            variant.name,
            most - 1
        );
        Err((self.at)(place, why))
    }

    /// A treatment whose file lies beside the experiment's.
    fn placed(&self, treatment: Treatment) -> Treatment {
        let beside = |path: &str| self.beside(path).to_string_lossy().into_owned();
        match treatment {
            Treatment::Prefetch(list) => Treatment::Prefetch(beside(&list)),
            Treatment::Order(order) => Treatment::Order(Order {
                list: beside(&order.list),
                ..order
            }),
            // What this program brings has no folder.
            Treatment::Build(file) if file.contains(['/', '.']) => Treatment::Build(beside(&file)),
            other => other,
        }
    }

    /// A path of the file, seen from where the program runs.
    fn beside(&self, path: impl AsRef<Path>) -> PathBuf {
        let folder = Path::new(self.path).parent();
        folder.unwrap_or(Path::new("")).join(path)
    }
}

/// How an initramfs is packed, by what follows its name: nothing, or `:METHOD`.
fn packing(rest: &str) -> Result<Option<FileTreatment>, String> {
    match rest.strip_prefix(':') {
        None if rest.is_empty() => Ok(None),
        None => Err(format!(
            "expected `initramfs:METHOD`, found `initramfs{rest}`"
        )),
        Some(method) => match FileTreatment::parse(&format!("initramfs={method}")) {
            Ok(treatment) => Ok(Some(treatment)),
            Err(e) => Err(e.to_string()),
        },
    }
}
