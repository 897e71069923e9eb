//! The words of `findings::cmdline`.

use std::fmt::Display;

pub(in crate::findings) fn debugging(word: impl Display) -> String {
    format!("`{word}` is on the kernel command line")
}

pub(in crate::findings) fn debugging_why(what: impl Display) -> String {
    format!("It {what}; production systems do not need it.")
}

pub(in crate::findings) fn root_delay_why(seconds: impl Display) -> String {
    format!(
        "The kernel sleeps {seconds} s before it looks for the root device, even if the device \
         is already there. `rootwait` waits only until it appears."
    )
}

pub(in crate::findings) fn root_delay(word: impl Display, seconds: impl Display) -> String {
    format!("`{word}` delays the boot by {seconds} s")
}

pub(in crate::findings) fn root_wait(time: impl Display) -> String {
    format!("The kernel waits {time} for the root device")
}

pub(in crate::findings) fn root_type_why(kind: impl Display) -> String {
    format!(
        "Without `rootfstype=` the kernel probes the root device with each built-in file system \
         in turn before it reaches the right one, {kind}."
    )
}

pub(in crate::findings) fn slow_console(baud: impl Display) -> String {
    format!("The serial console runs at {baud} baud")
}

pub(in crate::findings) fn slow_console_why(
    bytes: impl Display,
    now: impl Display,
    usual: impl Display,
) -> String {
    format!(
        "{bytes} bytes go to the console before first light, and every writer waits for them. \
         They take {now}; at 115200 baud they take {usual}."
    )
}

pub(in crate::findings) fn network(time: impl Display) -> String {
    format!("The kernel takes {time} to configure the network")
}

pub(in crate::findings) const NO_GENERATOR: &str = "A program asked for random numbers before the kernel had collected enough entropy. This \
     processor has no random number generator, so `random.trust_cpu=on` does not help. Pass a \
     seed from the boot loader (`rng-seed` in the device tree's `/chosen`), or build in the \
     driver of a hardware generator.";

pub(in crate::findings) const OLD_GENERATOR: &str = "Programs that call getrandom() wait until the kernel has collected enough entropy. This kernel \
     has no `random.trust_cpu`. Start a program early that feeds the pool (`rngd`, `haveged`), or \
     build in the driver of a hardware generator.";

pub(in crate::findings) const DAEMON_COST: &str = "the program takes CPU time and memory";

pub(in crate::findings) const SEED_COST: &str =
    "the kernel trusts the seed, which must differ at each boot";
