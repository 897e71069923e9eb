//! The agent as `/init` of a trial: from the kernel to the root's own init.

use crate::finish::{self, Seen};
use crate::job::{CONFIG, Job, command_line};
use crate::prefetch::{self, Started};
use crate::state::{FOLDER, LIGHT, State};
use crate::trial::{self, Memory};
use crate::{kmsg, own, serve, units, watcher};
use firstlight_agent::clocks::Stamp;
use firstlight_agent::config::{AgentConfig, FirstLight, MODULES, Model, Place, Root};
use firstlight_agent::systemd;
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount, mount_move};
use std::convert::Infallible;
use std::error::Error;
use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the root is mounted before it becomes `/`.
const ROOT: &str = "/root";

/// Modules that get parameters: one device and no search for partitions is all
/// that the storage server needs.
const MODULE_PARAMETERS: &[(&str, &std::ffi::CStr)] = &[("nbd.ko", c"nbds_max=1 max_part=0")];

/// What the initramfs does, one thing after another: the names of the instants at which each
/// begins, as `analysis` reads them.
const MODULES_START: &str = "initrd-modules";
const STORAGE_START: &str = "initrd-storage";
const ROOT_START: &str = "initrd-root";

/// Prepares the trial and starts the root's init. Comes back only with an error.
pub fn run() -> Result<Infallible, Box<dyn Error>> {
    let mut start = Stamp::now();
    mount_kernel_filesystems()?;
    let config = trial::config(firstlight_agent::config::PATH)?;
    let job = Job::of_trial(&config)?;
    if config.board.counter_at > 0 {
        // The board's counter can be read from now on.
        start = Stamp::now();
    }
    kmsg::say("mark initrd-start")?;
    kmsg::say(&start.kmsg_line(job.counter_hz))?;
    let mut state = State::default();
    state.mark("initrd-start", "initrd", start);
    own::record(&job, &mut state);
    state.pass(MODULES_START);
    load_modules()?;
    let Some(root) = &config.root else {
        let seen = Seen {
            first_light: Some(start),
            samples: None,
        };
        finish::end_of(&job, state, seen)?;
        return Err("the machine continued after the trial".into());
    };
    if job.needs_watcher() {
        state.watcher = true;
        watcher::start(&state, config.board.counter_at > 0)?;
    }
    state.pass(STORAGE_START);
    let device = device(root, &config, &mut state)?;
    state.pass(ROOT_START);
    fs::copy(firstlight_agent::config::PATH, CONFIG)?;
    let ahead = prefetch::asked(&command_line());
    if let Some(device) = &device {
        fs::create_dir_all(ROOT)?;
        mount_root(device, root, config.storage.read_ahead_kb).map_err(|e| {
            let (device, fstype) = (device.display(), &root.fstype);
            format!(
                "cannot mount the root, {fstype} on {device}: {e}; check that the initramfs \
                 contains its modules"
            )
        })?;
    }
    let failed = |e| format!("cannot start the prefetcher: {e}");
    let mut ahead = match (ahead, &device) {
        (None, _) => None,
        (Some(ahead), None) => Some(Started::later(ahead)),
        (Some(ahead), Some(_)) => Some(Started::below(ahead, Path::new(ROOT)).map_err(failed)?),
    };
    // Only systemd calls the agent. With another init the watcher takes the capture, and need not
    // wait: first light is the start of init, which is next.
    let root_folder = Path::new(if device.is_some() { ROOT } else { "/" });
    let here = config.first_light == FirstLight::Init && !systemd::is_in(root_folder);
    if here && !state.watcher {
        state.watcher = true;
        watcher::start(&state, config.board.counter_at > 0)?;
    }
    if let Some(unit) = units::awaited(&config.first_light).filter(|_| !here) {
        units::leave(unit, false)?;
    }
    let begun = Stamp::now();
    state.userspace_begins(begun);
    state.keep()?;
    kmsg::say("mark userspace-start")?;
    if config.first_light == FirstLight::Init {
        kmsg::say("mark first-light")?;
    }
    if here {
        fs::write(LIGHT, begun.to_words())?;
    }
    if let Some(ahead) = &mut ahead {
        // What is looked up to move the root is read by then, with what lies beside it.
        ahead.has_asked().map_err(failed)?;
    }
    if device.is_some() {
        become_root()?;
    }
    if let Some(ahead) = ahead {
        ahead.has_begun().map_err(failed)?;
    }
    // The kernel's words for init go on to it.
    let why = Command::new(&root.init)
        .args(std::env::args_os().skip(1))
        .exec();
    Err(format!("cannot start init of the root, {}: {why}", root.init).into())
}

/// The device that the root is mounted from; `None`: it is there already.
fn device(
    root: &Root,
    config: &AgentConfig,
    state: &mut State,
) -> Result<Option<PathBuf>, Box<dyn Error>> {
    let size = match &root.place {
        Place::Initramfs => return Ok(None),
        Place::Device(device) => return Ok(Some(device.into())),
        Place::Memory(size) => *size,
    };
    match trial::memory_of(size)? {
        Memory::Block(path) if config.storage.model == Model::None => Ok(Some(path)),
        // Mapped memory is no block device unless somebody serves it, if only
        // without delay.
        memory => {
            let (device, server) = serve::start(&memory, &config.storage)?;
            state.storage_server = Some(server);
            state.served_from = memory.device()?;
            Ok(Some(device))
        }
    }
}

fn mount_kernel_filesystems() -> Result<(), Box<dyn Error>> {
    let safe = MountFlags::NOSUID | MountFlags::NODEV;
    for (kind, place, flags, data) in [
        ("devtmpfs", "/dev", MountFlags::NOSUID, c"mode=0755"),
        ("proc", "/proc", safe | MountFlags::NOEXEC, c""),
        ("sysfs", "/sys", safe | MountFlags::NOEXEC, c""),
        // Not noexec: the agent itself is run from there.
        ("tmpfs", "/run", safe, c"mode=0755"),
    ] {
        fs::create_dir_all(place)?;
        mount(kind, place, kind, flags, data).map_err(|e| {
            format!(
                "cannot mount {kind} on \
            {place}: {e}"
            )
        })?;
    }
    fs::create_dir_all(FOLDER)?;
    Ok(())
}

fn load_modules() -> Result<(), Box<dyn Error>> {
    let mut files: Vec<_> = match fs::read_dir(MODULES) {
        Ok(folder) => folder.flatten().map(|f| f.path()).collect(),
        // A kernel with everything built in needs none.
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(format!("{MODULES}: {e}").into()),
    };
    files.sort();
    for path in files {
        let name = path.to_string_lossy();
        let known = MODULE_PARAMETERS.iter().find(|p| name.ends_with(p.0));
        let parameters = known.map_or(c"", |p| p.1);
        match rustix::system::finit_module(File::open(&path)?, parameters, 0) {
            Ok(()) | Err(Errno::EXIST) => {}
            // A driver of hardware that is not there; others may still serve.
            Err(Errno::NODEV) => kmsg::say(&format!("no hardware for {name}"))?,
            Err(e) => return Err(format!("cannot load the module {name}: {e}").into()),
        }
    }
    Ok(())
}

fn mount_root(device: &Path, root: &Root, read_ahead_kb: u32) -> Result<(), Box<dyn Error>> {
    let mut flags = MountFlags::empty();
    let mut data = Vec::new();
    if read_ahead_kb == 0 && root.fstype == "ext4" {
        // It reads ahead in its inode tables besides, 32 blocks at a time: then
        // a recording would not tell which of them were needed.
        data.push("inode_readahead_blks=0");
    }
    for option in root.options.split(',') {
        match option {
            "" | "rw" | "defaults" => {}
            "ro" => flags |= MountFlags::RDONLY,
            "noatime" => flags |= MountFlags::NOATIME,
            other => data.push(other),
        }
    }
    let data = CString::new(data.join(","))?;
    Ok(mount(device, ROOT, &*root.fstype, flags, &*data)?)
}

/// Makes the mounted root `/`. What the initramfs holds stays in memory: to
/// delete it would cost time that the real machine does not spend.
fn become_root() -> Result<(), Box<dyn Error>> {
    const PLACES: [&str; 4] = ["/dev", "/proc", "/sys", "/run"];
    // Before /dev moves: without it nobody would hear why this fails.
    for place in PLACES {
        let to = format!("{ROOT}{place}");
        if !Path::new(&to).is_dir() {
            fs::create_dir(&to).map_err(|e| {
                format!("the root has no folder {place}, and it cannot be made: {e}; add it")
            })?;
        }
    }
    for place in PLACES {
        mount_move(place, &*format!("{ROOT}{place}"))
            .map_err(|e| format!("cannot move {place} into the root: {e}"))?;
    }
    std::env::set_current_dir(ROOT)?;
    mount_move(".", "/").map_err(|e| format!("cannot switch to the root: {e}"))?;
    rustix::process::chroot(".")?;
    Ok(std::env::set_current_dir("/")?)
}
