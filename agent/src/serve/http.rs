//! The server over HTTP/1.1, plain or with TLS, in one thread; tasks have threads of their own.

use std::cell::Cell;
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use http::{HeaderName, HeaderValue, Response, StatusCode};
use http_body::Body as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::route::MOST_UPLOAD_BYTES;
use super::work::{Answer, Request, Server, refuse};
use crate::fault::{Fault, OrFault};
use crate::service::{Body, Stream, Wire};

/// Connections at once; a further one is closed without an answer.
const MOST_CONNECTIONS: usize = 256;
/// The longest time for a handshake of TLS, and for a request's header (which bounds an idle connection).
const HANDSHAKE: Duration = Duration::from_secs(10);
const HEADER: Duration = Duration::from_secs(60);
/// The longest time without an acknowledgement of what was sent, ms.
const UNACKNOWLEDGED_MS: libc::c_int = 30_000;
const HEADER_BYTES: usize = 16 * 1024;
const HEADER_FIELDS: usize = 64;

/// Reads a certificate chain and its key from PEM files.
pub fn tls(certificate: &str, key: &str) -> Result<Arc<ServerConfig>, Fault> {
    let read = |path: &str| std::fs::read(path).or_fault(format!("cannot read {path}"), "name a PEM file");
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&read(certificate)?).collect();
    let chain = chain.or_fault(format!("{certificate} holds no certificates"), "give a chain in PEM")?;
    let key_der = PrivateKeyDer::from_pem_slice(&read(key)?);
    let key_der = key_der.or_fault(format!("{key} holds no private key"), "give a key in PEM")?;
    let config = ServerConfig::builder_with_provider(rustls::crypto::ring::default_provider().into());
    let config = config.with_safe_default_protocol_versions().or_fault("cannot set up TLS", "report this")?;
    let config = config.with_no_client_auth().with_single_cert(chain, key_der);
    let mut config = config.or_fault("the certificate and the key do not fit", "give the key of this certificate")?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// Opens the port; the address tells which one if any was asked for.
pub fn open(at: SocketAddr) -> Result<(std::net::TcpListener, SocketAddr), Fault> {
    let next = "name an address of this machine and a free port";
    let listener = std::net::TcpListener::bind(at).or_fault(format!("cannot listen on {at}"), next)?;
    listener.set_nonblocking(true).or_fault("cannot set up a socket", next)?;
    let address = listener.local_addr().or_fault("cannot read the address", next)?;
    Ok((listener, address))
}

/// Serves until the process ends.
pub async fn run(
    listener: std::net::TcpListener,
    server: Arc<Server>,
    tls: Option<Arc<ServerConfig>>,
) -> Result<(), Fault> {
    let listener = TcpListener::from_std(listener).or_fault("cannot set up a socket", "report this")?;
    let open = Rc::new(Cell::new(0));
    loop {
        let Ok((tcp, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(10)).await; // out of descriptors, or the caller hung up
            continue;
        };
        if open.get() >= MOST_CONNECTIONS {
            continue;
        }
        open.set(open.get() + 1);
        let (open, server, tls) = (Rc::clone(&open), Arc::clone(&server), tls.clone());
        tokio::task::spawn_local(async move {
            connection(tcp, server, tls).await;
            open.set(open.get() - 1);
        });
    }
}

/// Serves one connection to its end. Its faults are the client's: they say nothing of the server.
async fn connection(tcp: TcpStream, server: Arc<Server>, tls: Option<Arc<ServerConfig>>) {
    if tcp.set_nodelay(true).is_err() || limit_silence(&tcp).is_err() {
        return;
    }
    let wire = match tls {
        None => Wire::Plain(tcp),
        Some(config) => match tokio::time::timeout(HANDSHAKE, TlsAcceptor::from(config).accept(tcp)).await {
            Ok(Ok(stream)) => Wire::Tls(Box::new(stream.into())),
            _ => return,
        },
    };
    let service = service_fn(move |request| respond(Arc::clone(&server), request));
    let mut builder = http1::Builder::new();
    builder.timer(Timer).header_read_timeout(HEADER).max_buf_size(HEADER_BYTES).max_headers(HEADER_FIELDS);
    builder.auto_date_header(false);
    let _ = builder.serve_connection(Stream { wire, meter: Arc::default() }, service).await;
}

/// Makes the kernel end a connection whose other end acknowledges nothing.
fn limit_silence(tcp: &TcpStream) -> std::io::Result<()> {
    let most_ms = UNACKNOWLEDGED_MS;
    let (value, size) = ((&raw const most_ms).cast(), size_of_val(&most_ms) as libc::socklen_t);
    let code = unsafe { libc::setsockopt(tcp.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, value, size) };
    crate::fault::check(code.into()).map(|_| ())
}

async fn respond(server: Arc<Server>, request: http::Request<Incoming>) -> Result<Response<Body>, Infallible> {
    let (head, body) = request.into_parts();
    let asked = Request {
        method: head.method.as_str(),
        path: head.uri.path(),
        query: head.uri.query().unwrap_or(""),
        token: head.headers.get("cloudcmp-token").map(HeaderValue::as_bytes),
    };
    let answer = match server.admit(&asked) {
        Err(refusal) => refusal,
        Ok(work) => match length(body).await {
            Some(uploaded) => server.perform(work, uploaded).await,
            None => refuse(StatusCode::PAYLOAD_TOO_LARGE, "the body is longer than this server reads"),
        },
    };
    Ok(response(answer))
}

/// Reads a body to its end; returns its length, `None` if it is too long or cut off.
async fn length(mut body: Incoming) -> Option<u64> {
    let mut length = 0;
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        length += frame.ok()?.data_ref().map_or(0, |data| data.len() as u64);
        if length > MOST_UPLOAD_BYTES {
            return None;
        }
    }
    Some(length)
}

fn response(answer: Answer) -> Response<Body> {
    let mut response = Response::new(answer.body.into_body());
    *response.status_mut() = answer.status;
    let headers = response.headers_mut();
    headers.insert(http::header::CONTENT_TYPE, HeaderValue::from_static(answer.content_type));
    headers.insert(http::header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    for (name, value) in answer.fields {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
    response
}

/// The HTTP engine's timer, made of the event loop's.
struct Timer;

struct Sleep(Pin<Box<tokio::time::Sleep>>);

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context) -> Poll<()> {
        self.0.as_mut().poll(cx)
    }
}

impl hyper::rt::Sleep for Sleep {}

impl hyper::rt::Timer for Timer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn hyper::rt::Sleep>> {
        Box::pin(Sleep(Box::pin(tokio::time::sleep(duration))))
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn hyper::rt::Sleep>> {
        Box::pin(Sleep(Box::pin(tokio::time::sleep_until(deadline.into()))))
    }
}
