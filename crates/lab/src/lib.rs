//! Boots variants in a machine whose time is a pure function of its input.
