//! One lane: a connection to the service, and one operation at a time on it.
//!
//! Nothing is retried, nothing is pooled, and no redirect is followed. An operation ends by its answer, by a time
//! without progress, or at the end of the trial's patience; after a failure the next one gets a new connection.

use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::header::EXPECT;
use http::{HeaderValue, Request, Response};
use http_body::Body as _;
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper::rt::Executor;
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};
use tokio_rustls::TlsConnector;

use super::body::{Body, Consent};
use super::call::{Answer, Call, Reading};
use super::client::Client;
use super::content;
use super::outcome::{Done, Failure, Kind, plain};
use super::stream::{Meter, Stream, Wire};
use crate::clock::now_ns;

/// The longest text of a good answer, and of an answer that reports an error, bytes.
const LONGEST_TEXT: usize = 8 << 20;
const LONGEST_ERROR: usize = 64 * 1024;
/// A service that does not say whether it wants a body gets it after this time.
const CONSENT_NS: u64 = 1_000_000_000;

/// Times after which an operation counts as one that will never end, ns.
#[derive(Clone, Copy)]
pub struct Patience {
    /// The longest time without a byte.
    pub silence_ns: u64,
    /// The time at which every operation ends.
    pub until_ns: u64,
}

/// What came of one operation, and when, ns.
pub struct Performed {
    pub result: Result<Done, Failure>,
    pub first_ns: u64,
    pub last_ns: u64,
}

struct Open {
    sender: Sender,
    driver: Pin<Box<dyn Future<Output = hyper::Result<()>>>>,
    /// Whether the driver still has something to do.
    alive: bool,
    /// Whether the service sent bytes that nobody asked for.
    babbled: bool,
}

/// The sending half of a connection.
enum Sender {
    One(http1::SendRequest<Body>),
    Two(http2::SendRequest<Body>),
}

/// Runs what a connection of HTTP/2 wants to run beside its driver, on the lane's own thread.
#[derive(Clone, Copy)]
struct Beside;

pub struct Lane {
    client: Arc<Client>,
    address: SocketAddr,
    open: Option<Open>,
    meter: Arc<Meter>,
    timer: Pin<Box<Sleep>>,
    /// Connections made so far.
    pub connections: u64,
}

impl<F: Future<Output: 'static> + 'static> Executor<F> for Beside {
    fn execute(&self, future: F) {
        tokio::task::spawn_local(future);
    }
}

impl Sender {
    fn is_closed(&self) -> bool {
        match self {
            Sender::One(sender) => sender.is_closed(),
            Sender::Two(sender) => sender.is_closed(),
        }
    }

    fn send(&mut self, request: Request<Body>) -> Pin<Box<dyn Future<Output = hyper::Result<Response<Incoming>>>>> {
        match self {
            Sender::One(sender) => Box::pin(sender.send_request(request)),
            Sender::Two(sender) => Box::pin(sender.send_request(request)),
        }
    }
}

impl Open {
    /// Lets the connection do what it can do now.
    fn drive(&mut self, cx: &mut Context) {
        if self.alive
            && let Poll::Ready(ended) = self.driver.as_mut().poll(cx)
        {
            self.alive = false;
            self.babbled = ended.is_err_and(|error| error.is_parse() || format!("{error}").contains("unexpected"));
        }
    }
}

impl Lane {
    /// Creates a lane without a connection; lanes share the service's addresses in turn.
    pub fn new(client: &Arc<Client>, number: usize) -> Lane {
        let service = &client.service;
        let ip = service.addresses[number % service.addresses.len()];
        Lane {
            client: Arc::clone(client),
            address: SocketAddr::new(ip, service.url.port),
            open: None,
            meter: Arc::default(),
            timer: Box::pin(sleep(Duration::ZERO)),
            connections: 0,
        }
    }

    /// Connects if there is no usable connection.
    pub async fn ready(&mut self, patience: Patience) -> Result<(), Failure> {
        if let Some(open) = &mut self.open {
            poll_fn(|cx| {
                open.drive(cx);
                Poll::Ready(())
            })
            .await;
            if open.alive && !open.sender.is_closed() {
                return Ok(());
            }
        }
        self.open = None;
        self.connect(patience).await
    }

    /// Drops the connection.
    pub fn close(&mut self) {
        self.open = None;
    }

    async fn connect(&mut self, patience: Patience) -> Result<(), Failure> {
        let now = now_ns();
        let broken = |what: String| Failure::new(Kind::Broken, self.client.redact(&plain(&what)));
        let most_ns = patience.silence_ns.min(patience.until_ns.saturating_sub(now)).max(1_000_000);
        let address = self.address;
        let connected = tokio::time::timeout(Duration::from_nanos(most_ns), async {
            let tcp = TcpStream::connect(address).await.map_err(|error| broken(format!("cannot connect: {error}")))?;
            tcp.set_nodelay(true).map_err(|error| broken(format!("cannot set TCP_NODELAY: {error}")))?;
            let Some((config, name)) = &self.client.tls else { return Ok(Wire::Plain(tcp)) };
            let tls = TlsConnector::from(Arc::clone(config)).connect(name.clone(), tcp).await;
            let tls = tls.map_err(|error| broken(format!("cannot connect with TLS: {error}")))?;
            Ok(Wire::Tls(Box::new(tls.into())))
        });
        let wire = connected.await.map_err(|_| Failure::new(Kind::Timeout, "connecting took too long"))??;
        let stream = Stream { wire, meter: Arc::clone(&self.meter) };
        let failed = |error: hyper::Error| broken(format!("cannot connect: {error}"));
        let (sender, driver): (Sender, Pin<Box<dyn Future<Output = hyper::Result<()>>>>) =
            match self.client.protocol.http2() {
                false => {
                    let (sender, driver) = http1::handshake(stream).await.map_err(failed)?;
                    (Sender::One(sender), Box::pin(driver))
                }
                true => {
                    let (sender, driver) = http2::handshake(Beside, stream).await.map_err(failed)?;
                    (Sender::Two(sender), Box::pin(driver))
                }
            };
        self.connections += 1;
        self.open = Some(Open { sender, driver, alive: true, babbled: false });
        Ok(())
    }

    /// Performs one operation on the open connection.
    pub async fn perform(
        &mut self,
        call: &Call,
        (mut request, reading): (Request<Body>, Reading),
        waits_for_consent: bool,
        patience: Patience,
    ) -> Performed {
        let consent =
            (waits_for_consent && !request.body().is_end_stream()).then(|| ask_first(&mut request, &self.meter));
        let now = now_ns();
        self.meter.reset(now);
        let result = self.exchange(call, request, reading, consent, patience).await;
        let last_ns = now_ns();
        // A complete answer leaves a usable connection, also where it is an error of the service.
        let is_spoilt = |failure: &Failure| matches!(failure.kind, Kind::Timeout | Kind::WrongBody | Kind::Broken);
        if result.as_ref().is_err_and(is_spoilt) {
            self.open = None;
        }
        let hide = |failure: Failure| Failure { what: self.client.redact(&failure.what), ..failure };
        Performed { result: result.map_err(hide), first_ns: self.meter.first_ns().unwrap_or(last_ns), last_ns }
    }

    async fn exchange(
        &mut self,
        call: &Call,
        request: Request<Body>,
        reading: Reading,
        consent: Option<Arc<Consent>>,
        patience: Patience,
    ) -> Result<Done, Failure> {
        let Some(open) = &mut self.open else { return Err(Failure::new(Kind::Broken, "there is no connection")) };
        let mut watch = Watch { timer: self.timer.as_mut(), meter: &self.meter, patience, consent };
        let mut response = open.sender.send(request);
        let response = poll_fn(|cx| {
            open.drive(cx);
            match response.as_mut().poll(cx) {
                Poll::Ready(response) => Poll::Ready(response.map_err(|error| broken(&error))),
                Poll::Pending => watch.poll(cx).map(Err),
            }
        });
        let (head, mut body) = response.await?.into_parts();
        // An answer before the consent is the service's last word: the body is never sent.
        let refused = watch.consent.take().is_some_and(|consent| !consent.is_given());
        let reading = if head.status.is_success() { Some(reading) } else { None };
        let mut answer = Answer { status: head.status, headers: head.headers, text: Vec::new(), received: 0 };
        let read = poll_fn(|cx| {
            loop {
                open.drive(cx);
                match Pin::new(&mut body).poll_frame(cx) {
                    Poll::Ready(Some(Ok(frame))) => {
                        if let Some(data) = frame.data_ref()
                            && let Err(failure) = take(&mut answer, reading, data)
                        {
                            return Poll::Ready(Err(failure));
                        }
                        if let Some(trailers) = frame.trailers_ref() {
                            answer.headers.extend(trailers.clone());
                        }
                    }
                    Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(cut(&answer, &error))),
                    Poll::Ready(None) => return Poll::Ready(Ok(())),
                    Poll::Pending => return watch.poll(cx).map(Err),
                }
            }
        });
        let read = read.await;
        close_after(open, &body, refused);
        // The status says more than what follows it, for example a cut in the text of an error.
        if let Err(failure) = read
            && answer.status.is_success()
        {
            return Err(failure);
        }
        if let (Some(Reading::Content(blob)), true) = (reading, answer.received != 0 || answer.text.is_empty())
            && answer.received != blob.size
        {
            let what = format!("a body of {} bytes, and {} were written", answer.received, blob.size);
            return Err(Failure::new(Kind::WrongBody, what));
        }
        // Bytes behind the body mean that its announced length is wrong.
        poll_fn(|cx| {
            open.drive(cx);
            Poll::Ready(())
        })
        .await;
        if open.babbled && answer.status.is_success() {
            return Err(Failure::new(Kind::WrongBody, "more bytes than the answer announced"));
        }
        let judged = self.client.protocol.judge(call, &answer);
        if refused {
            self.open = None;
        }
        judged
    }
}

/// Ends a connection whose last answer was not read to its end.
fn close_after(open: &mut Open, body: &Incoming, refused: bool) {
    if refused || !body.is_end_stream() {
        open.alive = false;
    }
}

/// Makes a request wait with its body until the service wants it.
fn ask_first(request: &mut Request<Body>, meter: &Arc<Meter>) -> Arc<Consent> {
    let consent = Arc::new(Consent::default());
    request.headers_mut().insert(EXPECT, HeaderValue::from_static("100-continue"));
    request.body_mut().wait_for(Arc::clone(&consent));
    let (given, meter) = (Arc::clone(&consent), Arc::clone(meter));
    hyper::ext::on_informational(request, move |interim| {
        if interim.status() == http::StatusCode::CONTINUE {
            meter.forget_first();
            given.give();
        }
    });
    consent
}

/// Takes a piece of an answer's body: compares it, or keeps it as text.
fn take(answer: &mut Answer, reading: Option<Reading>, data: &[u8]) -> Result<(), Failure> {
    let at = answer.received;
    answer.received += data.len() as u64;
    match reading {
        Some(Reading::Content(blob)) if !content::is_right(&blob, at, data) => {
            let what = if answer.received > blob.size {
                "more bytes than were written"
            } else {
                "other bytes than were written"
            };
            Err(Failure::new(Kind::WrongBody, what))
        }
        Some(Reading::Content(_)) => Ok(()),
        Some(Reading::Text) if answer.text.len() + data.len() > LONGEST_TEXT => {
            Err(Failure::new(Kind::WrongBody, format!("an answer of more than {LONGEST_TEXT} bytes")))
        }
        Some(Reading::Text) => {
            answer.text.extend_from_slice(data);
            Ok(())
        }
        None => {
            let room = LONGEST_ERROR.saturating_sub(answer.text.len()).min(data.len());
            answer.text.extend_from_slice(&data[..room]);
            match room == data.len() {
                true => Ok(()),
                false => Err(Failure::new(Kind::WrongBody, "an endless error")),
            }
        }
    }
}

fn broken(error: &hyper::Error) -> Failure {
    let what = if error.is_incomplete_message() || error.is_canceled() {
        "the connection ended before an answer".to_owned()
    } else {
        plain(&format!("the connection broke: {}", cause(error)))
    };
    Failure::new(Kind::Broken, what)
}

fn cut(answer: &Answer, error: &hyper::Error) -> Failure {
    let what = format!("the answer broke off after {} bytes of its body: {}", answer.received, cause(error));
    Failure::new(Kind::Broken, plain(&what))
}

/// Returns the innermost reason of an error.
fn cause(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), cause)
}

/// Ends an operation that makes no progress, and consents in a silent service's place.
struct Watch<'a> {
    timer: Pin<&'a mut Sleep>,
    meter: &'a Meter,
    patience: Patience,
    consent: Option<Arc<Consent>>,
}

impl Watch<'_> {
    /// Ready when the operation has to end. The timer is set again only when it has fired, not at each byte.
    fn poll(&mut self, cx: &mut Context) -> Poll<Failure> {
        loop {
            let now = now_ns();
            let (progress, until) = (self.meter.progress_ns(), self.patience.until_ns);
            let mut end = (progress + self.patience.silence_ns).min(until);
            if now >= end {
                let what = match now >= until {
                    true => "no whole answer at the end of the trial".to_owned(),
                    false => format!("no byte for {:.1} s", (now - progress) as f64 * 1e-9),
                };
                return Poll::Ready(Failure::new(Kind::Timeout, what));
            }
            if let Some(consent) = self.consent.as_ref().filter(|consent| !consent.is_given()) {
                match progress + CONSENT_NS {
                    wait if now >= wait => consent.give(),
                    wait => end = end.min(wait),
                }
            }
            let wanted = Instant::now() + Duration::from_nanos(end - now);
            // A timer that is set for a later time would be late; one that fires early is set again.
            if self.timer.is_elapsed() || self.timer.deadline() > wanted + Duration::from_millis(1) {
                self.timer.as_mut().reset(wanted);
            }
            if self.timer.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
    }
}
