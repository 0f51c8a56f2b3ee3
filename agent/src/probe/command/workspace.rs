//! The folders of a command: a folder of files that lasts as long as its launch, and an empty one for each run.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::{must_end_well, output};
use crate::fault::{Fault, OrFault};
use crate::probe::Context;
use crate::supervisor::{self, Done, Line};
use crate::workdir::Workdir;

const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// The only variable passed on from our environment: the cleanup of a lease finds the lease's processes by it.
const LEASE: &str = "CLOUDCMP_LEASE";
const NEXT: &str = "see the disk and its permissions";

pub struct Workspace<'a> {
    context: &'a Context<'a>,
    files: PathBuf,
    marker: PathBuf,
    work: Workdir,
}

impl<'a> Workspace<'a> {
    /// Creates the folders; uploaded files are already in theirs.
    pub fn new(context: &'a Context<'a>) -> Result<Workspace<'a>, Fault> {
        let (dir, name) = (context.dir()?, context.text("command"));
        // A relative path would mean another directory inside the command's own folder.
        let dir = dir.canonicalize().or_fault(format!("{}", dir.display()), NEXT)?;
        let files = dir.join("files").join(name);
        let making = || format!("cannot make {}", files.display());
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&files).or_fault(making(), NEXT)?;
        let work = Workdir::new(&dir)?;
        fs::create_dir(work.path().join("run")).or_fault(making(), NEXT)?;
        let marker = dir.join("files").join(format!(".set-up-{name}"));
        Ok(Workspace { context, files, marker, work })
    }

    pub fn limit(&self) -> Duration {
        Duration::from_secs_f64(self.context.seconds("limit_s"))
    }

    pub fn setup_limit(&self) -> Duration {
        Duration::from_secs_f64(self.context.seconds("setup_limit_s"))
    }

    /// Runs the setup in the folder of files, once per launch; its results there stay for the runs.
    pub fn set_up(&self) -> Result<(), Fault> {
        let setup = self.context.text("setup");
        let digest: String = Sha256::digest(setup).iter().map(|byte| format!("{byte:02x}")).collect();
        if setup.is_empty() || fs::read_to_string(&self.marker).is_ok_and(|done| done == digest) {
            return Ok(());
        }
        let done = self.shell(setup, &self.files, self.setup_limit(), Vec::new())?;
        must_end_well("setup", &done)?;
        self.context.out.note("setup_s", crate::wire::finite(done.time_s))?;
        fs::write(&self.marker, digest).or_fault("cannot mark the setup as done", NEXT)
    }

    /// Runs a line in the folder of this run.
    pub fn inside(&self, line: &str, limit: Duration, checking: bool) -> Result<Done, Fault> {
        let more = checking.then(|| ("CLOUDCMP_OUTPUT", self.output().into()));
        self.shell(line, &self.run_dir(), limit, more.into_iter().collect())
    }

    /// Runs a line in the folder of this run, with more variables in its environment.
    pub fn inside_with(&self, line: &str, more: Vec<(&'static str, OsString)>) -> Result<Done, Fault> {
        self.shell(line, &self.run_dir(), self.limit(), more)
    }

    pub fn run_dir(&self) -> PathBuf {
        self.work.path().join("run")
    }

    pub fn files(&self) -> &Path {
        &self.files
    }

    /// Writes the run's output to the place where its check reads it.
    pub fn keep_output(&self, bytes: &[u8]) -> Result<(), Fault> {
        fs::write(self.output(), bytes).or_fault("cannot keep the output for the check", NEXT)
    }

    fn output(&self) -> PathBuf {
        self.work.path().join("stdout")
    }

    fn shell(
        &self,
        text: &str,
        dir: &Path,
        limit: Duration,
        more: Vec<(&'static str, OsString)>,
    ) -> Result<Done, Fault> {
        let mut environ: Vec<(&'static str, OsString)> = vec![
            ("PATH", PATH.into()),
            ("HOME", self.run_dir().into()),
            ("LANG", "C.UTF-8".into()),
            ("CLOUDCMP_FILES", self.files.clone().into()),
            ("CLOUDCMP_THREADS", self.context.threads().to_string().into()),
            ("CLOUDCMP_SEED", self.context.job.seed.to_string().into()),
        ];
        environ.extend(more);
        environ.extend(std::env::var_os(LEASE).map(|token| (LEASE, token)));
        let (stdout_bytes, stderr_bytes) = (output::STDOUT_BYTES, output::STDERR_BYTES);
        supervisor::run(&Line { dir, text, environ: &environ, limit, stdout_bytes, stderr_bytes })
    }
}
