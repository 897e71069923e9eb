//! The initramfs: a cpio archive in the "newc" form that the kernel unpacks.
//!
//! Each member has a header of 110 ASCII characters: the magic `070701` and 13
//! fields of 8 hexadecimal digits; then the name with a NUL, then the content,
//! each padded with zeros to a multiple of 4 bytes (`init/initramfs.c`).
//! The same members give the same bytes: no times, no owners, inodes in order.

/// An archive in the making.
#[derive(Debug, Default)]
pub struct Archive {
    bytes: Vec<u8>,
    inodes: u32,
}

/// Where a mode has the bits of its type.
const TYPE: u32 = 0o170_000;
/// The type bits of a folder.
const FOLDER: u32 = 0o040_000;
/// The type bits of a plain file.
const FILE: u32 = 0o100_000;
/// The type bits of a symbolic link.
const LINK: u32 = 0o120_000;
/// The type bits of a character device.
const DEVICE: u32 = 0o020_000;
/// What a reader takes for the end.
const TRAILER: &str = "TRAILER!!!";

impl Archive {
    /// Adds a folder, mode 0755. Its parent must come before it.
    pub fn folder(&mut self, name: &str) {
        self.folder_with_mode(name, 0o755);
    }

    /// Adds a folder. Its parent must come before it.
    pub fn folder_with_mode(&mut self, name: &str, mode: u32) {
        self.member(name, FOLDER | (mode & 0o7777), (0, 0), &[]);
    }

    /// Adds a plain file. Its folder must come before it.
    pub fn file(&mut self, name: &str, mode: u32, content: &[u8]) {
        self.member(name, FILE | (mode & 0o7777), (0, 0), content);
    }

    /// Adds a symbolic link. Its folder must come before it.
    pub fn link(&mut self, name: &str, target: &str) {
        self.member(name, LINK | 0o777, (0, 0), target.as_bytes());
    }

    /// Adds a character device, mode 0600.
    pub fn device(&mut self, name: &str, major: u32, minor: u32) {
        self.member(name, DEVICE | 0o600, (major, minor), &[]);
    }

    /// The archive with its end.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        self.inodes = 0;
        self.header(TRAILER, 0, 0, 1, (0, 0), 0);
        // Readers take blocks of 512 bytes.
        self.bytes.resize(self.bytes.len().next_multiple_of(512), 0);
        self.bytes
    }

    fn member(&mut self, name: &str, mode: u32, device: (u32, u32), content: &[u8]) {
        self.inodes += 1;
        let links = if mode & TYPE == FOLDER { 2 } else { 1 };
        // Lengths are fields of 32 bits; an initramfs lies in memory.
        let length = u32::try_from(content.len()).unwrap_or(u32::MAX);
        let content = content.get(..length as usize).unwrap_or(content);
        self.header(name, self.inodes, mode, links, device, length);
        self.bytes.extend_from_slice(content);
        self.pad();
    }

    fn header(
        &mut self,
        name: &str,
        inode: u32,
        mode: u32,
        links: u32,
        device: (u32, u32),
        length: u32,
    ) {
        let name_length = u32::try_from(name.len() + 1).unwrap_or(u32::MAX);
        let (major, minor) = device;
        self.bytes.extend_from_slice(b"070701");
        // inode, mode, uid, gid, links, mtime, size, device of the file
        // (2), device that it is (2), length of the name, checksum.
        for field in [
            inode,
            mode,
            0,
            0,
            links,
            0,
            length,
            0,
            0,
            major,
            minor,
            name_length,
            0,
        ] {
            self.bytes
                .extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::Archive;
    use std::io::Write;
    use std::process::{Command, Stdio};

    fn archive() -> Vec<u8> {
        let mut a = Archive::default();
        a.folder_with_mode("dev", 0o1777);
        a.device("dev/console", 5, 1);
        a.file("init", 0o755, b"#!");
        a.file("odd name", 0o644, b"12345");
        a.link("link", "init");
        a.finish()
    }

    #[test]
    fn bytes_are_those_of_the_format() {
        let bytes = archive();
        assert_eq!(bytes, archive());
        assert_eq!(bytes.len() % 512, 0);
        // The second member: its header follows 110 + 4 bytes, padded to 116.
        let header = std::str::from_utf8(&bytes[116..226]).unwrap();
        let fields: Vec<_> = (0..13)
            .map(|i| u32::from_str_radix(&header[6 + i * 8..14 + i * 8], 16).unwrap())
            .collect();
        assert_eq!(&header[..6], "070701");
        assert_eq!(fields, [2, 0o020_600, 0, 0, 1, 0, 0, 0, 0, 5, 1, 12, 0]);
    }

    #[test]
    #[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
    fn cpio_lists_what_was_put_in() {
        let Ok(mut cpio) = Command::new("cpio")
            .args(["-t", "-v", "-n"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
        else {
            eprintln!("skipped: cpio is not installed");
            return;
        };
        cpio.stdin.take().unwrap().write_all(&archive()).unwrap();
        let said = cpio.wait_with_output().unwrap();
        assert!(said.status.success());
        let listed = String::from_utf8(said.stdout).unwrap();
        let lines: Vec<_> = listed.lines().collect();
        assert_eq!(lines.len(), 5, "{listed}");
        assert!(lines[0].starts_with("drwxrwxrwt") && lines[0].ends_with(" dev"));
        assert!(lines[1].starts_with("crw-------") && lines[1].contains("5,   1"));
        assert!(lines[2].starts_with("-rwxr-xr-x") && lines[2].ends_with(" init"));
        assert!(lines[3].contains(" 5 ") && lines[3].ends_with("odd name"));
        assert!(lines[4].starts_with("lrwxrwxrwx") && lines[4].ends_with("link -> init"));
    }
}
