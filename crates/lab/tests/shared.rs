//! Shared results: in a folder, and, with the feature `s3`, in a bucket of a real server,
//! which `./x test cluster` starts.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

mod replay;

use firstlight_lab::{Event, Options, Shared, Trial};
use replay::{Replay, folder, options, run};
use std::fs;
use std::path::{Path, PathBuf};

/// Where results are shared, as it is named, and as others see it.
trait Place: Sync {
    fn named(&self) -> Shared;
    fn keys(&self) -> Vec<String>;
    fn read(&self, key: &str) -> Vec<u8>;
    fn write(&self, key: &str, bytes: &[u8]);
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(folder())
    }

    fn path(&self, key: &str) -> PathBuf {
        self.0.path().join(key)
    }
}

impl Place for Folder {
    fn named(&self) -> Shared {
        Shared::named(self.0.path().to_str().unwrap()).unwrap()
    }

    fn keys(&self) -> Vec<String> {
        let groups = fs::read_dir(self.0.path()).unwrap();
        let files = groups.flat_map(|g| fs::read_dir(g.unwrap().path()).unwrap());
        let key = |path: PathBuf| {
            let key = path.strip_prefix(self.0.path()).unwrap();
            key.to_str().unwrap().to_owned()
        };
        let mut keys: Vec<String> = files.map(|e| key(e.unwrap().path())).collect();
        keys.sort();
        keys
    }

    fn read(&self, key: &str) -> Vec<u8> {
        fs::read(self.path(key)).unwrap()
    }

    fn write(&self, key: &str, bytes: &[u8]) {
        let path = self.path(key);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

fn sharing(out: &Path, place: &dyn Place, audit_every: u32) -> Options {
    let mut shared = place.named();
    shared.audit_every = audit_every;
    Options {
        shared: Some(shared),
        ..options(out)
    }
}

/// Runs the experiment into a new folder; how many boots that took.
fn boots(place: &dyn Place) -> usize {
    let (out, machine) = (folder(), Replay::default());
    run(&machine, &sharing(out.path(), place, 0)).0.unwrap();
    machine.boots().len()
}

fn notes(events: &[Event]) -> Vec<&String> {
    let notes = events.iter().filter_map(|event| match event {
        Event::Note { text } => Some(text),
        _ => None,
    });
    notes.collect()
}

fn is_not_booted_again(place: &dyn Place) {
    let (one, two) = (folder(), folder());
    let machine = Replay::default();
    let (first, _) = run(&machine, &sharing(one.path(), place, 0));
    assert_eq!(machine.boots().len(), 3);
    assert_eq!(place.keys().len(), 3);
    let other = Replay::default();
    let (second, events) = run(&other, &sharing(two.path(), place, 0));
    assert_eq!(other.boots(), Vec::<String>::new());
    assert!(
        events
            .iter()
            .any(|e| matches!(e, Event::Planned { reused: 3, .. }))
    );
    let (first, second) = (first.unwrap(), second.unwrap());
    for (a, b) in first.trials.iter().zip(&second.trials) {
        assert_eq!(a.shared_by, None);
        // Who booted it, and where it was found.
        let by = b.shared_by.as_ref().unwrap();
        let key = place.keys().into_iter().find(|k| by.ends_with(k.as_str()));
        assert!(by.contains("firstlight") && key.is_some(), "{by}");
        let same = Trial {
            shared_by: None,
            ..b.clone()
        };
        assert_eq!(*a, same);
        let console = |out: &Path, t: &Trial| fs::read(out.join(&t.capture).join("console.log"));
        assert_eq!(
            console(one.path(), a).unwrap(),
            console(two.path(), b).unwrap()
        );
    }
}

fn is_refused_if_damaged_and_replaced(place: &dyn Place) {
    assert_eq!(boots(place), 3);
    let keys = place.keys();
    let whole = place.read(&keys[0]);
    place.write(&keys[0], &whole[..whole.len() / 2]);
    // The right form, of another trial.
    place.write(&keys[1], &place.read(&keys[2]));
    place.write(&keys[2], b"not a result\n");
    let (out, machine) = (folder(), Replay::default());
    let (outcome, events) = run(&machine, &sharing(out.path(), place, 0));
    outcome.unwrap();
    assert_eq!(machine.boots().len(), 3);
    let refused = notes(&events).into_iter();
    let refused = refused.filter(|text| text.ends_with("; the trial is booted"));
    assert_eq!(refused.count(), 3);
    // What was booted is there instead.
    assert_eq!(boots(place), 0);
}

fn is_audited(place: &dyn Place) {
    assert_eq!(boots(place), 3);
    // All are checked, and all are the same.
    let (two, three) = (folder(), folder());
    let honest = Replay::default();
    run(&honest, &sharing(two.path(), place, 1)).0.unwrap();
    assert_eq!(honest.boots().len(), 3);
    // Another host, on which the boot is another.
    let mut other = Replay::default();
    other.consoles.insert("quiet/0", vec!["something else\n"]);
    let (outcome, _) = run(&other, &sharing(three.path(), place, 1));
    let said = outcome.unwrap_err().to_string();
    assert!(said.starts_with("quiet/0: the shared result of "), "{said}");
    assert!(said.contains("has the digest "), "{said}");
}

fn takes_several_writers(place: &dyn Place) {
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| boots(place));
        }
    });
    assert_eq!(place.keys().len(), 3);
    assert_eq!(boots(place), 0);
}

/// What is oldest goes, and what the run itself used goes last.
fn stays_within_its_limit(place: &dyn Place) {
    let old = "00/00.tar.zst";
    place.write(old, &[0; 1000]);
    assert_eq!(boots(place), 3);
    let used: u64 = place
        .keys()
        .iter()
        .map(|k| place.read(k).len() as u64)
        .sum();
    let within = |limit_bytes: u64| {
        let out = folder();
        let mut asked = sharing(out.path(), place, 0);
        if let Some(shared) = &mut asked.shared {
            shared.limit_bytes = Some(limit_bytes);
        }
        let machine = Replay::default();
        let (outcome, events) = run(&machine, &asked);
        outcome.unwrap();
        assert!(machine.boots().is_empty());
        let removed = notes(&events).into_iter();
        removed.filter(|text| text.contains("were removed")).count()
    };
    assert_eq!(within(used), 0);
    assert_eq!(place.keys().len(), 4);
    assert_eq!(within(used - 1), 1);
    assert_eq!(place.keys().len(), 3);
    assert!(!place.keys().contains(&old.to_owned()));
    assert_eq!(within(0), 1);
    assert!(place.keys().is_empty());
}

#[test]
fn a_result_in_a_folder_is_not_booted_again() {
    is_not_booted_again(&Folder::new());
}

#[test]
fn a_damaged_foreign_or_cut_entry_is_refused_and_replaced() {
    is_refused_if_damaged_and_replaced(&Folder::new());
}

#[test]
fn an_audit_that_differs_ends_the_run_with_both_digests() {
    is_audited(&Folder::new());
}

#[test]
fn several_runs_may_write_at_once() {
    takes_several_writers(&Folder::new());
}

#[test]
fn the_oldest_results_beyond_the_limit_are_removed() {
    stays_within_its_limit(&Folder::new());
}

#[test]
#[cfg(not(feature = "s3"))]
fn a_program_without_buckets_says_so() {
    let said = Shared::named("s3://results").unwrap_err().to_string();
    assert!(said.contains("was built without S3"), "{said}");
}

#[test]
fn a_second_boot_for_comparison_is_never_shared() {
    let (one, place) = (folder(), Folder::new());
    let mut asked = sharing(one.path(), &place, 0);
    asked.check_exact = true;
    run(&Replay::default(), &asked).0.unwrap();
    let two = folder();
    asked.out = two.path().to_owned();
    let machine = Replay::default();
    run(&machine, &asked).0.unwrap();
    let again = machine.boots();
    assert_eq!(again.len(), 3, "{again:?}");
    assert!(again.iter().all(|b| b.ends_with(" again")), "{again:?}");
}

#[cfg(feature = "s3")]
mod bucket {
    use super::{Place, folder, notes, options};
    use crate::replay::{Replay, run};
    use firstlight_lab::{Options, Shared};
    use remote::Bucket;

    struct Prefix {
        url: String,
        bucket: Bucket,
    }

    impl Prefix {
        /// Below the bucket of the server that the stage started.
        fn new(base: &str, name: &str) -> Self {
            let url = format!("{base}/{name}-{:x}", std::process::id());
            let bucket = Bucket::open(&url).unwrap();
            Self { url, bucket }
        }
    }

    impl Place for Prefix {
        fn named(&self) -> Shared {
            Shared::named(&self.url).unwrap()
        }

        fn keys(&self) -> Vec<String> {
            let objects = self.bucket.list().unwrap().into_iter();
            let mut keys: Vec<String> = objects.map(|o| o.key).collect();
            keys.sort();
            keys
        }

        fn read(&self, key: &str) -> Vec<u8> {
            let found = self.bucket.get(&[key.to_owned()], 1 << 20).unwrap();
            found[0].clone().unwrap().unwrap()
        }

        fn write(&self, key: &str, bytes: &[u8]) {
            self.bucket.put(key, bytes.to_vec()).unwrap();
        }
    }

    /// The bucket of a server on loopback, as `s3://BUCKET`; the environment has the rest.
    fn base() -> Option<String> {
        let base = std::env::var("FIRSTLIGHT_TEST_BUCKET").ok();
        if base.is_none() {
            eprintln!("skipped: results in a bucket, because FIRSTLIGHT_TEST_BUCKET names none");
        }
        base
    }

    #[test]
    #[ignore = "./x test cluster"]
    fn a_bucket_serves_as_a_folder_does() {
        let Some(base) = base() else { return };
        super::is_not_booted_again(&Prefix::new(&base, "again"));
        super::is_refused_if_damaged_and_replaced(&Prefix::new(&base, "damaged"));
        super::is_audited(&Prefix::new(&base, "audited"));
        super::takes_several_writers(&Prefix::new(&base, "writers"));
        super::stays_within_its_limit(&Prefix::new(&base, "limit"));
    }

    /// Of many writers of one object one wins, and nobody sees half of it.
    #[test]
    #[ignore = "./x test cluster"]
    fn the_first_writer_of_an_object_wins() {
        let Some(base) = base() else { return };
        let prefix = Prefix::new(&base, "race");
        let key = "ab/race".to_owned();
        let wrote: Vec<u8> = std::thread::scope(|scope| {
            let writers = (0..16_u8).map(|n| {
                let (key, url) = (&key, &prefix.url);
                scope.spawn(move || {
                    let bucket = Bucket::open(url).unwrap();
                    bucket.put_new(key, vec![n; 20_000]).unwrap().then_some(n)
                })
            });
            let writers: Vec<_> = writers.collect();
            let wrote = writers.into_iter().filter_map(|w| w.join().unwrap());
            wrote.collect()
        });
        assert_eq!(wrote.len(), 1, "{wrote:?}");
        let found = prefix.read(&key);
        assert!(found.len() == 20_000 && found.iter().all(|b| *b == wrote[0]));
        let sized = prefix.bucket.get(&[key], 19_999).unwrap();
        assert_eq!(sized, [Err(20_000)]);
    }

    /// A bucket that is not there costs the sharing, and no trial.
    #[test]
    #[ignore = "./x test cluster"]
    fn without_its_bucket_a_run_boots_all_and_says_so() {
        if base().is_none() {
            return;
        }
        let (out, machine) = (folder(), Replay::default());
        let asked = Options {
            shared: Some(Shared::named("s3://no-such-bucket-here/results").unwrap()),
            ..options(out.path())
        };
        let (outcome, events) = run(&machine, &asked);
        outcome.unwrap();
        assert_eq!(machine.boots().len(), 3);
        let said = notes(&events).into_iter();
        let said: Vec<_> = said.filter(|text| text.contains("not shared")).collect();
        assert!(!said.is_empty());
    }
}
