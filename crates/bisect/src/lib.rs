//! Which of many differences makes a boot slower.
//!
//! Two systems differ in numbered things: kernel options, files, packages, commits. A boot
//! of the first with some of the differences applied gives a time. [`sets`] searches any
//! subset of the differences, [`ordered`] only those that a history can have: the first `k`.
//! Who boots is behind the trait [`Boots`], so that all here is pure.
//!
//! Times scatter. A set is booted until the likelihood ratio of "as the first system" and
//! "as the second" is decided with the asked error probability (Wald's sequential test, with
//! the heavy tails of Student's distribution, so that one outlier decides nothing). What is
//! found is confirmed by boots of its own, or not reported.

mod boots;
mod chain;
mod ends;
mod found;
mod levels;
mod ordered;
mod sets;
mod settings;
mod student;

pub use boots::{Boot, Boots, Say, Trace};
pub use found::{Comparison, Culprit, Found, Outcome, Sample};
pub use ordered::ordered;
pub use sets::sets;
pub use settings::{See, Settings};
