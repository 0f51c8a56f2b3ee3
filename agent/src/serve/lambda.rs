//! The handler's side of the runtime interface of AWS Lambda, version 2018-06-01: take an event, answer it, again.
//!
//! An event is a request to a function's URL or from an HTTP API of API Gateway (payload format 2.0); an event with the
//! same fields by direct invocation does as well. Bodies go base64 encoded, which a function's URL decodes. Ends with a
//! fault if the interface cannot be reached: the platform then starts a new process.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{Method, StatusCode};
use http_body::Body as _;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use serde_json::{Map, Value, json};
use tokio::net::TcpStream;

use super::work::{Answer, Content, Request, Server};
use crate::fault::{Fault, OrFault};
use crate::service::call::Blob;
use crate::service::{Body, Stream, Wire, content};

const INVOCATION: &str = "/2018-06-01/runtime/invocation";
const ID: &str = "lambda-runtime-aws-request-id";
/// The longest event: Lambda's own limit is 6 MB.
const MOST_EVENT_BYTES: usize = 16 << 20;
const NEXT: &str = "run it as the bootstrap of a function";

/// Answers events until the interface is gone.
pub async fn run(at: SocketAddr, server: Arc<Server>) -> Result<(), Fault> {
    let mut link = Link::open(at).await?;
    loop {
        let (status, id, event) = link.ask(Method::GET, &format!("{INVOCATION}/next"), Body::empty()).await?;
        let id = id.filter(|_| status == StatusCode::OK);
        let id = id.ok_or_else(|| Fault::failed(format!("the runtime gave no event: {status}"), NEXT))?;
        let answer = answer(&server, &event).await;
        let text = to_json(answer).to_string();
        let (status, _, _) =
            link.ask(Method::POST, &format!("{INVOCATION}/{id}/response"), Body::bytes(text.into())).await?;
        if !status.is_success() {
            // An answer that is too long is one of the limits that a client looks for.
            let error = json!({"errorType": "Handler.Response", "errorMessage": format!("the runtime said {status}")});
            link.ask(Method::POST, &format!("{INVOCATION}/{id}/error"), Body::bytes(error.to_string().into())).await?;
        }
    }
}

/// Moves the bytes of a connection; None once the connection has ended.
type Driver = Option<Pin<Box<dyn Future<Output = hyper::Result<()>>>>>;

/// The kept connection to the interface.
struct Link {
    at: SocketAddr,
    sender: SendRequest<Body>,
    driver: Driver,
}

impl Link {
    async fn open(at: SocketAddr) -> Result<Link, Fault> {
        let failed = || format!("cannot reach the runtime at {at}");
        let tcp = TcpStream::connect(at).await.or_fault(failed(), NEXT)?;
        tcp.set_nodelay(true).or_fault(failed(), NEXT)?;
        let stream = Stream { wire: Wire::Plain(tcp), meter: Arc::default() };
        let (sender, driver) = http1::handshake(stream).await.or_fault(failed(), NEXT)?;
        Ok(Link { at, sender, driver: Some(Box::pin(driver)) })
    }

    /// Sends a request; returns the status, the event's number if there is one, and the body.
    async fn ask(
        &mut self,
        method: Method,
        path: &str,
        body: Body,
    ) -> Result<(StatusCode, Option<String>, Vec<u8>), Fault> {
        poll_fn(|cx| {
            advance(&mut self.driver, cx);
            Poll::Ready(())
        })
        .await;
        if self.sender.is_closed() {
            *self = Link::open(self.at).await?;
        }
        let request = http::Request::builder().method(method).uri(path).header("host", self.at.to_string()).body(body);
        let sender = &mut self.sender;
        let exchange = async {
            let response = sender.send_request(request.or_fault("cannot build a request", "report this")?).await;
            let response = response.or_fault("the runtime is gone", NEXT)?;
            let id = response.headers().get(ID).and_then(|id| id.to_str().ok()).map(String::from);
            Ok((response.status(), id, read(response.into_body()).await?))
        };
        let (mut exchange, driver) = (pin!(exchange), &mut self.driver);
        poll_fn(|cx| {
            advance(driver, cx);
            exchange.as_mut().poll(cx)
        })
        .await
    }
}

/// Moves bytes on. A connection that has ended is dropped: only that ends a request which still waits for it.
fn advance(driver: &mut Driver, cx: &mut Context<'_>) {
    if driver.as_mut().is_some_and(|one| one.as_mut().poll(cx).is_ready()) {
        *driver = None;
    }
}

async fn read(mut body: Incoming) -> Result<Vec<u8>, Fault> {
    let mut all = Vec::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let frame = frame.or_fault("the runtime is gone", NEXT)?;
        all.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
        if all.len() > MOST_EVENT_BYTES {
            return Err(Fault::failed("the runtime sent an event without an end", NEXT));
        }
    }
    Ok(all)
}

/// Answers one event; what is no event of a request is asked for `/`, which does not exist.
async fn answer(server: &Arc<Server>, event: &[u8]) -> Answer {
    let event: Value = serde_json::from_slice(event).unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
    let method = event["requestContext"]["http"]["method"].as_str().unwrap_or("GET");
    let (path, query) = (text(&event["rawPath"]), text(&event["rawQueryString"]));
    let token = event["headers"]["cloudcmp-token"].as_str().map(str::as_bytes);
    match server.admit(&Request { method, path: &path, query: &query, token }) {
        Ok(work) => server.perform(work, uploaded(&event)).await,
        Err(refusal) => refusal,
    }
}

/// Returns the length of an event's body.
fn uploaded(event: &Value) -> u64 {
    let body = event["body"].as_str().unwrap_or("");
    match event["isBase64Encoded"] == true {
        true => STANDARD.decode(body).map_or(0, |bytes| bytes.len() as u64),
        false => body.len() as u64,
    }
}

fn to_json(answer: Answer) -> Value {
    let body = match answer.body {
        Content::Bytes(bytes) => bytes.to_vec(),
        Content::Blob(size) => whole(&Content::blob(size)),
    };
    let mut headers: Map<String, Value> =
        answer.fields.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
    headers.insert("content-type".into(), answer.content_type.into());
    headers.insert("cache-control".into(), "no-store".into());
    json!({"statusCode": answer.status.as_u16(), "headers": headers, "body": STANDARD.encode(body), "isBase64Encoded": true})
}

fn whole(blob: &Blob) -> Vec<u8> {
    let mut all = Vec::new();
    while (all.len() as u64) < blob.size {
        all.extend_from_slice(&content::piece(blob, all.len() as u64));
    }
    all
}
