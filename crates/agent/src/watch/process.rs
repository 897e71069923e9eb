//! A process of a name runs.

use crate::sys::read_kernel_file;
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, send, socket_with,
};
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The kernel keeps so many bytes of a process's name (`TASK_COMM_LEN` - 1).
const NAME_BYTES: usize = 15;

// The kernel's process events: linux/connector.h and linux/cn_proc.h.
const CN_IDX_PROC: u32 = 1;
const CN_VAL_PROC: u32 = 1;
const PROC_CN_MCAST_LISTEN: u32 = 1;
const PROC_EVENT_EXEC: u32 = 2;
const PROC_EVENT_COMM: u32 = 0x200;
/// Where an event begins: behind `nlmsghdr` and `cn_msg`.
const EVENT: usize = 36;
/// Where the event's process is: behind `what`, `cpu` and a time.
const EVENT_PID: usize = EVENT + 16;

#[derive(Debug)]
pub(super) struct ProcessWatch {
    name: Vec<u8>,
    /// Where the kernel tells of processes that begin a program.
    events: Option<OwnedFd>,
    /// Whether to look through all processes: at first, and when events were
    /// lost.
    look_through: bool,
}

impl ProcessWatch {
    pub(super) fn begin(name: &str) -> Self {
        let name = name.as_bytes();
        Self {
            name: name.get(..NAME_BYTES).unwrap_or(name).to_vec(),
            // A kernel may be built without, and only root may listen.
            events: listen().ok(),
            look_through: true,
        }
    }

    pub(super) fn channel(&self) -> Option<BorrowedFd<'_>> {
        self.events.as_ref().map(|e| e.as_fd())
    }

    pub(super) fn look(&mut self) -> bool {
        let mut found = false;
        if let Some(events) = &self.events {
            let mut message = [0; 4096];
            loop {
                match recv(events, message.as_mut_slice(), RecvFlags::DONTWAIT) {
                    Ok((0, _)) => break,
                    Ok((n, _)) => {
                        let started = message.get(..n).and_then(started);
                        found |= started.is_some_and(|pid| self.is_named(pid));
                    }
                    Err(rustix::io::Errno::NOBUFS) => self.look_through = true,
                    Err(_) => break,
                }
            }
        }
        if self.look_through || self.events.is_none() {
            self.look_through = false;
            found |= self.any_is_named();
        }
        found
    }

    fn any_is_named(&self) -> bool {
        let Ok(folder) = fs::read_dir("/proc") else {
            return false;
        };
        folder.flatten().any(|entry| {
            let pid = entry.file_name().to_str().and_then(|n| n.parse().ok());
            pid.is_some_and(|pid| self.is_named(pid))
        })
    }

    fn is_named(&self, pid: u32) -> bool {
        let comm = read_kernel_file(format!("/proc/{pid}/comm"));
        comm.is_ok_and(|c| c.strip_suffix(b"\n").unwrap_or(&c) == self.name)
    }
}

/// The process of an event that gave it a name.
fn started(message: &[u8]) -> Option<u32> {
    let number = |at: usize| {
        let bytes = message.get(at..at.checked_add(4)?)?;
        Some(u32::from_ne_bytes(bytes.try_into().ok()?))
    };
    match number(EVENT)? {
        PROC_EVENT_EXEC | PROC_EVENT_COMM => number(EVENT_PID),
        _ => None,
    }
}

/// Asks the kernel to tell of processes.
fn listen() -> io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let protocol = Some(netlink::CONNECTOR);
    let socket = socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, protocol)?;
    bind(&socket, &SocketAddrNetlink::new(0, CN_IDX_PROC))?;
    let mut message = Vec::new();
    let mut long = |n: u32| message.extend(n.to_ne_bytes());
    // nlmsghdr: length; type NLMSG_DONE and no flags, 16 bits each; sequence;
    // sender.
    let pair = |low: u16, high: u16| {
        let [a, b] = low.to_ne_bytes();
        let [c, d] = high.to_ne_bytes();
        u32::from_ne_bytes([a, b, c, d])
    };
    for n in [40, pair(3, 0), 0, 0] {
        long(n);
    }
    // cn_msg: index, value, sequence, acknowledgement; length and no flags, 16
    // bits each. Then the operation.
    for n in [
        CN_IDX_PROC,
        CN_VAL_PROC,
        0,
        0,
        pair(4, 0),
        PROC_CN_MCAST_LISTEN,
    ] {
        long(n);
    }
    send(&socket, &message, SendFlags::empty())?;
    Ok(socket)
}
