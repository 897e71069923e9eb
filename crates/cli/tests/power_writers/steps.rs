//! What the machine does to its disk, step by step.

/// A step, and what it changes.
pub struct Step {
    /// The folder of the disk that holds its target.
    pub target: &'static str,
    /// The command's words. `DISK` and `IN` are replaced by where the disk and the
    /// inputs are.
    pub words: String,
}

impl Step {
    /// The words with places filled in.
    pub fn at(&self, disk: &str, inputs: &str) -> String {
        self.words.replace("DISK", disk).replace("IN/", inputs)
    }

    /// The writer, such as `treat apply`.
    pub fn writer(&self) -> String {
        let words: Vec<&str> = self.words.split(' ').collect();
        words[..2].join(" ")
    }
}

/// Treatments, each with its target.
const TREATMENTS: [(&str, &str, &str); 12] = [
    ("sys", "DISK/sys", "fstab=/data:+noatime"),
    ("sys", "DISK/sys", "cmdline+=quiet"),
    ("sys", "DISK/sys", "mask=slow.service"),
    ("sys", "DISK/sys", "journald=volatile"),
    ("sys", "DISK/sys", "sysctl=vm.dirty_bytes=524288"),
    ("sys", "DISK/sys", "strip=usr/bin"),
    ("sys", "DISK/sys", "cat-pipes=etc/init.d"),
    ("box", "DISK/box", "start-script=one"),
    ("jffs2", "DISK/jffs2/image", "jffs2=summaries"),
    ("ext", "DISK/ext/image", "ext=no-journal"),
    // Their root is in an image, which `treat` mounts.
    ("img", "DISK/img/root.img", "fstab=/data:+noatime"),
    ("img", "DISK/img/root.img", "mask=slow.service"),
];

/// All steps. They end with what they began with, but for the history.
pub fn steps() -> Vec<Step> {
    let step = |target, words: String| Step { target, words };
    let mut all = Vec::new();
    for (target, path, treatment) in TREATMENTS {
        all.push(step(target, format!("treat apply {treatment} {path}")));
    }
    for (commit, at) in [("a1", 1), ("b2", 2)] {
        let add = format!("history add DISK/history IN/boot.tar.zst --commit {commit} --at {at}");
        all.push(step("history", add));
    }
    for options in ["", " --pad"] {
        let out = "DISK/summarized/image";
        let words = format!("flash summarize IN/rootfs.jffs2 -o {out}{options}");
        all.push(step("summarized", words));
    }
    for delay in [0, 3] {
        let image = "DISK/env/image";
        let words = format!("flash env --set bootdelay={delay} -o {image} {image}");
        all.push(step("env", words));
    }
    for root in ["systemd", "script"] {
        for verb in ["install", "uninstall"] {
            all.push(step(root, format!("prefetch {verb} DISK/{root}")));
        }
    }
    for (commit, at) in [("c3", 3), ("d4", 4)] {
        let add = format!("history add DISK/history IN/boot.tar.zst --commit {commit} --at {at}");
        all.push(step("history", add));
    }
    for (target, path, treatment) in TREATMENTS.iter().rev() {
        all.push(step(target, format!("treat undo {treatment} {path}")));
    }
    all
}

/// What can be treated: the folder of the disk, and the path.
pub fn treated() -> Vec<(&'static str, &'static str)> {
    let mut all: Vec<_> = TREATMENTS.iter().map(|(t, path, _)| (*t, *path)).collect();
    all.dedup();
    all
}
