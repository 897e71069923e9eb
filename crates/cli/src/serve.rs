//! Pages over HTTP, read-only.

pub mod folder;
pub mod http;
