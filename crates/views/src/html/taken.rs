//! A page that was written before, taken apart.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use serde::Deserialize;
use std::io::Read;

/// The most that the data of a page unpacks to, in bytes.
const MOST: u64 = 1 << 30;

/// What stands around the data block of every page.
const BEGIN: &str = "id=\"data\">";
const END: &str = "</script>";

/// The data block of a large page.
#[derive(Deserialize)]
struct Packed {
    encoding: String,
    base64: String,
}

/// A page in three parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken<'p> {
    /// What stands before the data.
    pub before: &'p str,
    /// The data, as JSON that is not compressed.
    pub data: String,
    /// What stands behind the data.
    pub after: &'p str,
    packed: bool,
}

impl<'p> Taken<'p> {
    /// Takes a page apart; `None` if it is none of ours.
    #[must_use]
    pub fn of(page: &'p str) -> Option<Self> {
        let at = page.find(BEGIN)? + BEGIN.len();
        let (before, rest) = page.split_at_checked(at)?;
        let (data, after) = rest.split_at_checked(rest.find(END)?)?;
        let Ok(packed) = serde_json::from_str::<Packed>(data) else {
            return Some(Self {
                before,
                data: data.to_owned(),
                after,
                packed: false,
            });
        };
        let stream = match packed.encoding.as_str() {
            "gzip" => STANDARD.decode(packed.base64).ok()?,
            _ => return None,
        };
        let mut data = String::new();
        GzDecoder::new(&stream[..])
            .take(MOST)
            .read_to_string(&mut data)
            .ok()?;
        Some(Self {
            before,
            data,
            after,
            packed: true,
        })
    }

    /// The same page with other parts.
    #[must_use]
    pub fn with<'q>(&self, before: &'q str, data: String, after: &'q str) -> Taken<'q> {
        Taken {
            before,
            data,
            after,
            packed: self.packed,
        }
    }

    /// Puts the page together again.
    #[must_use]
    pub fn page(&self) -> String {
        let data = match self.packed {
            true => super::packed(&self.data),
            false => self.data.clone(),
        };
        [self.before, &data, self.after].concat()
    }
}
