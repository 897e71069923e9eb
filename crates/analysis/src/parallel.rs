//! The same work on many things, on all processors.

/// What `of` gives for each of `all`, in order, on all processors.
#[must_use]
pub fn on_all_processors<T: Sync, R: Send>(all: &[T], of: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let each = all.len().div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        let of = &of;
        let parts = all.chunks(each);
        let parts = parts.map(|part| scope.spawn(move || part.iter().map(of).collect::<Vec<R>>()));
        let parts: Vec<_> = parts.collect();
        let joined = parts.into_iter().map(|part| match part.join() {
            Ok(results) => results,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        joined.flatten().collect()
    })
}
