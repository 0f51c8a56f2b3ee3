//! Finishing time of a user-defined command: one line for a shell, from just before its start until its exit is
//! reaped. The command's output is sent along, for a parser on the controller.
//!
//! Does not measure processes that the line leaves running; they are killed at its end. The time includes the start of
//! the shell and the reading of the output. Setup, warm-up and checks are not timed.
//!
//! With a server, the line runs on the client's machine, while the server may run a line of its own that listens.

mod container;
mod output;
mod pair;
mod program;
mod workspace;

use crate::disturbance;
use crate::fault::Fault;
use crate::probe::{Context, Kind, Metric, Param, Probe, THREADS};
use crate::supervisor::{Done, How};
use crate::targets::Role;
use container::Container;
use workspace::Workspace;

const TEXT: Kind = Kind::Text(8192);
const SHORT_TEXT: Kind = Kind::Text(256);

pub const PROBE: Probe = Probe {
    name: "command",
    roles: &[Role::Solo, Role::Server, Role::Client],
    params: &[
        Param { name: "command", default: "command", kind: Kind::Label },
        Param { name: "run", default: "", kind: TEXT },
        Param { name: "setup", default: "", kind: TEXT },
        Param { name: "warmup", default: "", kind: TEXT },
        Param { name: "check", default: "", kind: TEXT },
        Param { name: "program", default: "", kind: SHORT_TEXT },
        Param { name: "packages", default: "", kind: SHORT_TEXT },
        Param { name: "install", default: "no", kind: Kind::Choice(&["no", "yes"]) },
        Param { name: "image", default: "no", kind: Kind::Choice(&["no", "yes"]) },
        Param { name: "version", default: "", kind: SHORT_TEXT },
        Param { default: "all", ..THREADS },
        Param { name: "limit_s", default: "3600", kind: Kind::Seconds(0.001, 604_800.0) },
        Param { name: "setup_limit_s", default: "600", kind: Kind::Seconds(0.001, 604_800.0) },
        // With a server: its line, and the traffic that both lines make, for the caps.
        Param { name: "serve", default: "", kind: TEXT },
        Param { name: "rate_bytes_per_s", default: "max", kind: Kind::WholeOr(1, 1 << 40, "max") },
        Param { name: "bulk_s", default: "0", kind: Kind::Seconds(0.0, 604_800.0) },
        Param { name: "packet_bytes", default: "0", kind: Kind::Whole(0, 65_507) },
        Param { name: "packets", default: "0", kind: Kind::Whole(0, 1 << 40) },
        Param { name: "spacing_s", default: "0", kind: Kind::Seconds(0.0, 86_400.0) },
    ],
    metrics: &[Metric { name: "command_time_s", unit: "s", params: &["command"] }],
    run,
};

fn run(context: &Context) -> Result<(), Fault> {
    if context.text("run").trim().is_empty() {
        return Err(Fault::bad_job("bad job: command.run is empty", "give it a line for a shell"));
    }
    match context.job.role {
        Role::Server => return pair::serve(context),
        Role::Client => return pair::measure(context),
        _ => {}
    }
    let workspace = Workspace::new(context)?;
    program::prepare(context, &workspace)?;
    workspace.set_up()?;
    let container = Container::load(context, &workspace)?;
    let line = |phase| match &container {
        Some(container) => container.line(context.text(phase)),
        None => context.text(phase).to_owned(),
    };
    let clean = || container.as_ref().map_or(Ok(()), Container::clean);
    if !context.text("warmup").is_empty() {
        let done = workspace.inside(&line("warmup"), workspace.limit(), false)?;
        clean()?;
        must_end_well("warmup", &done)?;
    }
    let text = line("run");
    let used = &context.job.cpus;
    disturbance::wait(context.out, used)?;
    let before = disturbance::counts(used);
    let done = workspace.inside(&text, workspace.limit(), false)?;
    disturbance::counts(used).note_since(&before, context.out)?;
    clean()?;
    output::send(context.out, &done, container.is_none())?;
    must_end_well("run", &done)?;
    check(context, &workspace, &done)?;
    context.sample("command_time_s", done.time_s, done.time_s)
}

/// Runs the user's own check of the run's result.
fn check(context: &Context, workspace: &Workspace, run: &Done) -> Result<(), Fault> {
    if context.text("check").is_empty() {
        return Ok(());
    }
    workspace.keep_output(&run.stdout.bytes)?;
    let done = workspace.inside(context.text("check"), workspace.limit(), true)?;
    match done.how {
        How::Exit(0) => Ok(()),
        How::Overdue => must_end_well("check", &done),
        _ => Err(Fault::invalid(ended("check", &done), "the run's result is wrong by the study's own check")),
    }
}

/// Returns a fault for any end other than exit 0, with the last line of the error output.
fn must_end_well(phase: &str, done: &Done) -> Result<(), Fault> {
    match done.how {
        How::Exit(0) => Ok(()),
        How::Overdue => {
            let late = Fault::failed(format!("{phase} did not end within its limit"), "raise its limit in the study");
            Err(Fault { outcome: crate::fault::Outcome::Timeout, ..late })
        }
        How::Exit(127) => Err(Fault::failed(ended(phase, done), "there is no such program on the machine")),
        How::Exit(_) | How::Signal(_) => Err(Fault::failed(ended(phase, done), "try the line on such a machine")),
    }
}

/// Describes the end of a phase in one line.
fn ended(phase: &str, done: &Done) -> String {
    let how = match done.how {
        How::Exit(code) => format!("{phase} ended with exit {code}"),
        How::Signal(number) => format!("{phase} was killed by signal {number}"),
        How::Overdue => format!("{phase} did not end within its limit"),
    };
    match output::last_line(&done.stderr.bytes) {
        line if line.is_empty() => how,
        line => format!("{how}: {line}"),
    }
}
