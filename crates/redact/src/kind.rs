//! The kinds of what identifies.

/// What a secret is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The value of a parameter whose name says that it is secret.
    Secret,
    /// `user:password@` in an address.
    Credentials,
    /// A name and a host, joined by `@`.
    Email,
    /// The address of a network device.
    Mac,
    /// An address of IP version 4.
    Ipv4,
    /// An address of IP version 6.
    Ipv6,
    /// A UUID, and the shorter ones of FAT, NTFS and partition tables.
    Uuid,
    /// A machine, boot or invocation identifier of systemd: 32 hexadecimal digits.
    Id,
    /// A serial number.
    Serial,
    /// The name of the host.
    Host,
    /// The name of a user.
    User,
    /// The name of a wireless network.
    Wireless,
    /// What lies below a home folder or a user's removable medium.
    Path,
}

impl Kind {
    /// All kinds, in the order of [`crate::Redactor::counts`].
    pub const ALL: [Self; 13] = [
        Self::Secret,
        Self::Credentials,
        Self::Email,
        Self::Mac,
        Self::Ipv4,
        Self::Ipv6,
        Self::Uuid,
        Self::Id,
        Self::Serial,
        Self::Host,
        Self::User,
        Self::Wireless,
        Self::Path,
    ];

    /// What one is called.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Secret => "secret parameter",
            Self::Credentials => "credentials in an address",
            Self::Email => "e-mail address",
            Self::Mac => "MAC address",
            Self::Ipv4 => "IPv4 address",
            Self::Ipv6 => "IPv6 address",
            Self::Uuid => "UUID",
            Self::Id => "machine or boot ID",
            Self::Serial => "serial number",
            Self::Host => "host name",
            Self::User => "user name",
            Self::Wireless => "Wi-Fi name",
            Self::Path => "private path",
        }
    }

    /// The form in which two spellings of one secret are equal.
    pub(crate) fn canonical(self, secret: &[u8]) -> Vec<u8> {
        match self {
            // `aa-bb`, `AA:BB` and `aabb` are one; systemd writes `-` as `\x2d`.
            Self::Mac | Self::Uuid | Self::Id => {
                let text = String::from_utf8_lossy(secret).replace("\\x2d", "-");
                let digits = text.bytes().filter(u8::is_ascii_hexdigit);
                digits.map(|b| b.to_ascii_lowercase()).collect()
            }
            Self::Ipv6 => secret.to_ascii_lowercase(),
            _ => secret.to_vec(),
        }
    }
}
