//! `compress`: a pass deflates 1 MiB of generated English-like text at zlib's level 6, and inflates it again.

use miniz_oxide::deflate::core::{
    CompressorOxide, TDEFLFlush, TDEFLStatus, compress, create_comp_flags_from_zip_params,
};
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress, inflate_flags};

use super::Part;
use super::answer::{expect, expect_sha256, numbers};
use crate::fault::Fault;

const BYTES: usize = 1 << 20;
const LEVEL: i32 = 6;
const WORDS: u64 = 4096;
/// The digest of the output of the pinned library version: the work is the same only as long as it matches.
const PACKED_SHA256: &str = "b1596c57eed1f16941922943dc9219aa39cafe160bd59b2ba9698d402c0c06d1";
const ZLIB: u32 = inflate_flags::TINFL_FLAG_PARSE_ZLIB_HEADER | inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;

struct Compress {
    deflate: Box<CompressorOxide>,
    inflate: Box<DecompressorOxide>,
    text: Vec<u8>,
    packed: Vec<u8>,
    packed_bytes: usize,
    /// The input of the next pass.
    back: Vec<u8>,
    broken: bool,
}

pub fn make() -> Box<dyn Part> {
    Box::new(Compress::new())
}

/// Generates sentences of words with 2 to 9 letters, a few of them frequent and most of them rare, with some numbers.
pub fn text(count: usize) -> Vec<u8> {
    let mut rng = numbers(40);
    let letters = b"etaoinshrdlucmfwypvbgkjqxz";
    let mut letter = || letters[(rng.below(26) * rng.below(26) / 26) as usize];
    let words: Vec<Vec<u8>> = (0..WORDS).map(|i| (0..2 + i % 8).map(|_| letter()).collect()).collect();
    let mut text = Vec::with_capacity(count + 32);
    while text.len() < count {
        // A product of three has many small values.
        let rank = rng.below(WORDS) * rng.below(WORDS) / WORDS * rng.below(WORDS) / WORDS;
        match rng.below(32) {
            0 => text.extend_from_slice(rng.below(10_000).to_string().as_bytes()),
            1 | 2 => text.extend_from_slice(b". "),
            _ => text.extend_from_slice(&words[rank as usize]),
        }
        text.push(b' ');
    }
    text.truncate(count);
    text
}

impl Compress {
    fn new() -> Compress {
        let text = text(BYTES);
        Compress {
            deflate: Box::new(CompressorOxide::new(create_comp_flags_from_zip_params(LEVEL, 15, 0))),
            inflate: Box::default(),
            packed: vec![0; BYTES + BYTES / 8],
            packed_bytes: 0,
            back: text.clone(),
            text,
            broken: false,
        }
    }
}

impl Part for Compress {
    fn pass(&mut self) -> Result<(), Fault> {
        self.deflate.reset();
        let (status, read, written) = compress(&mut self.deflate, &self.back, &mut self.packed, TDEFLFlush::Finish);
        self.broken |= status != TDEFLStatus::Done || read != BYTES;
        self.packed_bytes = written;
        self.inflate.init();
        let (status, _, written) =
            decompress(&mut self.inflate, &self.packed[..self.packed_bytes], &mut self.back, 0, ZLIB);
        self.broken |= status != TINFLStatus::Done || written != BYTES;
        Ok(())
    }

    fn verify(&mut self) -> Result<(), Fault> {
        expect(!self.broken && self.back == self.text, "the text that was inflated")?;
        expect_sha256(&self.packed[..self.packed_bytes], PACKED_SHA256, "the deflated text")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_byte_in_any_pass_is_detected() {
        let mut task = Compress::new();
        task.pass().unwrap();
        task.verify().unwrap();
        assert!((BYTES / 5..BYTES / 2).contains(&task.packed_bytes), "as text packs: {}", task.packed_bytes);
        task.back[1000] ^= 1;
        task.pass().unwrap();
        assert!(task.verify().unwrap_err().what.contains("inflated"));
        task.back.copy_from_slice(&task.text);
        task.packed[1000] ^= 1;
        assert_eq!(task.verify().unwrap_err().outcome.name(), "invalid");
    }
}
