//! Logic analyzers: levels of wires over time, as value change dumps (VCD) and as tables (CSV).
//!
//! An analyzer sees what no log does: the supply that comes up, the reset that is released, a
//! light that changes. Each edge is a mark, `NAME rises` or `NAME falls`. A wire that is named
//! as a supply gives power-on, else one that is named as a reset.
//!
//! Units of the ledger are lines.

mod channels;
mod csv;
mod notes;
mod vcd;

pub use csv::LogicCsv;
pub use vcd::Vcd;
