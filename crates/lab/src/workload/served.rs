//! A block device for a script: one of its images, as slow as a storage profile.
//!
//! The agent serves the image to the kernel's network block device, as it serves
//! the root of a trial.

use crate::artifacts::{Arch, agent_program};
use crate::cpio::Archive;
use crate::error::LabError;
use crate::pace::Pace;
use crate::profiles::{named, served_profile};
use agent::config::{AgentConfig, Board, FirstLight, PATH, Place, Root, SECTOR_BYTES};

/// The modules that serving takes, before all others.
pub const MODULE: &str = "nbd nbds_max=1 max_part=0";

/// `serve PROFILE IMAGE` makes `/dev/nbd0` of a copy of an image, and `unserve`
/// ends it.
pub const SERVE: &str = r#"
serve() {
    cp /storage/$1/$2/agent.conf /firstlight/agent.conf
    cp /img/$2 /tmp/served || fail copy
    @firstlight-storage /tmp/served &
    SERVER=$!
    until [ -e /sys/block/nbd0/pid ]; do usleep 1000; done
    . /storage/$1/queue
    usleep 50000
}
unserve() {
    kill -9 $SERVER
    wait $SERVER 2>/dev/null
    while [ -e /sys/block/nbd0/pid ]; do usleep 1000; done
    rm /tmp/served
}
"#;

/// `timed NAME COMMAND...` runs a command that mounts something or loads a module,
/// and says in the log how long the kernel took for it and what `/dev/nbd0` did:
/// `firstlight-timed NAME ns=N reads=N sectors=N writes=N written=N`. The time is
/// that of the system calls alone, by the kernel's trace. Busybox takes numbers with
/// a zero in front for octal ones: so a one is put before the microseconds.
pub const TIMED: &str = r#"
T=/sys/kernel/tracing
mount -t tracefs tracefs $T || fail tracefs
for e in mount init_module finit_module; do
    echo 1 >$T/events/syscalls/sys_enter_$e/enable
    echo 1 >$T/events/syscalls/sys_exit_$e/enable
done
echo mono >$T/trace_clock
timed() {
    name=$1; shift
    S=/sys/block/nbd0/stat
    [ -e $S ] || S=/tmp/no-stat
    echo 0 0 0 0 0 0 0 0 >/tmp/no-stat
    sync
    echo 3 >/proc/sys/vm/drop_caches
    usleep 50000
    read r0 x s0 x w0 x t0 x <$S
    echo >$T/trace
    "$@" || fail $name
    read r1 x s1 x w1 x t1 x <$S
    us=$(awk '/ sys_/ {
        for (i = 1; i <= NF; i++) if ($i ~ /^[0-9]+\.[0-9]+:$/) {
            split($i, a, /[.:]/); t = a[1] * 1000000 + (1 a[2]) - 1000000 }
        if ($0 ~ / -> /) { if (begin) sum += t - begin; begin = 0 } else begin = t }
        END { printf "%d", sum }' $T/trace)
    echo "<1>firstlight-timed $name ns=${us}000 reads=$((r1-r0)) sectors=$((s1-s0)) writes=$((w1-w0)) written=$((t1-t0))" >/dev/kmsg
}
"#;

/// Puts into `archive` what the functions need: the agent, and for each profile
/// and each image (a name, and its size in bytes) a configuration.
pub fn add(
    archive: &mut Archive,
    (arch, pace): (Arch, Pace),
    profiles: &[String],
    images: &[(String, u64)],
    say: &mut dyn FnMut(String),
) -> Result<(), LabError> {
    let agent = agent_program(arch, say)?;
    archive.file("bin/@firstlight-storage", 0o755, &agent);
    archive.folder("firstlight");
    archive.folder("storage");
    debug_assert!(PATH.starts_with("/firstlight/"));
    for given in profiles {
        let profile = served_profile(named(given)?, arch, pace);
        // That of a file is served by its own name: the file's has slashes in it.
        let name = &profile.name;
        if let Some(words) = storage::not_given_back(&profile.name, &profile.storage) {
            say(words);
        }
        archive.folder(&format!("storage/{name}"));
        let s = &profile.storage;
        let queue = format!(
            "Q=/sys/block/nbd0/queue\necho {} >$Q/scheduler\necho {} >$Q/nr_requests\n\
             echo {} >$Q/read_ahead_kb\necho 512 >$Q/max_sectors_kb\n\
             echo {} >$Q/rotational\n",
            s.scheduler,
            s.nr_requests,
            s.read_ahead_kb,
            u8::from(s.turns())
        );
        archive.file(&format!("storage/{name}/queue"), 0o644, queue.as_bytes());
        for (image, bytes) in images {
            let config = AgentConfig {
                machine: "workload".into(),
                out_size: SECTOR_BYTES,
                root: Some(Root {
                    place: Place::Memory(bytes.next_multiple_of(SECTOR_BYTES)),
                    fstype: "none".into(),
                    options: "ro".into(),
                    init: "/init".into(),
                }),
                first_light: FirstLight::Init,
                counter_hz: 0,
                storage: s.clone(),
                board: Board::default(),
            };
            let folder = format!("storage/{name}/{image}");
            archive.folder(&folder);
            let text = config.to_text()?;
            archive.file(&format!("{folder}/agent.conf"), 0o644, text.as_bytes());
        }
    }
    Ok(())
}
