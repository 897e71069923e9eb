//! Files that are redacted with what is compressed in them.

use crate::bytes::MAX_RAW_BYTES;
use crate::error::{On, Result, refuse};
use crate::packed;
use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;
use rawimage::compression::Compression;
use redact::Redactor;
use std::io::{Read, Write};

/// How often one gzip may lie in another.
const DEEPEST: usize = 3;

/// Learns the names in the file `name`, also in what is compressed in it.
pub(crate) fn learn(redactor: &mut Redactor, name: &str, bytes: &[u8]) -> Result<()> {
    let mut learn = |plain: &[u8]| {
        redactor.learn(plain);
        Vec::new()
    };
    each(name, bytes, DEEPEST, &mut learn).map(drop)
}

/// The file `name`, redacted, also what is compressed in it.
pub(crate) fn redacted(redactor: &mut Redactor, name: &str, bytes: &[u8]) -> Result<Vec<u8>> {
    each(name, bytes, DEEPEST, &mut |plain| redactor.redact(plain))
}

/// Gives what is compressed in `bytes` to `act`, and compresses what that gives in the same
/// way. What cannot be opened is refused, because it would be sent as it is.
fn each(
    name: &str,
    bytes: &[u8],
    depth: usize,
    act: &mut dyn FnMut(&[u8]) -> Vec<u8>,
) -> Result<Vec<u8>> {
    if sources::ftrace::is_compressed(bytes) {
        refuse!(
            "{name}: its parts are compressed, and cannot be redacted; make one without by \
             `trace-cmd convert -i FILE -o PLAIN --compression none`, and redact that"
        );
    }
    let compression = match packed::compression(bytes) {
        None => return Ok(act(bytes)),
        Some(compression) => compression,
    };
    if compression != Compression::Gzip || depth == 0 {
        refuse!("{name}: is compressed ({compression}), and cannot be redacted; unpack it first");
    }
    let mut plain = Vec::new();
    let most = MAX_RAW_BYTES;
    let read = MultiGzDecoder::new(bytes).take(most.saturating_add(1));
    let read = { read }.read_to_end(&mut plain);
    if plain.len() as u64 > most {
        refuse!("{name}: unpacks to more than {most} bytes, and cannot be redacted");
    }
    // Of a damaged one, what stands before the damage can be read, and is redacted.
    if read.is_err() && plain.is_empty() {
        refuse!("{name}: is a damaged gzip, and cannot be redacted");
    }
    let plain = each(name, &plain, depth - 1, act)?;
    let mut gzip = GzEncoder::new(Vec::new(), flate2::Compression::default());
    let packed = gzip.write_all(&plain).and_then(|()| gzip.finish());
    packed.on(|| format!("{name}: cannot be compressed"))
}
