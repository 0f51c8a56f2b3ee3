//! Threads that live for a whole benchmark and meet at cheap barriers, like those of OpenMP.
//!
//! The leader is member 0 and works too. The number of members alone determines how index ranges are split, so that
//! sums are the same each time. A waiting member first spins and then sleeps, so that another thread gets the
//! processor.

use std::cell::UnsafeCell;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use std::thread;

use crate::clock::{now_ns, thread_cpu_ns};
use crate::fault::Fault;
use crate::{disturbance, pin};

/// Checks of a barrier before sleeping: a few tenths of a millisecond, or almost none if members share CPUs.
const LOOKS: u32 = 20_000;
const LOOKS_WHEN_SHARED: u32 = 100;

/// The CPUs and the number of threads.
pub struct Place<'a> {
    pub threads: usize,
    /// Member i runs on `cpus[i % cpus.len()]`.
    pub cpus: &'a [usize],
}

/// All members, as seen by their leader. A closure that members run cannot hold the team: it gets its `Member`.
pub struct Team<'a> {
    shared: &'a Shared,
    /// Restricts the team to the leader's thread, because the type is not `Sync`.
    _own: UnsafeCell<()>,
}

/// One member, in its own thread.
pub struct Member<'a> {
    pub index: usize,
    shared: &'a Shared,
}

/// The time and CPU use of the timed part of a benchmark.
pub struct Spent {
    /// The time of the timed part itself.
    pub elapsed_ns: u64,
    /// The time of the timed part and of reading the members' own clocks around it.
    pub around_ns: u64,
    pub members: Vec<Used>,
}

/// The CPU time and run delay of one member.
pub struct Used {
    pub cpu_ns: u64,
    pub run_delay_ns: Option<u64>,
}

type Job = *const (dyn Fn(&Member) + Sync);

struct Shared {
    members: usize,
    looks: u32,
    arrived: AtomicU32,
    generation: AtomicU32,
    asleep: AtomicU32,
    /// Written by the leader before a barrier, read by the others after it; `None` ends the members.
    job: UnsafeCell<Option<Job>>,
}

unsafe impl Sync for Shared {}

/// Starts a team, calls `lead` in the thread of member 0, and ends the team.
pub fn with<T: Send>(place: &Place, lead: impl FnOnce(&Team) -> Result<T, Fault> + Send) -> Result<T, Fault> {
    let shared = &Shared {
        members: place.threads,
        looks: if place.threads > place.cpus.len() { LOOKS_WHEN_SHARED } else { LOOKS },
        arrived: AtomicU32::new(0),
        generation: AtomicU32::new(0),
        asleep: AtomicU32::new(0),
        job: UnsafeCell::new(None),
    };
    // The whole process already runs on the same CPUs; a failure to pin would have shown there.
    let pinned = |i: usize| drop(pin::to(&[place.cpus[i % place.cpus.len()]]));
    thread::scope(|scope| {
        let leader = scope.spawn(move || {
            pinned(0);
            let _end = EndMembers(shared);
            lead(&Team { shared, _own: UnsafeCell::new(()) })
        });
        for index in 1..place.threads {
            scope.spawn(move || {
                pinned(index);
                Member { index, shared }.follow();
            });
        }
        leader.join().unwrap_or_else(|_| Err(Fault::failed("a thread died", "report this")))
    })
}

impl Team<'_> {
    pub fn threads(&self) -> usize {
        self.shared.members
    }

    /// Runs `work` in every member at once; returns when all have finished.
    pub fn all(&self, work: impl Fn(&Member) + Sync) {
        let job: &(dyn Fn(&Member) + Sync) = &work;
        // Used only until the second barrier, and lives longer.
        let job: Job = unsafe { std::mem::transmute(job) };
        unsafe { *self.shared.job.get() = Some(job) };
        self.shared.meet();
        work(&Member { index: 0, shared: self.shared });
        self.shared.meet();
    }

    /// Splits `0..n` among the members.
    pub fn over(&self, n: usize, work: impl Fn(Range<usize>) + Sync) {
        self.all(|member| work(member.part(n)));
    }

    /// Computes sums over `0..n`, added up in the order of the members.
    pub fn sums<const N: usize>(&self, n: usize, work: impl Fn(Range<usize>) -> [f64; N] + Sync) -> [f64; N] {
        let parts: Vec<[AtomicU64; N]> = (0..self.threads()).map(|_| [const { AtomicU64::new(0) }; N]).collect();
        self.all(|member| {
            let sums = work(member.part(n));
            parts[member.index].iter().zip(sums).for_each(|(part, sum)| part.store(sum.to_bits(), Relaxed));
        });
        let mut total = [0.0; N];
        for part in &parts {
            total.iter_mut().zip(part).for_each(|(total, part)| *total += f64::from_bits(part.load(Relaxed)));
        }
        total
    }

    /// Times `work`; the members' own clocks are read before and after, outside the measured time.
    pub fn timed(&self, work: impl FnOnce()) -> Spent {
        let slots = || (0..self.threads()).map(|_| [const { AtomicU64::new(0) }; 2]).collect::<Vec<_>>();
        let (before, after) = (slots(), slots());
        let around = now_ns();
        self.all(|member| read(&before[member.index]));
        let start = now_ns();
        work();
        let elapsed_ns = now_ns() - start;
        self.all(|member| read(&after[member.index]));
        let around_ns = now_ns() - around;
        let used = |(before, after): (&[AtomicU64; 2], &[AtomicU64; 2])| {
            let delay = |slot: &[AtomicU64; 2]| Some(slot[1].load(Relaxed)).filter(|&ns| ns != u64::MAX);
            Used {
                cpu_ns: after[0].load(Relaxed) - before[0].load(Relaxed),
                run_delay_ns: delay(after).zip(delay(before)).map(|(after, before)| after.saturating_sub(before)),
            }
        };
        Spent { elapsed_ns, around_ns, members: before.iter().zip(&after).map(used).collect() }
    }
}

/// Reads the calling member's CPU time and run delay.
fn read(slot: &[AtomicU64; 2]) {
    slot[1].store(disturbance::run_delay_ns().unwrap_or(u64::MAX), Relaxed);
    slot[0].store(thread_cpu_ns(), Relaxed);
}

impl Member<'_> {
    pub fn members(&self) -> usize {
        self.shared.members
    }

    /// Returns this member's share of `0..n`; shares differ by at most one.
    pub fn part(&self, n: usize) -> Range<usize> {
        n * self.index / self.members()..n * (self.index + 1) / self.members()
    }

    /// Waits until every member is here. All members must call it equally often.
    pub fn meet(&self) {
        self.shared.meet();
    }

    fn follow(&self) {
        let _guard = AbortOnPanic;
        loop {
            self.shared.meet();
            let Some(job) = (unsafe { *self.shared.job.get() }) else { return };
            unsafe { (*job)(self) };
            self.shared.meet();
        }
    }
}

impl Shared {
    fn meet(&self) {
        let generation = self.generation.load(Acquire);
        if self.arrived.fetch_add(1, AcqRel) + 1 == self.members as u32 {
            self.arrived.store(0, Relaxed);
            self.generation.fetch_add(1, SeqCst);
            if self.asleep.load(SeqCst) > 0 {
                unsafe { libc::syscall(libc::SYS_futex, self.generation.as_ptr(), WAKE, i32::MAX) };
            }
            return;
        }
        for _ in 0..self.looks {
            if self.generation.load(Acquire) != generation {
                return;
            }
            std::hint::spin_loop();
        }
        self.asleep.fetch_add(1, SeqCst);
        while self.generation.load(SeqCst) == generation {
            let forever = std::ptr::null::<libc::timespec>();
            unsafe { libc::syscall(libc::SYS_futex, self.generation.as_ptr(), WAIT, generation, forever) };
        }
        self.asleep.fetch_sub(1, SeqCst);
    }
}

const WAIT: i32 = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
const WAKE: i32 = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;

/// Ends the members' wait for work, also if the leader panics.
struct EndMembers<'a>(&'a Shared);

impl Drop for EndMembers<'_> {
    fn drop(&mut self) {
        unsafe { *self.0.job.get() = None };
        self.0.meet();
    }
}

/// Aborts the process if a member panics, because the others would wait for ever.
struct AbortOnPanic;

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        if thread::panicking() {
            std::process::abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    fn led<T: Send>(threads: usize, lead: impl FnOnce(&Team) -> T + Send) -> T {
        with(&Place { threads, cpus: &pin::allowed() }, |team| Ok(lead(team))).unwrap()
    }

    #[test]
    fn every_index_belongs_to_one_member() {
        for threads in [1, 2, 3, 7] {
            for n in [0, 1, 5, 64, 1000] {
                let seen: Vec<AtomicUsize> = (0..n).map(|_| AtomicUsize::new(0)).collect();
                led(threads, |team| {
                    team.over(n, |range| range.for_each(|i| _ = seen[i].fetch_add(1, Relaxed)));
                });
                assert!(seen.iter().all(|count| count.load(Relaxed) == 1), "{threads} threads, {n}");
            }
        }
    }

    #[test]
    fn a_barrier_lets_no_member_through_early_even_with_more_members_than_cpus() {
        let threads = pin::allowed().len() + 2;
        let steps = AtomicUsize::new(0);
        led(threads, |team| {
            team.all(|member| {
                for round in 1..=300 {
                    steps.fetch_add(1, Relaxed);
                    member.meet();
                    assert_eq!(steps.load(Relaxed), round * threads);
                    member.meet();
                }
            });
        });
    }

    #[test]
    fn sums_are_the_same_each_time() {
        let third = |range: Range<usize>| [range.clone().map(|i| 1.0 / (i as f64 + 3.0)).sum(), range.len() as f64];
        let all: Vec<[f64; 2]> = (0..20).map(|_| led(3, |team| team.sums(10_000, third))).collect();
        assert!(all.iter().all(|sums| *sums == all[0]) && all[0][1] == 10_000.0);
    }

    #[test]
    fn the_time_covers_the_work_and_no_member_used_more_cpu_time() {
        let spent = led(2, |team| {
            team.timed(|| {
                team.over(2, |_| {
                    let start = now_ns();
                    while now_ns() - start < 2_000_000 {}
                });
            })
        });
        assert!(spent.elapsed_ns >= 2_000_000 && spent.around_ns >= spent.elapsed_ns);
        assert!(spent.members.len() == 2 && spent.members.iter().all(|used| used.cpu_ns <= spent.around_ns));
    }
}
