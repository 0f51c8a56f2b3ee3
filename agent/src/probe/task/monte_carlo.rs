//! `monte_carlo`: a pass draws 2^22 points of the unit square and counts those in the quarter circle, which gives pi.

use std::hint::black_box;

use super::Part;
use super::answer::{expect, numbers};
use crate::fault::Fault;
use crate::rng::Rng;

const POINTS: u64 = 1 << 22;
/// Each coordinate is a whole multiple of 2^-26, so that the squares are exact and rounding has no effect.
const BITS: u32 = 26;
const INSIDE: u64 = 3_294_342;

struct MonteCarlo {
    start: u64,
    inside: u64,
    wrong_passes: u32,
}

pub fn make() -> Box<dyn Part> {
    Box::new(MonteCarlo { start: 80, inside: INSIDE, wrong_passes: 0 })
}

fn coordinate(rng: &mut Rng) -> f64 {
    (rng.next() >> (64 - BITS)) as f64 * (1.0 / (1_u64 << BITS) as f64)
}

impl Part for MonteCarlo {
    fn pass(&mut self) -> Result<(), Fault> {
        let mut rng = numbers(black_box(self.start));
        self.inside = 0;
        for _ in 0..POINTS {
            let (x, y) = (coordinate(&mut rng), coordinate(&mut rng));
            self.inside += u64::from(x * x + y * y <= 1.0);
        }
        self.wrong_passes += u32::from(self.inside != INSIDE);
        Ok(())
    }

    fn verify(&mut self) -> Result<(), Fault> {
        expect(self.wrong_passes == 0, &format!("the count of points in a circle ({} in the last pass)", self.inside))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_count_is_near_pi_and_another_count_is_detected() {
        let pi = 4.0 * INSIDE as f64 / POINTS as f64;
        assert!((pi - std::f64::consts::PI).abs() < 5.0 * 1.65 / (POINTS as f64).sqrt(), "five deviations: {pi}");
        let mut task = MonteCarlo { start: 80, inside: 0, wrong_passes: 0 };
        task.pass().unwrap();
        task.verify().unwrap();
        task.start = 81;
        task.pass().unwrap();
        assert_eq!(task.verify().unwrap_err().outcome.name(), "invalid");
    }
}
