//! The CPUs on which a thread may run.

use crate::fault::{Fault, OrFault, check};

/// Restricts the calling thread to these CPUs.
pub fn to(cpus: &[usize]) -> Result<(), Fault> {
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for &cpu in cpus {
        unsafe { libc::CPU_SET(cpu, &mut set) };
    }
    let code = unsafe { libc::sched_setaffinity(0, size_of_val(&set), &set) };
    check(code.into()).or_fault(format!("cannot run on CPUs {cpus:?}"), "name CPUs that this process may use")?;
    Ok(())
}

/// Returns the CPUs on which the calling thread may run.
pub fn allowed() -> Vec<usize> {
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    if unsafe { libc::sched_getaffinity(0, size_of_val(&set), &mut set) } < 0 {
        return Vec::new();
    }
    (0..libc::CPU_SETSIZE as usize).filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) }).collect()
}
