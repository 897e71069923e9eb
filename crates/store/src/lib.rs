//! Files by name, in a folder or a bucket, that several hosts share.
//!
//! A file appears whole or not at all and is never changed, so readers and writers need no
//! lock. What the files hold is not known here.

mod folder;
#[cfg(feature = "s3")]
mod s3;

use std::io;
use std::path::Path;

/// Where files are shared.
#[derive(Clone, Debug)]
pub struct Place(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Folder(folder::Folder),
    #[cfg(feature = "s3")]
    S3(s3::Bucket),
}

/// Whether this program was built with buckets.
pub const HAS_S3: bool = cfg!(feature = "s3");

impl Place {
    /// The place that `name` says: a folder, which is made when the first file is put, or
    /// `s3://BUCKET/PREFIX`, whose server and keys the variables `AWS_…` give.
    ///
    /// # Errors
    /// If a bucket's name or its variables are wrong, or this program has no buckets.
    pub fn open(name: &Path) -> io::Result<Self> {
        let Some(url) = name.to_str().filter(|n| n.starts_with("s3://")) else {
            return Ok(Self(Kind::Folder(folder::Folder::new(name))));
        };
        #[cfg(feature = "s3")]
        return Ok(Self(Kind::S3(s3::Bucket::open(url)?)));
        #[cfg(not(feature = "s3"))]
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            format!("{url}: this program was built without S3; build it with the feature `s3`"),
        ))
    }

    /// Where the file `name` is, for people.
    #[must_use]
    pub fn path_of(&self, name: &str) -> String {
        match &self.0 {
            Kind::Folder(folder) => folder.path_of(name).display().to_string(),
            #[cfg(feature = "s3")]
            Kind::S3(bucket) => bucket.path_of(name),
        }
    }

    /// The file `name` of at most `limit` bytes; `None`: there is none.
    ///
    /// # Errors
    /// If it cannot be read, or is larger.
    pub fn get(&self, name: &str, limit: u64) -> io::Result<Option<Vec<u8>>> {
        match &self.0 {
            Kind::Folder(folder) => folder.get(name, limit),
            #[cfg(feature = "s3")]
            Kind::S3(bucket) => bucket.get(name, limit),
        }
    }

    /// Whether the file `name` is there.
    ///
    /// # Errors
    /// If that cannot be found out.
    pub fn has(&self, name: &str) -> io::Result<bool> {
        match &self.0 {
            Kind::Folder(folder) => Ok(folder.has(name)),
            #[cfg(feature = "s3")]
            Kind::S3(bucket) => bucket.has(name),
        }
    }

    /// Puts the file `name` there: whole or not at all.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn put(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        match &self.0 {
            Kind::Folder(folder) => folder.put(name, bytes),
            #[cfg(feature = "s3")]
            Kind::S3(bucket) => bucket.put(name, bytes),
        }
    }
}

/// That a file has more bytes than it may have.
fn too_large(bytes: u64, limit: u64) -> io::Error {
    let text = format!("it has {bytes} bytes, but at most {limit} are read");
    io::Error::new(io::ErrorKind::FileTooLarge, text)
}
