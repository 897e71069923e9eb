//! The compatible mode makes the same bytes as `sumtool` of mtd-utils.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test")]
mod common;

use common::{Making, Random, cases, damage, has, run, tree};
use firstlight_flash::jffs2::{Cleanmarkers, Endian, Mode, Options, summarize};
use std::fs;
use std::path::Path;

/// Options of both tools.
#[derive(Debug)]
struct Case {
    args: Vec<String>,
    options: Options,
}

fn case(random: &mut Random, making: &Making) -> Case {
    let mut args = vec![if making.big { "-b" } else { "-l" }.to_owned()];
    let erase_kib = if random.one_in(6) {
        *random.pick(&[8, 16, 32, 64, 128, 256])
    } else {
        making.erase_kib
    };
    args.push(format!("-e{erase_kib}KiB"));
    let cleanmarkers = match random.below(4) {
        0 => {
            args.push("-n".into());
            Cleanmarkers::None
        }
        1 => {
            let size = *random.pick(&[12, 14, 16, 33, 64]);
            args.push(format!("-c{size}"));
            Cleanmarkers::Sized(size)
        }
        _ => Cleanmarkers::AsFound,
    };
    let pad = random.one_in(2);
    if pad {
        args.push("-p".into());
    }
    let endian = if making.big {
        Endian::Big
    } else {
        Endian::Little
    };
    let options = Options {
        erase_size: erase_kib * 1024,
        endian,
        cleanmarkers,
        pad,
        mode: Mode::Compatible,
    };
    Case { args, options }
}

/// What `sumtool` makes of `image`; `None` if it crashed.
fn sumtool(dir: &Path, image: &[u8], args: &[String]) -> Option<Vec<u8>> {
    let (input, output) = (dir.join("in"), dir.join("out"));
    fs::write(&input, image).unwrap();
    let mut args = args.to_vec();
    args.extend(["-i".into(), input.display().to_string()]);
    args.extend(["-o".into(), output.display().to_string()]);
    fs::remove_file(&output).ok();
    run("sumtool", &args)?;
    fs::read(&output).ok()
}

#[test]
fn bytes_are_those_of_sumtool() {
    if !has("sumtool") || !has("mkfs.jffs2") {
        return;
    }
    let (mut equal, mut crashed, mut refused) = (0, 0, 0);
    let trees = cases(12, 120);
    for seed in 0..trees {
        let mut random = Random::new(seed);
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        fs::create_dir(&root).unwrap();
        tree(&mut random, &root);
        let making = Making::random(&mut random);
        let made = dir.path().join("image");
        if making.make(&root, &made).is_none() {
            continue;
        }
        let clean = fs::read(&made).unwrap();
        for round in 0..10 {
            let mut image = clean.clone();
            if round % 2 == 1 {
                damage(&mut random, &mut image, making.big);
            }
            let case = case(&mut random, &making);
            let Some(mut expected) = sumtool(dir.path(), &image, &case.args) else {
                crashed += 1;
                continue;
            };
            if round % 4 == 2 {
                // Once more, over its own output.
                image = expected;
                expected = sumtool(dir.path(), &image, &case.args).unwrap();
            }
            let mut found = Vec::new();
            if let Err(e) = summarize(&image.as_slice(), &mut found, &case.options) {
                eprintln!("refused: {e}");
                refused += 1;
                continue;
            }
            let first = expected.iter().zip(&found).position(|(a, b)| a != b);
            assert!(
                expected == found,
                "seed {seed} round {round}: {case:?} {making:?}: {} and {} bytes, \
                 the first difference at {first:?}",
                expected.len(),
                found.len(),
            );
            equal += 1;
        }
    }
    eprintln!("{equal} images equal, sumtool crashed on {crashed}, {refused} refused");
    assert!(equal >= trees * 8, "too few images could be compared");
}
