//! What is noted of a bootchart.

use record::{NoteKind, Severity};

const fn kind(name: &'static str, severity: Severity, advice: &'static str) -> NoteKind {
    NoteKind {
        name,
        severity,
        advice,
    }
}

pub(super) const ARCHIVE_DAMAGED: NoteKind = kind(
    "archive_damaged",
    Severity::DataLoss,
    "the archive is cut or damaged, and what could be unpacked was read; copy it again",
);

pub(super) const ARCHIVE_TOO_LARGE: NoteKind = kind(
    "archive_too_large",
    Severity::DataLoss,
    "the archive unpacks to more than a boot leaves, and was read up to 512 MiB",
);

pub(super) const MEMBER_NOT_READ: NoteKind = kind(
    "member_not_read",
    Severity::Info,
    "the archive holds files that no bootchart has, or empty ones",
);

pub(super) const EMPTY_SAMPLE: NoteKind = kind(
    "empty_sample",
    Severity::Info,
    "these samples hold a time and nothing else: the file could not be read at that moment",
);

pub(super) const QUIET_SAMPLE: NoteKind = kind(
    "quiet_sample",
    Severity::Info,
    "between these samples and the ones before no process used anything",
);

pub(super) const SAMPLE_NOT_UNDERSTOOD: NoteKind = kind(
    "sample_not_understood",
    Severity::DataLoss,
    "nothing in these samples has the form of the kernel's file, so the log is damaged",
);

pub(super) const OUTSIDE_SAMPLES: NoteKind = kind(
    "line_outside_samples",
    Severity::Doubt,
    "these lines belong to no sample, so the log is damaged, or something else wrote into it",
);

pub(super) const CUT_OFF: NoteKind = kind(
    "cut_off",
    Severity::DataLoss,
    "the log ends within a line, and that line was left out; the collector was stopped before it \
     had written all, or the file was cut",
);

pub(super) const UNREADABLE_LINE: NoteKind = kind(
    "unreadable_line",
    Severity::DataLoss,
    "these lines of a sample have another form than the kernel's; the collector's buffer may have \
     run over",
);

pub(super) const STAMP_NOT_LATER: NoteKind = kind(
    "stamp_not_later",
    Severity::Doubt,
    "these samples are not later than the one before, so no rate was computed from them",
);

pub(super) const COUNTER_BACK: NoteKind = kind(
    "counter_went_back",
    Severity::Info,
    "counters of the kernel went backwards (idle and iowait do so now and then), and were taken as \
     standing still",
);

pub(super) const RELATIVE_STAMPS: NoteKind = kind(
    "relative_stamps",
    Severity::Doubt,
    "the stamps do not count from the boot but from when the collector was started by hand, so \
     they cannot be put beside other sources",
);

pub(super) const BIRTHS_MOVED: NoteKind = kind(
    "process_starts_moved",
    Severity::Doubt,
    "the kernel counted the starts of processes from another zero than the samples' stamps; they \
     were moved so that each process began before the first sample that has it",
);

pub(super) const NO_PIDS: NoteKind = kind(
    "accounting_without_pids",
    Severity::DataLoss,
    "process accounting of this version does not say which process it was; it needs \
     CONFIG_BSD_PROCESS_ACCT_V3",
);

pub(super) const BAD_ACCOUNTING: NoteKind = kind(
    "accounting_not_understood",
    Severity::DataLoss,
    "these records of the process accounting are of no version that is known, or are cut",
);

pub(super) const ACCOUNTING_NOT_PLACED: NoteKind = kind(
    "accounting_not_placed",
    Severity::DataLoss,
    "these processes lived between two samples, and the time of day was changed meanwhile, so it \
     is not known when; they are counted only",
);

pub(super) const ONLY_ACCOUNTED: NoteKind = kind(
    "only_accounted",
    Severity::Info,
    "these processes lived between two samples; process accounting knows them, and when they \
     began to the second",
);

pub(super) const BAD_PAIR: NoteKind = kind(
    "line_not_understood",
    Severity::Doubt,
    "these lines have another form than the collector's",
);
