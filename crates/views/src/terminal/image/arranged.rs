//! What `firstlight image order --for ext4` says.

use crate::json::image::{Forecast, ForecastWay};
use crate::words::{nanos, size, thousands};
use disk::ext::arrange::Arrangement;
use disk::ext::renumber::Renumbered;

/// An ext4 image that was arranged in the order of a list, of which `missing` files are
/// not in it; `out` is the new image, if one was written.
#[must_use]
pub fn arranged(
    out: Option<&str>,
    found: &Arrangement,
    inodes: &Renumbered,
    missing: u64,
    forecast: &Forecast,
) -> String {
    let mut text = format!(
        "{} of {} files and directories, in the order of need: {} pieces now, {} then\n",
        size(found.moved_bytes()),
        found.inodes,
        found.runs_before,
        found.runs
    );
    text += &match (inodes.numbers.len(), inodes.kept_for) {
        (0, None) => String::new(),
        (count, None) => format!(
            "{} inodes, with new numbers: {}\n",
            thousands(count as u64),
            match inodes.runs {
                1 => "one behind the other".to_owned(),
                runs => format!("in {} pieces", thousands(runs)),
            }
        ),
        (_, Some(feature)) => {
            format!("Inodes stay where they are: the filesystem has the feature `{feature}`\n")
        }
    };
    if missing > 0 {
        text += &format!(
            "{} files of the list are not in the image, or have another size, and are left out\n",
            missing
        );
    }
    let storage = &forecast.storage;
    text += &format!(
        "Forecast on {storage}, on demand: {} now, {} then\n",
        nanos(forecast.on_demand.before_ns),
        nanos(forecast.on_demand.after_ns)
    );
    if forecast.decides == ForecastWay::ReadAhead {
        text += &format!(
            "Forecast on {storage}, read ahead: {} now, {} then\n",
            nanos(forecast.read_ahead.before_ns),
            nanos(forecast.read_ahead.after_ns)
        );
    }
    text += &match (out, forecast.is_sooner()) {
        (Some(path), _) => format!("{path}: written\n{}\n", super::RECORD_AGAIN),
        (None, true) => "Nothing was written: name the new image with -o.\n".to_owned(),
        (None, false) => {
            let way = match forecast.decides {
                ForecastWay::OnDemand => "",
                ForecastWay::ReadAhead => " by a prefetcher",
            };
            format!(
                "Nothing was written: the new layout would not be read sooner{way}. --force writes \
                 it all the same.\n"
            )
        }
    };
    let on_demand = forecast.on_demand;
    if forecast.decides == ForecastWay::ReadAhead && on_demand.after_ns > on_demand.before_ns {
        text += "Without a prefetcher this layout is slower, because the kernel reads around each \
                 page; --read-around keeps together what it reads.\n";
    }
    text
}
