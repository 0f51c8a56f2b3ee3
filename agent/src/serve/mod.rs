//! The end that is looked at: a small HTTP server with pages of stated sizes and the agent's short tasks.
//!
//! On a virtual machine it is the endpoint of wide-area measurements (`/pixel`, `/2mb`, `/bytes/N`, `/cpu`, `/disk`:
//! the tests of Bitcurrent and Webmetrics 2010, as Delgado 2010, figure 4.3, shows them; the tasks are our own). On a
//! platform that runs handlers it is the handler: it listens on the port that the platform names, or speaks the runtime
//! interface of AWS Lambda. Every answer tells of its process, see `instance`.
//!
//! A server on a machine ends with its stdin if that is a pipe, a socket or a terminal, and at its deadline at the
//! latest. It listens on the loopback device unless told otherwise. What could be misused (`/wait`, `/hold`, `/upload`)
//! needs `--limits`, and beyond loopback a token.
//!
//! - `options` flags and environment, `route` what a request asks for, `work` answers, `instance` what they tell
//! - `http` the server, `lambda` the runtime interface

use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::LocalSet;

use crate::fault::Fault;
use crate::service::load::runtime;
use crate::workdir;

mod http;
mod instance;
mod lambda;
mod options;
mod route;
mod work;

use instance::Instance;
use options::{Options, Way};
use work::Server;

pub const VERB: &str = "serve";

/// Serves until the end; returns the exit code.
pub fn main(flags: &[std::ffi::OsString]) -> i32 {
    let started = Instant::now();
    // A flag that is no text is no flag of ours either.
    let flags: Vec<String> = flags.iter().map(|flag| String::from_utf8_lossy(flag.as_bytes()).into_owned()).collect();
    match Options::read(&flags, |name| std::env::var(name).ok()).and_then(|options| serve(options, started)) {
        Ok(()) => 0,
        Err(fault) => {
            let _ = writeln!(std::io::stderr(), "cloudcmp-agent serve: {}; {}", fault.what, fault.next);
            if fault.exit_code == 0 { 1 } else { fault.exit_code }
        }
    }
}

fn serve(options: Options, started: Instant) -> Result<(), Fault> {
    block_ends();
    workdir::sweep(&options.dir);
    let server = Server::new(Instance::new(started)?, options.dir, options.token, options.limits);
    let server = Arc::new(server);
    let until = options.most_s.map(|most_s| started + Duration::from_secs_f64(most_s));
    watch(Arc::clone(&server), until, options.ends_with_stdin);
    let runtime = runtime()?;
    let served = match options.way {
        Way::Listen(at, tls) => {
            let tls = tls.map(|(certificate, key)| http::tls(&certificate, &key)).transpose()?;
            let (listener, address) = http::open(at)?;
            let tasks = server.most_tasks;
            say(&json!({"type": "ready", "addr": address.to_string(), "tls": tls.is_some(), "for_s": options.most_s,
                        "tasks_at_once": tasks, "version": env!("CARGO_PKG_VERSION")}))?;
            LocalSet::new().block_on(&runtime, http::run(listener, server, tls))
        }
        Way::Lambda(at) => LocalSet::new().block_on(&runtime, lambda::run(at, server)),
    };
    workdir::remove_own();
    served
}

/// Writes one line to stdout.
fn say(record: &Value) -> Result<(), Fault> {
    let mut out = std::io::stdout();
    let written = writeln!(out, "{record}").and_then(|()| out.flush());
    written.map_err(|error| Fault::failed(format!("cannot write to stdout: {error}"), "keep it open"))
}

/// The signals that end a server.
fn ends() -> libc::sigset_t {
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
        unsafe { libc::sigaddset(&raw mut set, signal) };
    }
    set
}

/// Leaves the signals that end a server to the thread that waits for them.
fn block_ends() {
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &ends(), std::ptr::null_mut()) };
}

/// Ends the process by a signal, at the deadline or with stdin, and says why.
fn watch(server: Arc<Server>, until: Option<Instant>, stdin: bool) {
    let leave = {
        let server = Arc::clone(&server);
        move |why: &str| -> ! {
            let _ = say(&json!({"type": "end", "why": why, "requests": server.instance.begun()})); // it may be closed
            workdir::remove_own();
            unsafe { libc::_exit(0) }
        }
    };
    let leave = Arc::new(leave);
    let spawn = |wait: Box<dyn FnOnce() -> &'static str + Send>| {
        let leave = Arc::clone(&leave);
        thread::spawn(move || leave(wait()));
    };
    spawn(Box::new(|| {
        let mut signal = 0;
        while unsafe { libc::sigwait(&ends(), &raw mut signal) } != 0 {}
        "signal"
    }));
    if let Some(until) = until {
        spawn(Box::new(move || {
            while let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
                thread::sleep(left);
            }
            "deadline"
        }));
    }
    if stdin {
        spawn(Box::new(|| {
            let mut scrap = [0_u8; 512];
            while unsafe { libc::read(0, scrap.as_mut_ptr().cast(), scrap.len()) } > 0 {}
            "stdin"
        }));
    }
}
