//! The agent's output: NDJSON frames on stdout, numbered from 0, closed by an end record with count and digest.
//!
//! Only finite numbers can be written: `sample` refuses other numbers before a byte is written, and `note` leaves them
//! out.

use std::io::Write;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::fault::{Fault, Outcome};

/// The protocol version that both sides write in every line.
pub const VERSION: u64 = 2;
/// The longest line that either side may write, including its line feed, bytes.
pub const LINE_LIMIT: usize = 64 * 1024;
/// The reader refuses a stream with more frames than this.
pub const FRAME_LIMIT: u64 = 1_000_000;

/// The only writer of stdout.
pub struct Out {
    stream: Mutex<Stream>,
}

struct Stream {
    sink: Box<dyn Write + Send>,
    digest: Sha256,
    seq: u64,
    count: u64,
    ended: bool,
}

impl Out {
    pub fn new(sink: Box<dyn Write + Send>) -> Out {
        Out { stream: Mutex::new(Stream { sink, digest: Sha256::new(), seq: 0, count: 0, ended: false }) }
    }

    /// Writes the hello record: the agent, the machine and the clock.
    pub fn hello(&self, body: Value) -> Result<(), Fault> {
        self.lock().frame("hello", body)
    }

    pub fn ready(&self, addr: &str) -> Result<(), Fault> {
        self.lock().frame("ready", json!({"addr": addr}))
    }

    /// Writes one fact about this trial; omits a number that is not finite, like an unknown fact.
    pub fn note(&self, key: &str, value: impl Into<Value>) -> Result<(), Fault> {
        match value.into() {
            Value::Null => Ok(()),
            value => self.lock().frame("note", json!({"key": key, "value": value})),
        }
    }

    pub fn sample(&self, metric: &str, params: &Map<String, Value>, t_s: f64, value: f64) -> Result<(), Fault> {
        if !value.is_finite() || !t_s.is_finite() || t_s < 0.0 {
            let what = format!("{metric} came out as {value} at {t_s} s");
            return Err(Fault::invalid(what, "report this: a probe must not produce such a number"));
        }
        let mut stream = self.lock();
        stream.frame("sample", json!({"metric": metric, "params": params, "t_s": t_s, "value": value}))?;
        stream.count += 1;
        Ok(())
    }

    pub fn hist(&self, metric: &str, params: &Map<String, Value>, t_s: f64, hist: &str) -> Result<(), Fault> {
        let mut stream = self.lock();
        stream.frame("hist", json!({"metric": metric, "params": params, "t_s": t_s, "hist": hist}))?;
        stream.count += 1;
        Ok(())
    }

    /// Writes a piece of a command's output.
    pub fn text(&self, name: &str, text: &str) -> Result<(), Fault> {
        self.lock().frame("text", json!({"name": name, "text": text}))
    }

    /// Writes the last frames: an error if there is a fault, then the end record. Later calls write nothing.
    pub fn finish(&self, result: &Result<(), Fault>) {
        self.lock().finish(result);
    }

    /// Does the same as `finish`, for a thread that may not wait for a stuck writer; `false` if the lock was
    /// unavailable.
    pub fn finish_within(&self, patience: Duration, result: &Result<(), Fault>) -> bool {
        let until = Instant::now() + patience;
        loop {
            if let Ok(mut stream) = self.stream.try_lock() {
                stream.finish(result);
                return true;
            }
            if Instant::now() >= until {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Stream> {
        self.stream.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Stream {
    fn frame(&mut self, kind: &str, body: Value) -> Result<(), Fault> {
        if self.ended {
            return Ok(());
        }
        if self.seq + 3 > FRAME_LIMIT && !matches!(kind, "error" | "end") {
            return Err(Fault::failed("more than a million frames", "use a longer interval_s"));
        }
        let mut frame = Map::new();
        frame.insert("v".into(), VERSION.into());
        frame.insert("seq".into(), self.seq.into());
        frame.insert("type".into(), kind.into());
        if let Value::Object(fields) = body {
            frame.extend(fields);
        }
        let mut line = Value::Object(frame).to_string();
        line.push('\n');
        if line.len() > LINE_LIMIT {
            return Err(Fault::failed(format!("a {kind} frame of {} bytes", line.len()), "report this"));
        }
        self.digest.update(line.as_bytes());
        self.seq += 1;
        let sent = self.sink.write_all(line.as_bytes()).and_then(|()| self.sink.flush());
        sent.map_err(|error| Fault::failed(format!("cannot write to stdout: {error}"), "keep the reader open"))
    }

    fn finish(&mut self, result: &Result<(), Fault>) {
        if self.ended {
            return;
        }
        let mut outcome = Outcome::Ok;
        if let Err(fault) = result {
            outcome = fault.outcome;
            let body = json!({"what": one_line(&fault.what), "next": one_line(&fault.next)});
            let _ = self.frame("error", body);
        }
        let digest: String = self.digest.clone().finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        let body = json!({"outcome": outcome.name(), "count": self.count, "sha256": digest});
        let _ = self.frame("end", body); // ignored: nobody may be listening
        self.ended = true;
    }
}

/// Returns at most 2,000 characters, on one line.
fn one_line(text: &str) -> String {
    text.chars().take(2000).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Returns a number for a note: `Null`, which `note` omits, if it is not finite.
pub fn finite(value: f64) -> Value {
    serde_json::Number::from_f64(value).map_or(Value::Null, Value::Number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn written(speak: impl Fn(&Out)) -> String {
        let sink = Sink::default();
        speak(&Out::new(Box::new(sink.clone())));
        let bytes = sink.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    /// Compares the bytes that the agent writes for known frames with the golden stream.
    #[test]
    fn writes_the_golden_stream() {
        let clock = json!({"source": "CLOCK_MONOTONIC_RAW", "resolution_s": 1e-9, "cost_s": 2.5e-8});
        let boot_id = "6d3f3c1e-2b7a-4c55-9d0e-0123456789ab";
        let host = json!({"kernel": "6.1.0", "os": null, "boot_id": boot_id, "uptime_s": 12.345678901});
        let hello = json!({"version": "0.1.0", "target": "x86_64-unknown-linux-gnu", "host": host, "clock": clock});
        let params = Map::from_iter([("precision", "f64"), ("threads", "one")].map(|(k, v)| (k.into(), v.into())));
        let text = written(|out| {
            out.hello(hello.clone()).unwrap();
            out.note("isa", "avx512f").unwrap();
            out.note("unknown", Value::Null).unwrap();
            out.note("disturbed", false).unwrap();
            out.sample("fma_flop_per_s", &params, 1.0, 9.25e10).unwrap();
            out.sample("fma_flop_per_s", &params, 2.0, 9.5e10).unwrap();
            out.finish(&Ok(()));
            out.note("late", 1).unwrap();
        });
        assert_eq!(text, include_str!("../tests/golden/stream-ok-fma.ndjson"));
    }

    #[test]
    fn non_finite_numbers_are_never_written() {
        let text = written(|out| {
            for (t_s, value) in [(1.0, f64::NAN), (1.0, f64::INFINITY), (-1.0, 1.0), (f64::NAN, 1.0)] {
                let fault = out.sample("rate", &Map::new(), t_s, value).unwrap_err();
                assert_eq!(fault.outcome, Outcome::Invalid);
            }
            out.note("ratio", finite(f64::NAN)).unwrap();
            out.finish(&Err(Fault::failed("two\nlines", "next")));
        });
        assert_eq!(text.lines().count(), 2);
        assert!(text.contains(r#""what":"two lines""#) && text.contains(r#""count":0"#));
    }
}
