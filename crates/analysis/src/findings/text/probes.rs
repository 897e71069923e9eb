//! The words of `findings::probes`.

use std::fmt::Display;

pub(in crate::findings) fn deferred_device(device: impl Display, times: impl Display) -> String {
    format!("{device} was deferred {times}")
}

pub(in crate::findings) fn deferred_why(time: impl Display, hint: impl Display) -> String {
    format!(
        "A driver was probed before its dependencies were ready and had to be retried (deferred \
         probe). The attempts took {time} in total. The log does not show how much later the \
         devices appeared because of it{hint}."
    )
}

pub(in crate::findings) fn deferred(probes: impl Display, devices: impl Display) -> String {
    format!("{probes} deferred, for {devices}")
}

pub(in crate::findings) fn probe(device: impl Display, time: impl Display) -> String {
    format!("the probe of {device} took {time}")
}

pub(in crate::findings) fn long(probes: impl Display) -> String {
    format!("{probes} of 20 ms or more run one after another")
}

pub(in crate::findings) fn longest(device: impl Display, time: impl Display) -> String {
    format!("The probe of {device} takes {time}, beside others")
}

pub(in crate::findings) fn alone(device: impl Display, time: impl Display) -> String {
    format!("The probe of {device} takes {time}")
}

pub(in crate::findings) const ALONE_WHY: &str = "The input does not show what runs beside it. Look at what the driver waits for: a link, a \
     reset, a regulator or firmware, or probe the device asynchronously.";

pub(in crate::findings) const LONGEST_WHY: &str = "Other probes run at the same time, but the kernel waits for all of them before it starts \
     the first program. Look at what the driver waits for: a link, a reset, a regulator or \
     firmware.";
