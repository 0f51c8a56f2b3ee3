//! `fft`: a pass transforms 2^16 complex numbers forward and back, in place, with radix 2 and double precision.

use super::Part;
use super::answer::{close, expect, numbers};
use crate::fault::Fault;

const POINTS: usize = 1 << 16;
const SHARE: f64 = 1e-9;
/// Bins that are compared with their defining sum.
const BINS: [usize; 3] = [1, 12_345, POINTS - 2];

type Complex = (f64, f64);

struct Fft {
    /// exp(-2 pi i k / POINTS) for the first half of the circle.
    roots: Vec<Complex>,
    start: Vec<Complex>,
    data: Vec<Complex>,
}

pub fn make() -> Box<dyn Part> {
    Box::new(Fft::new())
}

fn root(k: usize) -> Complex {
    let (sin, cos) = (std::f64::consts::TAU * k as f64 / POINTS as f64).sin_cos();
    (cos, -sin)
}

fn times(a: Complex, b: Complex) -> Complex {
    (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0)
}

fn energy(data: &[Complex]) -> f64 {
    data.iter().map(|(re, im)| re * re + im * im).sum()
}

impl Fft {
    fn new() -> Fft {
        let mut rng = numbers(50);
        let start: Vec<Complex> = (0..POINTS).map(|_| (rng.centred(), rng.centred())).collect();
        Fft { roots: (0..POINTS / 2).map(root).collect(), data: start.clone(), start }
    }

    /// Runs Cooley and Tukey's algorithm: bit reversal, then butterflies of 2, 4, ... points.
    fn transform(&mut self, back: bool) {
        let data = &mut self.data[..];
        for i in 0..POINTS {
            let j = i.reverse_bits() >> (usize::BITS - POINTS.trailing_zeros());
            if i < j {
                data.swap(i, j);
            }
        }
        let sign = if back { -1.0 } else { 1.0 };
        let mut half = 1;
        while half < POINTS {
            let step = POINTS / 2 / half;
            for block in data.chunks_exact_mut(2 * half) {
                let (low, high) = block.split_at_mut(half);
                for ((a, b), root) in low.iter_mut().zip(high).zip(self.roots.iter().step_by(step)) {
                    let turned = times(*b, (root.0, sign * root.1));
                    *b = (a.0 - turned.0, a.1 - turned.1);
                    *a = (a.0 + turned.0, a.1 + turned.1);
                }
            }
            half *= 2;
        }
    }
}

impl Part for Fft {
    fn pass(&mut self) -> Result<(), Fault> {
        self.transform(false);
        self.transform(true);
        for (re, im) in &mut self.data {
            *re *= 1.0 / POINTS as f64;
            *im *= 1.0 / POINTS as f64;
        }
        Ok(())
    }

    fn verify(&mut self) -> Result<(), Fault> {
        let flat = |data: &[Complex]| data.iter().flat_map(|&(re, im)| [re, im]).collect::<Vec<f64>>();
        expect(close(&flat(&self.data), &flat(&self.start), SHARE), "an FFT forth and back")?;
        self.data.copy_from_slice(&self.start);
        self.transform(false);
        let (before, after) = (energy(&self.start), energy(&self.data) / POINTS as f64);
        expect(close(&[before], &[after], SHARE), "the energy after an FFT (Parseval)")?;
        for bin in BINS {
            let term = |(n, &x): (usize, &Complex)| times(x, root(bin * n % POINTS));
            let add = |sum: Complex, term: Complex| (sum.0 + term.0, sum.1 + term.1);
            let sum = self.start.iter().enumerate().map(term).fold((0.0, 0.0), add);
            let value = self.data[bin];
            expect(close(&[sum.0, sum.1], &[value.0, value.1], SHARE), "a sum that an FFT gives")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tone_has_one_line_and_a_wrong_number_is_detected() {
        let mut fft = Fft::new();
        fft.data = (0..POINTS).map(|n| root(7 * n % POINTS)).collect();
        fft.transform(false);
        assert!((fft.data[POINTS - 7].0 - POINTS as f64).abs() < 1e-6 && energy(&fft.data[..POINTS - 7]) < 1e-6);
        let mut fft = Fft::new();
        (0..3).for_each(|_| fft.pass().unwrap());
        fft.verify().unwrap();
        fft.data.copy_from_slice(&fft.start);
        fft.data[99].1 += 1e-7;
        assert_eq!(fft.verify().unwrap_err().outcome.name(), "invalid");
        fft.data.copy_from_slice(&fft.start);
        fft.roots.swap(3, 4);
        assert!(fft.verify().is_err(), "a wrong transform that can be undone");
    }
}
