//! The lines of the configuration file, key by key.

use super::error::ConfigError;
use super::values::shown;
use super::version::{VERSION, VERSION_KEY};

/// The lines of a file that nobody has asked for yet.
pub(super) struct Lines<'a>(Vec<(usize, &'a str, &'a str)>);

impl<'a> Lines<'a> {
    pub fn split(text: &'a str) -> Result<Self, ConfigError> {
        let first = text.lines().next().unwrap_or_default();
        let version = first.split_once('=').map(|(k, v)| (k.trim(), v.trim()));
        if version != Some((VERSION_KEY, VERSION.to_string().as_str())) {
            return Err(ConfigError::Version {
                found: shown(first),
            });
        }
        let mut lines: Vec<(usize, &str, &str)> = Vec::new();
        for (i, raw) in text.lines().enumerate().skip(1) {
            let line = i + 1;
            let raw = raw.trim();
            if raw.is_empty() || raw.starts_with('#') {
                continue;
            }
            let Some((key, value)) = raw.split_once('=') else {
                return Err(ConfigError::Shape {
                    line,
                    found: shown(raw),
                });
            };
            let (key, value) = (key.trim(), value.trim());
            if lines.iter().any(|l| l.1 == key) {
                return Err(ConfigError::Twice {
                    line,
                    key: shown(key),
                });
            }
            lines.push((line, key, value));
        }
        Ok(Self(lines))
    }

    pub fn take<T>(
        &mut self,
        key: &'static str,
        expected: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, ConfigError> {
        let Some(i) = self.0.iter().position(|l| l.1 == key) else {
            return Ok(None);
        };
        let (line, _, value) = self.0.remove(i);
        match parse(value) {
            Some(value) => Ok(Some(value)),
            None => Err(ConfigError::Value {
                line,
                key: key.into(),
                expected,
                found: shown(value),
            }),
        }
    }

    pub fn need<T>(
        &mut self,
        key: &'static str,
        expected: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<T, ConfigError> {
        self.take(key, expected, parse)?
            .ok_or(ConfigError::Missing { key })
    }

    /// A text that may be empty or left out.
    pub fn text(&mut self, key: &'static str) -> Result<String, ConfigError> {
        let text = self.take(key, "a text", |v| Some(v.to_owned()))?;
        Ok(text.unwrap_or_default())
    }

    pub fn finish(self) -> Result<(), ConfigError> {
        match self.0.first() {
            None => Ok(()),
            Some(&(line, key, _)) => Err(ConfigError::UnknownKey {
                line,
                key: shown(key),
            }),
        }
    }
}
