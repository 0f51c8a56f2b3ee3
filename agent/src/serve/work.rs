//! Does what a request asks for, within the bounds of the server.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use serde_json::{Map, Value, json};

use super::instance::{Instance, Visit};
use super::route::{self, Refusal, Work};
use crate::clock::{now_ns, seconds};
use crate::fault::{Fault, Outcome};
use crate::probe::task;
use crate::rng::Rng;
use crate::service::Body;
use crate::service::call::{Blob, Set};
use crate::{host, scratch};

/// An image of one pixel that is transparent: GIF 89a.
const PIXEL: &[u8] = b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff!\xf9\x04\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;";
/// The blob whose content every `/bytes/N` begins with.
const INDEX: u64 = 2010;

/// The bounds of a server and what it knows of itself.
pub struct Server {
    pub instance: Arc<Instance>,
    /// Where the disk task writes.
    pub dir: PathBuf,
    /// What each request but `/health` has to bring, if set.
    pub token: Option<String>,
    /// Whether it also answers what finds the limits of a platform.
    pub limits: bool,
    /// The most tasks at once; more are refused.
    pub most_tasks: usize,
    tasks: AtomicUsize,
}

/// What a request brings: from HTTP or from an event of a platform.
pub struct Request<'a> {
    pub method: &'a str,
    pub path: &'a str,
    pub query: &'a str,
    pub token: Option<&'a [u8]>,
}

/// A whole answer.
pub struct Answer {
    pub status: StatusCode,
    pub content_type: &'static str,
    pub fields: Vec<(&'static str, String)>,
    pub body: Content,
}

pub enum Content {
    Bytes(Bytes),
    /// So many incompressible bytes, which are made as they are sent.
    Blob(u64),
}

impl Content {
    pub fn blob(size: u64) -> Blob {
        Blob::new(Set::Kept, size, INDEX)
    }

    pub fn into_body(self) -> Body {
        match self {
            Content::Bytes(bytes) => Body::bytes(bytes),
            Content::Blob(size) => Body::blob(Content::blob(size)),
        }
    }
}

/// One of the tasks that run at once.
struct Place(Arc<Server>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.tasks.fetch_sub(1, SeqCst);
    }
}

impl Server {
    pub fn new(instance: Instance, dir: PathBuf, token: Option<String>, limits: bool) -> Server {
        let most_tasks = 2 * std::thread::available_parallelism().map_or(1, usize::from);
        Server { instance: Arc::new(instance), dir, token, limits, most_tasks, tasks: AtomicUsize::new(0) }
    }

    /// Finds out what a request asks for; an answer if it gets nothing else.
    pub fn admit(&self, request: &Request) -> Result<Work, Answer> {
        let work = route::parse(request.method, request.path, request.query);
        if work != Ok(Work::Health) && !self.knows(request.token) {
            return Err(refuse(StatusCode::UNAUTHORIZED, "send the header cloudcmp-token"));
        }
        let work = work.map_err(|refusal| match refusal {
            Refusal::NotFound => {
                refuse(StatusCode::NOT_FOUND, "ask for /pixel, /2mb, /bytes/N, /cpu, /memory or /disk")
            }
            Refusal::Method => refuse(StatusCode::METHOD_NOT_ALLOWED, "use GET, and POST for /upload"),
            Refusal::Value => refuse(StatusCode::BAD_REQUEST, "a number or a word of the request is out of its bounds"),
        })?;
        match work.finds_limits() && !self.limits {
            true => Err(refuse(StatusCode::FORBIDDEN, "start the server with --limits")),
            false => Ok(work),
        }
    }

    /// Compares tokens in a time that does not depend on where they differ.
    fn knows(&self, token: Option<&[u8]>) -> bool {
        let Some(wanted) = self.token.as_ref().map(|token| token.as_bytes()) else { return true };
        let token = token.unwrap_or(b"");
        let differ = wanted.iter().zip(token).fold(0, |differ, (a, b)| differ | (a ^ b));
        wanted.len() == token.len() && differ == 0
    }

    fn place(self: &Arc<Server>) -> Option<Place> {
        let before = self.tasks.fetch_add(1, SeqCst);
        let place = Place(Arc::clone(self));
        (before < self.most_tasks).then_some(place)
    }

    /// Does a piece of work; `uploaded` is the length of the request's body, bytes.
    pub async fn perform(self: &Arc<Server>, work: Work, uploaded: u64) -> Answer {
        let visit = (work != Work::Health).then(|| self.instance.enter());
        let mut answer = match work {
            Work::Health => tell(&json!({"health": "ok"}), &[]),
            Work::Pixel => Answer::new("image/gif", Content::Bytes(Bytes::from_static(PIXEL))),
            Work::Bytes(size) => Answer::new("application/octet-stream", Content::Blob(size)),
            Work::Wait(wait_s) => {
                let start_ns = now_ns();
                tokio::time::sleep(Duration::from_secs_f64(wait_s)).await;
                tell(&json!({}), &[("cloudcmp-task-s", seconds(now_ns() - start_ns))])
            }
            Work::Upload => tell(&json!({"received_bytes": uploaded}), &[]),
            Work::Task { name, small } => self.aside(move |server| server.task(name, small)).await,
            Work::Hold(bytes) => self.aside(move |_| hold(bytes)).await,
        };
        answer.fields.extend(visit.as_ref().map(Visit::fields).unwrap_or_default());
        answer
    }

    /// Does on a thread of its own what keeps a processor or memory.
    async fn aside(self: &Arc<Server>, work: impl FnOnce(&Server) -> Answer + Send + 'static) -> Answer {
        let Some(place) = self.place() else { return busy("as many tasks run as this server runs at once") };
        let done = tokio::task::spawn_blocking(move || work(&place.0));
        done.await.unwrap_or_else(|_| refuse(StatusCode::INTERNAL_SERVER_ERROR, "the task was stopped"))
    }

    fn task(&self, name: &str, small: bool) -> Answer {
        if !fits(task::held_bytes(name)) {
            return busy("memory holds no further task");
        }
        match task::once(name, small, &self.dir) {
            Ok(timed) => {
                let size = if small { "small" } else { "full" };
                let times = [("cloudcmp-task-s", timed.took_s), ("cloudcmp-cpu-s", timed.cpu_s)];
                let mut answer = tell(&json!({"task": name, "size": size}), &times);
                if name == "disk" && scratch::in_memory(&self.dir) {
                    answer.fields.push(("cloudcmp-disk", "memory".into())); // the answer is no disk's
                }
                answer
            }
            Err(fault) => failed(&fault),
        }
    }
}

impl Answer {
    fn new(content_type: &'static str, body: Content) -> Answer {
        Answer { status: StatusCode::OK, content_type, fields: Vec::new(), body }
    }

    fn json(status: StatusCode, value: &Value) -> Answer {
        Answer { status, ..Answer::new("application/json", Content::Bytes(format!("{value}\n").into())) }
    }
}

/// Returns an answer whose times are in its header and in its body.
fn tell(value: &Value, times: &[(&'static str, f64)]) -> Answer {
    let mut body: Map<String, Value> = value.as_object().cloned().unwrap_or_default();
    let key = |field: &str| field.trim_start_matches("cloudcmp-").replace('-', "_");
    body.extend(times.iter().map(|(field, took_s)| (key(field), crate::wire::finite(*took_s))));
    let fields = times.iter().map(|(field, took_s)| (*field, format!("{took_s:.9}"))).collect();
    Answer { fields, ..Answer::json(StatusCode::OK, &body.into()) }
}

pub fn refuse(status: StatusCode, why: &str) -> Answer {
    Answer::json(status, &json!({"error": why}))
}

fn busy(why: &str) -> Answer {
    let answer = refuse(StatusCode::SERVICE_UNAVAILABLE, why);
    Answer { fields: vec![("retry-after", "1".into())], ..answer }
}

fn failed(fault: &Fault) -> Answer {
    let why = format!("{}; {}", fault.what, fault.next);
    let invalid = fault.outcome == Outcome::Invalid;
    let answer = refuse(StatusCode::INTERNAL_SERVER_ERROR, &why);
    Answer { fields: if invalid { vec![("cloudcmp-invalid", "1".into())] } else { Vec::new() }, ..answer }
}

/// Whether the machine has so much memory left that it will not take it from others.
fn fits(bytes: u64) -> bool {
    host::available_memory_bytes().is_none_or(|there| bytes < there)
}

/// Holds memory whose pages are all written, with numbers that cannot be compressed; more than a control group allows
/// ends the process, which is what the client looks for.
fn hold(bytes: u64) -> Answer {
    const PAGE_WORDS: usize = 512;
    let mut words: Vec<u64> = Vec::new();
    let count = (bytes / 8) as usize;
    if !fits(bytes) || words.try_reserve_exact(count).is_err() {
        let there = host::available_memory_bytes();
        let answer = refuse(StatusCode::INSUFFICIENT_STORAGE, "the system has less memory left");
        let fields = there.map(|there| ("cloudcmp-free-bytes", there.to_string())).into_iter().collect();
        return Answer { fields, ..answer };
    }
    let (mut rng, start_ns) = (Rng::new(INDEX, 0), now_ns());
    let page: [u64; PAGE_WORDS] = std::array::from_fn(|_| rng.next());
    while words.len() < count {
        let from = words.len();
        words.extend_from_slice(&page[..PAGE_WORDS.min(count - from)]);
        words[from] = rng.next(); // equal pages would be merged
    }
    let took_s = seconds(now_ns() - start_ns);
    tell(&json!({"held_bytes": 8 * std::hint::black_box(&words).len()}), &[("cloudcmp-task-s", took_s)])
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn server(token: Option<&str>, limits: bool) -> Arc<Server> {
        let instance = Instance::new(Instant::now()).unwrap();
        Arc::new(Server::new(instance, std::env::temp_dir(), token.map(String::from), limits))
    }

    fn status(server: &Server, path: &str, token: Option<&str>) -> u16 {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let request = Request { method: "GET", path, query, token: token.map(str::as_bytes) };
        server.admit(&request).map_or_else(|answer| answer.status.as_u16(), |_| 200)
    }

    #[test]
    fn only_the_right_token_opens_and_limits_are_found_only_where_the_owner_says_so() {
        let closed = server(Some("5ec3e7"), true);
        let said = ["5ec3e7", "5ec3e8", "5ec3e", "5ec3e77", ""].map(|token| status(&closed, "/cpu", Some(token)));
        assert_eq!(said, [200, 401, 401, 401, 401]);
        assert_eq!((status(&closed, "/cpu", None), status(&closed, "/health", None)), (401, 200));
        assert_eq!(status(&closed, "/nothing", None), 401, "a stranger learns no path");
        let open = server(None, false);
        assert_eq!((status(&open, "/2mb", None), status(&open, "/wait?seconds=1", None)), (200, 403));
        assert_eq!(status(&server(None, true), "/wait?seconds=1", None), 200);
    }

    #[test]
    fn more_tasks_than_places_are_refused_and_places_come_back() {
        let server = server(None, false);
        let places: Vec<_> = (0..server.most_tasks).map(|_| server.place().unwrap()).collect();
        assert!(server.place().is_none());
        drop(places);
        assert!(server.place().is_some());
    }

    #[test]
    fn held_memory_is_counted_and_what_the_machine_lacks_is_refused() {
        assert_eq!(hold(1 << 20).status, StatusCode::OK);
        assert_eq!(hold(route::MOST_HELD_BYTES << 8).status, StatusCode::INSUFFICIENT_STORAGE);
    }
}
