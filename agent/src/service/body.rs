//! The body of a request: nothing, bytes, or the content of a blob in pieces that are never copied.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

use super::call::Blob;
use super::content;

/// A body with a known length.
pub struct Body {
    source: Source,
    /// The body waits for this, if the request asked for it.
    consent: Option<Arc<Consent>>,
}

enum Source {
    Bytes(Bytes),
    Blob { blob: Blob, sent: u64 },
}

/// A service's consent to a body, `100 Continue`.
#[derive(Default)]
pub struct Consent {
    given: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl Consent {
    pub fn give(&self) {
        self.given.store(true, Relaxed);
        if let Some(waker) = self.waker.lock().ok().and_then(|mut waker| waker.take()) {
            waker.wake();
        }
    }

    pub fn is_given(&self) -> bool {
        self.given.load(Relaxed)
    }
}

impl Body {
    pub fn empty() -> Body {
        Body::bytes(Bytes::new())
    }

    pub fn bytes(bytes: Bytes) -> Body {
        Body { source: Source::Bytes(bytes), consent: None }
    }

    pub fn blob(blob: Blob) -> Body {
        Body { source: Source::Blob { blob, sent: 0 }, consent: None }
    }

    /// Makes the body wait for the service's consent.
    pub fn wait_for(&mut self, consent: Arc<Consent>) {
        self.consent = Some(consent);
    }

    fn left(&self) -> u64 {
        match &self.source {
            Source::Bytes(bytes) => bytes.len() as u64,
            Source::Blob { blob, sent } => blob.size - sent,
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(consent) = &self.consent {
            if let Ok(mut waker) = consent.waker.lock() {
                *waker = Some(cx.waker().clone());
            }
            if !consent.is_given() {
                return Poll::Pending;
            }
        }
        if self.left() == 0 {
            return Poll::Ready(None);
        }
        let piece = match &mut self.source {
            Source::Bytes(bytes) => std::mem::take(bytes),
            Source::Blob { blob, sent } => {
                let piece = content::piece(blob, *sent);
                *sent += piece.len() as u64;
                piece
            }
        };
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.left() == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left())
    }
}
