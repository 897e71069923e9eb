//! The words of `findings::random`.

use std::fmt::Display;

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

pub(in crate::findings) fn seed_unit(time: impl Display) -> String {
    format!("systemd-random-seed.service waits {time} for random numbers")
}

pub(in crate::findings) fn seed_unit_began(at: impl Display) -> String {
    format!("systemd-random-seed.service starts at {at}")
}
