//! Treatments: changes that can be planned, shown, applied and undone.
