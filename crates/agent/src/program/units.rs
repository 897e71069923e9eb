//! The unit by which systemd calls the agent at first light.

use crate::state::FOLDER;
use agent::config::FirstLight;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Its name.
const UNIT: &str = "firstlight-agent.service";

/// The unit that is active when the boot is done, where first light says nothing
/// of it.
const LAST: &str = "default.target";

/// The unit that systemd is to call the agent for, if it is to be asked.
pub fn awaited(first_light: &FirstLight) -> Option<&str> {
    match first_light {
        FirstLight::Init => Some(LAST),
        FirstLight::Unit(unit) => Some(unit),
        _ => None,
    }
}

/// Leaves the agent and its unit in the tmpfs that systemd takes over, to be
/// called when the unit `awaited` is active.
pub fn leave(awaited: &str) -> io::Result<()> {
    fs::copy("/proc/self/exe", format!("{FOLDER}/agent"))?;
    let units = Path::new("/run/systemd/system");
    let wants = units.join(format!("{awaited}.wants"));
    fs::create_dir_all(&wants)?;
    // Simple: the boot is not to wait for the capture. No output, so that no
    // other service is needed for it.
    let unit = format!(
        "[Unit]\nDescription=The end of the boot, for Firstlight\nDefaultDependencies=no\n\
         After={awaited}\n\
         [Service]\nType=simple\nExecStart={FOLDER}/agent finish\n\
         StandardInput=null\nStandardOutput=null\nStandardError=null\n"
    );
    fs::write(units.join(UNIT), unit)?;
    symlink(units.join(UNIT), wants.join(UNIT))
}
