//! Pure questions on records.
