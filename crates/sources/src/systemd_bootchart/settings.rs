//! How a drawing is to be measured.

use roxmltree::Document;

/// What the drawing says of itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    /// Pixels of a second; of the height of a process.
    pub scale: (f64, f64),
    /// When zero of the drawing was, in nanoseconds since the boot.
    pub zero: i64,
}

/// The comments that give settings, in version 235 and before.
const SCALE_X: [&str; 2] = ["ScaleX=", "x=\""];
const SCALE_Y: [&str; 2] = ["ScaleY=", "\" y=\""];
const RELATIVE: [&str; 2] = ["Relative=", "rel=\""];

impl Settings {
    pub(super) fn of(document: &Document<'_>) -> Self {
        let mut settings = Self {
            // The defaults of bootchart.conf(5).
            scale: (100.0, 20.0),
            zero: 0,
        };
        let mut relative = false;
        let comments = document.descendants().filter(|n| n.is_comment());
        // They stand before everything else.
        for comment in comments.take(40) {
            let comment = comment.text().unwrap_or("").trim();
            let number = |keys: [&str; 2]| {
                let (_, rest) = keys.iter().find_map(|key| comment.split_once(key))?;
                let end = rest.find(['"', ' ']).unwrap_or(rest.len());
                rest.get(..end)?.parse::<f64>().ok()
            };
            let plausible = |v: &f64| (0.001..1.0e6).contains(v);
            if let Some(x) = number(SCALE_X).filter(plausible) {
                settings.scale.0 = x;
            }
            if let Some(y) = number(SCALE_Y).filter(plausible) {
                settings.scale.1 = y;
            }
            relative |= number(RELATIVE) == Some(1.0);
        }
        if relative {
            let start = document.descendants().find_map(|n| {
                let text = n.text()?.strip_prefix("Log start time: ")?;
                text.strip_suffix('s')?.parse::<f64>().ok()
            });
            settings.zero = start.and_then(|s| ns(s * 1e9)).unwrap_or(0);
        }
        settings
    }

    /// A length in pixels as nanoseconds.
    pub(super) fn length(&self, pixels: f64) -> Option<i64> {
        ns(pixels / self.scale.0 * 1e9)
    }

    /// A position in pixels as nanoseconds since the boot.
    pub(super) fn at(&self, pixels: f64) -> Option<i64> {
        self.length(pixels)?.checked_add(self.zero)
    }

    pub(super) fn resolution_ns(&self) -> u64 {
        let step = ns(1e6 / self.scale.0).unwrap_or(0);
        step.unsigned_abs().max(1)
    }
}

/// Nanoseconds, if they lie within 292 years.
pub(super) fn ns(value: f64) -> Option<i64> {
    // The conversion is exact enough for a drawing.
    (value.abs() < 9.0e18).then_some(value.round() as i64)
}
