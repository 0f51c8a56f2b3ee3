//! Whetstone in double precision, written from scratch after its eight published sections (Curnow and Wichmann, "A
//! synthetic benchmark", The Computer Journal 19(1), 1976) with the proportions and constants of Longbottom's version
//! of 1996.
//!
//! A pass is a hundred turns of all sections. The first section is run ten times as long and its time divided by ten.
//! Sections whose result a compiler could compute are hidden from it; procedures are called. The mathematical
//! functions are those of the C library that the agent is linked with. Million Whetstone instructions per second: ten
//! per pass.

use std::hint::black_box;

use super::score::Report;
use crate::clock::{now_ns, seconds};
use crate::fault::Fault;

const T: f64 = 0.499_999_75;
const T1: f64 = 0.500_000_25;
const T2: f64 = 2.0;
/// Turns of each section in a pass.
const TURNS: [usize; 8] = [12_000, 1400, 34_500, 21_000, 3200, 89_900, 61_600, 9300];
/// The results of one pass that Longbottom prints for double precision.
const KNOWN: [f64; 8] = [
    -1.123_982_556_673_919,
    -1.121_870_798_892_844,
    1.0,
    12.0,
    0.499_029_372_815_151_4,
    0.999_999_878_908_028_2,
    3.0,
    0.751_001_630_184_578_7,
];
/// "Slight variations are normal" with the compiler and its library.
const TOLERANCE: f64 = 1e-9;
/// The share of its ten seconds that the original aims at before it chooses the number of passes.
const TRIAL_SHARE: f64 = 0.05;

pub fn run(length_s: f64) -> Result<Report, Fault> {
    let mut passes = 1;
    let mut trial = measure(passes);
    while trial.elapsed_s < length_s * TRIAL_SHARE {
        passes *= 5;
        trial = measure(passes);
    }
    passes = ((length_s * passes as f64 / trial.elapsed_s) as u64).max(1);
    let whole = measure(passes);
    let one = measure(1);
    verify(&one.results, &KNOWN)?;
    let finite = whole.results.iter().all(|result| result.is_finite());
    let fixed = [2, 3, 6].iter().all(|&i| whole.results[i] == KNOWN[i]);
    if !finite || !fixed {
        return Err(Fault::invalid(format!("{passes} passes of Whetstone ended as {:?}", whole.results), NEXT));
    }
    Ok(Report { count: 10.0 * passes as f64 / whole.elapsed_s, elapsed_s: whole.elapsed_s })
}

const NEXT: &str = "do not trust this CPU's arithmetic, or report this";

fn verify(results: &[f64; 8], known: &[f64; 8]) -> Result<(), Fault> {
    match results.iter().zip(known).position(|(result, known)| (result / known - 1.0).abs() > TOLERANCE) {
        None => Ok(()),
        Some(i) => Err(Fault::invalid(format!("section {} of Whetstone gave {}", i + 1, results[i]), NEXT)),
    }
}

struct Measured {
    results: [f64; 8],
    elapsed_s: f64,
}

/// Runs all sections, one after the other, `passes` passes of each.
fn measure(passes: u64) -> Measured {
    let mut e = [1.0, -1.0, -1.0, -1.0];
    let mut results = [0.0; 8];
    let mut elapsed_s = 0.0;
    let mut timed = |i: usize, section: &mut dyn FnMut() -> f64| {
        let start_ns = now_ns();
        results[i] = section();
        elapsed_s += seconds(now_ns() - start_ns) / if i == 0 { 10.0 } else { 1.0 };
    };
    timed(0, &mut || array(&mut e, passes));
    timed(1, &mut || array_as_parameter(&mut e, passes));
    timed(2, &mut || jumps(passes));
    timed(3, &mut || integers(&mut e, passes));
    timed(4, &mut || trigonometry(passes));
    timed(5, &mut || calls(passes));
    timed(6, &mut || references(&mut e, passes));
    timed(7, &mut || functions(passes));
    Measured { results, elapsed_s }
}

/// Runs a section's turns for `passes` passes; changes `T` to `1 - T` after each pass, against underflow.
fn each_pass(passes: u64, mut pass: impl FnMut(f64)) {
    let mut t = black_box(T);
    for _ in 0..passes {
        pass(t);
        t = 1.0 - t;
    }
}

fn array(e: &mut [f64; 4], passes: u64) -> f64 {
    each_pass(passes, |t| {
        for _ in 0..TURNS[0] {
            e[0] = (e[0] + e[1] + e[2] - e[3]) * t;
            e[1] = (e[0] + e[1] - e[2] + e[3]) * t;
            e[2] = (e[0] - e[1] + e[2] + e[3]) * t;
            e[3] = (-e[0] + e[1] + e[2] + e[3]) * t;
        }
    });
    e[3]
}

fn array_as_parameter(e: &mut [f64; 4], passes: u64) -> f64 {
    each_pass(passes, |t| (0..TURNS[1]).for_each(|_| six_times(e, t, black_box(T2))));
    e[3]
}

#[inline(never)]
fn six_times(e: &mut [f64; 4], t: f64, t2: f64) {
    for _ in 0..6 {
        e[0] = (e[0] + e[1] + e[2] - e[3]) * t;
        e[1] = (e[0] + e[1] - e[2] + e[3]) * t;
        e[2] = (e[0] - e[1] + e[2] + e[3]) * t;
        e[3] = (-e[0] + e[1] + e[2] + e[3]) / t2;
    }
}

fn jumps(passes: u64) -> f64 {
    let mut j = 1;
    each_pass(passes, |_| {
        for _ in 0..TURNS[2] {
            j = if black_box(j) == 1 { 2 } else { 3 };
            j = if j > 2 { 0 } else { 1 };
            j = i32::from(j < 1);
        }
    });
    f64::from(j)
}

fn integers(e: &mut [f64; 4], passes: u64) -> f64 {
    let (mut j, mut k, mut l) = black_box((1_i64, 2_i64, 3_i64));
    each_pass(passes, |_| {
        for _ in 0..TURNS[3] {
            j = j * (k - j) * (l - k);
            k = l * k - (l - j) * k;
            l = (l - k) * (k + j);
            e[(l - 2) as usize & 3] = (j + k + l) as f64;
            e[(k - 2) as usize & 3] = (j * k * l) as f64;
        }
    });
    e[0] + e[1]
}

fn trigonometry(passes: u64) -> f64 {
    let (mut x, mut y) = (0.5_f64, 0.5_f64);
    let t2 = black_box(T2);
    each_pass(passes, |t| {
        for _ in 1..TURNS[4] {
            x = t * (t2 * x.sin() * x.cos() / ((x + y).cos() + (x - y).cos() - 1.0)).atan();
            y = t * (t2 * y.sin() * y.cos() / ((x + y).cos() + (x - y).cos() - 1.0)).atan();
        }
    });
    y
}

fn calls(passes: u64) -> f64 {
    let mut xyz = [1.0; 3];
    for _ in 0..passes {
        (0..TURNS[5]).for_each(|_| procedure(&mut xyz, T, T1, T2));
    }
    xyz[2]
}

#[inline(never)]
fn procedure([x, y, z]: &mut [f64; 3], t: f64, t1: f64, t2: f64) {
    *x = *y;
    *y = *z;
    *x = t * (*x + *y);
    *y = t1 * (*x + *y);
    *z = (*x + *y) / t2;
}

fn references(e: &mut [f64; 4], passes: u64) -> f64 {
    e[..3].copy_from_slice(&[1.0, 2.0, 3.0]);
    let places = black_box([0_usize, 1, 2]);
    for _ in 0..passes {
        (0..TURNS[6]).for_each(|_| turn(e, places));
    }
    e[2]
}

#[inline(never)]
fn turn(e: &mut [f64; 4], [j, k, l]: [usize; 3]) {
    e[j & 3] = e[k & 3];
    e[k & 3] = e[l & 3];
    e[l & 3] = e[j & 3];
}

fn functions(passes: u64) -> f64 {
    let (mut x, t1) = (black_box(0.75_f64), black_box(T1));
    for _ in 0..passes {
        for _ in 0..TURNS[7] {
            x = (x.ln() / t1).exp().sqrt();
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_pass_gives_longbottoms_printed_results() {
        let one = measure(1);
        verify(&one.results, &KNOWN).unwrap();
        let mut wrong = one.results;
        wrong[4] += 1e-8;
        assert_eq!(verify(&wrong, &KNOWN).unwrap_err().outcome.name(), "invalid");
    }
}
