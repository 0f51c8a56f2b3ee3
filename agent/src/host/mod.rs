//! Facts of the machine that a result depends on. What can not be read is null, never made up.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

/// The facts, with those of the disk under `dir` if one is named.
pub fn facts(_dir: Option<&Path>) -> Value {
    let mut facts = Map::new();
    facts.insert("kernel".into(), read("/proc/sys/kernel/osrelease").map_or(Value::Null, Value::from));
    json!(facts)
}

/// The type of the file system that holds `dir`.
pub fn file_system(_dir: &Path) -> Option<String> {
    None
}

/// A small file, trimmed; `None` when it is not there or empty.
fn read(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}
