//! The events that something is made of, and their fields: the only place
//! where the kernel's names for them stand.

use std::borrow::Cow;

/// An event that something is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// A processor goes from one task to another.
    Switch,
    /// A task is about to be made runnable, by the task that runs.
    Waking,
    /// A task was made runnable, perhaps on another processor.
    Wakeup,
    /// A new task was made runnable.
    WakeupNew,
    Fork,
    Exec,
    Exit,
    Rename,
    /// A page came into the page cache.
    CacheAdd,
    /// A page was faulted in.
    CacheFault,
    /// Pages were read by a program.
    CacheGet,
    /// Pages were mapped around a fault.
    CacheMap,
    InitcallLevel,
    InitcallStart,
    InitcallFinish,
    ModuleLoad,
    Console,
    Function,
    GraphEntry,
    GraphExit,
    /// Any system call, by number.
    RawEnter,
    RawExit,
    /// One system call, or the opening of a file: the event's name says which.
    CallEnter,
    CallExit,
    Block(BlockEvent),
}

/// What happens to a block request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockEvent {
    Queue,
    BackMerge,
    FrontMerge,
    Split,
    Insert,
    Issue,
    Requeue,
    Complete,
    /// A bio is done; it may be one of no request.
    BioComplete,
    Remap,
}

/// The fields that something is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    PrevComm,
    PrevPid,
    PrevState,
    NextComm,
    NextPid,
    Comm,
    Pid,
    ParentPid,
    ChildComm,
    ChildPid,
    Filename,
    OldPid,
    NewComm,
    Device,
    Inode,
    Index,
    LastIndex,
    PageOrder,
    /// A place in a file in bytes, as texts give it.
    Offset,
    LastOffset,
    Sector,
    Sectors,
    NewSector,
    Bytes,
    Letters,
    Error,
    OldDevice,
    Level,
    Function,
    Returned,
    Name,
    Message,
    Address,
    CallerAddress,
    Depth,
    CallTime,
    ReturnTime,
    Number,
    ErrorCode,
    /// Whether an interrupt ran, as the head of every event says it.
    Flags,
}

impl Key {
    /// How many keys there are.
    pub(super) const COUNT: usize = Self::Flags as usize + 1;

    /// The key of a field, as the formats of events and their texts name it.
    pub(super) fn named(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"prev_comm" => Self::PrevComm,
            b"prev_pid" => Self::PrevPid,
            b"prev_state" => Self::PrevState,
            b"next_comm" => Self::NextComm,
            b"next_pid" => Self::NextPid,
            b"comm" => Self::Comm,
            b"pid" => Self::Pid,
            b"parent_pid" => Self::ParentPid,
            b"child_comm" => Self::ChildComm,
            b"child_pid" => Self::ChildPid,
            b"filename" => Self::Filename,
            b"old_pid" => Self::OldPid,
            b"newcomm" => Self::NewComm,
            b"dev" | b"s_dev" => Self::Device,
            b"i_ino" | b"ino" => Self::Inode,
            b"index" => Self::Index,
            b"last_index" => Self::LastIndex,
            b"order" => Self::PageOrder,
            b"ofs" => Self::Offset,
            b"sector" => Self::Sector,
            b"nr_sector" => Self::Sectors,
            b"new_sector" => Self::NewSector,
            b"bytes" => Self::Bytes,
            b"rwbs" => Self::Letters,
            b"error" | b"errors" => Self::Error,
            b"old_dev" => Self::OldDevice,
            b"level" => Self::Level,
            b"func" => Self::Function,
            b"ret" => Self::Returned,
            b"name" => Self::Name,
            b"msg" => Self::Message,
            b"ip" => Self::Address,
            b"parent_ip" => Self::CallerAddress,
            b"depth" => Self::Depth,
            b"calltime" => Self::CallTime,
            b"rettime" => Self::ReturnTime,
            b"id" => Self::Number,
            b"error_code" => Self::ErrorCode,
            b"common_flags" => Self::Flags,
            _ => return None,
        })
    }
}

impl Known {
    /// The event of this name. Names stand alone in texts; no two systems have
    /// an event of the same name among these.
    pub(super) fn named(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"sched_switch" => Self::Switch,
            b"sched_waking" => Self::Waking,
            b"sched_wakeup" => Self::Wakeup,
            b"sched_wakeup_new" => Self::WakeupNew,
            b"sched_process_fork" => Self::Fork,
            b"sched_process_exec" => Self::Exec,
            b"sched_process_exit" => Self::Exit,
            b"task_rename" => Self::Rename,
            b"mm_filemap_add_to_page_cache" => Self::CacheAdd,
            b"mm_filemap_fault" => Self::CacheFault,
            b"mm_filemap_get_pages" => Self::CacheGet,
            b"mm_filemap_map_pages" => Self::CacheMap,
            b"initcall_level" => Self::InitcallLevel,
            b"initcall_start" => Self::InitcallStart,
            b"initcall_finish" => Self::InitcallFinish,
            b"module_load" => Self::ModuleLoad,
            b"console" => Self::Console,
            b"function" => Self::Function,
            b"funcgraph_entry" => Self::GraphEntry,
            b"funcgraph_exit" => Self::GraphExit,
            b"sys_enter" => Self::RawEnter,
            b"sys_exit" => Self::RawExit,
            b"block_bio_queue" => Self::Block(BlockEvent::Queue),
            b"block_bio_backmerge" | b"block_rq_merge" => Self::Block(BlockEvent::BackMerge),
            b"block_bio_frontmerge" => Self::Block(BlockEvent::FrontMerge),
            b"block_split" => Self::Block(BlockEvent::Split),
            b"block_rq_insert" => Self::Block(BlockEvent::Insert),
            b"block_rq_issue" => Self::Block(BlockEvent::Issue),
            b"block_rq_requeue" => Self::Block(BlockEvent::Requeue),
            b"block_rq_complete" => Self::Block(BlockEvent::Complete),
            b"block_bio_complete" => Self::Block(BlockEvent::BioComplete),
            b"block_bio_remap" | b"block_rq_remap" => Self::Block(BlockEvent::Remap),
            OPEN => Self::CallEnter,
            OPENED => Self::CallExit,
            _ if name.starts_with(b"sys_enter_") => Self::CallEnter,
            _ if name.starts_with(b"sys_exit_") => Self::CallExit,
            _ => return None,
        })
    }
}

/// The kernel probes that the agent sets where every file is opened (`agent::trace`). The
/// kernel's own events of system calls have no names of files before 6.19.
const OPEN: &[u8] = agent::capture::OPEN.as_bytes();
const OPENED: &[u8] = agent::capture::OPENED.as_bytes();

/// What a call is named of which an event is the beginning or the end: the same for both.
/// `None`: it is of no call.
pub(super) fn call(event: &[u8]) -> Option<Cow<'static, [u8]>> {
    if [OPEN, OPENED].contains(&event) {
        return Some(Cow::Borrowed(b"open"));
    }
    // System calls are called as users know them.
    let prefixes = [&b"sys_enter_"[..], b"sys_exit_"];
    let call = prefixes.iter().find_map(|p| event.strip_prefix(*p))?;
    Some(Cow::Owned([b"sys_", call].concat()))
}

/// The fields of one event, wherever they came from.
pub(super) trait Values {
    /// A number.
    fn number(&self, key: Key) -> Option<u64>;

    /// A text.
    fn text(&self, key: Key) -> Option<&[u8]>;

    /// A number that may be negative.
    fn signed(&self, key: Key) -> Option<i64> {
        self.number(key).map(u64::cast_signed)
    }

    /// A process id; the kernel has them below 2^22.
    fn pid(&self, key: Key) -> Option<u32> {
        self.number(key).and_then(|n| u32::try_from(n).ok())
    }
}
