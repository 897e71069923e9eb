//! The agent's configuration: what is written is read, and bad lines are named.
#![allow(clippy::unwrap_used)] // a test that cannot go on should stop

use firstlight_agent::config::{
    AgentConfig, Board, ConfigError, FirstLight, Model, Place, Root, Storage,
};
use proptest::prelude::*;
use std::num::NonZeroU32;

fn root() -> impl Strategy<Value = Root> {
    (
        1u64..1 << 30,
        "[a-z0-9]{1,8}",
        "[a-z,=]{0,12}",
        "/[a-z/ ]{0,12}[a-z]",
    )
        .prop_map(|(sectors, fstype, options, init)| Root {
            place: match sectors % 4 {
                0 => Place::Initramfs,
                1 => Place::Device(format!("/dev/mtdblock{sectors}")),
                _ => Place::Memory(sectors * 512),
            },
            fstype,
            options,
            init,
        })
}

fn storage() -> impl Strategy<Value = Storage> {
    let model = prop_oneof![Just(Model::None), Just(Model::Flash), Just(Model::Disk)];
    let seek = (any::<u64>(), any::<u64>());
    (
        model,
        1..=u32::MAX,
        any::<[u64; 9]>(),
        seek,
        any::<[u32; 2]>(),
        "[a-z-]{1,9}",
    )
        .prop_map(|(model, depth, n, seek, queue, scheduler)| Storage {
            model,
            queue_depth: NonZeroU32::new(depth).unwrap(),
            command_ns: n[0],
            write_command_ns: n[1],
            read_bytes_per_s: n[2],
            write_bytes_per_s: n[3],
            rotation_ns: n[4],
            near_bytes: n[5],
            command_interval_ns: n[6],
            own_request_ns: n[7],
            own_kib_ns: n[8],
            seek_min_ns: seek.0.min(seek.1),
            seek_max_ns: seek.0.max(seek.1),
            read_ahead_kb: queue[0],
            nr_requests: queue[1],
            scheduler,
        })
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        machine in "([a-zA-Z0-9=#(][ -~]{0,20}[a-z])?",
        out in (1u64 << 30)..1 << 40,
        root in proptest::option::of(root()),
        first_light in "(init|unit:[a-z.@:-]{1,12}|kmsg:[a-z](.{0,9}[a-z])?|file:/[a-z]{1,9}|listen:[1-9][0-9]{1,3}|accept:/[a-z]{0,9}|http:[1-9][0-9]{1,3}/[a-z?]{0,9}|process:[a-z]{1,20}|after:[0-9]{1,6}(\\.[0-9]{1,9})?)",
        counter_hz in any::<u64>(),
        storage in storage(),
        board in (prop_oneof![Just(0), 0u64..1 << 40], 0u64..1 << 40),
    ) {
        let unmodelled = root.as_ref().is_some_and(|r| !matches!(r.place, Place::Memory(_)));
        let config = AgentConfig {
            machine,
            out_size: out * 512,
            root,
            first_light: FirstLight::parse(&first_light).unwrap(),
            counter_hz: match board.0 {
                0 => counter_hz,
                _ => counter_hz >> 32 | 1,
            },
            storage: Storage {
                model: if unmodelled { Model::None } else { storage.model },
                ..storage
            },
            board: Board {
                counter_at: board.0 * 4,
                out_at: board.1 * 4096,
            },
        };
        let text = config.to_text().unwrap();
        prop_assert_eq!(AgentConfig::parse(&text).unwrap(), config);
    }

    #[test]
    fn no_text_makes_it_panic(text in "(firstlight_agent_config = 1\n)?[ -~\n]{0,200}") {
        let _ = AgentConfig::parse(&text);
    }
}

const SMALL: &str = "firstlight_agent_config = 1\nout_size = 1024\nroot = none\nfirst_light = init\ncounter_hz = 0\n";

#[test]
fn figures_that_are_not_given_are_the_defaults() {
    let config = AgentConfig::parse(SMALL).unwrap();
    assert_eq!(config.storage, Storage::default());
    assert_eq!(config.root, None);
}

#[test]
fn a_bad_line_is_named() {
    for (more, message) in [
        (
            "speed = 3\n",
            "line 6 of the agent's configuration has the unknown key `speed`; remove the line",
        ),
        (
            "root = none\n",
            "line 6 of the agent's configuration repeats `root`; remove one of the lines",
        ),
        (
            "# a comment\n\nquick\n",
            "line 8 of the agent's configuration is `quick`; write `key = value`",
        ),
        (
            "storage.queue_depth = 0\n",
            "line 6 of the agent's configuration: `storage.queue_depth` is `0`; write a whole number above 0",
        ),
        (
            "counter_at = 6\n",
            "line 6 of the agent's configuration: `counter_at` is `6`; write an address, a multiple of 4",
        ),
        // It is mapped: no page begins there.
        (
            "out_at = 2048\n",
            "line 6 of the agent's configuration: `out_at` is `2048`; write an address, a multiple of 4096",
        ),
        (
            "counter_at = 4\n",
            "`counter_at` needs the counter's ticks per second as `counter_hz`, from 1 to 4294967295, not 0",
        ),
        // The figures of a root are no use without one.
        (
            "init = /sbin/init\n",
            "line 6 of the agent's configuration has the unknown key `init`; remove the line",
        ),
    ] {
        let error = AgentConfig::parse(&format!("{SMALL}{more}")).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
    assert!(matches!(
        AgentConfig::parse("out_size = 1024\n"),
        Err(ConfigError::Version { .. })
    ));
    assert_eq!(
        AgentConfig::parse("firstlight_agent_config = 1\n").unwrap_err(),
        ConfigError::Missing { key: "out_size" }
    );
}

#[test]
fn what_could_not_be_read_is_not_written() {
    let good = AgentConfig::parse(SMALL).unwrap();
    let with_root = |size: u64, init: &str, fstype: &str| AgentConfig {
        root: Some(Root {
            place: Place::Memory(size),
            fstype: fstype.into(),
            options: String::new(),
            init: init.into(),
        }),
        ..good.clone()
    };
    assert!(with_root(2048, "/init", "ext4").to_text().is_ok());
    assert!(
        with_root(1024, "/init", "ext4").to_text().is_err(),
        "sizes that are equal"
    );
    assert!(
        with_root(2048, "init", "ext4").to_text().is_err(),
        "a relative path"
    );
    assert!(
        with_root(2048, "/init\nroot = none", "ext4")
            .to_text()
            .is_err(),
        "a line break"
    );
    assert!(
        with_root(2000, "/init", "ext4").to_text().is_err(),
        "half a sector"
    );
    let mut apart = with_root(1024, "/init", "ext4");
    apart.board.out_at = 4096;
    assert!(
        apart.to_text().is_ok(),
        "the payload is found by its address"
    );
    for place in [Place::Device("/dev/mtdblock0".into()), Place::Initramfs] {
        let mut config = with_root(2048, "/init", "ext4");
        config.root.as_mut().unwrap().place = place;
        assert!(config.to_text().is_ok());
        config.storage.model = Model::Flash;
        assert_eq!(config.to_text(), Err(ConfigError::NothingToModel));
    }
    let mut fast = good.clone();
    (fast.board.counter_at, fast.counter_hz) = (4, 1 << 32);
    assert!(
        fast.to_text().is_err(),
        "a register that is full in a second"
    );
    let spaced = AgentConfig {
        machine: " pc".into(),
        ..good
    };
    assert!(spaced.to_text().is_err(), "a space that would be lost");
}
