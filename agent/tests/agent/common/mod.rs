//! Drives the real agent, and checks every frame of its stream strictly.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

pub mod bad_service;
pub mod group;
pub mod store;

pub const SECRET: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

/// An empty folder that is removed on drop.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("{name}-{}-{}", std::process::id(), NEXT.fetch_add(1, Relaxed));
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub fn files(&self) -> usize {
        std::fs::read_dir(&self.0).unwrap().count()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

/// Returns the path of the agent to test: the one that the environment names, else the one that cargo has just built.
pub fn agent_path() -> String {
    let named = std::env::var("CLOUDCMP_AGENT").ok();
    named
        .or_else(|| option_env!("CARGO_BIN_EXE_cloudcmp-agent").map(String::from))
        .expect("CLOUDCMP_AGENT names the agent to test")
}

/// Returns the first CPUs that this test may use, at most two.
pub fn cpus() -> Vec<usize> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    let range = |part: &str| {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        low.trim().parse::<usize>().unwrap()..=high.trim().parse().unwrap()
    };
    list.split(',').flat_map(range).take(2).collect()
}

pub fn job(probe: &str, params: &[(&str, &str)]) -> Value {
    let params: Map<String, Value> = params.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    json!({
        "v": 2, "seq": 0, "type": "job", "probe": probe, "params": params, "role": "solo", "cpus": cpus(),
        "dir": null, "listen": null, "targets": [], "secret": null, "deadline_s": 30.0, "seed": 7
    })
}

/// Turns a job into one that listens at an address and admits one agent of role `other` from each address in `admits`.
pub fn listening(mut job: Value, role: &str, at: &str, (other, admits): (&str, &[&str])) -> Value {
    (job["role"], job["listen"], job["secret"]) = (role.into(), at.into(), SECRET.into());
    job["targets"] = admits.iter().map(|address| json!({"role": other, "address": address})).collect();
    job
}

/// Turns a job into a server's job, for a client on this machine.
pub fn server_of(job: Value) -> Value {
    listening(job, "server", "127.0.0.1:0", ("client", &["127.0.0.1"]))
}

/// Turns a job into a client's job.
pub fn client_of(mut job: Value, address: &str) -> Value {
    (job["role"], job["secret"]) = ("client".into(), SECRET.into());
    job["targets"] = json!([{"role": "server", "address": address}]);
    job
}

/// A running agent. Dropping `child.stdin` looks to it like a lost controller.
pub struct Agent {
    pub child: Child,
    pub stdout: BufReader<ChildStdout>,
    pub heard: Vec<u8>,
}

impl Agent {
    pub fn start(line: &[u8]) -> Agent {
        Agent::start_by(Command::new("env"), line)
    }

    /// Starts the agent as the last argument of a command that executes it.
    pub fn start_by(mut command: Command, line: &[u8]) -> Agent {
        command.arg(agent_path());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.as_mut().unwrap().write_all(line).unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Agent { child, stdout, heard: Vec::new() }
    }

    pub fn run(job: &Value) -> Agent {
        Agent::start(format!("{job}\n").as_bytes())
    }

    /// Returns the next frame.
    pub fn frame(&mut self) -> Value {
        let from = self.heard.len();
        self.stdout.read_until(b'\n', &mut self.heard).unwrap();
        serde_json::from_slice(&self.heard[from..]).unwrap()
    }

    /// Reads until the agent ends; returns the exit code and the stream.
    pub fn end(mut self) -> (i32, Stream) {
        self.stdout.read_to_end(&mut self.heard).unwrap();
        let code = self.child.wait().unwrap().code().unwrap();
        (code, decode(&self.heard).unwrap_or_else(|fault| panic!("{fault}\n{}", String::from_utf8_lossy(&self.heard))))
    }
}

/// Runs a job, which must end as ok.
pub fn measure(job: &Value) -> Stream {
    let (code, stream) = Agent::run(job).end();
    assert_eq!((code, stream.outcome.as_str()), (0, "ok"), "{:#?}", stream.frames);
    stream
}

/// Checks up to four times: a machine that is busy or stands still spoils one run, not all of them.
pub fn tries(check: impl Fn() -> Result<(), String>) {
    let wrong: Vec<_> = (0..4).map_while(|_| check().err()).collect();
    assert!(wrong.len() < 4, "{wrong:#?}");
}

/// Whether what was found is what was planted, within a share of that.
pub fn near(found: f64, planted: f64, share: f64) -> bool {
    (found / planted - 1.0).abs() < share
}

/// Runs a server and a client of a probe, which must end as ok; returns the client's stream and the server's.
pub fn measure_pair(probe: &str, params: &[(&str, &str)]) -> (Stream, Stream) {
    let mut server = serve(probe, params);
    let address = server.frame()["addr"].as_str().unwrap().to_owned();
    let client = measure(&client_of(job(probe, params), &address));
    let (code, server) = server.end();
    assert_eq!((code, server.outcome.as_str()), (0, "ok"), "{:#?}", server.frames);
    assert_eq!(server.count(), 0, "only the client sends samples");
    (client, server)
}

/// Starts a server and a client of a probe, each with additions to its job. Both have said hello; the server listens.
pub fn start_pair(probe: &str, params: &[(&str, &str)], server: &Value, client: &Value) -> (Agent, Agent) {
    start_pair_in(None, probe, params, server, client)
}

/// Does the same as `start_pair` for processes in these namespaces.
pub fn start_pair_in(
    spaces: Option<(&Space, &Space)>,
    probe: &str,
    params: &[(&str, &str)],
    server: &Value,
    client: &Value,
) -> (Agent, Agent) {
    let full = |mut job: Value, more: &Value| {
        more.as_object().unwrap().iter().for_each(|(key, value)| job[key] = value.clone());
        format!("{job}\n").into_bytes()
    };
    let own = full(server_of(job(probe, params)), server);
    let mut server = spaces.map_or_else(|| Agent::start(&own), |(space, _)| Agent::start_by(space.enter(), &own));
    assert_eq!(server.frame()["type"], "hello");
    let address = server.frame()["addr"].as_str().unwrap().to_owned();
    let own = full(client_of(job(probe, params), &address), client);
    let mut client = spaces.map_or_else(|| Agent::start(&own), |(_, space)| Agent::start_by(space.enter(), &own));
    assert_eq!(client.frame()["type"], "hello");
    (server, client)
}

/// Returns the sockets of a process: protocol, own address and state, from /proc.
pub fn sockets(pid: u32) -> Vec<(&'static str, String, String)> {
    let link = |entry: std::io::Result<std::fs::DirEntry>| std::fs::read_link(entry.ok()?.path()).ok();
    let files: Vec<PathBuf> = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().filter_map(link).collect();
    let mine = |inode: &str| files.iter().any(|file| file.to_string_lossy() == format!("socket:[{inode}]"));
    let mut sockets = Vec::new();
    for protocol in ["tcp", "tcp6", "udp", "udp6", "raw", "raw6", "packet"] {
        let table = std::fs::read_to_string(format!("/proc/{pid}/net/{protocol}")).unwrap_or_default();
        for line in table.lines().skip(1) {
            let words: Vec<&str> = line.split_whitespace().collect();
            if words.len() > 9 && mine(words[9]) {
                sockets.push((protocol, words[1].to_owned(), words[3].to_owned()));
            }
        }
    }
    sockets
}

/// A separate user and network namespace that exists until dropped.
pub struct Space(Child);

impl Space {
    /// Runs `script` inside a new namespace; prints the reason and returns `None` if the kernel does not allow it.
    pub fn new(script: &str) -> Option<Space> {
        let mut command = Command::new("unshare");
        command.arg("-Ur");
        Space::by(command, script)
    }

    /// Uses a command that first acquires the rights.
    fn by(mut command: Command, script: &str) -> Option<Space> {
        let whole = format!("ip link set lo up && {script} && echo up && exec sleep 60");
        command.args(["unshare", "-n", "sh", "-c", &whole]).stdout(Stdio::piped()).stderr(Stdio::null());
        let Ok(mut child) = command.spawn() else {
            eprintln!("skipped: there is no unshare here");
            return None;
        };
        let mut word = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut word).unwrap();
        let space = Space(child);
        if word != "up\n" {
            eprintln!("skipped: no namespaces for us here, or no veth");
            return None;
        }
        Some(space)
    }

    /// Creates two namespaces with a link between them: 10.9.0.1 on `va` and 10.9.0.2 on `vb`.
    pub fn pair() -> Option<(Space, Space)> {
        let first = Space::new("true")?;
        let second = first.neighbour("va", "vb", "10.9.0")?;
        Some((first, second))
    }

    /// Creates another namespace linked to this one: this one is .1 of the network on device `here`, the other .2 on
    /// `there`.
    pub fn neighbour(&self, here: &str, there: &str, network: &str) -> Option<Space> {
        let other = Space::by(self.enter(), "true")?;
        let link = format!("ip link add {here} type veth peer name {there} netns {}", other.0.id());
        let up =
            |own: u8, device: &str| format!("ip addr add {network}.{own}/24 dev {device} && ip link set {device} up");
        if !self.run(&format!("{link} && {}", up(1, here))) || !other.run(&up(2, there)) {
            eprintln!("skipped: no link between two namespaces here");
            return None;
        }
        Some(other)
    }

    /// Creates another namespace on a bridge of this one: `device` is here, `card` with the address is there.
    pub fn bridged(&self, bridge: &str, device: &str, address: &str) -> Option<Space> {
        let other = Space::by(self.enter(), "true")?;
        let link = format!("ip link add name {device} type veth peer name card netns {}", other.0.id());
        let up = format!("ip link set dev {device} master {bridge} && ip link set dev {device} up");
        if !self.run(&format!("{link} && {up}"))
            || !other.run(&format!("ip addr add {address}/24 dev card && ip link set dev card up"))
        {
            eprintln!("skipped: no bridge between namespaces here");
            return None;
        }
        Some(other)
    }

    /// Returns a command that starts inside the namespace.
    pub fn enter(&self) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["-t", &self.0.id().to_string(), "-U", "-n", "--preserve-credentials"]);
        command
    }

    pub fn run(&self, script: &str) -> bool {
        let status = self.enter().args(["sh", "-c", script]).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    }

    /// Returns the bytes and packets that a device of the namespace has sent.
    pub fn sent(&self, device: &str) -> (u64, u64) {
        let script = format!("ip -s -o link show dev {device}");
        let output = self.enter().args(["sh", "-c", &script]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let numbers = text.split("TX:").nth(1).unwrap().split('\\').nth(1).unwrap();
        let mut numbers = numbers.split_whitespace().map(|word| word.parse().unwrap());
        (numbers.next().unwrap(), numbers.next().unwrap())
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Starts a server that has said hello and is about to announce its address.
pub fn serve(probe: &str, params: &[(&str, &str)]) -> Agent {
    serve_for(30.0, probe, params)
}

/// Starts a server whose trial may take `deadline_s` seconds.
pub fn serve_for(deadline_s: f64, probe: &str, params: &[(&str, &str)]) -> Agent {
    let mut job = server_of(job(probe, params));
    job["deadline_s"] = deadline_s.into();
    let mut server = Agent::run(&job);
    assert_eq!(server.frame()["type"], "hello");
    server
}

/// A valid stream: every frame except the end record, and the outcome.
pub struct Stream {
    pub frames: Vec<Value>,
    pub outcome: String,
}

impl Stream {
    pub fn of(&self, kind: &str) -> impl Iterator<Item = &Value> {
        self.frames.iter().filter(move |frame| frame["type"] == *kind)
    }

    pub fn count(&self) -> usize {
        self.of("sample").count() + self.of("hist").count()
    }

    /// Returns the values of a metric, all of which must belong to one cell.
    pub fn values(&self, metric: &str, params: &Value) -> Vec<f64> {
        let samples: Vec<&Value> = self.of("sample").filter(|frame| frame["metric"] == *metric).collect();
        samples.iter().for_each(|sample| assert_eq!(&sample["params"], params));
        samples.iter().map(|sample| sample["value"].as_f64().unwrap()).collect()
    }

    pub fn note(&self, key: &str) -> Option<&Value> {
        self.of("note").find(|note| note["key"] == *key).map(|note| &note["value"])
    }

    pub fn error(&self) -> &str {
        self.of("error").next().and_then(|error| error["what"].as_str()).unwrap()
    }
}

/// Reads a stream strictly.
pub fn decode(bytes: &[u8]) -> Result<Stream, String> {
    let (mut digest, mut frames, mut count) = (Sha256::new(), Vec::new(), 0);
    let mut lines = bytes.split_inclusive(|&byte| byte == b'\n').enumerate().peekable();
    while let Some((i, line)) = lines.next() {
        let frame = read(i, line)?;
        if frame["type"] == "end" {
            let hex: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
            let outcome = frame["outcome"].as_str().unwrap_or_default();
            if lines.peek().is_some() {
                return Err("bytes after the end".into());
            }
            if frame["sha256"] != hex || frame["count"] != count {
                return Err("wrong digest or count".into());
            }
            if !["ok", "failed", "timeout", "aborted", "invalid"].contains(&outcome) {
                return Err("unknown outcome".into());
            }
            let stream = Stream { frames, outcome: outcome.to_owned() };
            let of_a_command = stream.of("sample").all(|sample| sample["metric"] == "command_time_s");
            if !of_a_command && stream.of("text").next().is_some() {
                return Err("a text where no command runs".into());
            }
            return Ok(stream);
        }
        if (i == 0) != (frame["type"] == "hello") {
            return Err("hello is not first, or not once".into());
        }
        count += i32::from(frame["type"] == "sample" || frame["type"] == "hist");
        digest.update(line);
        frames.push(frame);
    }
    Err("no end record".into())
}

fn read(i: usize, line: &[u8]) -> Result<Value, String> {
    if line.len() > 65_536 || line.last() != Some(&b'\n') {
        return Err("a line that is too long or cut".into());
    }
    let frame: Value = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    let kind = frame["type"].as_str().unwrap_or_default();
    if frame["v"] != 2 || frame["seq"] != i {
        return Err("a wrong version or a gap".into());
    }
    if !["hello", "ready", "note", "sample", "hist", "text", "error", "end"].contains(&kind) {
        return Err("an unknown type".into());
    }
    if ["sample", "hist"].contains(&kind) && !frame["t_s"].as_f64().is_some_and(|t_s| t_s >= 0.0) {
        return Err("no time".into());
    }
    if kind == "sample" && !frame["value"].is_f64() {
        return Err("no value".into());
    }
    Ok(frame)
}
