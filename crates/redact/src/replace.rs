//! What takes the place of a secret.

use crate::kind::Kind;

/// A replacement that a reader of text understands and that is no one's: addresses
/// are from ranges for documentation and benchmarks (RFC 2544, RFC 3849), or locally
/// administered.
pub(crate) fn readable(kind: Kind, number: u32, secret: &[u8]) -> Vec<u8> {
    match kind {
        Kind::Mac | Kind::Uuid | Kind::Id => digits(kind, number, secret),
        Kind::Ipv4 => format!(
            "198.{}.{}.{}",
            18 + (number >> 16 & 1),
            number >> 8 & 255,
            number & 255
        )
        .into_bytes(),
        Kind::Ipv6 => format!("2001:db8::{number:x}").into_bytes(),
        Kind::Email => format!("user{number}@example.com").into_bytes(),
        Kind::Credentials => b"user:redacted".to_vec(),
        Kind::Secret => b"redacted".to_vec(),
        Kind::Serial | Kind::Host | Kind::User | Kind::Wireless | Kind::Path => {
            format!("{}{number}", word(kind)).into_bytes()
        }
    }
}

/// A replacement of the same length.
pub(crate) fn of_length(kind: Kind, number: u32, secret: &[u8]) -> Vec<u8> {
    match kind {
        Kind::Mac | Kind::Uuid | Kind::Id => digits(kind, number, secret),
        // What reads the field may ask for the form.
        Kind::Ipv4 | Kind::Ipv6 => secret
            .iter()
            .map(|b| if b.is_ascii_hexdigit() { b'0' } else { *b })
            .collect(),
        _ => {
            let mut word = readable(kind, number, secret);
            word.resize(secret.len(), b'x');
            word
        }
    }
}

const fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Serial => "serial",
        Kind::Host => "host",
        Kind::User => "user",
        Kind::Wireless => "wireless",
        _ => "path",
    }
}

/// The digits of `secret` replaced by the number, and its separators kept.
fn digits(kind: Kind, number: u32, secret: &[u8]) -> Vec<u8> {
    let escape = b"\\x2d";
    // The `2d` of an escaped dash is no digit of it.
    let mut fixed = vec![false; secret.len()];
    for at in 0..secret.len() {
        if secret.get(at..).is_some_and(|s| s.starts_with(escape)) {
            fixed
                .iter_mut()
                .skip(at)
                .take(escape.len())
                .for_each(|f| *f = true);
        }
    }
    let mut rest = number;
    let mut out: Vec<u8> = secret.to_vec();
    let mut first = None;
    for (at, byte) in out.iter_mut().enumerate().rev() {
        let free = fixed.get(at) == Some(&false) && byte.is_ascii_hexdigit();
        if free {
            *byte = b"0123456789abcdef"
                .get((rest & 15) as usize)
                .copied()
                .unwrap_or(b'0');
            rest >>= 4;
            first = Some(at);
        }
    }
    // Locally administered, so it is no maker's.
    if let (Kind::Mac, Some(second)) = (kind, first.and_then(|at| out.get_mut(at + 1))) {
        *second = b'2';
    }
    out
}
