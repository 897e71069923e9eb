//! What is noted of a bootchart.

use record::{NoteKind, Severity};

pub(super) const ARCHIVE_DAMAGED: NoteKind = NoteKind::new(
    "archive_damaged",
    Severity::DataLoss,
    "the archive is cut or damaged, and what could be unpacked was read; copy it again",
);

pub(super) const ARCHIVE_TOO_LARGE: NoteKind = NoteKind::new(
    "archive_too_large",
    Severity::DataLoss,
    "the archive unpacks to more than a boot leaves, and was read up to 512 MiB",
);

pub(super) const MEMBER_NOT_READ: NoteKind = NoteKind::new(
    "member_not_read",
    Severity::Info,
    "the archive holds files that no bootchart has, or empty ones",
);

pub(super) const EMPTY_SAMPLE: NoteKind = NoteKind::new(
    "empty_sample",
    Severity::Info,
    "these samples hold a time and nothing else: the file could not be read at that moment",
);

pub(super) const QUIET_SAMPLE: NoteKind = NoteKind::new(
    "quiet_sample",
    Severity::Info,
    "between these samples and the ones before no process used anything",
);

pub(super) const SAMPLE_NOT_UNDERSTOOD: NoteKind = NoteKind::new(
    "sample_not_understood",
    Severity::DataLoss,
    "nothing in these samples has the form of the kernel's file, so the log is damaged",
);

pub(super) const OUTSIDE_SAMPLES: NoteKind = NoteKind::new(
    "line_outside_samples",
    Severity::Doubt,
    "these lines belong to no sample, so the log is damaged, or something else wrote into it",
);

pub(super) const CUT_OFF: NoteKind = NoteKind::new(
    "cut_off",
    Severity::DataLoss,
    "the log ends within a line, and that line was left out; the collector was stopped before it \
     had written all, or the file was cut",
);

pub(super) const UNREADABLE_LINE: NoteKind = NoteKind::new(
    "unreadable_line",
    Severity::DataLoss,
    "these lines of a sample have another form than the kernel's; the collector's buffer may have \
     run over",
);

pub(super) const STAMP_NOT_LATER: NoteKind = NoteKind::new(
    "stamp_not_later",
    Severity::Doubt,
    "these samples are not later than the one before, so no rate was computed from them",
);

pub(super) const COUNTER_BACK: NoteKind = NoteKind::new(
    "counter_went_back",
    Severity::Info,
    "counters of the kernel went backwards (idle and iowait do so now and then), and were taken as \
     standing still",
);

pub(super) const RELATIVE_STAMPS: NoteKind = NoteKind::new(
    "relative_stamps",
    Severity::Doubt,
    "the stamps do not count from the boot but from when the collector was started by hand, so \
     they cannot be put beside other sources",
);

pub(super) const BIRTHS_MOVED: NoteKind = NoteKind::new(
    "process_starts_moved",
    Severity::Doubt,
    "the kernel counted the starts of processes from another zero than the samples' stamps; they \
     were moved so that each process began before the first sample that has it",
);

pub(super) const NO_PIDS: NoteKind = NoteKind::new(
    "accounting_without_pids",
    Severity::DataLoss,
    "process accounting of this version does not say which process it was; it needs \
     CONFIG_BSD_PROCESS_ACCT_V3",
);

pub(super) const BAD_ACCOUNTING: NoteKind = NoteKind::new(
    "accounting_not_understood",
    Severity::DataLoss,
    "these records of the process accounting are of no version that is known, or are cut",
);

pub(super) const ACCOUNTING_NOT_PLACED: NoteKind = NoteKind::new(
    "accounting_not_placed",
    Severity::DataLoss,
    "these processes lived between two samples, and the time of day was changed meanwhile, so it \
     is not known when; they are counted only",
);

pub(super) const ONLY_ACCOUNTED: NoteKind = NoteKind::new(
    "only_accounted",
    Severity::Info,
    "these processes lived between two samples; process accounting knows them, and when they \
     began to the second",
);

pub(super) const BAD_PAIR: NoteKind = NoteKind::new(
    "line_not_understood",
    Severity::Doubt,
    "these lines have another form than the collector's",
);
