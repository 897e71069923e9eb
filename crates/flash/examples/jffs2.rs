//! What the library does with a JFFS2 image, with the time that it takes:
//!
//! ```text
//! jffs2 check IMAGE [ERASE_SIZE [BLOCKS_OF_THE_CHIP]]
//! jffs2 list IMAGE
//! jffs2 extract IMAGE FOLDER
//! jffs2 verify IMAGE
//! jffs2 summarize IN OUT ERASE_SIZE [compatible] [none | CLEANMARKER_SIZE] [big] [pad]
//! ```

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example")]
use firstlight_flash::files::{Files, Folder, Rights, Visit, extract};
use firstlight_flash::jffs2::{
    CheckOptions, Cleanmarkers, Endian, Filesystem, Mode, OpenOptions, Options, check, summarize,
    verify,
};
use std::error::Error;
use std::fs::File;
use std::path::Path;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let begun = Instant::now();
    match words.as_slice() {
        ["check", input, rest @ ..] => {
            let options = CheckOptions {
                erase_size: rest.first().map(|size| size.parse()).transpose()?,
                device_blocks: rest.get(1).map(|count| count.parse()).transpose()?,
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
        ["list", input] => {
            let image = File::open(input)?;
            let filesystem = Filesystem::open(&image, &OpenOptions::default())?;
            for visit in filesystem.tree() {
                match visit? {
                    Visit::Entry(e) => println!(
                        "{:06o} {:3} {:5} {:5} {:9} {:10} {}",
                        e.stat.mode,
                        e.stat.links,
                        e.stat.uid,
                        e.stat.gid,
                        e.stat.size,
                        e.stat.mtime,
                        String::from_utf8_lossy(&e.path)
                    ),
                    Visit::Leave(_) => {}
                    Visit::Fault(path, name, fault) => println!("{path:?} {name:?} {fault}"),
                }
            }
        }
        ["verify", input] => {
            let image = File::open(input)?;
            let filesystem = Filesystem::open(&image, &OpenOptions::default())?;
            println!("{:#?}", verify(&filesystem)?);
            println!("{:#?}", filesystem.lost());
        }
        ["extract", input, folder] => {
            let image = File::open(input)?;
            let filesystem = Filesystem::open(&image, &OpenOptions::default())?;
            let mut folder = Folder::new(Path::new(folder), Rights::default())?;
            println!("{:?}", extract(&filesystem, &mut folder)?);
            println!("{:?}", filesystem.lost());
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
