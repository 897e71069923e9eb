//! What the kernel's command line asks of the agent.
#![allow(clippy::unwrap_used)] // a test that cannot go on should stop

use firstlight_agent::config::{Endpoint, FirstLight, Out, Recording, Sampling, Words};
use proptest::prelude::*;
use std::time::Duration;

fn good(command_line: &str) -> Words {
    let (words, wrong) = Words::parse(command_line);
    assert_eq!(wrong, [] as [String; 0], "{command_line}");
    words
}

#[test]
fn every_key_is_understood() {
    let words = good(
        "console=ttyS0 firstlight.first_light=\"kmsg:app is \\ ready\" quiet \
         firstlight.out=port:/dev/ttyS1,921600,2 firstlight.init=/sbin/init \
         firstlight.events=sched:sched_process_exec,block:* firstlight.events=initcall \
         firstlight.opens=1 firstlight.buffer_kb=8192 firstlight.trace_clock=boot firstlight.sample_ms=50 \
         firstlight.sample_kb=100 firstlight.give_up_s=90 firstlight.perturb=1xxx -- more",
    );
    let expected = Words {
        first_light: Some(FirstLight::Line("app is \\ ready".into())),
        out: Some(Out::Port {
            path: "/dev/ttyS1".into(),
            baud: Some(921_600),
            copies: 2,
        }),
        init: Some("/sbin/init".into()),
        recording: Recording {
            events: ["sched:sched_process_exec", "block:*", "initcall"]
                .map(Into::into)
                .into(),
            opens: true,
            buffer_kb: Some(8192),
            clock: Some("boot".into()),
        },
        sampling: Some(Sampling {
            period: Duration::from_millis(50),
            most_bytes: 102_400,
        }),
        give_up: Some(Duration::from_secs(90)),
    };
    assert_eq!(words, expected);
    assert_eq!(good("ro quiet firstlight=x"), Words::default());
}

#[test]
fn samples_are_taken_only_if_wanted() {
    assert_eq!(good("firstlight.sample_ms=0").sampling, None);
    assert_eq!(
        good("firstlight.sample_ms=0 firstlight.sample_kb=9").sampling,
        None
    );
    let usual = good("firstlight.sample_ms=100").sampling.unwrap();
    assert_eq!(usual.most_bytes, Sampling::MOST_BYTES);
    let usual = good("firstlight.sample_kb=1").sampling.unwrap();
    assert_eq!((usual.period, usual.most_bytes), (Sampling::PERIOD, 1024));
    // The last one counts.
    assert_eq!(
        good("firstlight.sample_ms=7 firstlight.sample_ms=0").sampling,
        None
    );
}

#[test]
fn what_cannot_be_used_is_named_and_the_rest_is_used() {
    let (words, wrong) = Words::parse(
        "firstlight.sample_ms=often firstlight.give_up_s=9 firstlight.speed=3 firstlight.init",
    );
    assert_eq!(words.give_up, Some(Duration::from_secs(9)));
    assert_eq!(
        wrong,
        [
            "kernel parameter `firstlight.sample_ms`: `often` is invalid; write a whole number",
            "unknown kernel parameter `firstlight.speed`; known keys: first_light, out, init, events, opens, buffer_kb, trace_clock, sample_ms, sample_kb, give_up_s",
            "kernel parameter `firstlight.init`: `` is invalid; write an absolute path",
        ]
    );
}

#[test]
fn first_light_of_every_kind_has_a_text() {
    for (text, expected) in [
        ("init", FirstLight::Init),
        ("unit:ssh.service", FirstLight::Unit("ssh.service".into())),
        ("kmsg:a: b", FirstLight::Line("a: b".into())),
        ("file:/run/ready", FirstLight::File("/run/ready".into())),
        ("listen:80", FirstLight::Listens(Endpoint::Tcp(80))),
        (
            "listen:/run/s",
            FirstLight::Listens(Endpoint::Unix("/run/s".into())),
        ),
        ("accept:65535", FirstLight::Accepts(Endpoint::Tcp(65535))),
        (
            "http:8080/status?full",
            FirstLight::Answers {
                port: 8080,
                page: "/status?full".into(),
            },
        ),
        ("process:weston", FirstLight::Process("weston".into())),
        ("after:0", FirstLight::After(Duration::ZERO)),
        ("after:1.000000005", FirstLight::After(Duration::new(1, 5))),
    ] {
        assert_eq!(FirstLight::parse(text), Some(expected), "{text}");
        assert_eq!(FirstLight::parse(text).unwrap().to_string(), text);
    }
    let tenth = FirstLight::parse("after:12.1").unwrap();
    assert_eq!(tenth, FirstLight::After(Duration::from_millis(12_100)));
    for wrong in [
        "",
        "unit:",
        "unit:a b",
        "kmsg:",
        "file:ready",
        "listen:0",
        "listen:65536",
        "listen:",
        "accept:x",
        "http:80",
        "http:/",
        "http:0/",
        "http:80/a b",
        "process:",
        "after:",
        "after:-1",
        "after:1.",
        "after:.5",
        "after:1e9",
        "after:99999999999",
        "Init",
        "init:",
    ] {
        assert_eq!(FirstLight::parse(wrong), None, "{wrong}");
    }
}

#[test]
fn every_way_out_has_a_text() {
    for text in [
        "-",
        "file:/var/boot.tar",
        "file:boot",
        "device:/dev/pmem0",
        "port:/dev/ttyS1",
        "port:/dev/ttyS1,115200",
        "port:/dev/ttyS1,115200,3",
        "port:/dev/vport0p1,,3",
    ] {
        assert_eq!(Out::parse(text).unwrap().to_string(), text);
    }
    assert_eq!(Out::parse("boot.tar"), Some(Out::File("boot.tar".into())));
    for wrong in [
        "",
        "file:",
        "device:pmem0",
        "port:",
        "port:/dev/ttyS1,fast",
        "port:/dev/ttyS1,0",
        "port:/a,1,1,1",
    ] {
        assert_eq!(Out::parse(wrong), None, "{wrong}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "(firstlight\\.[a-z_]{0,12}=?| |\"|[ -~]|\u{e9}){0,40}") {
        let _ = Words::parse(&text);
        let _ = FirstLight::parse(&text);
        let _ = Out::parse(&text);
    }
}
