//! The shell scripts: /bin/sh runs sort, od, grep, tee and wc over a small text, one script at once or eight.
//!
//! A loop starts a shell, which starts `at_once` others with the script and waits for them. The text is our own,
//! because the original's is not available here, so results per minute differ from the original's; the locale is C,
//! whereas the original requests `en_US.utf8`, which many machines do not have. The tools are the machine's own and
//! part of the measurement.

use std::ffi::CString;
use std::fs::{read_to_string, write};
use std::io::Error;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr::null;

use super::calls::wait;
use super::process::{again, alarm, die_with, since};
use super::score::Report;
use crate::clock::now_ns;
use crate::fault::{Fault, OrFault, check};
use crate::rng::Rng;

const SHELL: &str = "/bin/sh";
const TOOLS: [&str; 6] = ["sort", "od", "grep", "tee", "wc", "rm"];
const FOLDERS: [&str; 4] = ["/usr/local/bin", "/usr/bin", "/bin", "/run/current-system/sw/bin"];
const PATHS: &str = "PATH=/usr/local/bin:/usr/bin:/bin:/run/current-system/sw/bin";
const LOCALE: &str = "LC_ALL=C";

const TEXT: &str = "text";
const MANY: (&str, &str) =
    ("many.sh", "i=0\nwhile [ $i -lt $1 ]; do\n  /bin/sh once.sh &\n  i=$((i + 1))\ndone\nwait\n");
const KEEP: &str = "keep.sh";
const ONCE: &str = "once.sh";
/// The work of one script; the shell's own number separates concurrent scripts.
const WORK: &str = "\
sort < text > sorted.$$
od sorted.$$ | sort -n -k 1 > dumped.$$
grep the sorted.$$ | tee found.$$ | wc > counted.$$
";
const REMOVE: &str = "rm sorted.$$ dumped.$$ found.$$ counted.$$\n";
const LINES: usize = 200;

/// Writes the text and the scripts into a folder; a fault if the shell or one of its tools is missing.
pub fn prepare(folder: &Path) -> Result<(), Fault> {
    let can = |path: &Path| {
        let path = CString::new(path.as_os_str().as_bytes()).expect("no NUL in it");
        unsafe { libc::access(path.as_ptr(), libc::X_OK) == 0 }
    };
    let next = "install a shell and the usual tools (coreutils, grep): without these tests UnixBench has no index";
    let found = |tool: &&str| FOLDERS.iter().any(|folder| can(&PathBuf::from(folder).join(tool)));
    if !can(Path::new(SHELL)) {
        return Err(Fault::failed(format!("the shell tests have no {SHELL} here"), next));
    }
    if let Some(missing) = TOOLS.iter().find(|tool| !found(tool)) {
        return Err(Fault::failed(format!("the shell tests have no {missing} here"), next));
    }
    let once = [WORK, REMOVE].concat();
    for (name, content) in [(TEXT, text().as_str()), MANY, (ONCE, once.as_str()), (KEEP, WORK)] {
        write(folder.join(name), content).or_fault(format!("cannot write {name}"), "see that the disk has room")?;
    }
    Ok(())
}

/// Runs loops of `at_once` scripts each; the count is the number of loops.
pub fn run(length_s: f64, at_once: u32) -> Result<Report, Fault> {
    let (number, mut loops) = (at_once.to_string(), 0);
    alarm(length_s)?;
    let start_ns = now_ns();
    while again(loops) {
        shell(&[MANY.0, &number])?;
        loops += 1;
    }
    let report = since(start_ns, loops);
    verify()?;
    Ok(report)
}

/// Runs one of our scripts to its end; returns the process number of its shell.
fn shell(arguments: &[&str]) -> Result<libc::pid_t, Fault> {
    let own = std::process::id();
    let strings = |words: &[&str]| -> Vec<CString> {
        words.iter().map(|word| CString::new(*word).expect("no NUL in it")).collect()
    };
    let (words, environment) = (strings(&[&[SHELL], arguments].concat()), strings(&[PATHS, LOCALE]));
    let pointers = |strings: &[CString]| strings.iter().map(|text| text.as_ptr()).chain([null()]).collect::<Vec<_>>();
    let (words, environment) = (pointers(&words), pointers(&environment));
    match unsafe { libc::fork() } {
        0 => unsafe {
            libc::signal(libc::SIGPIPE, libc::SIG_DFL); // tools end by it
            let silent = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
            if die_with(own).is_ok() && (0..3).all(|fd| libc::dup2(silent, fd) >= 0) {
                libc::execve(words[0], words.as_ptr(), environment.as_ptr());
            }
            libc::_exit(99)
        },
        child => {
            let next = "raise the limit of processes";
            check(child.into()).or_fault(format!("cannot start a shell: {}", Error::last_os_error()), next)?;
            match wait(child)? {
                0 => Ok(child),
                status => Err(Fault::failed(format!("a shell script ended with status {status:#x}"), next)),
            }
        }
    }
}

/// Checks the known answer: runs the script once more, and compares each of its files with our own computation.
fn verify() -> Result<(), Fault> {
    let child = shell(&[KEEP])?;
    let mut files = ["sorted", "dumped", "found", "counted"].map(|name| {
        let name = format!("{name}.{child}");
        let content = read_to_string(&name);
        let _ = std::fs::remove_file(name); // ignored: the folder is removed as well
        content.unwrap_or_default()
    });
    let text = text();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    let whole = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let found = whole(&lines.iter().copied().filter(|line| line.contains("the")).collect::<Vec<_>>());
    let counts = [found.lines().count(), found.split_whitespace().count(), found.len()];
    let counted: Vec<usize> = files[3].split_whitespace().filter_map(|word| word.parse().ok()).collect();
    // A line of od's has 16 bytes; one more marks the end.
    files[1] = files[1].lines().count().to_string();
    let right = files[0] == whole(&lines)
        && files[1] == (text.len().div_ceil(16) + 1).to_string()
        && files[2] == found
        && counted == counts;
    let next = "look at this machine's sort, od, grep, tee and wc";
    if right { Ok(()) } else { Err(Fault::invalid("the shell's tools gave wrong answers", next)) }
}

/// Generates lines of words, the same everywhere; about half of them contain "the".
fn text() -> String {
    const WORDS: [&str; 12] =
        ["the", "cloud", "of", "price", "and", "core", "disk", "wait", "runs", "slower", "again", "measure"];
    let mut random = Rng::new(1, 0);
    let mut word = || WORDS[random.below(WORDS.len() as u64) as usize];
    let line = |number: usize| {
        let words: Vec<&str> = (0..7).map(|_| word()).collect();
        format!("{} {:03}\n", words.join(" "), (number * 37) % LINES)
    };
    (0..LINES).map(line).collect()
}
