//! The words of `findings::modules`.

use std::fmt::Display;

pub(in crate::findings) const IDLE: &str = "loaded, no users";

pub(in crate::findings) fn loaded_for(users: impl Display) -> String {
    format!("loaded for {users}")
}

pub(in crate::findings) fn module(
    name: impl Display,
    bytes: impl Display,
    why: impl Display,
) -> String {
    format!("{name}: {bytes} bytes, {why}")
}

pub(in crate::findings) fn spare(modules: impl Display, is: impl Display) -> String {
    format!("{modules} that products rarely need {is} loaded")
}

pub(in crate::findings) fn along(names: impl Display) -> String {
    format!(" (and with them {names})")
}

pub(in crate::findings) fn spare_why(names: impl Display, along: impl Display) -> String {
    format!(
        "Each module is found, read, verified and linked on the CPUs that the boot needs: \
         {names}{along}. `modprobe.blacklist=` stops automatic loading for devices; `modprobe \
         NAME` still works."
    )
}

pub(in crate::findings) fn size(name: impl Display, bytes: impl Display) -> String {
    format!("{name}: {bytes} bytes in memory")
}
