//! What the library does with a JFFS2 image, with the time that it takes:
//!
//! ```text
//! jffs2 summarize IN OUT ERASE_SIZE [compatible] [none | CLEANMARKER_SIZE] [big] [pad]
//! ```

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example")]
use image::jffs2::{Cleanmarkers, Endian, Mode, Options, summarize};
use std::error::Error;
use std::fs::File;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let begun = Instant::now();
    match words.as_slice() {
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
