//! `hash`: a pass computes SHA-256 and SHA-512 of 1 MiB.

use std::hint::black_box;

use sha2::{Digest, Sha256, Sha512};

use super::Part;
use super::answer::{bytes, expect};
use crate::fault::Fault;

const BYTES: usize = 1 << 20;
/// The first eight bytes of both digests; they match OpenSSL's.
const DIGESTS: [u64; 2] = [0x6113_d327_80f7_a181, 0xbba2_29dc_2b97_f65d];

struct Hash {
    data: Vec<u8>,
    digests: [u64; 2],
    wrong_passes: u32,
}

pub fn make() -> Box<dyn Part> {
    Box::new(Hash::new())
}

/// Returns the code paths of the `sha2` crate, by the features that it tests for.
pub fn isa() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    {
        let narrow = is_x86_feature_detected!("sha") && is_x86_feature_detected!("sse4.1");
        return match (narrow, is_x86_feature_detected!("avx2")) {
            (true, true) => "sha-ni,avx2",
            (true, false) => "sha-ni,software",
            (false, true) => "software,avx2",
            (false, false) => "software",
        };
    }
    #[cfg(target_arch = "aarch64")]
    if std::arch::is_aarch64_feature_detected!("sha2") {
        return if std::arch::is_aarch64_feature_detected!("sha3") { "sha2,sha512" } else { "sha2,software" };
    }
    #[allow(unreachable_code)]
    "software"
}

impl Hash {
    fn new() -> Hash {
        Hash { data: bytes(20, BYTES), digests: DIGESTS, wrong_passes: 0 }
    }
}

fn head(digest: &[u8]) -> u64 {
    digest.iter().take(8).fold(0, |head, &byte| head << 8 | u64::from(byte))
}

impl Part for Hash {
    fn pass(&mut self) -> Result<(), Fault> {
        let data = black_box(&self.data);
        self.digests = [head(&Sha256::digest(data)), head(&Sha512::digest(data))];
        self.wrong_passes += u32::from(self.digests != DIGESTS);
        Ok(())
    }

    fn verify(&mut self) -> Result<(), Fault> {
        let [narrow, wide] = self.digests;
        expect(self.wrong_passes == 0, &format!("SHA-256 or SHA-512 of the data ({narrow:016x}, {wide:016x})"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fips_180_4_and_a_wrong_bit_is_detected() {
        assert_eq!(head(&Sha256::digest(b"abc")), 0xba78_16bf_8f01_cfea);
        assert_eq!(head(&Sha512::digest(b"abc")), 0xddaf_35a1_9361_7aba);
        let mut hash = Hash::new();
        hash.pass().unwrap();
        hash.verify().unwrap();
        hash.data[9] ^= 1;
        hash.pass().unwrap();
        hash.data[9] ^= 1;
        hash.pass().unwrap();
        assert_eq!(hash.verify().unwrap_err().outcome.name(), "invalid", "of one pass among others");
    }
}
