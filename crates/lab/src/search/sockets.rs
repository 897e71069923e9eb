//! Whether the sockets that listened before still listen.

use super::outcome::Health;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The kernel's lists of sockets, in a capture.
const TCP: [&str; 2] = ["proc/net/tcp", "proc/net/tcp6"];
const UNIX: &str = "proc/net/unix";

/// The state of a TCP socket that listens (`TCP_LISTEN`), as the kernel prints it.
const TCP_LISTEN: &str = "0A";

/// The flag of a local socket that listens (`__SO_ACCEPTCON`).
const UNIX_LISTENS: u32 = 1 << 16;

/// So many sockets are named; the rest is counted.
const NAMED: usize = 5;

/// What listens in the capture in this folder; `None`: it was not looked at.
fn listening(capture: &Path) -> Option<BTreeSet<String>> {
    let read = |name: &str| fs::read_to_string(capture.join(name)).ok();
    let mut all: Option<BTreeSet<String>> = None;
    for name in TCP {
        if let Some(list) = read(name) {
            all.get_or_insert_default()
                .extend(list.lines().filter_map(tcp));
        }
    }
    if let Some(list) = read(UNIX) {
        all.get_or_insert_default()
            .extend(list.lines().filter_map(unix));
    }
    all
}

/// `   0: 0100007F:1F90 00000000:0000 0A ...`: the port of a socket that listens.
fn tcp(line: &str) -> Option<String> {
    let mut words = line.split_ascii_whitespace();
    let (_, port) = words.nth(1)?.rsplit_once(':')?;
    let state = words.nth(1)?;
    let port = u16::from_str_radix(port, 16).ok()?;
    (state == TCP_LISTEN).then(|| format!("TCP port {port}"))
}

/// `ffff8881: 00000002 00000000 00010000 0001 01 15000 /run/app.sock`: the path of a
/// socket that listens. Some have none, or one with a number that changes.
fn unix(line: &str) -> Option<String> {
    let mut words = line.split_ascii_whitespace();
    let flags = u32::from_str_radix(words.nth(3)?, 16).ok()?;
    let path = words.nth(3)?;
    (flags & UNIX_LISTENS != 0 && path.starts_with('/')).then(|| path.to_owned())
}

/// Whether every socket that listened in the one capture listens in the other, too.
/// Whose units were masked on purpose may have lost theirs.
pub(super) fn sockets(before: &Path, after: &Path, masked: &[String]) -> Health {
    let check = |ok: bool, detail: String| Health {
        check: "sockets",
        ok,
        detail,
    };
    let (Some(before), Some(after)) = (listening(before), listening(after)) else {
        return check(
            true,
            "the captures do not list the listening sockets".to_owned(),
        );
    };
    let lost: Vec<&str> = before.difference(&after).map(String::as_str).collect();
    match lost.len() {
        0 => check(true, format!("the same {} sockets listen", before.len())),
        n => {
            let shown: Vec<&str> = lost.into_iter().take(NAMED).collect();
            let more = match n.saturating_sub(NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let lost = format!("no longer listen: {}{more}", shown.join(", "));
            match masked {
                [] => check(false, lost),
                units => check(true, format!("{lost}; masked: {}", units.join(", "))),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::sockets;
    use std::fs;
    use std::path::Path;

    const HEAD: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr\n";

    fn capture(folder: &Path, tcp: &str, unix: &str) {
        fs::create_dir_all(folder.join("proc/net")).unwrap();
        fs::write(folder.join("proc/net/tcp"), format!("{HEAD}{tcp}")).unwrap();
        let head = "Num       RefCount Protocol Flags    Type St Inode Path\n";
        fs::write(folder.join("proc/net/unix"), format!("{head}{unix}")).unwrap();
    }

    #[test]
    fn a_socket_that_no_longer_listens_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b, c) = (
            folder.path().join("a"),
            folder.path().join("b"),
            folder.path().join("c"),
        );
        let ssh = "   0: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000\n";
        let open = "   1: 0100007F:0016 0100007F:9C40 01 00000000:00000000 00:00000000\n";
        let bus = "f0: 00000002 00000000 00010000 0001 01 15000 /run/dbus/system_bus_socket\n\
                   f1: 00000003 00000000 00000000 0001 03 15001 /run/systemd/journal/stdout\n\
                   f2: 00000002 00000000 00010000 0005 01 15002 @/org/kernel/udev/udevd\n";
        capture(&a, &format!("{ssh}{open}"), bus);
        capture(&b, open, bus);
        let same = sockets(&a, &a, &[]);
        assert!(same.ok && same.detail.contains("2 sockets"), "{same:?}");
        let lost = sockets(&a, &b, &[]);
        assert!(
            !lost.ok && lost.detail.ends_with(": TCP port 22"),
            "{lost:?}"
        );
        // A masked unit takes its sockets along.
        let masked = sockets(&a, &b, &["ssh.service".to_owned()]);
        assert!(masked.ok && masked.detail.contains("TCP port 22; masked"));
        // More is no harm, and nothing known is nothing lost.
        assert!(sockets(&b, &a, &[]).ok);
        assert!(sockets(&a, &c, &[]).ok && sockets(&c, &a, &[]).ok);
    }
}
