//! Memory: its size, its pages, and what may change it behind a program's back: KSM and a balloon.
//!
//! All of it is this system's own view. A guest does not see whether its host merges pages; only the device by which
//! the host can take memory back shows here.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{chosen, names, number, read};

/// The type of a balloon among virtio devices.
const VIRTIO_BALLOON: &str = "0x0005";

/// Returns the facts below a root folder, which is empty for the machine's own.
pub fn facts(root: &str) -> Value {
    let text = fs::read_to_string(format!("{root}/proc/meminfo")).unwrap_or_default();
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    let bytes = |key: &str| value(key).map(|kib| kib * 1024);
    let mm = format!("{root}/sys/kernel/mm");
    json!({
        "total_bytes": bytes("MemTotal"),
        "available_bytes": bytes("MemAvailable"),
        "swap_bytes": bytes("SwapTotal"),
        "page_bytes": unsafe { libc::sysconf(libc::_SC_PAGESIZE) },
        "thp": chosen(&format!("{mm}/transparent_hugepage/enabled")),
        "thp_defrag": chosen(&format!("{mm}/transparent_hugepage/defrag")),
        "huge_pages": value("HugePages_Total"),
        "huge_page_bytes": bytes("Hugepagesize"),
        "ksm": ksm(&mm),
        "ksm_pages_sharing": number::<u64>(&format!("{mm}/ksm/pages_sharing")),
        "balloon": balloon(root),
    })
}

/// Returns whether the kernel merges equal pages; `None` if it cannot, or does not say.
fn ksm(mm: &str) -> Option<&'static str> {
    match number::<u8>(&format!("{mm}/ksm/run"))? {
        0 => Some("off"),
        1 => Some("on"),
        2 => Some("off, pages unmerged"),
        _ => None,
    }
}

/// Returns the device by which the host can take memory from this guest, `none` if its devices are listed and none of
/// them is one, and `None` if the devices are not listed.
fn balloon(root: &str) -> Option<String> {
    let virtio = format!("{root}/sys/bus/virtio/devices");
    let devices = names(&virtio);
    let of_type = |name: &&String| read(&format!("{virtio}/{name}/device")).as_deref() == Some(VIRTIO_BALLOON);
    if let Some(device) = devices.iter().find(of_type) {
        let driven = Path::new(&format!("{virtio}/{device}/driver")).exists();
        return Some(if driven { "virtio_balloon" } else { "virtio, without a driver" }.to_owned());
    }
    let is_device =
        |name: &String| !matches!(name.as_str(), "bind" | "module" | "new_id" | "remove_id" | "uevent" | "unbind");
    if names(&format!("{root}/sys/bus/vmbus/drivers/hv_balloon")).iter().any(is_device) {
        return Some("hv_balloon".to_owned());
    }
    let vendor = read(&format!("{root}/sys/class/dmi/id/sys_vendor")).unwrap_or_default();
    // Where it is no module, its folder exists on every hypervisor.
    if vendor.starts_with("VMware") && Path::new(&format!("{root}/sys/module/vmw_balloon")).exists() {
        return Some("vmw_balloon".to_owned());
    }
    if !names(&format!("{root}/sys/devices/system/xen_memory")).is_empty() {
        return Some("xen".to_owned());
    }
    (!devices.is_empty()).then(|| "none".to_owned())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// A root folder with some files, which goes with it.
    struct Root(PathBuf);

    impl Root {
        fn new(name: &str, files: &[(&str, &str)]) -> Root {
            let root = std::env::temp_dir().join(format!("cloudcmp-memory-{}-{name}", std::process::id()));
            for (path, text) in files {
                let file = root.join(path);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, text).unwrap();
            }
            fs::create_dir_all(&root).unwrap();
            Root(root)
        }

        fn facts(&self) -> Value {
            facts(self.0.to_str().unwrap())
        }
    }

    impl Drop for Root {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0); // a test's leftover is no fault of what it tests
        }
    }

    #[test]
    fn what_cannot_be_read_is_null() {
        let facts = Root::new("empty", &[]).facts();
        let known: Vec<&String> =
            facts.as_object().unwrap().iter().filter(|(_, value)| !value.is_null()).map(|(key, _)| key).collect();
        assert_eq!(known, ["page_bytes"]);
    }

    #[test]
    fn pages_are_told_as_the_kernel_tells_them() {
        let meminfo = "MemTotal:  4030320 kB\nHugePages_Total:      16\nHugepagesize:       2048 kB\n";
        let facts = Root::new(
            "pages",
            &[
                ("proc/meminfo", meminfo),
                ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
                ("sys/kernel/mm/ksm/run", "1\n"),
                ("sys/kernel/mm/ksm/pages_sharing", "4711\n"),
            ],
        )
        .facts();
        assert_eq!(facts["total_bytes"], 4_030_320_u64 * 1024);
        assert_eq!((&facts["huge_pages"], &facts["huge_page_bytes"]), (&json!(16), &json!(2 << 20)));
        assert_eq!((&facts["thp"], &facts["ksm"]), (&json!("madvise"), &json!("on")));
        assert_eq!(facts["ksm_pages_sharing"], 4711);
        assert_eq!(facts["balloon"], Value::Null);
    }

    #[test]
    fn ksm_has_three_states_and_another_one_says_nothing() {
        for (run, said) in
            [("0", json!("off")), ("2", json!("off, pages unmerged")), ("3", Value::Null), ("x", Value::Null)]
        {
            let root = Root::new(&format!("ksm-{run}"), &[("sys/kernel/mm/ksm/run", run)]);
            assert_eq!(root.facts()["ksm"], said, "{run}");
        }
    }

    #[test]
    fn a_balloon_is_found_by_its_device() {
        let disk = ("sys/bus/virtio/devices/virtio0/device", "0x0002\n");
        let device = ("sys/bus/virtio/devices/virtio1/device", "0x0005\n");
        let driver = ("sys/bus/virtio/devices/virtio1/driver/bind", "");
        let hyper_v = "sys/bus/vmbus/drivers/hv_balloon";
        let (idle, bound) = (format!("{hyper_v}/bind"), format!("{hyper_v}/1eccfd72-4b41-45ef-b73a-4a6e44c12924/id"));
        let module = ("sys/module/vmw_balloon/version", "1");
        let vendor = |name| ("sys/class/dmi/id/sys_vendor", name);
        for (name, files, said) in [
            ("listed", &[disk][..], json!("none")),
            ("driven", &[disk, device, driver], json!("virtio_balloon")),
            ("idle", &[disk, device], json!("virtio, without a driver")),
            ("hyper-v", &[(idle.as_str(), ""), (bound.as_str(), "")], json!("hv_balloon")),
            ("hyper-v-idle", &[(idle.as_str(), "")], Value::Null),
            ("vmware", &[module, vendor("VMware, Inc.")], json!("vmw_balloon")),
            ("elsewhere", &[module, vendor("QEMU")], Value::Null),
            ("xen", &[("sys/devices/system/xen_memory/xen_memory0/target", "1")], json!("xen")),
        ] {
            assert_eq!(Root::new(name, files).facts()["balloon"], said, "{name}");
        }
    }
}
