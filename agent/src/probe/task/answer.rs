//! Known answers: the references that a task's result is compared with after the race.

use std::fmt::Write;

use sha2::{Digest, Sha256};

use crate::fault::Fault;
use crate::rng::Rng;

/// The seed of every task's input, independent of the job's seed: the work is the same on every machine.
const SEED: u64 = 2010;

/// Returns the number generator of one task's input.
pub fn numbers(stream: u64) -> Rng {
    Rng::new(SEED, stream)
}

/// Returns `count` incompressible bytes; `count` is a multiple of 8.
pub fn bytes(stream: u64, count: usize) -> Vec<u8> {
    let mut rng = numbers(stream);
    (0..count / 8).flat_map(|_| rng.next().to_le_bytes()).collect()
}

/// Refuses data whose SHA-256 differs from the known one, in hexadecimal.
pub fn expect_sha256(data: &[u8], known: &str, what: &str) -> Result<(), Fault> {
    let digest = sha256(data);
    expect(digest == known, &format!("{what} (SHA-256 {digest})"))
}

fn sha256(data: &[u8]) -> String {
    Sha256::digest(data).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Refuses a result that differs from the known one.
pub fn expect(right: bool, what: &str) -> Result<(), Fault> {
    if right {
        return Ok(());
    }
    let what = format!("{what} is not the known answer");
    Err(Fault::invalid(what, "do not trust this machine's arithmetic or memory, or report this"))
}

/// Compares every pass with the first one, bit by bit: one machine computes the same result twice.
pub struct Alike {
    first: Vec<f64>,
    seen: bool,
    differ: bool,
}

impl Alike {
    pub fn new(length: usize) -> Alike {
        Alike { first: vec![0.0; length], seen: false, differ: false }
    }

    pub fn see(&mut self, result: &[f64]) {
        if self.seen {
            let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits();
            self.differ |= !self.first.iter().zip(result).all(same);
        } else {
            self.first.copy_from_slice(result);
            self.seen = true;
        }
    }

    pub fn verify(&self, what: &str) -> Result<(), Fault> {
        expect(self.seen && !self.differ, what)
    }
}

/// Whether two vectors agree within a share of the larger one's largest value; never with a NaN.
pub fn close(a: &[f64], b: &[f64], share: f64) -> bool {
    let largest = a.iter().chain(b).fold(0.0_f64, |most, value| most.max(value.abs()));
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| (x - y).abs() <= share * largest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_detected_and_nan_is_never_close() {
        let mut alike = Alike::new(2);
        assert!(alike.verify("nothing").is_err());
        alike.see(&[1.0, 2.0]);
        alike.see(&[1.0, 2.0]);
        assert!(alike.verify("it").is_ok());
        alike.see(&[1.0, 2.0 + 1e-15]);
        alike.see(&[1.0, 2.0]);
        assert_eq!(alike.verify("it").unwrap_err().outcome.name(), "invalid");
        assert!(close(&[1.0, 2.0], &[1.0, 2.0 + 1e-12], 1e-9));
        assert!(!close(&[1.0, 2.0], &[1.0, 2.0 + 1e-8], 1e-9));
        assert!(!close(&[f64::NAN], &[f64::NAN], 1.0) && !close(&[1.0], &[], 1.0));
    }

    #[test]
    fn bytes_are_the_generators_words() {
        let mut rng = numbers(3);
        assert_eq!(bytes(3, 16), [rng.next(), rng.next()].map(u64::to_le_bytes).as_flattened());
        assert_eq!(sha256(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
