//! The client's side: one message in flight, in a closed or a spaced loop.

use std::io::ErrorKind;
use std::sync::Arc;

use super::super::Context;
use super::{Line, NEXT};
use crate::clock::{now_ns, seconds, wait_until};
use crate::fault::{Fault, OrFault};
use crate::pace::Work;
use crate::record::Recorder;
use crate::traffic_limiter::Limiter;

pub const WARM_UP: usize = 50;

/// Repeatedly sends a message and waits for its answer.
pub struct Pinger {
    line: Line,
    message: Vec<u8>,
    answer: Vec<u8>,
    number: u64,
    /// Messages of both directions.
    messages: u64,
    spacing_ns: u64,
    duration_ns: u64,
    /// The scheduled time of an open loop's next message, and the end of the run; set at the first message.
    next_ns: u64,
    end_ns: u64,
    /// Messages sent after their scheduled time, and messages never sent.
    late: u64,
    missed: u64,
    lost: u64,
    recorder: Recorder,
    limiter: Arc<Limiter>,
    /// Round trips left before the next call of the limiter.
    granted: u64,
}

impl Pinger {
    pub fn new(context: &Context, line: Line, limiter: Arc<Limiter>) -> Result<Pinger, Fault> {
        let size = context.whole("size_bytes").unwrap_or(1) as usize;
        let mut pinger = Pinger {
            line,
            message: vec![0; size],
            answer: vec![0; size],
            number: 0,
            messages: 0,
            spacing_ns: 0,
            duration_ns: (context.seconds("duration_s") * 1e9) as u64,
            next_ns: 0,
            end_ns: 0,
            late: 0,
            missed: 0,
            lost: 0,
            recorder: Recorder::new(),
            limiter,
            granted: 0,
        };
        for _ in 0..WARM_UP {
            pinger.batch()?;
        }
        pinger.recorder = Recorder::new();
        pinger.lost = 0;
        pinger.spacing_ns = (context.seconds("interval_s") * 1e9) as u64;
        pinger.limiter.begin();
        // Without this, a sleep may end another 50 us late.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
        Ok(pinger)
    }

    /// Waits for the scheduled time of the next message and returns it; `None` if it is after the end of the run.
    fn await_slot(&mut self) -> Result<Option<u64>, Fault> {
        let now = now_ns();
        if self.end_ns == 0 {
            (self.next_ns, self.end_ns) = (now, now + self.duration_ns);
        }
        let slot = self.next_ns;
        if slot >= self.end_ns {
            wait_until(self.end_ns);
            return Ok(None);
        }
        self.late += u64::from(now > slot);
        self.next_ns += self.spacing_ns;
        self.ask()?;
        wait_until(slot);
        Ok(Some(slot))
    }

    /// Asks the limiter for more round trips when none is left, before a time measurement starts.
    #[inline]
    fn ask(&mut self) -> Result<(), Fault> {
        if self.granted == 0 {
            let granted = self.limiter.take(self.limiter.grant(), || true);
            self.granted = granted.ok_or_else(|| self.limiter.refusal())?;
        }
        Ok(())
    }

    /// Gives up the unsent slots before `until_ns`.
    fn miss(&mut self, until_ns: u64) {
        if self.spacing_ns > 0 && until_ns > self.next_ns {
            let slots = (until_ns - self.next_ns).div_ceil(self.spacing_ns);
            self.missed += slots;
            self.next_ns += slots * self.spacing_ns;
        }
    }

    /// Runs one round trip and returns its time from `slot`, or from now, ns; `None` if a datagram was lost. Drops
    /// answers to earlier messages.
    fn ping(&mut self, slot: Option<u64>) -> std::io::Result<Option<u64>> {
        let tagged = self.message.len().min(8);
        (self.number, self.messages) = (self.number + 1, self.messages + 1);
        self.message[..tagged].copy_from_slice(&self.number.to_le_bytes()[..tagged]);
        let start = slot.unwrap_or_else(now_ns);
        self.line.send(&self.message)?;
        loop {
            let received = self.line.receive(&mut self.answer);
            let end = now_ns();
            self.messages += u64::from(received.is_ok());
            match received {
                Ok(0) => return Err(ErrorKind::ConnectionReset.into()),
                Ok(_) if self.answer[..tagged] == self.message[..tagged] => {
                    return Ok(Some(end - start));
                }
                Ok(_) => {}
                Err(error) => match (&self.line, error.kind()) {
                    (Line::Udp(_), ErrorKind::WouldBlock | ErrorKind::TimedOut) => return Ok(None),
                    _ => return Err(error),
                },
            }
        }
    }

    pub fn report(&self, context: &Context, t_end: f64) -> Result<(), Fault> {
        if self.recorder.len() == 0 {
            return Err(Fault::failed("no message came back", NEXT));
        }
        context.out.note("round_trips", self.recorder.len())?;
        context.out.note("lost", self.lost)?;
        context.out.note("spacing_s", seconds(self.spacing_ns))?;
        context.out.note("loop", if self.spacing_ns > 0 { "open" } else { "closed" })?;
        context.out.note("late", self.late)?;
        context.out.note("missed", self.missed)?;
        context.hist("rtt_s", t_end, &self.recorder)
    }
}

impl Drop for Pinger {
    fn drop(&mut self) {
        self.limiter.used(self.messages * self.message.len() as u64);
    }
}

impl Work for Pinger {
    fn batch(&mut self) -> Result<f64, Fault> {
        let mut slot = None;
        if self.spacing_ns == 0 {
            self.ask()?;
        } else {
            slot = self.await_slot()?;
            if slot.is_none() {
                return Ok(0.0);
            }
        }
        self.granted -= 1;
        match self.ping(slot).or_fault("the connection broke", NEXT)? {
            Some(ns) => self.recorder.record_ns(ns),
            None => {
                self.lost += 1;
                self.miss(now_ns().min(self.end_ns));
            }
        }
        Ok(1.0)
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.miss(self.end_ns);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::time::Duration;

    use super::*;
    use crate::caps::{Caps, Item};
    use crate::traffic_limiter::Tolerance;

    /// A peer that delays each answer by 12 ms, and a pinger that sends every 5 ms for 30 ms.
    fn slow_line() -> Pinger {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut server = listener.accept().unwrap().0;
        std::thread::spawn(move || {
            let mut message = [0; 8];
            while server.read_exact(&mut message).is_ok() {
                std::thread::sleep(Duration::from_millis(120));
                server.write_all(&message).unwrap();
            }
        });
        let tolerance = Tolerance { held_s: 1.0, warm_s: None, depth_s: 0.01 };
        Pinger {
            line: Line::Tcp(client),
            message: vec![0; 8],
            answer: vec![0; 8],
            number: 0,
            messages: 0,
            spacing_ns: 50_000_000,
            duration_ns: 300_000_000,
            next_ns: 0,
            end_ns: 0,
            late: 0,
            missed: 0,
            lost: 0,
            recorder: Recorder::new(),
            limiter: Arc::new(Limiter::new(Caps::default(), Item { bytes: 16, packets: 2 }, tolerance)),
            granted: 0,
        }
    }

    #[test]
    fn an_open_loop_counts_from_the_scheduled_send_time() {
        let mut pinger = slow_line();
        let start = now_ns();
        while now_ns() - start < pinger.duration_ns {
            pinger.batch().unwrap();
        }
        pinger.finish().unwrap();
        // Sent at 0, 120 and 240 ms instead of 0, 50 and 100: answered after 120, 190 and 260 ms.
        let (sent, longest_ns) = (pinger.recorder.len(), pinger.recorder.longest_ns());
        assert!((2..=3).contains(&sent) && pinger.late == sent - 1, "{sent} sent, {} late", pinger.late);
        assert_eq!(pinger.missed, 6 - sent, "every slot of the run is sent or missed");
        assert!(longest_ns >= 120_000_000 + 70_000_000 * (sent - 1) - 100_000, "{longest_ns}");
        assert_eq!(pinger.batch().unwrap(), 0.0, "after its end it sends nothing");
    }

    #[test]
    fn slots_that_pass_during_a_lost_message_count_as_missed() {
        let mut pinger = slow_line();
        (pinger.next_ns, pinger.end_ns) = (100, 400_000_000);
        pinger.miss(100);
        assert_eq!(pinger.missed, 0);
        pinger.miss(50_000_101);
        assert_eq!((pinger.missed, pinger.next_ns), (2, 100_000_100));
    }
}
