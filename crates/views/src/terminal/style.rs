//! How wide a screen is, and whether it has color.

/// The narrowest screen that is laid out; a narrower terminal wraps lines.
pub(super) const MIN_WIDTH: usize = 60;

/// How text is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether escape sequences for color are used; never into a pipe.
    pub color: bool,
    /// How many columns there are.
    pub width: usize,
}

impl Default for Style {
    /// Without color, 80 columns: what a pipe gets.
    fn default() -> Self {
        Self {
            color: false,
            width: 80,
        }
    }
}
