//! Objects in a bucket of an S3-compatible store.
//!
//! The room fences a heavy dependency: HTTP with TLS, signatures and retries are those of
//! `object_store`. A [`Bucket`] blocks its caller; several objects are read at once.
//!
//! An object is written whole or not at all, and with a condition: [`Bucket::put_new`]
//! leaves an object alone that somebody else wrote meanwhile.

use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::path::Path;
use object_store::{ClientOptions, Error, ObjectStore, ObjectStoreExt, PutMode, RetryConfig};
use std::time::{Duration, SystemTime};
use tokio::runtime::{Builder, Runtime};

/// So many objects are read at once.
const AT_ONCE: usize = 16;

/// A store that does not answer for so long is not waited for.
const CONNECT: Duration = Duration::from_secs(5);
const ANSWER: Duration = Duration::from_secs(30);

/// A request is repeated so often at most.
const RETRIES: usize = 3;

/// Why a bucket is of no use.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// Its name or its configuration.
    #[error(
        "{url}: {why}; write s3://BUCKET/PREFIX, and set AWS_ACCESS_KEY_ID, \
         AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL as your store needs them"
    )]
    Place {
        /// What was named.
        url: String,
        /// A clause.
        why: String,
    },
    /// The store does not answer, or refuses.
    #[error("{name}: {why}")]
    Store {
        /// The object or the bucket.
        name: String,
        /// A clause.
        why: String,
    },
}

/// An object that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its name below the prefix.
    pub key: String,
    /// Its size.
    pub bytes: u64,
    /// When it was written, by the store's clock.
    pub written: SystemTime,
}

/// The content of an object, if it is there; the size of one that is too large.
pub type Content = Result<Option<Vec<u8>>, u64>;

/// A bucket, or what begins with a prefix in one.
#[derive(Debug)]
pub struct Bucket {
    store: AmazonS3,
    prefix: String,
    url: String,
    runtime: Runtime,
}

impl Bucket {
    /// The bucket of `url`, `s3://BUCKET/PREFIX`. Keys, region and endpoint are those of the
    /// environment: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`,
    /// `AWS_REGION`, `AWS_ENDPOINT_URL`. Nothing is asked of the store yet.
    ///
    /// # Errors
    /// If the name or the environment is wrong.
    pub fn open(url: &str) -> Result<Self, RemoteError> {
        let wrong = |why: String| RemoteError::Place {
            url: url.to_owned(),
            why,
        };
        let rest = url.strip_prefix("s3://").unwrap_or_default();
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.is_empty() {
            return Err(wrong("no bucket is named".into()));
        }
        // Another room may have chosen one already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = AmazonS3Builder::from_env();
        let endpoint = builder.get_config_value(&AmazonS3ConfigKey::Endpoint);
        // Whoever names an endpoint without TLS means it: one on this host.
        let plain = endpoint.is_some_and(|e| e.starts_with("http://"));
        let client = ClientOptions::default()
            .with_connect_timeout(CONNECT)
            .with_timeout(ANSWER)
            .with_allow_http(plain);
        let retry = RetryConfig {
            max_retries: RETRIES,
            retry_timeout: ANSWER,
            ..RetryConfig::default()
        };
        let store = builder
            .with_bucket_name(bucket)
            .with_client_options(client)
            .with_retry(retry)
            .build()
            .map_err(|e| wrong(in_words(&e)))?;
        let runtime = Builder::new_current_thread().enable_all().build();
        Ok(Self {
            store,
            prefix: prefix.trim_matches('/').to_owned(),
            url: url.trim_end_matches('/').to_owned(),
            runtime: runtime.map_err(|e| wrong(e.to_string()))?,
        })
    }

    /// The name of an object, as people write it.
    #[must_use]
    pub fn name(&self, key: &str) -> String {
        format!("{}/{key}", self.url)
    }

    /// The objects `keys`, in their order; none of more than `most` bytes is read.
    ///
    /// # Errors
    /// If the store does not answer or refuses.
    pub fn get(&self, keys: &[String], most: u64) -> Result<Vec<Content>, RemoteError> {
        let one = |key: &String| {
            let (path, failed) = (self.path(key), self.failed(key));
            async move {
                let found = match self.store.get(&path).await {
                    Ok(found) => found,
                    Err(Error::NotFound { .. }) => return Ok(Ok(None)),
                    Err(e) => return Err(failed(e)),
                };
                match found.meta.size {
                    size if size > most => Ok(Err(size)),
                    _ => found
                        .bytes()
                        .await
                        .map(|bytes| Ok(Some(bytes.to_vec())))
                        .map_err(failed),
                }
            }
        };
        // As a list: a stream over borrowed keys would not be general enough.
        let all: Vec<_> = keys.iter().map(one).collect();
        let all = stream::iter(all).buffered(AT_ONCE).try_collect();
        self.runtime.block_on(all)
    }

    /// Writes an object, if there is none of that name; whether it was written.
    ///
    /// # Errors
    /// If the store does not answer or refuses.
    pub fn put_new(&self, key: &str, bytes: Vec<u8>) -> Result<bool, RemoteError> {
        let path = self.path(key);
        let put = self
            .store
            .put_opts(&path, bytes.into(), PutMode::Create.into());
        match self.runtime.block_on(put) {
            Ok(_) => Ok(true),
            Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => Ok(false),
            Err(e) => Err(self.failed(key)(e)),
        }
    }

    /// Writes an object, whatever is there.
    ///
    /// # Errors
    /// If the store does not answer or refuses.
    pub fn put(&self, key: &str, bytes: Vec<u8>) -> Result<(), RemoteError> {
        let path = self.path(key);
        let put = self.runtime.block_on(self.store.put(&path, bytes.into()));
        put.map(|_| ()).map_err(self.failed(key))
    }

    /// All objects.
    ///
    /// # Errors
    /// If the store does not answer or refuses.
    pub fn list(&self) -> Result<Vec<Object>, RemoteError> {
        let prefix = Path::from(self.prefix.as_str());
        let all = self.store.list(Some(&prefix)).try_collect::<Vec<_>>();
        let all = self.runtime.block_on(all).map_err(self.failed(""))?;
        let object = |meta: object_store::ObjectMeta| {
            let parts = meta.location.prefix_match(&prefix)?;
            let parts: Vec<String> = parts.map(|p| p.as_ref().to_owned()).collect();
            Some(Object {
                key: parts.join("/"),
                bytes: meta.size,
                written: meta.last_modified.into(),
            })
        };
        Ok(all.into_iter().filter_map(object).collect())
    }

    /// Removes an object. That it is gone already is no error.
    ///
    /// # Errors
    /// If the store does not answer or refuses.
    pub fn remove(&self, key: &str) -> Result<(), RemoteError> {
        match self.runtime.block_on(self.store.delete(&self.path(key))) {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(e) => Err(self.failed(key)(e)),
        }
    }

    fn path(&self, key: &str) -> Path {
        Path::from(format!("{}/{key}", self.prefix))
    }

    fn failed(&self, key: &str) -> impl Fn(Error) -> RemoteError + use<> {
        let name = self.name(key);
        move |e| RemoteError::Store {
            name: name.clone(),
            why: in_words(&e),
        }
    }
}

/// The cause at the bottom, in one line: what is above it repeats it.
fn in_words(error: &dyn std::error::Error) -> String {
    let mut deepest = error;
    while let Some(cause) = deepest.source() {
        deepest = cause;
    }
    deepest.to_string().replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::Bucket;

    #[test]
    fn a_bucket_has_a_name() {
        for url in ["s3://", "s3:///prefix", "s3:bucket"] {
            let said = Bucket::open(url).unwrap_err().to_string();
            assert!(said.contains("no bucket is named"), "{said}");
        }
        let bucket = Bucket::open("s3://results/lab/").unwrap();
        assert_eq!(bucket.name("ab/cd"), "s3://results/lab/ab/cd");
        assert_eq!(bucket.path("ab/cd").as_ref(), "lab/ab/cd");
        let whole = Bucket::open("s3://results").unwrap();
        assert_eq!(whole.path("ab/cd").as_ref(), "ab/cd");
    }
}
