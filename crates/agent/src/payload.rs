//! How a trial's capture leaves the machine.
