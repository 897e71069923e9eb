#![no_main]

//! Whose the pages and requests of a boot are: by events of its page cache, by an image of its
//! disk, and as an access list of a root.

use analysis::{Owners, io_requests};
use capture::accesses::Owner;
use capture::accesses::import::{Machine, import};
use inspect::owners::{Images, of_boots};
use record::Recorder;
use sources::ftrace::Ftrace;
use sources::{Input, Source};
use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

/// An image of a disk, and a root with a few files, in memory.
fn places() -> &'static [PathBuf; 2] {
    static PLACES: OnceLock<[PathBuf; 2]> = OnceLock::new();
    PLACES.get_or_init(|| {
        let folder = PathBuf::from(format!("/dev/shm/firstlight-owners-{}", std::process::id()));
        let root = folder.join("root");
        fs::create_dir_all(root.join("sbin")).unwrap();
        fs::write(root.join("sbin/init"), [0; 9000]).unwrap();
        let image = folder.join("disk.img");
        fs::write(&image, include_bytes!("../images/plain.img")).unwrap();
        [image, root]
    })
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    for word in text.split_whitespace().take(8) {
        if let Some(owner) = Owner::read(word) {
            assert_eq!(Owner::read(&owner.to_string()), Some(owner));
        }
    }
    let mut recorder = Recorder::new();
    let name = "trace";
    Ftrace.read(Input { name, bytes }, &mut recorder);
    let record = recorder.finish();
    let [image, root] = places();
    let images = Images {
        images: std::slice::from_ref(image),
        base: 0,
        device: None,
    };
    let of_image = of_boots(&record, None, images, &|_| ()).ok();
    for owners in [Owners::of_page_cache(&record)]
        .iter()
        .chain(of_image.iter().map(|o| &o.0))
    {
        assert_eq!(
            io_requests(&record, owners).count(),
            record.requests().len()
        );
        let sums = owners.sums(&record);
        let counted: u64 = sums.iter().map(|o| o.requests).sum();
        assert!(counted <= record.requests().len() as u64);
    }
    let machine = Machine {
        name: "x86_64",
        page: 4096,
    };
    if let Ok(imported) = import(&record, root, machine, None) {
        let list = agent::access::encode(&imported.list);
        assert_eq!(agent::access::decode(&list).as_ref(), Ok(&imported.list));
    }
});
