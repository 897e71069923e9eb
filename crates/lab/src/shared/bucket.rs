//! Shared results in a bucket of an S3-compatible store. An entry is written on the
//! condition that there is none, so the first of several writers wins.

use super::place::{Answer, Item, Place, too_large};
use remote::Bucket;

impl Place for Bucket {
    fn name(&self, key: &str) -> String {
        Self::name(self, key)
    }

    fn get(&self, keys: &[String], most: u64) -> Result<Vec<Answer>, String> {
        let found = Self::get(self, keys, most).map_err(|e| e.to_string())?;
        let answers = found.into_iter().map(|found| match found {
            Ok(bytes) => Ok(bytes),
            Err(_) => Err(too_large(most)),
        });
        Ok(answers.collect())
    }

    fn put(&self, key: &str, bytes: Vec<u8>, replaced: bool) -> Result<(), String> {
        let put = match replaced {
            true => Self::put(self, key, bytes),
            false => self.put_new(key, bytes).map(|_| ()),
        };
        put.map_err(|e| e.to_string())
    }

    fn list(&self) -> Result<Vec<Item>, String> {
        let objects = Self::list(self).map_err(|e| e.to_string())?;
        let items = objects.into_iter().map(|object| Item {
            key: object.key,
            bytes: object.bytes,
            written: object.written,
        });
        Ok(items.collect())
    }

    fn remove(&self, key: &str) -> Result<(), String> {
        Self::remove(self, key).map_err(|e| e.to_string())
    }
}
