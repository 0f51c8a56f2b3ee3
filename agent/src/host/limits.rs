//! Limits on this process: control groups, pressure, stolen time.

use std::fs;

use serde_json::{Map, Value, json};

use super::{number, read};

pub fn facts() -> Value {
    json!({
        "cpu_quota": cpu_quota(),
        "memory_max_bytes": memory_max_bytes(),
        "cpuset": status_field("Cpus_allowed_list"),
        "locked_bytes": locked_bytes(),
    })
}

/// Returns the files of this name in the folders of this process's groups, from the closest group up to the top.
fn group_files(file: &str, controller: &str) -> Vec<String> {
    let Some(groups) = read("/proc/self/cgroup") else { return Vec::new() };
    let mut result = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(names), Some(path)) = (fields.next(), fields.next(), fields.next()) else { continue };
        let roots: &[&str] = match names {
            "" => &["/sys/fs/cgroup", "/sys/fs/cgroup/unified"],
            _ if names.split(',').any(|name| name == controller) => &["/sys/fs/cgroup"],
            _ => continue,
        };
        for root in roots {
            let root = if names.is_empty() { (*root).to_owned() } else { format!("{root}/{names}") };
            let mut path = path.trim_end_matches('/');
            loop {
                let candidate = format!("{root}{path}/{file}");
                if fs::metadata(&candidate).is_ok() {
                    result.push(candidate);
                }
                let Some((parent, _)) = path.rsplit_once('/') else { break };
                path = parent;
            }
        }
    }
    result
}

/// Returns the number of CPUs that the groups' quotas allow; `None` without a quota.
fn cpu_quota() -> Option<f64> {
    let two = |path: &String| {
        let text = read(path)?;
        let (quota, period) = text.split_once(' ')?;
        Some(quota.parse::<f64>().ok()? / period.parse::<f64>().ok()?)
    };
    let one = |path: &String| {
        let quota = number::<f64>(path)?;
        let period = number::<f64>(&path.replace("cfs_quota_us", "cfs_period_us"))?;
        (quota > 0.0).then_some(quota / period)
    };
    let new = group_files("cpu.max", "cpu").iter().filter_map(two).collect::<Vec<f64>>();
    let old = group_files("cpu.cfs_quota_us", "cpu").iter().filter_map(one).collect::<Vec<f64>>();
    let least = new.into_iter().chain(old).fold(f64::INFINITY, f64::min);
    least.is_finite().then_some(least)
}

/// Returns the smallest memory limit among the groups of this process, bytes; `None` without a limit.
pub fn memory_max_bytes() -> Option<u64> {
    let paths = [group_files("memory.max", "memory"), group_files("memory.limit_in_bytes", "memory")].concat();
    // The old interface writes "no limit" as a number close to 2^63.
    paths.iter().filter_map(|path| number::<u64>(path)).filter(|&bytes| bytes < 1 << 60).min()
}

/// Returns the least free memory among the groups of this process, bytes; file pages that can be dropped count as
/// free.
pub fn memory_free_bytes() -> Option<u64> {
    let files = [
        ("memory.max", "memory.current", "inactive_file "),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "),
    ];
    let free = |path: &String, (limit, usage, key): (&str, &str, &str)| {
        let most = number::<u64>(path).filter(|&bytes| bytes < 1 << 60)?;
        let stat = read(&path.replace(limit, "memory.stat")).unwrap_or_default();
        let cached = stat.lines().find_map(|line| line.strip_prefix(key)?.trim().parse::<u64>().ok()).unwrap_or(0);
        Some((most + cached).saturating_sub(number::<u64>(&path.replace(limit, usage))?))
    };
    let of = |names: (&'static str, &'static str, &'static str)| {
        group_files(names.0, "memory").into_iter().filter_map(move |path| free(&path, names))
    };
    files.into_iter().flat_map(of).min()
}

/// Returns the periods in which group quotas throttled this process, and the time, s; `None` if nothing counts them.
///
/// A group counts all processes in it. Groups of several levels are added up, because each has its own quota.
pub fn throttled() -> Option<(u64, f64)> {
    let one = |path: &String| {
        let text = read(path)?;
        let field = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse::<u64>().ok());
        // The new interface counts microseconds, the old one nanoseconds.
        let new = field("throttled_usec ").map(|us| us as f64 * 1e-6);
        let held_s = new.or_else(|| field("throttled_time ").map(|ns| ns as f64 * 1e-9))?;
        Some((field("nr_throttled ")?, held_s))
    };
    group_files("cpu.stat", "cpu").iter().filter_map(one).reduce(|a, b| (a.0 + b.0, a.1 + b.1))
}

fn status_field(key: &str) -> Option<String> {
    let text = read("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    Some(line.trim().to_owned())
}

/// Returns the memory that may be locked, bytes; `None` without a limit.
fn locked_bytes() -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    let code = unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &mut limit) };
    (code == 0 && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

/// Returns the share of the last ten seconds in which some task waited, by resource.
pub fn pressure() -> Value {
    let mut result = Map::new();
    for resource in ["cpu", "memory", "io"] {
        let some = |text: String| {
            let line = text.lines().find(|line| line.starts_with("some"))?;
            let percent: f64 = line.split_whitespace().find_map(|word| word.strip_prefix("avg10="))?.parse().ok()?;
            Some(percent / 100.0)
        };
        let share = read(&format!("/proc/pressure/{resource}")).and_then(some);
        result.insert(format!("{resource}_share_10s"), json!(share));
    }
    Value::Object(result)
}

/// Returns the CPU time stolen from all CPUs since boot, s.
pub fn steal_s() -> Option<f64> {
    let text = read("/proc/stat")?;
    let ticks: u64 = text.lines().next()?.split_whitespace().nth(8)?.parse().ok()?;
    Some(ticks as f64 / unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as f64)
}
