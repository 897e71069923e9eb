//! The unit by which systemd calls the agent at first light.

use crate::state::FOLDER;
use firstlight_agent::config::FirstLight;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Its name.
const UNIT: &str = "firstlight-agent.service";

/// The unit that is active when the boot is done, where first light says nothing
/// of it.
const LAST: &str = "default.target";

/// The folders of a root that nobody mounts something over before the end of the
/// boot, so that what runs from them can be run again.
const LASTING: [&str; 5] = ["/usr/", "/sbin/", "/bin/", "/lib/", "/etc/"];

/// The unit that systemd is to call the agent for, if it is to be asked.
pub fn awaited(first_light: &FirstLight) -> Option<&str> {
    match first_light {
        FirstLight::Init => Some(LAST),
        FirstLight::Unit(unit) => Some(unit),
        _ => None,
    }
}

/// Leaves the agent's unit in the tmpfs that systemd takes over, to be called when
/// the unit `awaited` is active; and the agent, unless this root `stays` and the
/// agent lies where it will still be seen: to copy it is to read all of it.
pub fn leave(awaited: &str, stays: bool) -> io::Result<()> {
    let own = fs::read_link("/proc/self/exe")?;
    // Words of a unit's file are split, and `%` has a meaning in them.
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    let lasts = |own: &str| LASTING.iter().any(|folder| own.starts_with(folder));
    let program = match own.to_str() {
        Some(own) if stays && lasts(own) && own.chars().all(plain) => own.to_owned(),
        _ => {
            let copy = format!("{FOLDER}/agent");
            fs::copy("/proc/self/exe", &copy)?;
            copy
        }
    };
    let units = Path::new("/run/systemd/system");
    let wants = units.join(format!("{awaited}.wants"));
    fs::create_dir_all(&wants)?;
    // Simple: the boot is not to wait for the capture. No output, so that no
    // other service is needed for it.
    let unit = format!(
        "[Unit]\nDescription=The end of the boot, for Firstlight\nDefaultDependencies=no\n\
         After={awaited}\n\
         [Service]\nType=simple\nExecStart={program} finish\n\
         StandardInput=null\nStandardOutput=null\nStandardError=null\n"
    );
    fs::write(units.join(UNIT), unit)?;
    symlink(units.join(UNIT), wants.join(UNIT))
}
