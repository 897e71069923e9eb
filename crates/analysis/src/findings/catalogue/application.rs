//! What an application does when it starts.

use super::one;
use crate::findings::view::View;
use crate::findings::{Confidence, Group, Rule};
use crate::findings::{processes, root};

/// Its rules, in the order of ids.
pub(super) const RULES: &[Rule] = &[
    Rule {
        id: "interpreters",
        group: Group::Application,
        title: "Interpreters start before first light",
        about: "Python, Perl, Java and the like compile their libraries first.",
        model: "measured: the time that this boot spent there, of which 40 %",
        risk: "work on the program",
        confidence: Confidence::Low,
        needs: "processes (strace, bootchart, ftrace)",
        treatment: None,
        watch: &[],
        find: |v: &View<'_>| one(processes::interpreters(v)),
    },
    Rule {
        id: "library-misses",
        group: Group::Application,
        title: "Libraries are looked for where they are not",
        about: "The dynamic linker looks in one folder after another.",
        model: "measured: the time that this boot spent there in failed look-ups",
        risk: "an /etc/ld.so.cache that must be kept up to date",
        confidence: Confidence::Medium,
        needs: "system calls (strace)",
        treatment: None,
        watch: &[],
        find: |v: &View<'_>| one(processes::misses(v)),
    },
    Rule {
        id: "many-libraries",
        group: Group::Application,
        title: "A program loads many libraries",
        about: "Each library is found, mapped, relocated and initialised.",
        model: "three times the time of opening them, of which 40 %",
        risk: "another build of the program",
        confidence: Confidence::Low,
        needs: "system calls (strace)",
        treatment: None,
        watch: &[],
        find: |v: &View<'_>| one(processes::libraries(v)),
    },
    Rule {
        id: "unstripped",
        group: Group::Application,
        title: "Programs are not stripped",
        about: "Symbols and debugging data are stored and copied.",
        model: "bytes at 20 MB/s, of which a tenth",
        risk: "no names in traces of faults",
        confidence: Confidence::Low,
        needs: "the root tree (`--image DIR`)",
        treatment: None,
        watch: &[],
        find: |v: &View<'_>| one(root::unstripped(v)),
    },
];
