//! The state that a board is in, as its own command tells it.

use std::collections::BTreeMap;

/// More values than this are not kept.
const MOST: usize = 32;

/// The longest name of a value, in bytes.
const LONGEST: usize = 64;

/// The values that a state command printed: lines `NAME NUMBER` or `NAME=NUMBER`. Other lines
/// say nothing. Numbers stay as they were printed.
#[must_use]
pub fn state(printed: &[u8]) -> BTreeMap<String, String> {
    let text = String::from_utf8_lossy(printed);
    let values = text.lines().filter_map(|line| {
        let (name, value) = line.split_once(['=', ' ', '\t', ':'])?;
        let (name, value) = (name.trim(), value.trim());
        let legal = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let is_name = !name.is_empty() && name.len() <= LONGEST && name.chars().all(legal);
        let number: f64 = value.parse().ok()?;
        (is_name && number.is_finite()).then(|| (name.to_owned(), value.to_owned()))
    });
    values.take(MOST).collect()
}

#[cfg(test)]
mod tests {
    use super::state;

    #[test]
    fn lines_with_a_name_and_a_number_are_values() {
        let printed = b"temperature_c 51.5\nclock_hz=1500000000\nthrottled: 0\nWelcome to Debian\n\
            host name\nload nan\n=3\n \xff 4\n";
        let found: Vec<(String, String)> = state(printed).into_iter().collect();
        let wanted = [
            ("clock_hz", "1500000000"),
            ("temperature_c", "51.5"),
            ("throttled", "0"),
        ];
        assert_eq!(found, wanted.map(|(n, v)| (n.to_owned(), v.to_owned())));
        let many: String = (0..100).map(|n| format!("v{n} 1\n")).collect();
        assert_eq!(state(many.as_bytes()).len(), 32);
    }
}
