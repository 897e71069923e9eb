//! A profile as the text of a file of profiles.

use crate::figures::Model;
use crate::profiles::Profile;
use std::fmt::Write;

impl Profile {
    /// The text that [`parse`](crate::profiles::parse) reads as this profile: the figures that
    /// have a source.
    #[must_use]
    pub fn text(&self) -> String {
        let s = &self.storage;
        let model = match s.model {
            Model::None => "none",
            Model::Flash => "flash",
            Model::Disk => "disk",
        };
        let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
        let mut text = format!(
            "[{}]\nsummary = {}\nmodel = \"{model}\"\n\n[{}.figures]\n",
            quoted(&self.name),
            quoted(&self.summary),
            quoted(&self.name)
        );
        let numbers = [
            ("command_ns", s.command_ns),
            ("write_command_ns", s.write_command_ns),
            ("command_interval_ns", s.command_interval_ns),
            ("read_bytes_per_s", s.read_bytes_per_s),
            ("write_bytes_per_s", s.write_bytes_per_s),
            ("rotation_ns", s.rotation_ns),
            ("seek_min_ns", s.seek_min_ns),
            ("seek_max_ns", s.seek_max_ns),
            ("near_bytes", s.near_bytes),
            ("queue_depth", u64::from(s.queue_depth.get())),
            ("read_ahead_kb", u64::from(s.read_ahead_kb)),
            ("nr_requests", u64::from(s.nr_requests)),
        ];
        let numbers = numbers.map(|(name, value)| (name, value.to_string()));
        let scheduler = [("scheduler", quoted(&s.scheduler))];
        for (name, value) in numbers.into_iter().chain(scheduler) {
            if let Some(source) = self.sources.get(name) {
                let source = quoted(source);
                let _ = writeln!(text, "{name} = {{ value = {value}, source = {source} }}");
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]
    use crate::profiles::{parse, profiles};

    #[test]
    fn every_profile_is_read_again_as_it_was() {
        for profile in profiles().unwrap() {
            let text = profile.text();
            assert_eq!(parse("p.toml", &text).unwrap(), [profile], "{text}");
        }
    }
}
