//! The content of blobs: a window of pseudo-random bytes that size and index choose, the same in every trial.
//!
//! The bytes repeat after a prime number of bytes, so that pieces which a service exchanges, repeats or leaves out at
//! any round border are not mistaken for each other. Comparing costs no more than reading memory once.

use std::sync::LazyLock;

use bytes::Bytes;
use sha2::{Digest, Sha256};

use super::call::Blob;
use crate::rng::{Rng, mix};

const PERIOD: usize = 1_048_573;
/// Never changed: blobs that an earlier version wrote would count as wrong.
const SEED: u64 = 0x0063_6c6f_7564_636d;
/// The longest piece of an upload.
const PIECE: u64 = 256 * 1024;

static BYTES: LazyLock<Bytes> = LazyLock::new(|| {
    let mut rng = Rng::new(SEED, 0);
    let mut bytes: Vec<u8> =
        std::iter::repeat_with(|| rng.next().to_le_bytes()).take(PERIOD / 8 + 1).flatten().collect();
    bytes.truncate(PERIOD);
    bytes.into()
});

/// Returns the part of a blob from `at` on, at most a piece; empty at its end.
pub fn piece(blob: &Blob, at: u64) -> Bytes {
    let from = place(blob, at);
    let length = (blob.size.saturating_sub(at)).min(PIECE).min((PERIOD - from) as u64);
    BYTES.slice(from..from + length as usize)
}

/// Whether these are the bytes of a blob from `at` on.
pub fn is_right(blob: &Blob, mut at: u64, mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        let right = piece(blob, at);
        let length = right.len().min(bytes.len());
        if length == 0 || right[..length] != bytes[..length] {
            return false;
        }
        (at, bytes) = (at + length as u64, &bytes[length..]);
    }
    true
}

/// Returns text that two numbers choose, of letters, digits, `-` and `_`: no format has to escape it.
pub fn words(index: u64, version: u64, length: usize) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut rng = Rng::new(SEED ^ mix(index), version);
    let mut text = String::with_capacity(length);
    while text.len() < length {
        let number = rng.next();
        let letters = (0..10).map(|i| char::from(LETTERS[(number >> (6 * i) & 63) as usize]));
        text.extend(letters.take(length - text.len()));
    }
    text
}

/// Returns the SHA-256 of a blob as hexadecimal digits.
pub fn sha256(blob: &Blob) -> String {
    let (mut digest, mut at) = (Sha256::new(), 0);
    while at < blob.size {
        let piece = piece(blob, at);
        digest.update(&piece);
        at += piece.len() as u64;
    }
    hex(&digest.finalize())
}

/// Returns bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |byte: &u8| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
    bytes.iter().flat_map(digit).map(char::from).collect()
}

fn place(blob: &Blob, at: u64) -> usize {
    let start = mix(blob.size ^ mix(blob.index ^ mix(blob.version)));
    ((u128::from(start) + u128::from(at)) % PERIOD as u128) as usize
}

#[cfg(test)]
mod tests {
    use super::super::call::Set;
    use super::*;
    use proptest::prelude::*;

    fn whole(blob: &Blob) -> Vec<u8> {
        let mut all = Vec::new();
        while (all.len() as u64) < blob.size {
            all.extend_from_slice(&piece(blob, all.len() as u64));
        }
        all
    }

    #[test]
    fn content_is_the_same_for_ever_and_differs_by_index_and_size() {
        let blob = |size, index| Blob::new(Set::Kept, size, index);
        let digest = sha256(&blob(1024, 7));
        assert_eq!(digest, hex(&Sha256::digest(whole(&blob(1024, 7)))));
        assert_eq!(digest, "8ab9427fe7299117a27d882cea8fb02aa68a78dd38855cbfd3a8460f8cf3fc9e");
        assert_ne!(whole(&blob(1024, 7)), whole(&blob(1024, 8)));
        assert_ne!(whole(&blob(1024, 7)), whole(&blob(1025, 7))[..1024]);
        assert!(piece(&blob(5, 0), 5).is_empty() && piece(&blob(5, 0), 9).is_empty());
    }

    proptest! {
        #[test]
        fn any_pieces_of_the_content_are_right_and_any_change_is_not(
            size in 1_u64..3_000_000, index in 0_u64..1000, cut in any::<prop::sample::Index>(), bit in 0..8
        ) {
            let blob = Blob::new(Set::Kept, size, index);
            let mut all = whole(&blob);
            let cut = cut.index(all.len());
            prop_assert_eq!(all.len() as u64, size);
            prop_assert!(is_right(&blob, 0, &all[..cut]) && is_right(&blob, cut as u64, &all[cut..]));
            all[cut] ^= 1_u8 << bit;
            prop_assert!(!is_right(&blob, 0, &all));
            all[cut] ^= 1_u8 << bit;
            all.push(0);
            prop_assert!(!is_right(&blob, 0, &all), "one byte too many");
        }
    }
}
