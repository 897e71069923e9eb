//! What follows the question mark, as forms send it (WHATWG URL,
//! `application/x-www-form-urlencoded`), but nothing is guessed.

/// Names and values, in order; `None` if they are not text.
pub fn decoded(query: &str) -> Option<Vec<(String, String)>> {
    let pairs = query.split('&').filter(|p| !p.is_empty());
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Some((text(name)?, text(value)?))
    };
    pairs.map(pair).collect()
}

/// `%2F` and `+` as what they stand for; `None` if that is no text.
fn text(encoded: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                let digits = std::str::from_utf8(&digits).ok()?;
                u8::from_str_radix(digits, 16).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::decoded;
    use proptest::prelude::*;

    #[test]
    fn names_and_values_are_decoded() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            decoded("path=a%2Fb+c&x"),
            Some(vec![pair("path", "a/b c"), pair("x", "")])
        );
        assert_eq!(decoded(""), Some(Vec::new()));
    }

    #[test]
    fn what_is_no_text_is_none() {
        for query in ["a=%zz", "a=%ff", "a=%f"] {
            assert_eq!(decoded(query), None, "{query:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_breaks_it(query: String) {
            decoded(&query);
        }
    }
}
