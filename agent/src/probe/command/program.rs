//! The program that a line needs: checks for it, installs it only if the study allows this, and notes its version.

use super::workspace::Workspace;
use super::{ended, output};
use crate::fault::Fault;
use crate::probe::Context;
use crate::supervisor::How;

/// Ensures that the program exists; if allowed, installs it with the distribution's package manager.
pub fn prepare(context: &Context, workspace: &Workspace) -> Result<(), Fault> {
    let program = context.text("program");
    if program.is_empty() {
        return Ok(());
    }
    let plain = |text: &str, also: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || also.contains(c));
    if !plain(program, "-_.+") || !plain(context.text("packages"), "-_.+= ") {
        return Err(Fault::bad_job("bad job: command.program or command.packages is no plain word", "see --probes"));
    }
    let there = |workspace: &Workspace| -> Result<bool, Fault> {
        let done = workspace.inside(&format!("command -v {program}"), workspace.limit(), false)?;
        Ok(done.how == How::Exit(0))
    };
    if !there(workspace)? {
        install(context, workspace, program)?;
        if !there(workspace)? {
            return Err(Fault::failed(format!("{program} is not in its package"), "install it on the image"));
        }
    }
    version(context, workspace)
}

fn install(context: &Context, workspace: &Workspace, program: &str) -> Result<(), Fault> {
    let packages = context.text("packages");
    let first = packages.split_whitespace().next().and_then(|pair| pair.split_once('=')).map_or("it", |pair| pair.1);
    if context.text("install") != "yes" {
        let next = format!("write install: true, or install {first}");
        return Err(Fault::failed(format!("{program} is not installed"), next));
    }
    let done = workspace.inside(&script(packages), workspace.setup_limit(), false)?;
    match done.how {
        How::Exit(0) => context.out.note("installed", program),
        _ => Err(Fault::failed(format!("{program}: {}", ended("installing", &done)), "install it on the image")),
    }
}

/// A new machine often updates itself first and holds the locks meanwhile; retry while they are held.
const APT_UPDATE: &str = "for _ in 1 2 3 4 5 6; do as_root apt-get -q update && break; sleep 5; done";
const APT_INSTALL: &str = "as_root apt-get -qy -o DPkg::Lock::Timeout=300 --no-install-recommends install";

/// Returns a script that installs as root, directly or without a password, with the first package manager found.
fn script(packages: &str) -> String {
    let of = |manager: &str| {
        let named =
            |pair: &str| pair.split_once('=').filter(|(key, _)| *key == manager).map(|(_, name)| name.to_owned());
        packages.split_whitespace().find_map(named)
    };
    let mut script = String::from(
        "export DEBIAN_FRONTEND=noninteractive\n\
         as_root() { if [ \"$(id -u)\" = 0 ]; then \"$@\"; else sudo -n \"$@\"; fi; }\n",
    );
    for (manager, ways) in [
        ("apt-get", &[APT_UPDATE, APT_INSTALL][..]),
        ("dnf", &["as_root dnf -qy install"]),
        ("apk", &["as_root apk add --no-progress"]),
    ] {
        if let Some(name) = of(manager) {
            let (last, first) = ways.split_last().expect("a way for each manager");
            let before: String = first.iter().map(|way| format!("{way}; ")).collect();
            script.push_str(&format!(
                "if command -v {manager} >/dev/null; then {before}{last} {name} >&2; exit $?; fi\n"
            ));
        }
    }
    script.push_str("echo 'no package manager here has it' >&2; exit 1\n");
    script
}

fn version(context: &Context, workspace: &Workspace) -> Result<(), Fault> {
    let line = context.text("version");
    if line.is_empty() {
        return Ok(());
    }
    let done = workspace.inside(line, workspace.limit(), false)?;
    match output::first_line(&done.stdout.bytes) {
        first if first.is_empty() => Ok(()),
        first => context.out.note("tool_version", first),
    }
}

#[cfg(test)]
mod tests {
    use super::script;

    #[test]
    fn only_managers_with_a_package_are_used() {
        let text = script("apt-get=fio apk=fio");
        assert!(text.contains("--no-install-recommends install fio") && text.contains("apk add"));
        assert!(text.contains("Lock::Timeout"), "a machine that updates itself holds the lock");
        assert!(!text.contains("dnf"));
    }
}
