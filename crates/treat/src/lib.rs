//! Changes that make a boot faster, and that can be planned, applied and undone.
//!
//! A [`Treatment`] is one change, written as text such as `cmdline+=quiet`. It works
//! on a [`BootSpec`], which describes a boot as plain values. [`files`] applies the
//! same texts to real targets: a root tree, a boot loader's configuration or an image.
//! There every change is recorded in a journal, so that it can be undone byte for byte,
//! even after a crash.
//!
//! ```
//! use firstlight_treat::{BootSpec, CommandLine, Treatment};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let spec = BootSpec {
//!     cmdline: CommandLine::parse("root=/dev/sda1")?,
//!     ..BootSpec::default()
//! };
//! let quiet = Treatment::parse("cmdline+=quiet")?;
//! assert_eq!(quiet.plan(&spec), "the kernel command line gains `quiet`");
//!
//! let (after, undo) = quiet.apply(&spec)?;
//! assert_eq!(after.cmdline.to_string(), "root=/dev/sda1 quiet");
//! assert_eq!(undo.apply(&after)?, spec);
//! # Ok(())
//! # }
//! ```

mod attributes;
mod busybox;
mod cmdline;
mod durable;
mod fastmap;
pub mod files;
mod initramfs;
mod installation;
pub mod mounted;
pub mod order;
pub mod prefetcher;
mod protection;
pub mod reading;
pub mod relocate;
pub mod shell;
mod spec;
pub mod target_agent;
mod treatment;

pub use cmdline::{CommandLine, WordError};
pub use files::FileTreatment;
pub use spec::{BootSpec, Initramfs, KernelForm, Order};
pub use treatment::{TreatError, Treatment, Undo};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
