//! Ctrl-C, and what else asks this program to end.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Calls `wish` when the user, the system or a closed terminal asks this
/// program to end. One who asks again does not want to wait for a clean end.
///
/// # Errors
/// If the system does not take the handlers.
pub fn on_interrupt(wish: impl Fn() + Send + 'static) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            for (count, _) in signals.forever().enumerate() {
                if count > 0 {
                    std::process::exit(2);
                }
                wish();
            }
        })?;
    Ok(())
}

/// Becomes true when this program is asked to end, as [`on_interrupt`] is told.
///
/// # Errors
/// If the system does not take the handlers.
pub fn told() -> io::Result<Arc<AtomicBool>> {
    let told = Arc::new(AtomicBool::new(false));
    let wish = Arc::clone(&told);
    on_interrupt(move || wish.store(true, Ordering::Relaxed))?;
    Ok(told)
}
