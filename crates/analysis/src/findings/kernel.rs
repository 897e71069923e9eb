//! Time that the kernel spends on itself.

use super::{Finding, View, sum};
use crate::place::Place;
use record::{Nanos, Phase};

/// Where the kernel runs every deferred self test of its ciphers.
const TESTS: [&str; 2] = ["crypto_algapi_init", "cryptomgr_init"];

/// What the names of cipher modules are made of. Older kernels start a
/// cipher's tests when the cipher registers.
const CIPHERS: [&str; 34] = [
    "aes",
    "aesni",
    "arc4",
    "authenc",
    "blake2b",
    "camellia",
    "cast5",
    "cast6",
    "cbc",
    "ccm",
    "chacha",
    "cmac",
    "crct10dif",
    "cts",
    "ctr",
    "des",
    "drbg",
    "ecb",
    "ecdh",
    "gcm",
    "ghash",
    "hmac",
    "jent",
    "md5",
    "poly1305",
    "rsa",
    "seqiv",
    "serpent",
    "sha1",
    "sha256",
    "sha3",
    "sha512",
    "twofish",
    "xts",
];

fn is_cipher(function: &str) -> bool {
    let stem = function
        .strip_suffix("_mod_init")
        .or_else(|| function.strip_suffix("_module_init"));
    stem.is_some_and(|s| s.split('_').any(|part| CIPHERS.contains(&part)))
}

/// The ciphers test themselves at every boot.
pub(super) fn crypto_self_tests(view: &View<'_>) -> Option<Finding> {
    if view.has_flag("cryptomgr.notests") {
        return None;
    }
    let found = view.initcalls(|f| TESTS.contains(&f) || is_cipher(f));
    let all = sum(found.iter().map(|(_, time, _)| time));
    // A cipher's own initcall does more than start tests: only the test
    // runners' time is sure to go.
    let runners = found
        .iter()
        .filter(|(name, _, _)| TESTS.contains(&super::function(name)));
    let sure = sum(runners.map(|(_, time, _)| time));
    Some(Finding {
        id: "crypto-self-tests",
        title: "The kernel's ciphers test themselves".to_owned(),
        why: "Every built-in cipher is tested at every boot, before the first program runs. \
              `cryptomgr.notests` leaves the tests out."
            .to_owned(),
        evidence: view.initcall_evidence(&found),
        saving: (!found.is_empty()).then_some((sure, all)),
        cost: "a broken cipher driver is no longer found at boot; not allowed in FIPS mode"
            .to_owned(),
        treatment: Some("cmdline+=cryptomgr.notests".to_owned()),
    })
    .filter(|f| f.saving.is_some())
}

/// The built-in certificates are parsed and checked.
pub(super) fn certificates(view: &View<'_>) -> Option<Finding> {
    let found = view.initcalls(|f| f == "load_system_certificate_list");
    let all = sum(found.iter().map(|(_, time, _)| time));
    found.first()?;
    Some(Finding {
        id: "built-in-certificates",
        title: "The kernel loads its built-in certificates".to_owned(),
        why: "The keys that sign modules are parsed at boot, and their own signatures are \
              checked with slow public-key arithmetic."
            .to_owned(),
        evidence: view.initcall_evidence(&found),
        saving: Some((Nanos::ZERO, all)),
        cost: "another kernel configuration: fewer CONFIG_SYSTEM_TRUSTED_KEYS, or no module \
               signatures"
            .to_owned(),
        treatment: None,
    })
}

/// Initcalls that prepare tracing.
const TRACERS: [&str; 12] = [
    "event_trace_self_tests_init",
    "init_blk_tracer",
    "init_dynamic_event",
    "init_events",
    "init_function_trace",
    "init_graph_trace",
    "init_kprobe_trace",
    "init_kprobe_trace_early",
    "init_kprobes",
    "init_uprobe_trace",
    "trace_eval_init",
    "tracer_init_tracefs",
];

/// The tracers prepare themselves, whether anyone traces or not.
pub(super) fn instrumentation(view: &View<'_>) -> Option<Finding> {
    let found = view.initcalls(|f| TRACERS.contains(&f));
    let all = sum(found.iter().map(|(_, time, _)| time));
    found.first()?;
    Some(Finding {
        id: "instrumentation",
        title: "The kernel prepares its tracers".to_owned(),
        why: "Kprobe and ftrace support set themselves up at every boot, whether anyone traces \
              or not."
            .to_owned(),
        evidence: view.initcall_evidence(&found),
        saving: Some((Nanos::ZERO, all)),
        cost: "another kernel configuration (CONFIG_KPROBE_EVENTS, CONFIG_FTRACE): no tracing \
               in the product"
            .to_owned(),
        treatment: None,
    })
}

/// The kernel image unpacks itself.
pub(super) fn decompression(view: &View<'_>) -> Option<Finding> {
    let mut rows = view.phases.phases.iter();
    let row = rows.find(|p| p.name == Phase::Decompression)?;
    let length = row.end - row.start;
    let place: Place = row.origin.clone();
    Some(Finding {
        id: "kernel-decompression",
        title: "The kernel image unpacks itself".to_owned(),
        why: "A compressed kernel is unpacked before its first instruction, on one processor. An \
              uncompressed one must be loaded instead, which costs the loader more bytes."
            .to_owned(),
        evidence: vec![super::Evidence {
            text: format!("from {} to {}: {length}", row.start_mark, row.end_mark),
            place,
        }],
        // What loading the larger image costs is the medium's, not the log's.
        saving: Some((Nanos::ZERO, length)),
        cost: "an image three to five times as large, to be stored and loaded".to_owned(),
        treatment: Some("kernel=uncompressed".to_owned()),
    })
}
