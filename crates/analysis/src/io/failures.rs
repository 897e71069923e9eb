//! Requests that ended with an error.

use record::{Device, Nanos, Operation, Request};
use std::collections::BTreeMap;

/// Requests of one device and operation that ended with the same error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoFailure {
    /// The device that was asked.
    pub device: Device,
    /// What it was asked.
    pub operation: Operation,
    /// The error as the trace has it: a negative error number of the kernel's; before
    /// Linux 4.13 a driver's own number may stand there.
    pub error: i32,
    /// How many requests.
    pub requests: u64,
    /// How much they were about, in bytes.
    pub bytes: u64,
    /// When the first of them ended.
    pub first: Option<Nanos>,
}

impl IoFailure {
    /// What the block layer means by the error; `None` for others.
    #[must_use]
    pub const fn meaning(&self) -> Option<&'static str> {
        meaning(self.error)
    }
}

/// The errors that the block layer has, as `blk_errors` in the kernel's
/// `block/blk-core.c` pairs them with error numbers of
/// `include/uapi/asm-generic/errno.h`.
const fn meaning(error: i32) -> Option<&'static str> {
    Some(match error {
        -5 => "EIO: I/O error",
        -11 => "EAGAIN: the request would have blocked",
        -12 => "ENOMEM: out of memory",
        -16 => "EBUSY: the device was busy",
        -19 => "ENODEV: the device is offline",
        -22 => "EINVAL: invalid request",
        -28 => "ENOSPC: no space",
        -52 => "EBADE: another host has reserved the device",
        -61 => "ENODATA: the medium cannot be read or written there",
        -62 => "ETIME: the request exceeded its time limit",
        -67 => "ENOLINK: the link to the device failed",
        -75 => "EOVERFLOW: too many active zones",
        -84 => "EILSEQ: checksum mismatch",
        -95 => "EOPNOTSUPP: the device does not support this request",
        -109 => "ETOOMANYREFS: too many open zones",
        -110 => "ETIMEDOUT: the device did not answer in time",
        -121 => "EREMOTEIO: the device rejected the request",
        _ => return None,
    })
}

/// Requests that failed, added up.
#[derive(Debug, Default)]
pub(super) struct Failures(BTreeMap<(Device, Operation, i32), IoFailure>);

impl Failures {
    pub(super) fn add(&mut self, r: &Request) {
        if r.error == 0 {
            return;
        }
        let key = (r.device, r.operation, r.error);
        let failure = self.0.entry(key).or_insert(IoFailure {
            device: r.device,
            operation: r.operation,
            error: r.error,
            requests: 0,
            bytes: 0,
            first: None,
        });
        failure.requests += 1;
        failure.bytes = failure.bytes.saturating_add(r.bytes);
        let ended = r.completed.get();
        failure.first = match (failure.first, ended) {
            (Some(first), Some(ended)) => Some(first.min(ended)),
            (first, ended) => first.or(ended),
        };
    }

    /// By device, operation and error.
    pub(super) fn rows(self) -> Vec<IoFailure> {
        self.0.into_values().collect()
    }
}
