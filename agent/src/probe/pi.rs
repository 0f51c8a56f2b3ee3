//! Decimal digits of pi: one task of integer arithmetic on multi-word numbers, from nothing to the text.
//!
//! Chudnovsky's series by binary splitting, one square root, one division, one conversion to decimal. The time
//! includes the allocation of the numbers, which is part of such arithmetic. Does not measure floating point, threads,
//! or memory beyond the caches. Delgado (2010, section 3.5.1) timed another program for the same number of digits:
//! times of the two programs must not be compared.

use dashu_int::ops::SquareRoot;
use dashu_int::{IBig, UBig};
use sha2::{Digest, Sha256};

use super::{Context, Kind, Metric, Param, Probe, SOLO};
use crate::fault::Fault;
use crate::pace::{self, Race, Task};

pub const PROBE: Probe = Probe {
    name: "pi",
    roles: SOLO,
    params: &[Param { name: "digits", default: "524288", kind: Kind::Whole(100, 20_000_000) }],
    metrics: &[Metric { name: "pi_time_s", unit: "s", params: &["digits"] }],
    run,
};

/// Extra digits beyond the wanted ones, which rounding may spoil.
const GUARD: usize = 16;
/// Digits per term of the series: log10(640320^3 / (24 * 6 * 2 * 6)).
const DIGITS_A_TERM: f64 = 14.181_647_462_725_477;
/// SHA-256 by number of digits, including the leading 3; from mpmath 1.3 on GMP.
const KNOWN: [(usize, &str); 5] = [
    (1000, "2f77ba99f311974f0d188c0b19710260c11c70d6f4d96d78570d4a59c3b0dbe0"),
    (10_000, "2a32257c1b63c17b152835a29b8f832c1beb4d04d1594e18632104cf29243309"),
    (100_000, "ad86ad5fd8620210bcb5785ed727acb572ed55b6089c65b9cc31960f728db38a"),
    (524_288, "b09413aeee825d78998a4cda40edaddc8fd11650f87e77e7aa38ce7a35906c11"),
    (1_048_576, "eab5a395b81ba72d9acc49adefd21abe65372a5a4db0fa8e5aa311d46e0c0dd4"),
];

fn run(context: &Context) -> Result<(), Fault> {
    let digits = context.whole("digits").unwrap_or(0) as usize;
    let race = Race { threads: 1, cpus: &context.job.cpus, out: context.out };
    let finish = pace::race(&race, |_| Ok(Pi { digits, text: String::new() }))?;
    context.out.note("verified_by", if known(digits).is_some() { "digest" } else { "hexadecimal_digits" })?;
    context.sample("pi_time_s", finish.all_s, finish.all_s)
}

struct Pi {
    digits: usize,
    text: String,
}

impl Task for Pi {
    fn run(&mut self) -> Result<(), Fault> {
        self.text = digits_of_pi(self.digits);
        Ok(())
    }

    /// Checks the known answer: a digest if there is one; else hexadecimal digits by another formula, and the
    /// prefix's.
    fn verify(&mut self) -> Result<(), Fault> {
        let right = match known(self.digits) {
            Some(digest) => hex(&self.text) == digest,
            None => self.text.len() == self.digits && agrees_with_series_of_its_own(&self.text),
        };
        let next = "do not trust this CPU's arithmetic, or report this";
        if right { Ok(()) } else { Err(Fault::invalid("the digits of pi are wrong", next)) }
    }
}

fn known(digits: usize) -> Option<&'static str> {
    KNOWN.iter().find(|(count, _)| *count == digits).map(|(_, digest)| *digest)
}

fn hex(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the first `digits` digits of pi, truncated, not rounded.
fn digits_of_pi(digits: usize) -> String {
    let wanted = digits + GUARD;
    let terms = (wanted as f64 / DIGITS_A_TERM) as u64 + 2;
    let (_, q, t) = split(0, terms);
    let ten = |power: usize| UBig::from(10_u8).pow(power);
    let root = (UBig::from(10_005_u32) * ten(2 * wanted)).sqrt();
    let pi = IBig::from(q * root * UBig::from(426_880_u32)) / t;
    let mut text = pi.to_string();
    text.truncate(digits);
    text
}

/// Sums the terms `from..to` of Chudnovsky's series (1988) as P, Q and T, so that pi = 426880 sqrt(10005) Q / T.
fn split(from: u64, to: u64) -> (UBig, UBig, IBig) {
    if to - from == 1 {
        let (p, q) = match from {
            0 => (UBig::ONE, UBig::ONE),
            k => {
                let p = UBig::from(6 * k - 5) * UBig::from(2 * k - 1) * UBig::from(6 * k - 1);
                let cubed = UBig::from(k) * UBig::from(k) * UBig::from(k);
                (p, cubed * UBig::from(10_939_058_860_032_000_u64))
            }
        };
        let t = IBig::from(&p * UBig::from(13_591_409 + 545_140_134 * from));
        return (p, q, if from % 2 == 1 { -t } else { t });
    }
    let middle = from.midpoint(to);
    let (p1, q1, t1) = split(from, middle);
    let (p2, q2, t2) = split(middle, to);
    let t = IBig::from(q2.clone()) * t1 + IBig::from(p1.clone()) * t2;
    (p1 * p2, q1 * q2, t)
}

/// Whether distant hexadecimal digits of the number match Bailey, Borwein and Plouffe's formula.
fn agrees_with_series_of_its_own(text: &str) -> bool {
    // No farther than a moment's work; the other digits come from the same three operations.
    const FARTHEST: usize = 40_000;
    let decimals = text.len() - 1;
    let at = (decimals * 4 / 5).saturating_sub(10).min(FARTHEST);
    let Ok(number) = UBig::from_str_radix(text, 10) else { return false };
    let shifted = (number << (4 * (at + 8))) / UBig::from(10_u8).pow(decimals);
    let ours = u64::try_from(shifted & UBig::from(0xffff_ffff_u64)).unwrap_or(0);
    // Rounding of the short series may change the last of the eight digits.
    ours >> 8 == hexadecimal_digits(at as u64) >> 8
}

/// Returns eight hexadecimal digits of pi after the first `at` fractional ones (Bailey, Borwein, Plouffe 1997).
fn hexadecimal_digits(at: u64) -> u64 {
    let series = |j: u64| -> f64 {
        let head: f64 = (0..=at).map(|k| power_of_16(at - k, 8 * k + j) as f64 / (8 * k + j) as f64).sum();
        let tail: f64 = (1..12).map(|k| 16_f64.powi(-k) / (8 * (at + k as u64) + j) as f64).sum();
        head.fract() + tail
    };
    let fraction = 4.0 * series(1) - 2.0 * series(4) - series(5) - series(6);
    (fraction.rem_euclid(1.0) * 4_294_967_296.0) as u64
}

/// Returns `16^power` modulo a number below 2^32.
fn power_of_16(mut power: u64, modulus: u64) -> u64 {
    let (mut result, mut base) = (1 % modulus, 16 % modulus);
    while power > 0 {
        if power & 1 == 1 {
            result = result * base % modulus;
        }
        base = base * base % modulus;
        power >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_match_other_programs_and_formulas() {
        assert!(digits_of_pi(100).starts_with("31415926535897932384626433832795028841971693993751"));
        assert_eq!(hexadecimal_digits(0) >> 8, 0x24_3f6a);
        for (digits, digest) in &KNOWN[..3] {
            let text = digits_of_pi(*digits);
            assert_eq!((text.len(), hex(&text).as_str()), (*digits, *digest));
            assert!(agrees_with_series_of_its_own(&text), "{digits}");
        }
    }

    #[test]
    fn a_wrong_digit_is_detected() {
        for digits in [150, 1000] {
            let mut pi = Pi { digits, text: digits_of_pi(digits) };
            pi.verify().unwrap();
            let place = digits / 3;
            let wrong = if &pi.text[place..=place] == "1" { "2" } else { "1" };
            pi.text.replace_range(place..=place, wrong);
            assert_eq!(pi.verify().unwrap_err().outcome.name(), "invalid");
        }
    }
}
