//! `aes`: a pass encrypts 1 MiB with AES-256 in CBC mode, and decrypts it.
//!
//! During encryption each block waits for the previous one; during decryption it does not.

use aes::Aes256;
use aes::cipher::{Array, BlockModeDecrypt, BlockModeEncrypt, KeyIvInit};
use cbc::{Decryptor, Encryptor};

use super::Part;
use super::answer::{bytes, expect, expect_sha256};
use crate::fault::Fault;

const BYTES: usize = 1 << 20;
/// Matches OpenSSL's result.
const CIPHERTEXT_SHA256: &str = "a2e202a9296c8548eeecb020489f36841ac48f0406fc54535011acef7737f9a9";

struct Aes {
    key: [u8; 32],
    iv: [u8; 16],
    plain: Vec<[u8; 16]>,
    secret: Vec<[u8; 16]>,
    /// The input of the next pass: an error in one pass affects all later ones.
    back: Vec<[u8; 16]>,
}

pub fn make() -> Box<dyn Part> {
    Box::new(Aes::new())
}

/// Returns the code path of the `aes` crate, by the features that it tests for.
pub fn isa() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    {
        let wide = is_x86_feature_detected!("vaes");
        if wide && is_x86_feature_detected!("avx512f") {
            return "vaes512";
        }
        if wide {
            return "vaes256";
        }
        if is_x86_feature_detected!("aes") {
            return "aes-ni";
        }
    }
    #[cfg(target_arch = "aarch64")]
    if std::arch::is_aarch64_feature_detected!("aes") {
        return "armv8-aes";
    }
    "software"
}

impl Aes {
    fn new() -> Aes {
        let (secrets, plain) = (bytes(10, 48), bytes(11, BYTES).as_chunks().0.to_vec());
        Aes {
            key: std::array::from_fn(|i| secrets[i]),
            iv: std::array::from_fn(|i| secrets[32 + i]),
            secret: vec![[0; 16]; plain.len()],
            back: plain.clone(),
            plain,
        }
    }

    fn encrypt(&mut self) {
        let mut mode = Encryptor::<Aes256>::new(&self.key.into(), &self.iv.into());
        let (from, to) = (Array::cast_slice_from_core(&self.back), Array::cast_slice_from_core_mut(&mut self.secret));
        mode.encrypt_blocks_b2b(from, to).expect("they are of one length");
    }

    fn decrypt(&mut self) {
        let mut mode = Decryptor::<Aes256>::new(&self.key.into(), &self.iv.into());
        let (from, to) = (Array::cast_slice_from_core(&self.secret), Array::cast_slice_from_core_mut(&mut self.back));
        mode.decrypt_blocks_b2b(from, to).expect("they are of one length");
    }
}

impl Part for Aes {
    fn pass(&mut self) -> Result<(), Fault> {
        self.encrypt();
        self.decrypt();
        Ok(())
    }

    fn verify(&mut self) -> Result<(), Fault> {
        expect_sha256(self.secret.as_flattened(), CIPHERTEXT_SHA256, "the AES ciphertext")?;
        expect(self.back == self.plain, "the text that AES decrypted")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex<const N: usize>(text: &str) -> [u8; N] {
        std::array::from_fn(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap())
    }

    #[test]
    fn nist_sp_800_38a_f_2_5() {
        let plain = "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51\
                     30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710";
        let plain = hex::<64>(plain).as_chunks().0.to_vec();
        let mut aes = Aes {
            key: hex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4"),
            iv: hex("000102030405060708090a0b0c0d0e0f"),
            secret: vec![[0; 16]; 4],
            back: plain.clone(),
            plain,
        };
        aes.pass().unwrap();
        let secret = "f58c4c04d6e5f1ba779eabfb5f7bfbd69cfc4e967edb808d679f777bc6702c7d\
                      39f23369a9d9bacfa530e26304231461b2eb05e2c39be9fcda6c19078c6a9d1b";
        assert_eq!(aes.secret.as_flattened(), hex::<64>(secret));
        assert_eq!(aes.back, aes.plain);
    }

    #[test]
    fn a_wrong_bit_in_any_pass_is_detected() {
        let mut aes = Aes::new();
        aes.pass().unwrap();
        aes.verify().unwrap();
        aes.back[777][3] ^= 1;
        assert!(aes.verify().unwrap_err().what.contains("decrypted"));
        aes.pass().unwrap();
        assert!(aes.verify().unwrap_err().what.contains("ciphertext"));
    }
}
