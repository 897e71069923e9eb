#![no_main]

//! Legacy images and FIT images with right checksums, so that all behind them is read; and
//! whether a checksum is right is known.

use arbitrary::Arbitrary;
use bootimage::branches::{Branch, Branches};
use bootimage::fit::Check;
use bootimage::{Part, fit, uimage};
use fuzz::sums;

#[derive(Debug, Arbitrary)]
enum Made {
    Legacy {
        fields: [u8; 60],
        data: Vec<u8>,
        /// What is missing at the end.
        cut: u8,
    },
    Fit {
        images: Vec<Image>,
        configurations: Vec<Vec<(u8, String)>>,
        /// Bytes that are changed when all is written.
        changes: Vec<(u16, u8)>,
        cut: u8,
    },
}

#[derive(Debug, Arbitrary)]
struct Image {
    data: Option<Vec<u8>>,
    properties: Vec<(u8, String)>,
    /// Algorithms, and whether the value is right.
    hashes: Vec<(u8, bool)>,
}

/// The names that a reader looks for.
const NAMES: [&str; 16] = [
    "type",
    "arch",
    "os",
    "compression",
    "load",
    "entry",
    "description",
    "data-size",
    "data-offset",
    "data-position",
    "kernel",
    "fdt",
    "ramdisk",
    "loadables",
    "compatible",
    "default",
];

fn named((name, value): &(u8, String)) -> (String, Vec<u8>) {
    let name = NAMES[usize::from(*name) % NAMES.len()].to_owned();
    (name, [value.as_bytes(), &[0]].concat())
}

fn text(value: &str) -> Vec<u8> {
    [value.as_bytes(), &[0]].concat()
}

impl Image {
    fn branch(&self, number: usize) -> Branch {
        let mut node = Branch {
            name: format!("image-{number}"),
            ..Branch::default()
        };
        node.properties.extend(self.properties.iter().map(named));
        if let Some(data) = &self.data {
            node.properties.push(("data".into(), data.clone()));
        }
        for (n, (algorithm, is_right)) in self.hashes.iter().enumerate() {
            let algorithm = ["crc32", "sha1", "md5", "none"][usize::from(algorithm % 4)];
            let sum = sums::crc32(self.data.as_deref().unwrap_or_default());
            let value = sum ^ u32::from(!is_right);
            node.children.push(Branch {
                name: format!("hash-{n}"),
                properties: vec![
                    ("algo".into(), text(algorithm)),
                    ("value".into(), value.to_be_bytes().to_vec()),
                ],
                children: Vec::new(),
            });
        }
        node
    }
}

fn tree(images: &[Image], configurations: &[Vec<(u8, String)>]) -> Vec<u8> {
    let branch = |name: &str, children| Branch {
        name: name.to_owned(),
        properties: Vec::new(),
        children,
    };
    let images = images.iter().enumerate().map(|(n, i)| i.branch(n));
    let configurations = configurations.iter().enumerate().map(|(n, c)| Branch {
        name: format!("conf-{n}"),
        properties: c.iter().map(named).collect(),
        children: Vec::new(),
    });
    let root = branch(
        "",
        vec![
            branch("images", images.collect()),
            branch("configurations", configurations.collect()),
        ],
    );
    let tree = Branches {
        root,
        ..Branches::default()
    };
    tree.bytes()
}

libfuzzer_sys::fuzz_target!(|made: Made| match made {
    Made::Legacy { fields, data, cut } => {
        let mut bytes = [&uimage::MAGIC[..], &fields, &data].concat();
        bytes[12..16].copy_from_slice(&(data.len() as u32).to_be_bytes());
        sums::uimage(&mut bytes);
        bytes.truncate(bytes.len() - usize::from(cut).min(data.len()));
        let image = bytes.as_slice();
        let found = uimage::read(&Part::whole(&image).unwrap())
            .unwrap()
            .unwrap();
        assert!(found.header_is_right);
        let is_whole = bytes.len() == 64 + data.len();
        assert_eq!(found.data_is_right, is_whole.then_some(true));
        fuzz::containers::look(&bytes);
    }
    Made::Fit {
        images,
        configurations,
        changes,
        cut,
    } => {
        let mut bytes = tree(&images, &configurations);
        let image = bytes.as_slice();
        let read = fit::read(&Part::whole(&image).unwrap()).unwrap();
        assert_eq!(read.images.len(), images.len());
        for (found, made) in read.images.iter().zip(&images) {
            assert_eq!(found.hashes.len(), made.hashes.len());
            for (found, (algorithm, is_right)) in found.hashes.iter().zip(&made.hashes) {
                let wanted = match (made.data.is_some(), algorithm % 4, is_right) {
                    // What stands behind the tree is not there.
                    (false, _, _) => continue,
                    (true, 0, true) => Check::Right,
                    (true, 0, false) | (true, 1, _) => Check::Wrong,
                    (true, _, _) => Check::NotChecked,
                };
                assert_eq!(found.check, wanted);
            }
        }
        let length = bytes.len();
        for (at, value) in changes {
            bytes[usize::from(at) % length] ^= value;
        }
        bytes.truncate(length - usize::from(cut).min(length));
        fuzz::containers::look(&bytes);
    }
});
