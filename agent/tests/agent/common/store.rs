//! A small HTTP/1.1 server that stores what it gets, as S3 does, and misbehaves as planned.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What the server does with one request, after it has read it.
#[allow(dead_code)] // each of two test programs plans other acts
#[derive(Clone, Debug)]
pub enum Act {
    Right,
    /// Answers with a status and a body.
    Say(u16, &'static str),
    /// Announces the right length, sends fewer bytes, closes.
    Short(usize),
    /// Sends more bytes than it announces.
    Long(usize),
    /// Announces and sends fewer bytes, and keeps the connection.
    Lacking(usize),
    /// Changes one byte of the body.
    Flip(usize),
    /// Sends this many bytes of the whole answer, head included, and closes.
    Cut(usize),
    /// Sends this many bytes of the whole answer, and then nothing for ever.
    Hole(usize),
    /// Waits before the answer.
    Slow(Duration),
    /// Sends the answer byte by byte with this pause.
    Drip(Duration),
}

/// A request as it came.
#[allow(dead_code)]
#[derive(Clone, Debug)]
pub struct Asked {
    /// Counts from 0 over all connections.
    pub number: u64,
    pub method: String,
    pub target: String,
    pub headers: BTreeMap<String, String>,
}

type Plan = dyn Fn(&Asked) -> Act + Send + Sync;

#[allow(dead_code)]
pub struct Store {
    pub address: SocketAddr,
    pub asked: Arc<Mutex<Vec<Asked>>>,
    pub connections: Arc<AtomicU64>,
    pub blobs: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
}

impl Store {
    /// Starts a server that lives as long as the process.
    pub fn start(plan: impl Fn(&Asked) -> Act + Send + Sync + 'static) -> Store {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let store = Store {
            address: listener.local_addr().unwrap(),
            asked: Arc::default(),
            connections: Arc::default(),
            blobs: Arc::default(),
        };
        let (plan, count): (Arc<Plan>, Arc<AtomicU64>) = (Arc::new(plan), Arc::default());
        let (asked, connections, blobs) =
            (Arc::clone(&store.asked), Arc::clone(&store.connections), Arc::clone(&store.blobs));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                connections.fetch_add(1, Relaxed);
                let (plan, count) = (Arc::clone(&plan), Arc::clone(&count));
                let (asked, blobs) = (Arc::clone(&asked), Arc::clone(&blobs));
                std::thread::spawn(move || {
                    let mut stream = stream.unwrap();
                    stream.set_nodelay(true).unwrap();
                    let mut reader = BufReader::new(stream.try_clone().unwrap());
                    while let Some((one, body)) = read(&mut reader, &mut stream, &count) {
                        asked.lock().unwrap().push(one.clone());
                        if !answer(&plan(&one), &one, body, &blobs, &mut stream) {
                            return;
                        }
                    }
                });
            }
        });
        store
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the number of requests so far.
    pub fn count(&self) -> u64 {
        self.asked.lock().unwrap().len() as u64
    }
}

fn read(reader: &mut BufReader<TcpStream>, stream: &mut TcpStream, count: &AtomicU64) -> Option<(Asked, Vec<u8>)> {
    let mut line = String::new();
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, target) = (words.next()?, words.next()?);
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    if headers.get("expect").is_some_and(|value| value == "100-continue") {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").ok()?;
    }
    let mut body = vec![0; headers.get("content-length").map_or(0, |length| length.parse().unwrap())];
    reader.read_exact(&mut body).ok()?;
    Some((Asked { number: count.fetch_add(1, Relaxed), method, target, headers }, body))
}

/// Answers a request; `false` if the connection ends.
fn answer(
    act: &Act,
    asked: &Asked,
    body: Vec<u8>,
    blobs: &Mutex<BTreeMap<String, Vec<u8>>>,
    stream: &mut TcpStream,
) -> bool {
    let (mut status, mut head, mut text) = respond(asked, body, blobs);
    let mut announced = text.len();
    let mut keep = true;
    match act {
        Act::Right => {}
        Act::Slow(pause) => std::thread::sleep(*pause),
        Act::Say(code, words) => {
            (status, text) = (*code, words.as_bytes().to_vec());
            announced = text.len();
        }
        Act::Short(bytes) => {
            text.truncate(text.len().saturating_sub(*bytes));
            keep = false;
        }
        Act::Long(bytes) => text.extend(vec![b'x'; *bytes]),
        Act::Lacking(bytes) => {
            text.truncate(text.len().saturating_sub(*bytes));
            announced = text.len();
        }
        Act::Flip(at) => {
            let at = at % text.len().max(1);
            text[at] ^= 1;
        }
        Act::Cut(_) | Act::Hole(_) | Act::Drip(_) => {}
    }
    head.push_str(&format!("content-length: {announced}\r\n"));
    let mut all = format!("HTTP/1.1 {status} Because\r\n{head}\r\n").into_bytes();
    all.extend(&text);
    match act {
        Act::Cut(bytes) => {
            let _ = stream.write_all(&all[..(*bytes).min(all.len())]);
            return false;
        }
        Act::Hole(bytes) => {
            let _ = stream.write_all(&all[..(*bytes).min(all.len())]);
            let _ = stream.read(&mut [0]); // until the client leaves
            return false;
        }
        Act::Drip(pause) => {
            for byte in all {
                std::thread::sleep(*pause);
                if stream.write_all(&[byte]).is_err() {
                    return false;
                }
            }
            return true;
        }
        _ => {}
    }
    stream.write_all(&all).is_ok() && keep
}

/// Returns the right answer: status, head lines and body.
fn respond(asked: &Asked, body: Vec<u8>, blobs: &Mutex<BTreeMap<String, Vec<u8>>>) -> (u16, String, Vec<u8>) {
    let (path, query) = asked.target.split_once('?').unwrap_or((&asked.target, ""));
    let mut blobs = blobs.lock().unwrap();
    match asked.method.as_str() {
        "PUT" => {
            blobs.insert(path.to_owned(), body);
            (200, String::new(), Vec::new())
        }
        "DELETE" => {
            blobs.remove(path);
            (204, String::new(), Vec::new())
        }
        _ if query.contains("list-type=2") => {
            let prefix = query.split('&').find_map(|part| part.strip_prefix("prefix=")).unwrap_or("");
            let prefix = format!("{path}{}", prefix.replace("%2F", "/"));
            let names = blobs.keys().filter(|key| key.starts_with(&prefix)).take(1000);
            let keys: String = names.map(|name| format!("<Contents><Key>{name}</Key></Contents>")).collect();
            (200, String::new(), format!("<ListBucketResult>{keys}</ListBucketResult>").into_bytes())
        }
        _ => match (blobs.get(path), asked.headers.get("range")) {
            (None, _) => (404, String::new(), b"<Error><Code>NoSuchKey</Code></Error>".to_vec()),
            (Some(blob), None) => (200, String::new(), blob.clone()),
            (Some(blob), Some(_)) => (206, format!("content-range: bytes 0-0/{}\r\n", blob.len()), blob[..1].to_vec()),
        },
    }
}
