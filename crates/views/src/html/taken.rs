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

/// The data of a page is compressed, and cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the data of the page is compressed, and is damaged or too large to be opened")]
pub struct CannotOpen;

/// The data block of a large page.
#[derive(Deserialize)]
struct Packed {
    encoding: String,
    base64: String,
}

impl Packed {
    fn opened(&self) -> Result<String, CannotOpen> {
        let stream = STANDARD.decode(&self.base64).map_err(|_| CannotOpen)?;
        let mut data = String::new();
        let read = GzDecoder::new(&stream[..])
            .take(MOST + 1)
            .read_to_string(&mut data);
        let is_whole = self.encoding == "gzip" && read.is_ok() && data.len() as u64 <= MOST;
        is_whole.then_some(data).ok_or(CannotOpen)
    }
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
    ///
    /// # Errors
    /// Its data is compressed and cannot be opened.
    pub fn of(page: &'p str) -> Result<Option<Self>, CannotOpen> {
        let parts = || {
            let at = page.find(BEGIN)? + BEGIN.len();
            let (before, rest) = page.split_at_checked(at)?;
            let (data, after) = rest.split_at_checked(rest.find(END)?)?;
            Some((before, data, after))
        };
        let Some((before, data, after)) = parts() else {
            return Ok(None);
        };
        let packed = serde_json::from_str::<Packed>(data).ok();
        Ok(Some(Self {
            before,
            after,
            packed: packed.is_some(),
            data: match packed {
                Some(packed) => packed.opened()?,
                None => data.to_owned(),
            },
        }))
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
