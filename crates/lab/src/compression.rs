//! What kernel images are packed with.

use crate::error::LabError;
use crate::tools::Tool;
use std::path::Path;

/// The first bytes of a compressed kernel, the tool that unpacks it, and the
/// package that has the tool.
const COMPRESSIONS: &[(&[u8], &str, &str)] = &[
    (&[0xfd, b'7', b'z', b'X', b'Z'], "xz", "xz-utils"),
    (&[0x1f, 0x8b], "gzip", "gzip"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "zstd", "zstd"),
    (&[0x02, 0x21, 0x4c, 0x18], "lz4", "lz4"),
    (&[0x5d, 0x00, 0x00], "lzma", "xz-utils"),
    (b"BZh", "bzip2", "bzip2"),
    (&[0x89, b'L', b'Z', b'O'], "lzop", "lzop"),
];

/// Whether this begins as a compressed kernel does.
#[must_use]
pub fn begins(bytes: &[u8]) -> bool {
    COMPRESSIONS.iter().any(|c| bytes.starts_with(c.0))
}

/// Unpacks the payload of the kernel image at `path`: a stream, and in its last
/// four bytes the unpacked length.
///
/// # Errors
/// If the compression is unknown, its tool is missing or fails, or the result is
/// not as long as the payload says.
pub fn unpack(path: &Path, payload: &[u8]) -> Result<Vec<u8>, LabError> {
    let wrong = |why: String| LabError::Kernel {
        path: path.to_owned(),
        why,
    };
    // The length is behind the stream; gzip's own end is the same four bytes,
    // and lz4 and zstd stop before.
    let (stream, size) = payload.split_at(payload.len().saturating_sub(4));
    let known = COMPRESSIONS.iter().find(|c| stream.starts_with(c.0));
    let Some((_, tool, package)) = known else {
        let head = stream.get(..6).unwrap_or(stream);
        return Err(wrong(format!(
            "the kernel is compressed in an unknown way: its payload begins with {head:02x?}"
        )));
    };
    let stream = if *tool == "gzip" { payload } else { stream };
    let why = "the kernel is to be booted uncompressed";
    let unpacked = Tool::new(tool, package, why)
        .args(["-d", "-c"])
        .feed(stream)?;
    let expected = size.try_into().map_or(0, u32::from_le_bytes);
    if u32::try_from(unpacked.len()) == Ok(expected) {
        return Ok(unpacked);
    }
    Err(wrong(format!(
        "{tool} unpacked {} bytes, but the image says {expected} bytes",
        unpacked.len()
    )))
}
