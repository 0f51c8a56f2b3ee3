//! Allreduce: each peer has a vector, and in the end each has the sum of all.
//!
//! The ring of Patarasu and Yuan (Bandwidth optimal all-reduce algorithms for clusters of workstations, Journal of
//! Parallel and Distributed Computing 69, 2009): the vector is cut into as many pieces as there are peers. In n - 1
//! steps each peer sends a piece to the next one, which adds it to its own; then each has the whole sum of one piece,
//! and in n - 1 more steps passes on what it has. So each peer sends 2 (n - 1) / n of the vector, however many there
//! are. The sums are whole numbers below 2^24, which single precision holds exactly, in any order of additions.

use std::ops::Range;

use super::Operation;
use super::transfer::{Lane, Payload, Transfer};
use crate::fault::Fault;
use crate::net::Mesh;
use crate::rng::{Rng, mix};

pub const ELEMENT_BYTES: usize = size_of::<f32>();
/// Values are below this bound: 64 of them have a sum below 2^16.
const VALUES: usize = 1024;

pub struct AllReduce<'a> {
    mesh: &'a Mesh,
    seed: u64,
    round: usize,
    /// A random number for each element, the same for all peers.
    base: Vec<u16>,
    values: Vec<f32>,
    /// A piece as it comes, until it is added.
    incoming: Vec<f32>,
}

impl<'a> AllReduce<'a> {
    /// Creates the part of one peer, with a vector of this size and one seed for all peers.
    pub fn new(bytes: usize, seed: u64, mesh: &'a Mesh) -> AllReduce<'a> {
        let (count, peers) = (bytes / ELEMENT_BYTES, mesh.streams.len());
        let mut rng = Rng::new(seed, 0);
        let base = (0..count).map(|_| rng.below(VALUES as u64) as u16).collect();
        let (values, incoming) = (vec![0.0; count], vec![0.0; count.div_ceil(peers)]);
        AllReduce { mesh, seed, round: 0, base, values, incoming }
    }

    /// Returns the value that a peer has in this round at elements with a base.
    fn value(&self, base: usize, number: usize) -> f32 {
        let shift = mix(self.seed ^ mix(self.round as u64)) as usize | 1;
        (base.wrapping_add((number + 1).wrapping_mul(shift)) % VALUES) as f32
    }
}

impl Operation for AllReduce<'_> {
    fn prepare(&mut self, round: usize) {
        self.round = round;
        let table: Vec<f32> = (0..VALUES).map(|base| self.value(base, self.mesh.number)).collect();
        self.values.iter_mut().zip(&self.base).for_each(|(value, &base)| *value = table[usize::from(base)]);
    }

    fn run(&mut self, transfer: &mut Transfer) -> Result<(), Fault> {
        sum(self.mesh, &mut self.values, &mut self.incoming, transfer)
    }

    fn check(&self) -> Result<(), Fault> {
        let peers = self.mesh.streams.len();
        let sum = |base: usize| (0..peers).map(|number| self.value(base, number)).sum::<f32>();
        let table: Vec<f32> = (0..VALUES).map(sum).collect();
        let wrong = self.values.iter().zip(&self.base).filter(|&(&value, &base)| value != table[usize::from(base)]);
        match wrong.count() {
            0 => Ok(()),
            wrong => {
                let what = format!("round {}: {wrong} sums of {} are wrong", self.round, self.values.len());
                Err(Fault::invalid(what, "do not trust the network or the memory of these machines"))
            }
        }
    }
}

/// Replaces the values by the sums of all peers' values.
fn sum(mesh: &Mesh, values: &mut [f32], incoming: &mut [f32], transfer: &mut Transfer) -> Result<(), Fault> {
    let (peers, own) = (mesh.streams.len(), mesh.number);
    let (next, last) = (mesh.to(own + 1)?, mesh.to(own + peers - 1)?);
    let elements = values.len();
    let piece = |number: usize| {
        let i = number % peers;
        elements * i / peers..elements * (i + 1) / peers
    };
    for step in 0..2 * (peers - 1) {
        let adds = step < peers - 1;
        // A step sends what the step before has received; `2 * peers` keeps the number above zero.
        let first = own + 2 * peers + usize::from(!adds) - step % (peers - 1);
        let (out, into) = (piece(first), piece(first + peers - 1));
        let mut lanes = [Lane::new(next, out.len() * ELEMENT_BYTES, 0), Lane::new(last, 0, into.len() * ELEMENT_BYTES)];
        let mut step = Step { values, incoming, out, into, adds, added: 0 };
        transfer.run(&mut lanes, &mut step)?;
    }
    Ok(())
}

/// One step: a piece to the next peer, and one from the last.
struct Step<'a> {
    values: &'a mut [f32],
    incoming: &'a mut [f32],
    out: Range<usize>,
    into: Range<usize>,
    adds: bool,
    /// The elements that are added already.
    added: usize,
}

impl Payload for Step<'_> {
    fn rest(&self, _: usize, sent: usize) -> &[u8] {
        let out = &self.values[self.out.clone()];
        // Every byte of a float is initialised; all peers have the same byte order.
        let bytes: &[u8] = unsafe { std::slice::from_raw_parts(out.as_ptr().cast(), size_of_val(out)) };
        &bytes[sent..]
    }

    fn space(&mut self, _: usize, received: usize) -> &mut [u8] {
        let space = if self.adds { &mut self.incoming[..self.into.len()] } else { &mut self.values[self.into.clone()] };
        // Any four bytes are a float.
        let (at, length) = (space.as_mut_ptr().cast(), size_of_val(space));
        let bytes: &mut [u8] = unsafe { std::slice::from_raw_parts_mut(at, length) };
        &mut bytes[received..]
    }

    fn take(&mut self, _: usize, received: usize, bytes: usize) -> Result<(), Fault> {
        let whole = (received + bytes) / ELEMENT_BYTES;
        if self.adds {
            let own = &mut self.values[self.into.clone()][self.added..whole];
            own.iter_mut().zip(&self.incoming[self.added..whole]).for_each(|(own, more)| *own += more);
            self.added = whole;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::super::transfer::tests::{free, meshes};
    use super::*;
    use crate::rng::Rng;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn the_ring_gives_each_peer_the_direct_sum(
            peers in 2..7_usize, count in prop_oneof![0..9_usize, 0..150_000_usize], seed in any::<u64>()
        ) {
            let mut rng = Rng::new(seed, 1);
            let vector = |rng: &mut Rng| (0..count).map(|_| rng.below(200_000) as f32 - 1e5).collect::<Vec<f32>>();
            let vectors: Vec<Vec<f32>> = (0..peers).map(|_| vector(&mut rng)).collect();
            let direct: Vec<f32> = (0..count).map(|i| vectors.iter().map(|vector| vector[i]).sum()).collect();
            let meshes = meshes(peers);
            let sums: Vec<Vec<f32>> = thread::scope(|scope| {
                let one = |(mesh, mut own): (_, Vec<f32>)| {
                    scope.spawn(move || {
                        let (limiter, mut incoming) = (free(), vec![0.0; count.div_ceil(peers)]);
                        sum(mesh, &mut own, &mut incoming, &mut Transfer::new(&limiter, 2)).unwrap();
                        own
                    })
                };
                let members: Vec<_> = meshes.iter().zip(vectors).map(one).collect();
                members.into_iter().map(|member| member.join().unwrap()).collect()
            });
            for own in sums {
                prop_assert!(own == direct, "{} peers, {} elements", peers, count);
            }
        }
    }

    #[test]
    fn a_right_sum_passes_the_check_and_a_wrong_one_is_invalid() {
        let meshes = meshes(3);
        let run = |mesh| {
            let (limiter, mut part) = (free(), AllReduce::new(40_004, 7, mesh));
            let mut transfer = Transfer::new(&limiter, 2);
            for round in 0..3 {
                part.prepare(round);
                part.run(&mut transfer).unwrap();
                part.check().unwrap();
            }
            part.values[5000] += 1.0;
            let fault = part.check().unwrap_err();
            assert!(
                fault.outcome.name() == "invalid" && fault.what.contains("1 sums of 10001 are wrong"),
                "{}",
                fault.what
            );
        };
        thread::scope(|scope| meshes.iter().for_each(|mesh| drop(scope.spawn(move || run(mesh)))));
    }

    #[test]
    fn the_values_of_peers_and_rounds_differ() {
        let meshes = meshes(2);
        let mut parts: Vec<AllReduce> = meshes.iter().map(|mesh| AllReduce::new(4000, 7, mesh)).collect();
        let mut seen = Vec::new();
        for round in 0..3 {
            for part in &mut parts {
                part.prepare(round);
                assert!(!seen.contains(&part.values));
                seen.push(part.values.clone());
            }
        }
    }
}
