//! The words of `findings::delays`.

use record::Nanos;
use std::fmt::Display;

pub(in crate::findings) fn busy(time: impl Display) -> String {
    format!("Drivers keep the CPU busy for {time} while they wait")
}

pub(in crate::findings) fn busy_why(slept: Nanos, held_up: Option<(Nanos, Nanos)>) -> String {
    let held_up = match held_up {
        Some((ran, held_up)) => format!(
            " Programs waited for the CPU during {held_up} of the {ran} that the tasks of these \
             drivers ran."
        ),
        None => String::new(),
    };
    let slept = match slept {
        Nanos::ZERO => String::new(),
        time => format!(" Sleeping waits took another {time} and are not counted."),
    };
    format!(
        "`mdelay` and `udelay` spin until the time is over. Where the code may sleep, use `msleep` \
         or `usleep_range`, and shorten each delay to what the data sheet asks. Probe the device \
         asynchronously, so that the boot goes on meanwhile.{held_up}{slept}"
    )
}

pub(in crate::findings) fn waited(
    by: &str,
    function: &str,
    count: u64,
    time: impl Display,
) -> String {
    let times = match count {
        1 => "1 call".to_owned(),
        n => format!("{n} calls"),
    };
    match by {
        "" => format!("{function}: {times}, {time}"),
        by => format!("{by} -> {function}: {times}, {time}"),
    }
}

pub(in crate::findings) fn off(tracer: &str, time: impl Display) -> String {
    let what = match tracer {
        "irqsoff" => "Interrupts are",
        "preemptoff" => "Preemption is",
        _ => "Interrupts or preemption are",
    };
    format!("{what} off for {time} at a stretch")
}

pub(in crate::findings) fn stretch(tracer: &str, from: &str, to: &str, us: i64) -> String {
    format!("{tracer}: {us} us from {from} to {to}")
}
