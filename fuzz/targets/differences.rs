#![no_main]

//! What the lab tells apart: two command lines, kernel configurations, lists of packages or
//! compiled device trees. A line of `--` stands between them.

use lab::bisect::Differences;
use std::fs;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let files = fuzz::files(bytes);
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let [first, second] = [0, 1].map(|n| {
        let path = folder.path().join(n.to_string());
        let file = files.get(n).map_or(&b""[..], |file| &file.1);
        // Text files end their last line before the line that parts them.
        fs::write(&path, file.strip_suffix(b"\n").unwrap_or(file)).unwrap();
        path
    });
    let text = |path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
    let (a, b) = (text(&first), text(&second));
    let make = || "false".to_owned();
    // What is the same differs in nothing, and both ways round as much.
    let same = [
        Differences::cmdline(&a, &a),
        Differences::config(&first, &first, None),
        Differences::packages(&first, &first, make()),
        Differences::devicetree(&first, &first),
    ];
    for same in same.into_iter().flatten() {
        assert_eq!(same.names(), [""; 0]);
    }
    let pairs = [
        (
            Differences::config(&first, &second, None),
            Differences::config(&second, &first, None),
        ),
        (
            Differences::packages(&first, &second, make()),
            Differences::packages(&second, &first, make()),
        ),
    ];
    for pair in pairs {
        if let (Ok(there), Ok(back)) = pair {
            assert_eq!(there.names().len(), back.names().len());
        }
    }
    let _ = Differences::cmdline(&a, &b);
    let _ = Differences::devicetree(&first, &second);
});
