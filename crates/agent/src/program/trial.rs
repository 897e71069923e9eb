//! What the roles of one trial tell each other, and where things are.

use agent::clocks::Stamp;
use agent::config::{self, AgentConfig};
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Where the agent keeps its things from the initramfs to first light.
pub const FOLDER: &str = "/run/firstlight";

/// What `init` leaves for `finish`.
#[derive(Debug, Serialize, Deserialize)]
pub struct State {
    /// When the agent started in the initramfs.
    pub initrd_start: Stamp,
    /// When the root's init was about to be started.
    pub userspace_start: Option<Stamp>,
    /// The process that serves the root.
    pub storage_server: Option<u32>,
}

impl State {
    /// Keeps it in [`FOLDER`].
    pub fn keep(&self) -> Result<(), Box<dyn Error>> {
        let path = Path::new(FOLDER).join("state.json");
        Ok(fs::write(path, serde_json::to_vec(self)?)?)
    }

    /// Finds it again.
    pub fn find() -> Result<Self, Box<dyn Error>> {
        let path = format!("{FOLDER}/state.json");
        let bytes = fs::read(&path).map_err(|e| {
            format!("{path} cannot be read ({e}); `finish` runs only in a trial of the lab")
        })?;
        Ok(serde_json::from_slice(&bytes)?)
    }
}

/// The trial's configuration: from the initramfs, or where `init` put it.
pub fn config(path: &str) -> Result<AgentConfig, Box<dyn Error>> {
    let text = fs::read_to_string(path).map_err(|e| format!("{path}: {e}"))?;
    Ok(AgentConfig::parse(&text)?)
}

/// The name of the copied configuration in [`FOLDER`].
pub const CONFIG: &str = "/run/firstlight/agent.conf";

/// The device file of the persistent memory that has `size` bytes. Drivers come
/// up in their own time, so it is waited for.
pub fn memory_of(size: u64) -> Result<PathBuf, Box<dyn Error>> {
    let found = wait(Duration::from_secs(10), || {
        let devices = fs::read_dir("/sys/block").ok()?;
        devices.flatten().find_map(|device| {
            let name = device.file_name().into_string().ok()?;
            let sectors = fs::read_to_string(device.path().join("size")).ok()?;
            let bytes = sectors.trim().parse::<u64>().ok()? * config::SECTOR_BYTES;
            let path = Path::new("/dev").join(&name);
            (name.starts_with("pmem") && bytes == size && path.exists()).then_some(path)
        })
    });
    found.ok_or_else(|| {
        format!(
            "no persistent memory of {size} bytes came up in 10 s; \
             see that the sizes of machine and configuration agree and nd_pmem is loaded"
        )
        .into()
    })
}

/// Asks again and again, at most for `limit`.
pub fn wait<T>(limit: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let begin = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return Some(answer);
        }
        if begin.elapsed() > limit {
            return None;
        }
        sleep(Duration::from_millis(1));
    }
}
