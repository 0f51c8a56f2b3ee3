//! The disk and the file system under a directory.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde_json::{Value, json};

use super::{chosen, number, read};

pub fn facts(dir: &Path) -> Value {
    let mount = Mount::of(dir);
    let device = device_folder(dir);
    let queue = |file: &str| device.as_ref().map(|device| format!("{device}/queue/{file}"));
    let flag = |file: &str| queue(file).and_then(|path| number::<u8>(&path)).map(|flag| flag == 1);
    json!({
        "fs": mount.as_ref().map(|mount| mount.kind.clone()),
        "source": mount.as_ref().map(|mount| mount.source.clone()),
        "options": mount.map(|mount| mount.options),
        "free_bytes": crate::scratch::free_bytes(dir).ok(),
        "device": device.as_ref().and_then(|path| path.rsplit('/').next()),
        "model": device.as_ref().and_then(|device| read(&format!("{device}/device/model"))),
        "bytes": device.as_ref().and_then(|device| number::<u64>(&format!("{device}/size"))).map(|n| n * 512),
        "rotational": flag("rotational"),
        "write_cache": queue("write_cache").and_then(|path| read(&path)),
        "scheduler": queue("scheduler").and_then(|path| chosen(&path)),
        "block_bytes": queue("logical_block_size").and_then(|path| number::<u64>(&path)),
        "queue_requests": queue("nr_requests").and_then(|path| number::<u64>(&path)),
    })
}

/// Returns the type of the file system that holds `dir`.
pub fn file_system(dir: &Path) -> Option<String> {
    Mount::of(dir).map(|mount| mount.kind)
}

struct Mount {
    kind: String,
    source: String,
    options: String,
}

impl Mount {
    /// Finds the mount that holds `dir`: the longest mount point above it; of several at the same place, the last one.
    fn of(dir: &Path) -> Option<Mount> {
        let dir = fs::canonicalize(dir).ok()?;
        let table = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let above = table.lines().filter(|line| point(line).is_some_and(|point| dir.starts_with(point)));
        let line = above.max_by_key(|line| point(line).map(|point| point.len()))?;
        let mut after = line.split_once(" - ")?.1.split_whitespace();
        Some(Mount { kind: after.next()?.into(), source: after.next()?.into(), options: after.next()?.into() })
    }
}

/// Parses the mount point in a line; the kernel writes blanks and backslashes as octal escapes.
fn point(line: &str) -> Option<String> {
    let text = line.split_whitespace().nth(4)?;
    Some(text.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\"))
}

/// Returns the sysfs folder of the whole device under `dir`; `None` if no block device is known.
fn device_folder(dir: &Path) -> Option<String> {
    let device = fs::metadata(dir).ok()?.dev();
    let link = format!("/sys/dev/block/{}:{}", libc::major(device), libc::minor(device));
    let mut folder = fs::canonicalize(link).ok()?;
    if folder.join("partition").exists() {
        folder = folder.parent()?.to_owned();
    }
    Some(folder.to_string_lossy().into_owned())
}
