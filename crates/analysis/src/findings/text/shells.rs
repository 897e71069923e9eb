//! The words of `findings::shells`.

use std::fmt::Display;

pub(in crate::findings) fn forgets(path: impl Display) -> String {
    format!("{path} searches PATH for each program anew")
}

pub(in crate::findings) fn forgets_why(again: impl Display, folders: impl Display) -> String {
    format!(
        "`set +h` turns bash's memory of paths off, so bash looks through PATH at each start of a \
         program. The lines after it name {again} programs again that were named before, \
         for each of which {folders} folders of a usual PATH are searched in vain; what a loop \
         repeats is not counted. Delete `set +h`: bash remembers paths unless it is told not to."
    )
}

pub(in crate::findings) fn applets(count: impl Display) -> String {
    format!("{count} applets of BusyBox are started as programs")
}

pub(in crate::findings) fn applet(command: impl Display, times: impl Display) -> String {
    format!("{command} was started {times}")
}
