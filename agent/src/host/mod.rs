//! Facts of the machine that a result depends on. A fact that cannot be read is null, never guessed.
//!
//! Reads all facts once, before the trial, from small files of /proc and /sys: well under a millisecond each.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::clock;

mod cpu;
mod disk;
mod limits;
mod memory;
mod units;

pub use cpu::last_level_cache_bytes;
pub use disk::file_system;
pub use limits::throttled;
pub use units::multiply_add_bits;

/// Returns the facts, including those of the disk under `dir` if given.
pub fn facts(dir: Option<&Path>) -> Value {
    json!({
        "cpu": cpu::facts(),
        "memory": memory::facts(""),
        "kernel": read("/proc/sys/kernel/osrelease"),
        "os": os_name(),
        "hypervisor": cpu::hypervisor(),
        "machine": machine(),
        "boot_id": read("/proc/sys/kernel/random/boot_id"),
        "clocksource": read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "clocksources": read("/sys/devices/system/clocksource/clocksource0/available_clocksource"),
        "load": first_number("/proc/loadavg"),
        "limits": limits::facts(),
        "pressure": limits::pressure(),
        "steal_s": limits::steal_s(),
        "disk": dir.map(disk::facts),
        "nics": nics(),
        // Last, because it must be the time of the hello: the kernel's own time since boot, including suspends.
        "uptime_s": clock::since_boot_s(),
    })
}

/// Returns the memory available to a new program, bytes.
pub fn available_memory_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib * 1024)
}

/// Returns the total memory this process may use: the machine's, or its control group's limit if that is smaller.
pub fn memory_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let total = line.split_whitespace().next()?.parse::<u64>().ok()? * 1024;
    Some(limits::memory_max_bytes().map_or(total, |limit| limit.min(total)))
}

/// Returns the memory this process could still get without the machine swapping; `None` if the kernel does not state
/// it.
pub fn free_memory_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let free = line.split_whitespace().next()?.parse::<u64>().ok()? * 1024;
    Some(limits::memory_free_bytes().map_or(free, |limit| limit.min(free)))
}

fn os_name() -> Option<String> {
    let text = fs::read_to_string("/etc/os-release").ok()?;
    let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(name.trim_matches('"').to_owned())
}

fn machine() -> Value {
    json!({
        "vendor": read("/sys/class/dmi/id/sys_vendor"),
        "product": read("/sys/class/dmi/id/product_name"),
    })
}

/// Returns the network devices that have a link; excludes loopback and tunnels.
fn nics() -> Value {
    let mut devices = Vec::new();
    for name in names("/sys/class/net") {
        let base = format!("/sys/class/net/{name}");
        if !Path::new(&format!("{base}/device")).exists() {
            continue;
        }
        let driver = fs::read_link(format!("{base}/device/driver")).ok();
        let driver = driver.and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
        // The kernel reports -1 for a virtual device without a speed.
        let speed = number::<i64>(&format!("{base}/speed")).filter(|&mbit| mbit > 0);
        devices.push(json!({
            "name": name,
            "driver": driver,
            "speed_bit_per_s": speed.map(|mbit| mbit * 1_000_000),
            "mtu_bytes": number::<u64>(&format!("{base}/mtu")),
        }));
        if devices.len() == 8 {
            break;
        }
    }
    Value::Array(devices)
}

/// Reads a small file and trims it; `None` if it does not exist or is empty.
fn read(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Reads a small file that contains one number.
fn number<T: std::str::FromStr>(path: &str) -> Option<T> {
    read(path)?.parse().ok()
}

/// Reads the first of the numbers in a small file.
fn first_number(path: &str) -> Option<f64> {
    read(path)?.split_whitespace().next()?.parse().ok().filter(|value: &f64| value.is_finite())
}

/// Reads the word in brackets, which sysfs uses to mark the selected value.
fn chosen(path: &str) -> Option<String> {
    let text = read(path)?;
    match text.split_once('[') {
        Some((_, rest)) => rest.split_once(']').map(|(word, _)| word.to_owned()),
        None => Some(text),
    }
}

/// Returns the names in a directory, sorted; empty if the directory does not exist.
fn names(dir: &str) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_of_this_machine_are_plausible_and_unknown_ones_are_null() {
        let facts = facts(Some(Path::new("/")));
        assert!(facts["cpu"]["online"].as_u64().unwrap() > 0);
        assert!(facts["memory"]["total_bytes"].as_u64().unwrap() > 1 << 20);
        assert!(facts["disk"]["fs"].is_string());
        assert_eq!(read("/proc/no-such-file"), None);
        let text = facts.to_string();
        assert!(text.len() < 16_384, "facts leave room in a 64 KiB line: {}", text.len());
    }
}
