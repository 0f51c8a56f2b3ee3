//! A TCP or TLS connection as the HTTP engine wants it, which notes when bytes came and went.

use std::io::{Error, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll, ready};

use hyper::rt::ReadBufCursor;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsStream;

use crate::clock::now_ns;

/// Times of one operation on a connection, ns.
#[derive(Default)]
pub struct Meter {
    first_ns: AtomicU64,
    progress_ns: AtomicU64,
}

impl Meter {
    /// Forgets the first byte, and starts the time without progress.
    pub fn reset(&self, now: u64) {
        self.first_ns.store(0, Relaxed);
        self.progress_ns.store(now, Relaxed);
    }

    /// Forgets the first byte: it was of an interim answer.
    pub fn forget_first(&self) {
        self.first_ns.store(0, Relaxed);
    }

    pub fn first_ns(&self) -> Option<u64> {
        Some(self.first_ns.load(Relaxed)).filter(|&ns| ns > 0)
    }

    pub fn progress_ns(&self) -> u64 {
        self.progress_ns.load(Relaxed)
    }

    fn came(&self) {
        let now = now_ns();
        self.progress_ns.store(now, Relaxed);
        if self.first_ns.load(Relaxed) == 0 {
            self.first_ns.store(now, Relaxed);
        }
    }
}

pub enum Wire {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

pub struct Stream {
    pub wire: Wire,
    pub meter: Arc<Meter>,
}

/// Calls a method of the wire inside.
macro_rules! inner {
    ($self:ident, $method:ident($($arg:expr),*)) => {
        match &mut $self.wire {
            Wire::Plain(wire) => Pin::new(wire).$method($($arg),*),
            Wire::Tls(wire) => Pin::new(wire.as_mut()).$method($($arg),*),
        }
    };
}

impl Stream {
    fn went(&self, written: &Poll<Result<usize, Error>>) {
        if matches!(written, Poll::Ready(Ok(1..))) {
            self.meter.progress_ns.store(now_ns(), Relaxed);
        }
    }
}

impl hyper::rt::Read for Stream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context, mut buf: ReadBufCursor) -> Poll<Result<(), Error>> {
        // The reader below only ever writes to the buffer, and says how much it has written.
        let mut part = ReadBuf::uninit(unsafe { buf.as_mut() });
        ready!(inner!(self, poll_read(cx, &mut part)))?;
        let length = part.filled().len();
        unsafe { buf.advance(length) };
        if length > 0 {
            self.meter.came();
        }
        Poll::Ready(Ok(()))
    }
}

impl hyper::rt::Write for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context, bytes: &[u8]) -> Poll<Result<usize, Error>> {
        let written = inner!(self, poll_write(cx, bytes));
        self.went(&written);
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context) -> Poll<Result<(), Error>> {
        inner!(self, poll_flush(cx))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context) -> Poll<Result<(), Error>> {
        inner!(self, poll_shutdown(cx))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context,
        parts: &[IoSlice],
    ) -> Poll<Result<usize, Error>> {
        let written = inner!(self, poll_write_vectored(cx, parts));
        self.went(&written);
        written
    }
}
