//! Published results and their runs, as views take them.

use lab::classics::{Classic, Report};

/// A published result, as views take it.
#[must_use]
pub fn published(classic: &Classic) -> views::Classic {
    let missing = classic
        .missing()
        .into_iter()
        .map(|(tool, package)| format!("{tool} is missing; `apt-get install {package}` brings it"));
    let figures = classic.values.iter();
    views::Classic {
        id: classic.id.clone(),
        title: classic.title.clone(),
        source: classic.source.clone(),
        here: classic.here.clone(),
        why: classic.why.clone(),
        published: figures
            .filter_map(|v| Some((v.name.clone(), v.published_ms?)))
            .collect(),
        missing: missing.collect(),
    }
}

/// A published result with the figures of its run here.
#[must_use]
pub fn classic_result(classic: &Classic, report: Report) -> views::ClassicResult {
    let values = report.values.into_iter().map(|v| views::ClassicValue {
        name: v.name,
        published_ms: v.published_ms,
        measured_ns: v.measured_ns,
        count: v.count.map(|c| views::ClassicCount {
            unit: c.unit,
            published: c.published,
            measured: c.measured,
        }),
        published_ratio: v.published_ratio,
        measured_ratio: v.measured_ratio,
        basis: Some(v.basis.as_str().to_owned()),
        partial: v.partial,
    });
    views::ClassicResult {
        classic: published(classic),
        machine: report.machine,
        values: values.collect(),
        failures: report.failures,
        made_by: report.made_by,
    }
}

/// Adds the classic of a file, in place of one of the same name.
pub fn put(all: &mut Vec<Classic>, own: Classic) {
    all.retain(|c| c.id != own.id);
    all.push(own);
}

#[cfg(test)]
mod tests {
    use super::put;
    use lab::classics::{classics, of_file};

    #[test]
    fn a_file_stands_in_for_the_classic_of_its_name() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/classics");
        let mut all = classics().unwrap();
        let count = all.len();
        put(
            &mut all,
            of_file(format!("{folder}/quiet.toml").as_ref()).unwrap(),
        );
        assert_eq!(all.len(), count);
        let other = format!("{folder}/../storage/profiles.toml");
        put(&mut all, of_file(other.as_ref()).unwrap());
        assert_eq!(all.len(), count + 1);
    }
}
