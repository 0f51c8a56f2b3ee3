//! The order in which the records of a file are visited.

use crate::fault::Fault;
use crate::rng::Rng;

/// The distance between two reads of a strided pass, in records: IOzone's default.
const STRIDE: u64 = 17;
/// A random order is generated before the timed pass, with 4 bytes per record.
const MOST_SHUFFLED: u64 = 1 << 26;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Forward,
    Backward,
    /// Every 17th record to the end of the file, then again from the second record on, until all were visited.
    Stride,
    /// Every record once.
    Random,
    /// The first record, as often as the file has records.
    Same,
}

/// A walk over `records`; every order except `Same` visits each of them once.
pub struct Walk {
    order: Order,
    records: u64,
    left: u64,
    next: u64,
    lap: u64,
    shuffled: Vec<u32>,
}

impl Walk {
    pub fn new(order: Order, records: u64, seed: u64) -> Result<Walk, Fault> {
        let mut shuffled = Vec::new();
        if order == Order::Random {
            if records > MOST_SHUFFLED {
                let what = format!("bad job: {records} records are too many for a random order");
                return Err(Fault::bad_job(what, "raise record_bytes, or lower file_bytes"));
            }
            shuffled = shuffle(records as u32, seed);
        }
        let mut walk = Walk { order, records, left: 0, next: 0, lap: 0, shuffled };
        walk.again();
        Ok(walk)
    }

    /// Returns to the first record.
    pub fn again(&mut self) {
        self.next = if self.order == Order::Backward { self.records - 1 } else { 0 };
        (self.left, self.lap) = (self.records, 0);
    }

    /// Returns the number of records still to come.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Returns the next record; `None` after the last.
    #[inline]
    pub fn next(&mut self) -> Option<u64> {
        self.left = self.left.checked_sub(1)?;
        let now = self.next;
        match self.order {
            Order::Forward => self.next += 1,
            Order::Backward => self.next = self.next.saturating_sub(1),
            Order::Stride => {
                self.next += STRIDE;
                if self.next >= self.records {
                    self.lap += 1;
                    self.next = self.lap;
                }
            }
            Order::Same => {}
            Order::Random => return Some(u64::from(self.shuffled[self.left as usize])),
        }
        Some(now)
    }
}

/// Shuffles with the method of Fisher and Yates.
fn shuffle(records: u32, seed: u64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..records).collect();
    let mut rng = Rng::new(seed, 0);
    for i in (1..order.len()).rev() {
        order.swap(i, rng.below(i as u64 + 1) as usize);
    }
    order
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn walked(order: Order, records: u64, seed: u64) -> Vec<u64> {
        let mut walk = Walk::new(order, records, seed).unwrap();
        std::iter::from_fn(|| walk.next()).collect()
    }

    #[test]
    fn strides_are_those_of_iozone() {
        assert_eq!(walked(Order::Stride, 40, 1)[..8], [0, 17, 34, 1, 18, 35, 2, 19]);
        assert_eq!(walked(Order::Backward, 3, 1), [2, 1, 0]);
        assert_eq!(walked(Order::Same, 3, 1), [0, 0, 0]);
    }

    #[test]
    fn a_random_order_follows_its_seed_and_is_bounded() {
        assert_eq!(walked(Order::Random, 100, 7), walked(Order::Random, 100, 7));
        assert_ne!(walked(Order::Random, 100, 7), walked(Order::Random, 100, 8));
        assert!(Walk::new(Order::Random, MOST_SHUFFLED + 1, 7).is_err());
    }

    proptest! {
        #[test]
        fn every_record_comes_once(records in 1_u64..3000, seed: u64) {
            for order in [Order::Forward, Order::Backward, Order::Stride, Order::Random] {
                let mut seen = walked(order, records, seed);
                seen.sort_unstable();
                prop_assert!(seen.into_iter().eq(0..records), "{order:?} of {records}");
            }
        }
    }
}
