//! Where a capture goes.

use super::values::absolute;
use std::fmt;

/// Where a capture goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Out {
    /// Standard output, as a tar.
    Stdout,
    /// A file, as a tar; or a folder, if the name does not end in `.tar`.
    File(String),
    /// A block device, as a [payload](crate::payload).
    Device(String),
    /// A serial or virtio port, as [frames](crate::frame).
    Port {
        /// Its device file: an absolute path.
        path: String,
        /// The speed, in baud; `None`: as it is.
        baud: Option<u32>,
        /// How many times all is sent to a receiver that does not answer.
        copies: u32,
    },
}

impl Out {
    /// What [`Self::parse`] takes, for messages.
    pub const EXPECTED: &str = "`-`, a path, `device:PATH`, or `port:PATH`, `port:PATH,BAUD` or \
         `port:PATH,BAUD,COPIES`";

    /// Reads what [`fmt::Display`] writes.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text == "-" {
            return Some(Self::Stdout);
        }
        match text.split_once(':') {
            Some(("device", path)) => absolute(path).map(Self::Device),
            Some(("port", port)) => {
                let mut parts = port.split(',');
                let path = absolute(parts.next()?)?;
                let mut above_zero = || match parts.next() {
                    None | Some("") => Some(None),
                    Some(n) => n.parse().ok().filter(|n| *n > 0).map(Some),
                };
                let (baud, copies) = (above_zero()?, above_zero()?);
                parts.next().is_none().then_some(Self::Port {
                    path,
                    baud,
                    copies: copies.unwrap_or(1),
                })
            }
            Some(("file", path)) => (!path.is_empty()).then(|| Self::File(path.to_owned())),
            _ => (!text.is_empty()).then(|| Self::File(text.to_owned())),
        }
    }
}

impl fmt::Display for Out {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdout => f.write_str("-"),
            Self::File(path) => write!(f, "file:{path}"),
            Self::Device(path) => write!(f, "device:{path}"),
            Self::Port { path, baud, copies } => {
                write!(f, "port:{path}")?;
                match (baud, copies) {
                    (None, 1) => Ok(()),
                    (Some(baud), 1) => write!(f, ",{baud}"),
                    (None, copies) => write!(f, ",,{copies}"),
                    (Some(baud), copies) => write!(f, ",{baud},{copies}"),
                }
            }
        }
    }
}
