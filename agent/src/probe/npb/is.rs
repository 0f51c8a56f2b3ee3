//! IS: the ranks of whole-number keys, by counting within buckets. Loads and stores all over memory, no arithmetic.
//!
//! Times ten rankings, after one untimed ranking. Two keys change before each ranking; five ranks are checked after
//! each, as in the originals. One untimed check at the end verifies that the ranks sort all keys.

use std::ops::Range;

use super::check::Check;
use super::lcg::{Lcg, SEED};
use super::shared::Array;
use super::team::{Member, Team};
use super::{Benchmark, Class, Outcome};
use crate::fault::Fault;

pub const BENCHMARK: Benchmark = Benchmark {
    name: "is",
    bytes: |class, _| {
        let problem = Problem::of(class);
        8 * problem.keys() as u64 + 4 * problem.values() as u64
    },
    run: |class, team| run(&Problem::of(class), team),
};

const RANKINGS: usize = 10;
/// The originals use half as many for class S.
const LOG_BUCKETS: u32 = 10;
const BUCKETS: usize = 1 << LOG_BUCKETS;
const PROBES: usize = 5;

/// A class: sizes as powers of two, the keys to check, their ranks, and the change of these ranks per ranking.
struct Problem {
    log_keys: u32,
    log_values: u32,
    places: [usize; PROBES],
    ranks: [i64; PROBES],
    /// The change of a rank with each ranking, and the ranking that it starts from.
    moves: [i64; PROBES],
    since: [i64; PROBES],
}

impl Problem {
    fn of(class: Class) -> Problem {
        let (log_keys, log_values, places, ranks, moves, since) = match class {
            Class::S => (
                16,
                11,
                [48427, 17148, 23627, 62548, 4431],
                [0, 18, 346, 64917, 65463],
                [1, 1, 1, -1, -1],
                [0, 0, 0, 0, 0],
            ),
            Class::W => (
                20,
                16,
                [357773, 934767, 875723, 898999, 404505],
                [1249, 11698, 1039987, 1043896, 1048018],
                [1, 1, -1, -1, -1],
                [2, 2, 0, 0, 0],
            ),
            Class::A => (
                23,
                19,
                [2112377, 662041, 5336171, 3642833, 4250760],
                [104, 17523, 123928, 8288932, 8388264],
                [1, 1, 1, -1, -1],
                [1, 1, 1, 1, 1],
            ),
            Class::B => (
                25,
                21,
                [41869, 812306, 5102857, 18232239, 26860214],
                [33422937, 10244, 59149, 33135281, 99],
                [-1, 1, 1, -1, 1],
                [0, 0, 0, 0, 0],
            ),
        };
        Problem { log_keys, log_values, places, ranks, moves, since }
    }

    fn keys(&self) -> usize {
        1 << self.log_keys
    }

    fn values(&self) -> usize {
        1 << self.log_values
    }

    /// Returns the published rank of one of the checked keys.
    fn rank(&self, probe: usize, ranking: usize) -> i64 {
        self.ranks[probe] + self.moves[probe] * (ranking as i64 - self.since[probe])
    }
}

fn run(problem: &Problem, team: &Team) -> Result<Outcome, Fault> {
    let mut sorter = Sorter::new(problem, team)?;
    let mut measured = [[-1; PROBES]; RANKINGS];
    sorter.rank(team, 1);
    let spent = team.timed(|| {
        for ranking in 1..=RANKINGS {
            measured[ranking - 1] = sorter.rank(team, ranking);
        }
    });
    let mut checks = vec![Check::new("number of keys of IS out of order", sorter.out_of_order() as f64, 0.0, 0.0)];
    for (ranking, ranks) in (1..).zip(&measured) {
        checks.extend((0..PROBES).map(|probe| {
            let name = format!("rank {} in ranking {ranking} of IS", probe + 1);
            Check::new(name, ranks[probe] as f64, problem.rank(probe, ranking) as f64, 0.0)
        }));
    }
    let operations = (RANKINGS * problem.keys()) as f64;
    Ok(Outcome { spent, operations, checks, notes: Vec::new() })
}

/// The keys, and the arrays that ranking them needs.
struct Sorter<'a> {
    problem: &'a Problem,
    keys: Array<u32>,
    /// The keys by bucket.
    sorted: Array<u32>,
    /// For each value, the number of keys that are not larger.
    counts: Array<u32>,
    /// Each member's count of its keys in each bucket.
    by_member: Array<u32>,
}

impl<'a> Sorter<'a> {
    /// Generates the keys: each is a quarter of the largest value times the sum of four numbers.
    fn new(problem: &'a Problem, team: &Team) -> Result<Sorter<'a>, Fault> {
        let (keys, sorted) = (Array::new(problem.keys())?, Array::new(problem.keys())?);
        let sorter = Sorter {
            problem,
            keys,
            sorted,
            counts: Array::new(problem.values())?,
            by_member: Array::new(team.threads() * BUCKETS)?,
        };
        team.over(problem.keys(), |range| {
            let quarter = (problem.values() / 4) as f64;
            let mut numbers = Lcg::after(SEED, 4 * range.start as u64);
            // Safe: shares of different members never overlap.
            for key in unsafe { sorter.keys.part(range) } {
                let sum = numbers.next() + numbers.next() + numbers.next() + numbers.next();
                *key = (quarter * sum) as u32;
            }
        });
        Ok(sorter)
    }

    /// Ranks all keys, and returns the ranks of the checked keys.
    fn rank(&mut self, team: &Team, ranking: usize) -> [i64; PROBES] {
        let Problem { places, .. } = self.problem;
        // Safe: no member is working.
        let keys = unsafe { self.keys.part(0..self.keys.len()) };
        keys[ranking] = ranking as u32;
        keys[ranking + RANKINGS] = (self.problem.values() - ranking) as u32;
        let values = places.map(|place| keys[place] as usize);
        let sorter = &*self;
        team.all(|member| unsafe { sorter.share(member) });
        let counts = unsafe { self.counts.all() };
        values.map(|value| if value == 0 { -1 } else { i64::from(counts[value - 1]) })
    }

    fn shift(&self) -> u32 {
        self.problem.log_values - LOG_BUCKETS
    }

    /// Runs a member's part of a ranking.
    ///
    /// # Safety
    /// All members call it at the same time.
    unsafe fn share(&self, member: &Member) {
        let shift = self.shift();
        let keys = &self.keys.all()[member.part(self.keys.len())];
        let mut own = [0; BUCKETS];
        for key in keys {
            own[(key >> shift) as usize & (BUCKETS - 1)] += 1;
        }
        self.by_member.part(member.index * BUCKETS..(member.index + 1) * BUCKETS).copy_from_slice(&own);
        member.meet();
        let mut next = own;
        let starts = self.starts(member, &mut next);
        let sorted = self.sorted.as_ptr();
        for &key in keys {
            let next = &mut next[(key >> shift) as usize & (BUCKETS - 1)];
            *sorted.add(*next as usize) = key;
            *next += 1;
        }
        member.meet();
        for bucket in self.buckets_of(member, &starts) {
            self.count(bucket, starts[bucket] as usize..starts[bucket + 1] as usize);
        }
    }

    /// Returns the beginning of each bucket; sets `next` to the beginning of the member's own keys in it.
    unsafe fn starts(&self, member: &Member, next: &mut [u32; BUCKETS]) -> [u32; BUCKETS + 1] {
        let mut starts = [0; BUCKETS + 1];
        let counts = self.by_member.all();
        for bucket in 0..BUCKETS {
            let mut at = starts[bucket];
            for (index, counts) in counts.chunks_exact(BUCKETS).enumerate() {
                if index == member.index {
                    next[bucket] = at;
                }
                at += counts[bucket];
            }
            starts[bucket + 1] = at;
        }
        starts
    }

    /// Returns a range of buckets with about as many keys and values as every other member's.
    fn buckets_of(&self, member: &Member, starts: &[u32; BUCKETS + 1]) -> Range<usize> {
        let per_bucket = 1_u64 << self.shift();
        let work = |bucket: usize| u64::from(starts[bucket]) + bucket as u64 * per_bucket;
        let bound = |index: usize| {
            let share = work(BUCKETS) * index as u64 / member.members() as u64;
            (0..BUCKETS).position(|bucket| work(bucket) >= share).unwrap_or(BUCKETS)
        };
        let end = if member.index + 1 == member.members() { BUCKETS } else { bound(member.index + 1) };
        bound(member.index)..end
    }

    /// Counts the keys of a bucket by value, and adds the counts of all smaller values.
    unsafe fn count(&self, bucket: usize, keys: Range<usize>) {
        let width = 1 << self.shift();
        let counts = self.counts.part(bucket * width..(bucket + 1) * width);
        let mut total = keys.start as u32;
        counts.fill(0);
        for &key in &self.sorted.all()[keys] {
            counts[key as usize & (width - 1)] += 1;
        }
        for count in counts {
            total += *count;
            *count = total;
        }
    }

    /// Moves all keys to the places given by their ranks, and counts the keys that are larger than their successor.
    fn out_of_order(&mut self) -> usize {
        // Safe: no member is working. Wrong ranks may point anywhere, so indices are checked.
        let (keys, counts) = unsafe { (self.keys.part(0..self.keys.len()), self.counts.part(0..self.counts.len())) };
        let sorted = unsafe { self.sorted.all() };
        let mut lost = 0;
        for &key in sorted {
            let place = counts[key as usize].wrapping_sub(1);
            counts[key as usize] = place;
            match keys.get_mut(place as usize) {
                Some(slot) => *slot = key,
                None => lost += 1,
            }
        }
        lost + keys.windows(2).filter(|pair| pair[0] > pair[1]).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::npb::check::verify;
    use crate::probe::npb::tests::led;

    #[test]
    fn any_number_of_threads_gives_the_published_ranks() {
        for threads in [1, 2, 3, 5] {
            let outcome = led(threads, |team| run(&Problem::of(Class::S), team));
            assert!(verify(&outcome.checks).is_ok() && outcome.checks.len() == 51, "{threads}");
            assert_eq!(outcome.operations, 655_360.0);
        }
    }

    #[test]
    fn a_wrong_rank_and_a_lost_key_are_invalid() {
        let mut spoilt = Problem::of(Class::S);
        spoilt.ranks[3] += 1;
        let fault = verify(&led(1, |team| run(&spoilt, team)).checks).unwrap_err();
        assert!(fault.what.starts_with("rank 4 in ranking 1 of IS is 6.4916"), "{}", fault.what);
        let disorder = led(2, |team| {
            let problem = Problem::of(Class::S);
            let mut sorter = Sorter::new(&problem, team)?;
            sorter.rank(team, 1);
            unsafe { sorter.counts.part(700..701)[0] += 3 };
            Ok(sorter.out_of_order())
        });
        assert!(disorder > 0);
    }
}
