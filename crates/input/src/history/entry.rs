//! A boot, as a history keeps it.

use analysis::{BootTimes, TimeKind};
use history::{Entry, FirstLight, Time};

/// A boot as an entry without commit, release and date. The machine is the boot's own unless
/// another is named; `config` is the digest of a configuration.
#[must_use]
pub fn entry(boot: &BootTimes, machine: Option<&str>, config: Option<&str>) -> Entry {
    let mut entry = Entry::new();
    let field = |wanted: &str| {
        let mut fields = boot.environment().iter();
        fields
            .find(|(name, _)| *name == wanted)
            .map(|(_, value)| value.clone())
    };
    entry.environment.kernel = field("kernel");
    entry.environment.machine = machine.map(str::to_owned).or_else(|| field("machine"));
    entry.environment.config = config.map(str::to_owned);
    entry.clock = boot.clock().map(|c| c.as_str().to_owned());
    entry.zero = boot.zero().map(str::to_owned);
    // Waits differ from boot to boot by as much as first light.
    let times = boot.times().filter(|t| !t.0.is_wait());
    for (kind, name, time) in times {
        match kind {
            TimeKind::FirstLight => {
                let ns = time.get();
                entry.first_light = Some(FirstLight { mark: name, ns });
            }
            kind => entry
                .times
                .push(Time(kind.as_str().to_owned(), name, time.get())),
        }
    }
    entry
}
