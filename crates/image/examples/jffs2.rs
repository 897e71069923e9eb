//! What the library does with a JFFS2 image, with the time that it takes:
//!
//! ```text
//! jffs2 check IMAGE [ERASE_SIZE]
//! jffs2 summarize IN OUT ERASE_SIZE [compatible] [none | CLEANMARKER_SIZE] [big] [pad]
//! ```

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example")]
use image::jffs2::{CheckOptions, Cleanmarkers, Endian, Mode, Options, check, summarize};
use std::error::Error;
use std::fs::File;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let begun = Instant::now();
    match words.as_slice() {
        ["check", input, rest @ ..] => {
            let options = CheckOptions {
                erase_size: rest.first().map(|size| size.parse()).transpose()?,
                ..CheckOptions::default()
            };
            let image = File::open(input)?;
            let report = check(&image, &options)?;
            for line in report.map.as_bytes().chunks(80) {
                println!("{}", String::from_utf8_lossy(line));
            }
            for problem in &report.problems {
                println!("{:?} x {}: {}", problem.block, problem.blocks, problem.what);
                println!("    {}", problem.what.advice());
            }
            println!(
                "{:?}",
                (report.erase_size, report.erase_size_found, report.oob)
            );
            println!("{:?}", (report.classes, report.bytes, report.mount));
        }
        ["summarize", input, output, erase_size, rest @ ..] => {
            let mut options = Options {
                erase_size: erase_size.parse()?,
                endian: Endian::Little,
                cleanmarkers: Cleanmarkers::AsFound,
                pad: false,
                mode: Mode::Safe,
            };
            for word in rest {
                match *word {
                    "compatible" => options.mode = Mode::Compatible,
                    "none" => options.cleanmarkers = Cleanmarkers::None,
                    "big" => options.endian = Endian::Big,
                    "pad" => options.pad = true,
                    size => options.cleanmarkers = Cleanmarkers::Sized(size.parse()?),
                }
            }
            let image = File::open(input)?;
            let mut out = File::create(output)?;
            println!("{:#?}", summarize(&image, &mut out, &options)?);
        }
        _ => return Err("usage: see the first lines of examples/jffs2.rs".into()),
    }
    eprintln!("{:.1} ms", begun.elapsed().as_secs_f64() * 1e3);
    Ok(())
}
