//! EP: pairs of Gaussian deviates by Marsaglia's polar method, and the number of pairs in each square ring.
//!
//! Arithmetic in registers, with logarithms and square roots; almost no memory, and no communication between threads
//! until the end. Accepted pairs are packed first, so that the processor need not predict which pairs are accepted;
//! logarithms are a series, computed in lanes. The rate counts random numbers, as the originals do.

use serde_json::json;

use super::check::Check;
use super::lcg::{FACTOR, Lcg, MASK, UNIT};
use super::shared::Each;
use super::team::Team;
use super::{Benchmark, Class, Outcome};
use crate::fault::Fault;
use crate::simd::Isa;

pub const BENCHMARK: Benchmark = Benchmark {
    name: "ep",
    bytes: |_, threads| (threads * size_of::<Tally>()) as u64,
    run: |class, team| run(&Problem::of(class), Isa::best(), team),
};

const SEED: u64 = 271_828_183;
const EPSILON: f64 = 1e-8;
const RINGS: usize = 10;
/// Pairs that a member takes at once, and pairs that it processes together in its cache.
const BATCH: usize = 1 << 16;
const PAIRS: usize = 256;
/// The number of parallel sequences.
const SIDE: usize = 8;

/// A class: log2 of the pairs, the published sums, and the counts. The counts of class W come from another program,
/// written independently with NumPy, that reproduces the published sums of W and the published sums and counts of S.
struct Problem {
    log_pairs: u32,
    sums: [f64; 2],
    counts: [u64; RINGS],
}

impl Problem {
    fn of(class: Class) -> Problem {
        let (log_pairs, sums, counts) = match class {
            Class::S => (
                24,
                [-3.24783465203474e3, -6.958407078382297e3],
                [6_140_517, 5_865_300, 1_100_361, 68_546, 1_648, 17, 0, 0, 0, 0],
            ),
            Class::W => (
                25,
                [-2.863319731645753e3, -6.320053679109499e3],
                [12_281_576, 11_729_692, 2_202_726, 137_368, 3_371, 36, 0, 0, 0, 0],
            ),
            Class::A => (
                28,
                [-4.295875165629892e3, -1.580732573678431e4],
                [98_257_395, 93_827_014, 17_611_549, 1_110_028, 26_536, 245, 0, 0, 0, 0],
            ),
            Class::B => (
                30,
                [4.033815542441498e4, -2.660669192809235e4],
                [393_058_470, 375_280_898, 70_460_742, 4_438_852, 105_691, 948, 5, 0, 0, 0],
            ),
        };
        Problem { log_pairs, sums, counts }
    }
}

type Group = [f64; SIDE];

/// The results of a member.
#[derive(Clone, Copy, Default)]
struct Tally {
    sums: [Group; 2],
    /// The number of pairs whose larger deviate is at least this large.
    at_least: [u64; RINGS + 1],
}

fn run(problem: &Problem, isa: Isa, team: &Team) -> Result<Outcome, Fault> {
    let batches = (1_usize << problem.log_pairs) / BATCH;
    let tallies = Each::new(team, |_| Tally::default());
    let spent = team.timed(|| {
        team.all(|member| {
            // Safe: each member uses its own tally.
            let tally = unsafe { tallies.own(member) };
            member.part(batches).for_each(|number| batch(isa, number, tally));
        });
    });
    let (mut sums, mut at_least) = ([0.0; 2], [0; RINGS + 1]);
    for index in 0..team.threads() {
        // Safe: no member is working.
        let tally = unsafe { tallies.of(index) };
        (0..2).for_each(|axis| sums[axis] += tally.sums[axis].iter().sum::<f64>());
        (0..=RINGS).for_each(|ring| at_least[ring] += tally.at_least[ring]);
    }
    let checks = checks(problem, sums, &at_least);
    let operations = (2_u64 << problem.log_pairs) as f64;
    Ok(Outcome { spent, operations, checks, notes: vec![("isa", json!(isa.name()))] })
}

fn checks(problem: &Problem, sums: [f64; 2], at_least: &[u64; RINGS + 1]) -> Vec<Check> {
    let mut checks = vec![
        Check::new("sum of X of EP", sums[0], problem.sums[0], EPSILON),
        Check::new("sum of Y of EP", sums[1], problem.sums[1], EPSILON),
    ];
    for (ring, &count) in problem.counts.iter().enumerate() {
        let got = at_least[ring] - at_least[ring + 1];
        checks.push(Check::new(format!("count {ring} of EP"), got as f64, count as f64, 0.0));
    }
    checks
}

/// Runs a batch with the widest instructions available.
fn batch(isa: Isa, number: usize, tally: &mut Tally) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx2,fma")]
        unsafe fn widest(number: usize, tally: &mut Tally) {
            plain(number, tally);
        }
        #[target_feature(enable = "avx2,fma")]
        unsafe fn wide(number: usize, tally: &mut Tally) {
            plain(number, tally);
        }
        // Safe: the processor supports them.
        match isa {
            Isa::Avx512 if is_x86_feature_detected!("avx512dq") && is_x86_feature_detected!("avx512vl") => {
                return unsafe { widest(number, tally) };
            }
            Isa::Avx512 | Isa::Avx2 => return unsafe { wide(number, tally) },
            Isa::Base => {}
        }
    }
    let _ = isa;
    plain(number, tally);
}

#[inline(always)]
fn plain(number: usize, tally: &mut Tally) {
    let first = Lcg::after(SEED, 2 * (number * BATCH) as u64).0;
    let mut state = [first; SIDE];
    for side in 0..SIDE {
        state[side] = if side == 0 { first } else { state[side - 1] }.wrapping_mul(FACTOR) & MASK;
    }
    let mut kept = Kept { x: [0.0; PAIRS + SIDE], y: [0.0; PAIRS + SIDE], t: [1.0; PAIRS + SIDE] };
    for _ in 0..BATCH / PAIRS {
        let count = kept.fill(&mut state);
        kept.tally(count, tally);
    }
}

/// Pairs within the unit circle, packed.
struct Kept {
    x: [f64; PAIRS + SIDE],
    y: [f64; PAIRS + SIDE],
    /// x^2 + y^2.
    t: [f64; PAIRS + SIDE],
}

impl Kept {
    /// Draws `PAIRS` pairs and returns the number of accepted pairs.
    #[inline(always)]
    fn fill(&mut self, state: &mut [u64; SIDE]) -> usize {
        let ahead = const { power_of_side() };
        let mut drawn = [0.0; 2 * PAIRS];
        for numbers in drawn.as_chunks_mut::<SIDE>().0 {
            for side in 0..SIDE {
                numbers[side] = to_float(state[side]) * (2.0 * UNIT) - 1.0;
                state[side] = state[side].wrapping_mul(ahead) & MASK;
            }
        }
        let mut count = 0;
        for pair in drawn.as_chunks::<2>().0 {
            let t = pair[0] * pair[0] + pair[1] * pair[1];
            // Always writes to the place, and keeps the pair by moving past it; there are at most PAIRS.
            unsafe {
                *self.x.get_unchecked_mut(count) = pair[0];
                *self.y.get_unchecked_mut(count) = pair[1];
                *self.t.get_unchecked_mut(count) = t;
            }
            count += usize::from(t <= 1.0);
        }
        count
    }

    /// Turns the first `count` pairs into deviates; the padding of the last lanes becomes zeros that count in no ring.
    #[inline(always)]
    fn tally(&mut self, count: usize, tally: &mut Tally) {
        let full = count.next_multiple_of(SIDE);
        for at in count..full {
            (self.x[at], self.y[at], self.t[at]) = (0.0, 0.0, 1.0);
        }
        let mut larger = [[0.0; SIDE]; PAIRS / SIDE];
        let (x, y, t) = (self.x.as_chunks().0, self.y.as_chunks().0, self.t.as_chunks().0);
        let groups = x.iter().zip(y).zip(t).zip(&mut larger).take(full / SIDE);
        for (((x, y), t), larger) in groups {
            eight(x, y, t, larger, &mut tally.sums);
        }
        tally.at_least[0] += count as u64;
        for ring in 1..=RINGS {
            let bound = ring as f64;
            let deviates = larger[..full / SIDE].as_flattened().iter();
            let above: u64 = deviates.map(|&deviate| u64::from(deviate >= bound)).sum();
            if above == 0 {
                break;
            }
            tally.at_least[ring] += above;
        }
    }
}

/// Adds the deviates of eight pairs to the sums, and returns the larger deviate of each pair in `larger`.
#[inline(always)]
fn eight(x: &Group, y: &Group, t: &Group, larger: &mut Group, sums: &mut [Group; 2]) {
    for side in 0..SIDE {
        let factor = (-2.0 * ln(t[side]) / t[side]).sqrt();
        let (x, y) = (x[side] * factor, y[side] * factor);
        sums[0][side] += x;
        sums[1][side] += y;
        larger[side] = x.abs().max(y.abs());
    }
}

/// Converts a whole number below 2^52, by instructions that every instruction set has.
#[inline(always)]
fn to_float(whole: u64) -> f64 {
    const ZERO: f64 = 4_503_599_627_370_496.0;
    f64::from_bits(ZERO.to_bits() | whole) - ZERO
}

/// Returns 5^13 to the power of `SIDE`.
const fn power_of_side() -> u64 {
    let mut power = 1_u64;
    let mut side = 0;
    while side < SIDE {
        power = power.wrapping_mul(FACTOR) & MASK;
        side += 1;
    }
    power
}

/// Returns the natural logarithm of a normal number, without a branch: ln(2^e m) = e ln 2 + 2 artanh((m - 1)/(m + 1)),
/// with m between the roots of 1/2 and 2; the first omitted term is below 2^-53 of the sum.
#[inline(always)]
fn ln(number: f64) -> f64 {
    const ROOT_HALF: u64 = std::f64::consts::FRAC_1_SQRT_2.to_bits();
    // 2^52 + 2^51, whose last bits count whole numbers: a conversion to floats that works in every instruction set.
    const WHOLE: f64 = 6_755_399_441_055_744.0;
    // Biased, so that an unsigned shift is enough.
    let above = number.to_bits().wrapping_sub(ROOT_HALF).wrapping_add(1 << 62);
    let exponent = (above >> 52).wrapping_sub(1 << 10);
    let mantissa = f64::from_bits(number.to_bits().wrapping_sub(exponent << 52));
    let exponent = f64::from_bits(WHOLE.to_bits().wrapping_add(exponent)) - WHOLE;
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let z = s * s;
    let mut series = 1.0 / 21.0;
    series = series * z + 1.0 / 19.0;
    series = series * z + 1.0 / 17.0;
    series = series * z + 1.0 / 15.0;
    series = series * z + 1.0 / 13.0;
    series = series * z + 1.0 / 11.0;
    series = series * z + 1.0 / 9.0;
    series = series * z + 1.0 / 7.0;
    series = series * z + 1.0 / 5.0;
    series = series * z + 1.0 / 3.0;
    exponent * std::f64::consts::LN_2 + 2.0 * (s + s * z * series)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::npb::check::verify;
    use crate::probe::npb::lcg::power;
    use crate::probe::npb::tests::led;

    #[test]
    fn the_logarithm_matches_the_library() {
        let mut numbers = Lcg(SEED);
        for scale in [1.0, 0.5, 1e-3, 1e-9, 1e-13] {
            for _ in 0..2000 {
                let number = numbers.next() * scale;
                assert!((ln(number) - number.ln()).abs() <= 4e-16 * number.ln().abs().max(1e-3), "{number}");
            }
        }
        assert_eq!(ln(1.0), 0.0);
    }

    #[test]
    fn power_of_side_advances_by_side_numbers() {
        assert_eq!(power_of_side(), power(SIDE as u64));
    }

    #[test]
    #[cfg_attr(debug_assertions, ignore = "seconds without optimisation: the optimised tests run it")]
    fn every_set_of_instructions_and_any_number_of_threads_gives_the_published_sums_and_counts() {
        for (isa, threads) in Isa::all().into_iter().cycle().zip([1, 2, 3]) {
            let outcome = led(threads, |team| run(&Problem::of(Class::S), isa, team));
            assert_eq!(outcome.checks.len(), 12);
            assert!(verify(&outcome.checks).unwrap() < 1e-11, "{isa:?} {threads}");
            assert_eq!(outcome.operations, f64::from(1 << 25));
        }
    }

    #[test]
    #[cfg_attr(debug_assertions, ignore = "seconds without optimisation: the optimised tests run it")]
    fn class_w_is_checked_against_its_counts_too() {
        let mut outcome = led(2, |team| run(&Problem::of(Class::W), Isa::best(), team));
        assert!(outcome.checks.len() == 12 && verify(&outcome.checks).unwrap() < 1e-11);
        outcome.checks[2 + 5].got += 1.0;
        assert!(verify(&outcome.checks).unwrap_err().what.starts_with("count 5 of EP is 3.7"));
    }

    #[test]
    fn a_spoilt_sum_or_count_is_invalid_and_named() {
        let mut spoilt = Problem::of(Class::S);
        spoilt.sums[1] *= 1.0 + 2e-8;
        let fault = verify(&led(2, |team| run(&spoilt, Isa::best(), team)).checks).unwrap_err();
        assert!(fault.what.starts_with("sum of Y of EP is -6.9584"), "{}", fault.what);
    }
}
