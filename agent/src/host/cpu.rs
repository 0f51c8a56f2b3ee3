//! The processor: model, flags, cores, caches, NUMA, and the hypervisor.

use std::fs;
use std::io::Read;

use serde_json::{Value, json};

use super::{chosen, names, number, read};
use crate::pin;

const CPUS: &str = "/sys/devices/system/cpu";

pub fn facts() -> Value {
    let info = first_cpus().unwrap_or_default();
    let field = |key: &str| {
        let line = info.lines().find(|line| line.split(':').next().is_some_and(|name| name.trim() == key))?;
        let value = line.split_once(':')?.1.trim();
        (!value.is_empty()).then(|| value.to_owned())
    };
    json!({
        "model": field("model name").or_else(|| field("CPU part")),
        "vendor": field("vendor_id").or_else(|| field("CPU implementer")),
        "family": field("cpu family").or_else(|| field("CPU architecture")),
        "model_number": field("model").or_else(|| field("CPU variant")),
        "stepping": field("stepping").or_else(|| field("CPU revision")),
        "microcode": field("microcode"),
        "flags": field("flags").or_else(|| field("Features")),
        "mhz": field("cpu MHz").and_then(|mhz| mhz.parse::<f64>().ok()).filter(|mhz| mhz.is_finite()),
        "governor": read(&format!("{CPUS}/cpu0/cpufreq/scaling_governor")),
        "smt": read(&format!("{CPUS}/smt/control")),
        "online": online(),
        "allowed": pin::allowed(),
        "cores": groups("core_cpus_list").or_else(|| groups("thread_siblings_list")),
        "sockets": groups("package_cpus_list").or_else(|| groups("core_siblings_list")),
        "numa_nodes": numa_nodes(),
        "caches": caches(),
    })
}

/// Reads the head of /proc/cpuinfo: the kernel generates the rest only on demand, which takes long with many CPUs.
fn first_cpus() -> Option<String> {
    let mut head = Vec::new();
    fs::File::open("/proc/cpuinfo").ok()?.take(16_384).read_to_end(&mut head).ok()?;
    Some(String::from_utf8_lossy(&head).into_owned())
}

fn online() -> Option<usize> {
    Some(cpu_dirs().filter(|dir| read(&format!("{dir}/online")).is_none_or(|on| on == "1")).count()).filter(|&n| n > 0)
}

fn cpu_dirs() -> impl Iterator<Item = String> {
    let is_cpu = |name: &String| name.strip_prefix("cpu").is_some_and(|number| number.parse::<usize>().is_ok());
    names(CPUS).into_iter().filter(is_cpu).map(|name| format!("{CPUS}/{name}"))
}

/// Returns the number of groups of CPUs in a topology file.
fn groups(file: &str) -> Option<usize> {
    let mut lists: Vec<String> = cpu_dirs().filter_map(|dir| read(&format!("{dir}/topology/{file}"))).collect();
    lists.sort();
    lists.dedup();
    Some(lists.len()).filter(|&n| n > 0)
}

fn numa_nodes() -> Option<usize> {
    let is_node = |name: &String| name.strip_prefix("node").is_some_and(|number| number.parse::<usize>().is_ok());
    Some(names("/sys/devices/system/node").into_iter().filter(is_node).count()).filter(|&n| n > 0)
}

/// Returns the caches of the first CPU.
fn caches() -> Value {
    let one = |name: String| {
        let base = format!("{CPUS}/cpu0/cache/{name}");
        let level: u64 = number(&format!("{base}/level"))?;
        Some(json!({
            "level": level,
            "type": read(&format!("{base}/type")),
            "bytes": size_bytes(&read(&format!("{base}/size"))?),
            "line_bytes": number::<u64>(&format!("{base}/coherency_line_size")),
            "shared_cpus": read(&format!("{base}/shared_cpu_list")),
        }))
    };
    let folders = names(&format!("{CPUS}/cpu0/cache")).into_iter().filter(|name| name.starts_with("index"));
    match folders.filter_map(one).collect::<Vec<_>>() {
        caches if caches.is_empty() => Value::Null,
        caches => Value::Array(caches),
    }
}

/// Returns the size of the largest cache that holds data, bytes.
pub fn last_level_cache_bytes() -> Option<u64> {
    let caches = caches();
    let data = caches.as_array()?.iter().filter(|cache| cache["type"] != "Instruction");
    data.filter_map(|cache| cache["bytes"].as_u64()).max()
}

/// Parses a size such as `48K` or `2M`, bytes.
fn size_bytes(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = &text[digits.len()..];
    let factor = match unit {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

/// Returns the hypervisor's name from CPUID, otherwise from sysfs; `None` on bare metal or if neither states it.
pub fn hypervisor() -> Option<String> {
    cpuid_hypervisor().or_else(|| chosen("/sys/hypervisor/type"))
}

#[cfg(target_arch = "x86_64")]
fn cpuid_hypervisor() -> Option<String> {
    use std::arch::x86_64::__cpuid;
    if __cpuid(1).ecx & (1 << 31) == 0 {
        return None;
    }
    let leaf = __cpuid(0x4000_0000);
    let bytes: Vec<u8> = [leaf.ebx, leaf.ecx, leaf.edx].iter().flat_map(|part| part.to_le_bytes()).collect();
    let name: String = bytes.into_iter().filter(u8::is_ascii_graphic).map(char::from).collect();
    (!name.is_empty()).then_some(name)
}

#[cfg(not(target_arch = "x86_64"))]
fn cpuid_hypervisor() -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_sysfs_are_parsed() {
        assert_eq!(size_bytes("48K"), Some(49_152));
        assert_eq!(size_bytes("2M"), Some(2 << 20));
        assert_eq!(size_bytes("512"), Some(512));
        assert_eq!(size_bytes("2T"), None);
        assert_eq!(size_bytes(""), None);
    }
}
