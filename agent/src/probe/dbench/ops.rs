//! The operations of a loadfile: their names, and their possible ends.

/// An operation, named as in a loadfile; the report names it in lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    NtCreateX,
    Close,
    Rename,
    Unlink,
    Deltree,
    Mkdir,
    Rmdir,
    QPathInfo,
    QFileInfo,
    QFsInfo,
    SFileInfo,
    Find,
    WriteX,
    ReadX,
    LockX,
    UnlockX,
    Flush,
}

/// In the order of `Kind`: the name in a loadfile, and the value of the parameter `op`.
pub const KINDS: [(Kind, &str, &str); 17] = [
    (Kind::NtCreateX, "NTCreateX", "ntcreatex"),
    (Kind::Close, "Close", "close"),
    (Kind::Rename, "Rename", "rename"),
    (Kind::Unlink, "Unlink", "unlink"),
    (Kind::Deltree, "Deltree", "deltree"),
    (Kind::Mkdir, "Mkdir", "mkdir"),
    (Kind::Rmdir, "Rmdir", "rmdir"),
    (Kind::QPathInfo, "QUERY_PATH_INFORMATION", "qpathinfo"),
    (Kind::QFileInfo, "QUERY_FILE_INFORMATION", "qfileinfo"),
    (Kind::QFsInfo, "QUERY_FS_INFORMATION", "qfsinfo"),
    (Kind::SFileInfo, "SET_FILE_INFORMATION", "sfileinfo"),
    (Kind::Find, "FIND_FIRST", "find"),
    (Kind::WriteX, "WriteX", "writex"),
    (Kind::ReadX, "ReadX", "readx"),
    (Kind::LockX, "LockX", "lockx"),
    (Kind::UnlockX, "UnlockX", "unlockx"),
    (Kind::Flush, "Flush", "flush"),
];

/// The expected end of an operation, as stated in a loadfile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    Ok,
    Fails,
    Any,
}
