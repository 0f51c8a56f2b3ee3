//! The server of pages and short tasks, over HTTP and by the runtime interface of AWS Lambda.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::{Folder, agent_path};

/// A server in a folder of its own; its first line has been read.
struct Server {
    child: Child,
    stdout: BufReader<std::process::ChildStdout>,
    address: String,
    dir: Folder,
}

impl Server {
    fn start(flags: &[&str], env: &[(&str, &str)]) -> Server {
        let dir = Folder::new("serve");
        let (mut child, mut stdout) = spawn(flags, env, &dir);
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line} {:?}", child.try_wait()));
        let address = ready["addr"].as_str().unwrap().replace("0.0.0.0", "127.0.0.1");
        Server { child, stdout, address, dir }
    }

    /// Waits for the end; returns the record that says why.
    fn end(mut self) -> Value {
        let mut text = String::new();
        self.stdout.read_to_string(&mut text).unwrap();
        assert!(self.child.wait().unwrap().success());
        assert_eq!(self.dir.files(), 0, "a server leaves nothing");
        serde_json::from_str(&text).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it may have ended
        let _ = self.child.wait();
    }
}

fn spawn(flags: &[&str], env: &[(&str, &str)], dir: &Folder) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut command = Command::new(agent_path());
    command.arg("serve").args(flags).arg("--dir").arg(&dir.0).envs(env.iter().copied());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    (child, stdout)
}

/// A connection that is kept, as long as the server keeps it.
struct Client(BufReader<TcpStream>);

type Answer = (u16, BTreeMap<String, String>, Vec<u8>);

impl Client {
    fn new(server: &Server) -> Client {
        let tcp = TcpStream::connect(&server.address).unwrap();
        tcp.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Client(BufReader::new(tcp))
    }

    fn get(&mut self, path: &str) -> Answer {
        self.send(&format!("GET {path} HTTP/1.1\r\nHost: here\r\n\r\n"))
    }

    fn send(&mut self, text: &str) -> Answer {
        self.0.get_mut().write_all(text.as_bytes()).unwrap();
        read(&mut self.0)
    }
}

/// Reads a message with a `content-length`; the status is 0 in a request.
fn read(from: &mut impl BufRead) -> Answer {
    let mut line = || {
        let mut line = String::new();
        from.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    };
    let first = line();
    let mut headers = BTreeMap::new();
    loop {
        let line = line();
        let Some((key, value)) = line.split_once(':') else { break };
        headers.insert(key.to_lowercase(), value.trim().to_owned());
    }
    let mut body = vec![0; headers.get("content-length").map_or(0, |text| text.parse().unwrap())];
    from.read_exact(&mut body).unwrap();
    headers.insert("first line".into(), first.clone());
    (first.split(' ').nth(1).and_then(|text| text.parse().ok()).unwrap_or(0), headers, body)
}

#[test]
fn a_kept_connection_gets_pages_of_stated_sizes_that_nothing_may_cache_or_compress() {
    let server = Server::start(&[], &[]);
    let mut client = Client::new(&server);
    for (path, size) in [("/pixel", 43), ("/2mb", 2_000_000), ("/bytes/0", 0), ("/api/bytes/70001", 70_001)] {
        let (status, headers, body) = client.get(path);
        assert_eq!((status, body.len(), headers["cache-control"].as_str()), (200, size, "no-store"), "{path}");
        assert!(!headers.contains_key("content-encoding") && !headers.contains_key("transfer-encoding"));
        let distinct = body.iter().take(70_000).collect::<std::collections::HashSet<_>>().len();
        assert!(size < 70_000 || distinct == 256, "{path}");
    }
    assert_eq!(client.get("/none").0, 404);
    assert_eq!(client.get("/wait?seconds=0").0, 403);
    let pair = "GET /pixel HTTP/1.1\r\nHost: here\r\n\r\n".repeat(2);
    assert_eq!((client.send(&pair).0, read(&mut client.0).0), (200, 200));
}

#[test]
fn tasks_say_their_time_and_the_process_what_it_is() {
    let server = Server::start(&[], &[]);
    let mut client = Client::new(&server);
    for (path, first) in [("/memory", "1"), ("/disk", "0"), ("/cpu?size=small", "0")] {
        let (status, headers, body) = client.get(path);
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!((status, headers["cloudcmp-first"].as_str()), (200, first), "{path} {body}");
        let took_s: f64 = headers["cloudcmp-task-s"].parse().unwrap();
        assert!(took_s > 0.0 && (body["task_s"].as_f64().unwrap() - took_s).abs() < 1e-8);
        assert!(headers["cloudcmp-age-s"].parse::<f64>().unwrap() > 0.0);
    }
    let other = Server::start(&[], &[]);
    let id = |server| Client::new(server).get("/pixel").1["cloudcmp-instance"].clone();
    assert_ne!(id(&server), id(&other));
}

#[test]
fn limits_are_found_only_with_the_token_where_others_can_ask() {
    let (port, token) = (("PORT", "0"), ("CLOUDCMP_SERVE_TOKEN", "5ec3e7"));
    let dir = Folder::new("serve");
    let (mut refused, _) = spawn(&["--limits"], &[port], &dir);
    assert_eq!(refused.wait().unwrap().code(), Some(2));
    let server = Server::start(&["--limits"], &[port, token]);
    let mut client = Client::new(&server);
    assert_eq!((client.get("/wait?seconds=0").0, client.get("/health").0), (401, 200));
    let with_token = |method: &str, path: &str, more: &str| {
        let text = format!("{method} {path} HTTP/1.1\r\nHost: here\r\ncloudcmp-token: 5ec3e7\r\n{more}");
        Client::new(&server).send(&text)
    };
    assert_eq!(with_token("GET", "/hold?bytes=1000000", "\r\n").0, 200);
    let (status, _, body) = with_token("POST", "/upload", "content-length: 5\r\n\r\nhello");
    assert_eq!((status, serde_json::from_slice::<Value>(&body).unwrap()["received_bytes"].clone()), (200, json!(5)));
}

#[test]
fn a_server_ends_with_its_stdin_by_a_signal_and_at_its_deadline() {
    let mut server = Server::start(&[], &[]);
    Client::new(&server).get("/pixel");
    drop(server.child.stdin.take());
    assert_eq!(server.end(), json!({"type": "end", "why": "stdin", "requests": 1}));
    let server = Server::start(&[], &[]);
    unsafe { libc::kill(server.child.id() as i32, libc::SIGTERM) };
    assert_eq!(server.end()["why"], "signal");
    assert_eq!(Server::start(&["--for", "0.2"], &[]).end()["why"], "deadline");
}

#[test]
fn hostile_requests_and_idle_connections_harm_no_other() {
    let server = Server::start(&[], &[]);
    let idle: Vec<_> = (0..100).map(|_| TcpStream::connect(&server.address).unwrap()).collect();
    for bytes in ["\0\u{1}\u{2}\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET /pixel\r\n"] {
        let mut client = Client::new(&server);
        client.0.get_mut().write_all(bytes.as_bytes()).unwrap();
        client.0.get_mut().shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        let _ = client.0.read_to_end(&mut answer); // closed, or answered with an error
        assert!(!answer.starts_with(b"HTTP/1.1 200"));
    }
    let long = format!("GET /{} HTTP/1.1\r\nHost: here\r\n\r\n", "a".repeat(100_000));
    let mut client = Client::new(&server);
    let _ = client.0.get_mut().write_all(long.as_bytes()); // it may be closed before the end
    assert_eq!(Client::new(&server).get("/pixel").0, 200);
    drop(idle);
}

#[test]
fn connections_are_bounded_and_come_back() {
    let server = Server::start(&[], &[]);
    let mut held: Vec<_> = (0..256).map(|_| Client::new(&server)).collect();
    assert!(held.iter_mut().all(|client| client.get("/pixel").0 == 200));
    let mut more = Client::new(&server);
    let mut answer = Vec::new();
    let _ = more.0.get_mut().write_all(b"GET /pixel HTTP/1.1\r\nHost: here\r\n\r\n"); // it may be closed already
    let _ = more.0.read_to_end(&mut answer);
    assert!(answer.is_empty(), "the 257th connection is closed without an answer");
    drop(held);
    let came_back = (0..1000).any(|_| {
        std::thread::sleep(Duration::from_millis(5)); // the server notices each end by itself
        let mut client = Client::new(&server);
        let sent = client.0.get_mut().write_all(b"GET /pixel HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n");
        let mut answer = Vec::new();
        sent.is_ok() && client.0.read_to_end(&mut answer).is_ok() && answer.starts_with(b"HTTP/1.1 200")
    });
    assert!(came_back);
}

/// Plays the runtime interface for these events; returns what the handler posted: path and body of each.
fn play(listener: &TcpListener, events: &[Value]) -> Vec<(String, Value)> {
    let (tcp, _) = listener.accept().unwrap();
    let mut connection = BufReader::new(tcp);
    let mut posted = Vec::new();
    for (i, event) in events.iter().enumerate() {
        let (_, headers, _) = read(&mut connection);
        assert!(headers["first line"].starts_with("GET /2018-06-01/runtime/invocation/next "));
        let event = event.to_string();
        let head = format!(
            "HTTP/1.1 200 OK\r\nlambda-runtime-aws-request-id: id-{i}\r\ncontent-length: {}\r\n\r\n",
            event.len()
        );
        connection.get_mut().write_all((head + &event).as_bytes()).unwrap();
        let (_, headers, body) = read(&mut connection);
        let path = headers["first line"].split(' ').nth(1).unwrap().to_owned();
        posted.push((path, serde_json::from_slice(&body).unwrap()));
        connection.get_mut().write_all(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n").unwrap();
    }
    posted
}

#[test]
fn a_function_answers_each_event_of_the_runtime() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap().to_string();
    let dir = Folder::new("serve");
    let env = [("AWS_LAMBDA_RUNTIME_API", at.as_str()), ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "512")];
    let (mut handler, _stdout) = spawn(&[], &env, &dir);
    let get = |path: &str| json!({"rawPath": path, "requestContext": {"http": {"method": "GET"}}});
    let posted = play(&listener, &[get("/bytes/3000"), get("/cpu"), json!("no request"), json!({"rawPath": "/health"})]);
    drop(listener);
    assert_eq!(handler.wait().unwrap().code(), Some(1), "a handler without a runtime ends");
    let statuses: Vec<_> = posted.iter().map(|(_, answer)| answer["statusCode"].as_u64().unwrap()).collect();
    assert_eq!(statuses, [200, 200, 404, 200]);
    assert_eq!(posted[0].0, "/2018-06-01/runtime/invocation/id-0/response");
    let (first, second) = (&posted[0].1, &posted[1].1);
    assert_eq!((first["isBase64Encoded"].as_bool(), first["body"].as_str().unwrap().len()), (Some(true), 4000));
    assert_eq!((&first["headers"]["cloudcmp-first"], &second["headers"]["cloudcmp-first"]), (&json!("1"), &json!("0")));
    assert_eq!(first["headers"]["cloudcmp-memory-bytes"], json!((512 << 20).to_string()));
    assert!(second["headers"]["cloudcmp-task-s"].as_str().unwrap().parse::<f64>().unwrap() > 0.0);
}
