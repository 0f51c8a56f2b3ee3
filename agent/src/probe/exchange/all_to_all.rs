//! All-to-all: each peer sends other bytes to each other peer, and compares what it receives with what was sent.

use super::Operation;
use super::transfer::{Lane, Payload, Transfer};
use crate::fault::Fault;
use crate::net::Mesh;
use crate::rng::{Rng, mix};

/// Messages are pieces of one random text, which begin at offsets below this bound.
const OFFSETS: usize = 4096;
/// What is read at once, small enough to stay in the cache until it is compared.
const SPACE_BYTES: usize = 64 * 1024;

pub struct AllToAll<'a> {
    lanes: Vec<Lane<'a>>,
    messages: Messages,
}

struct Messages {
    bytes: usize,
    seed: u64,
    round: usize,
    number: usize,
    /// The other peer of each lane.
    others: Vec<usize>,
    text: Vec<u8>,
    space: Vec<u8>,
}

impl<'a> AllToAll<'a> {
    /// Creates the part of one peer, with messages of this size and one seed for all peers.
    pub fn new(bytes: usize, seed: u64, mesh: &'a Mesh) -> Result<AllToAll<'a>, Fault> {
        let mut rng = Rng::new(seed, 0);
        let text = (0..(bytes + OFFSETS).div_ceil(8)).flat_map(|_| rng.next().to_ne_bytes()).collect();
        let (others, space) = (mesh.others().collect(), vec![0; bytes.clamp(1, SPACE_BYTES)]);
        let lanes = mesh.others().map(|other| Ok(Lane::new(mesh.to(other)?, bytes, bytes)));
        let lanes = lanes.collect::<Result<_, Fault>>()?;
        Ok(AllToAll { lanes, messages: Messages { bytes, seed, round: 0, number: mesh.number, others, text, space } })
    }
}

impl Operation for AllToAll<'_> {
    fn prepare(&mut self, round: usize) {
        self.messages.round = round;
        self.lanes.iter_mut().for_each(Lane::reset);
    }

    fn run(&mut self, transfer: &mut Transfer) -> Result<(), Fault> {
        transfer.run(&mut self.lanes, &mut self.messages)
    }

    /// Does nothing, because messages are compared as they come.
    fn check(&self) -> Result<(), Fault> {
        Ok(())
    }
}

impl Messages {
    /// Returns what a peer sends to another one in this round.
    fn between(&self, from: usize, to: usize) -> &[u8] {
        let which = mix((self.round as u64) << 16 | (from as u64) << 8 | to as u64);
        let offset = mix(self.seed ^ which) as usize % OFFSETS;
        &self.text[offset..offset + self.bytes]
    }
}

impl Payload for Messages {
    fn rest(&self, lane: usize, sent: usize) -> &[u8] {
        &self.between(self.number, self.others[lane])[sent..]
    }

    fn space(&mut self, _: usize, _: usize) -> &mut [u8] {
        &mut self.space
    }

    fn take(&mut self, lane: usize, received: usize, bytes: usize) -> Result<(), Fault> {
        let right = &self.between(self.others[lane], self.number)[received..received + bytes];
        if self.space[..bytes] == *right {
            return Ok(());
        }
        let what = format!("round {}: a peer received other bytes than were sent to it", self.round);
        Err(Fault::invalid(what, "do not trust the network or the memory of these machines"))
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::super::transfer::tests::{free, meshes};
    use super::*;
    use proptest::prelude::*;

    /// Runs three rounds; the seed of the last peer may differ.
    fn rounds(peers: usize, bytes: usize, last_seed: u64) -> Vec<Result<(), Fault>> {
        let meshes = meshes(peers);
        let run = |mesh: &Mesh| {
            let seed = if mesh.number + 1 == peers { last_seed } else { 7 };
            let limiter = free();
            let (mut part, mut transfer) = (AllToAll::new(bytes, seed, mesh)?, Transfer::new(&limiter, peers));
            (0..3).try_for_each(|round| {
                part.prepare(round);
                part.run(&mut transfer)
            })
        };
        let run = |mesh: &Mesh| run(mesh).inspect_err(|_| mesh.close());
        thread::scope(|scope| {
            let members: Vec<_> = meshes.iter().map(|mesh| scope.spawn(move || run(mesh))).collect();
            members.into_iter().map(|member| member.join().unwrap()).collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]

        #[test]
        fn each_peer_receives_what_each_other_sent_it(peers in 2..6_usize, bytes in 1..200_000_usize) {
            prop_assert!(rounds(peers, bytes, 7).iter().all(Result::is_ok));
        }
    }

    #[test]
    fn other_bytes_than_were_sent_make_the_trial_invalid() {
        let ends = rounds(3, 1000, 8);
        let outcomes: Vec<&str> = ends.iter().filter_map(|end| Some(end.as_ref().err()?.outcome.name())).collect();
        assert!(outcomes.contains(&"invalid"), "{ends:?}");
    }
}
