//! `sign`: a pass signs 64 messages of 256 B with Ed25519 (RFC 8032), and verifies the signatures.

use ed25519_dalek::{Signature, Signer, SigningKey, Verifier, VerifyingKey};

use super::Part;
use super::answer::{bytes, expect, expect_sha256};
use crate::fault::Fault;

const MESSAGES: usize = 64;
const MESSAGE_BYTES: usize = 256;
/// Matches OpenSSL's result.
const SIGNATURES_SHA256: &str = "4ea212c9c20704f595f6201614c1b1a2e183e06dc9eae30304dc9b07b88ebf9d";

struct Sign {
    key: SigningKey,
    public: VerifyingKey,
    messages: Vec<u8>,
    signatures: Vec<[u8; 64]>,
    refused: u32,
}

pub fn make() -> Box<dyn Part> {
    Box::new(Sign::new())
}

/// Returns the code path of curve25519-dalek, by the features that it tests for.
pub fn isa() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512ifma") && is_x86_feature_detected!("avx512vl") {
            return "avx512ifma";
        }
        if is_x86_feature_detected!("avx2") {
            return "avx2";
        }
    }
    "serial"
}

impl Sign {
    fn new() -> Sign {
        let secret = bytes(30, 32);
        let key = SigningKey::from_bytes(&std::array::from_fn(|i| secret[i]));
        Sign {
            public: key.verifying_key(),
            key,
            messages: bytes(31, MESSAGES * MESSAGE_BYTES),
            signatures: vec![[0; 64]; MESSAGES],
            refused: 0,
        }
    }
}

impl Part for Sign {
    fn pass(&mut self) -> Result<(), Fault> {
        for (message, signature) in self.messages.chunks(MESSAGE_BYTES).zip(&mut self.signatures) {
            *signature = self.key.sign(message).to_bytes();
        }
        for (message, signature) in self.messages.chunks(MESSAGE_BYTES).zip(&self.signatures) {
            self.refused += u32::from(self.public.verify(message, &Signature::from_bytes(signature)).is_err());
        }
        Ok(())
    }

    fn verify(&mut self) -> Result<(), Fault> {
        expect(self.refused == 0, "what a verified signature says")?;
        expect_sha256(self.signatures.as_flattened(), SIGNATURES_SHA256, "the row of signatures")?;
        let forged = self.public.verify(&self.messages[1..MESSAGE_BYTES], &Signature::from_bytes(&self.signatures[0]));
        expect(forged.is_err(), "what a forged signature says")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc_8032_7_1_test_1() {
        let hex = |text: &str| -> Vec<u8> {
            (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
        };
        let secret = hex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
        let key = SigningKey::from_bytes(&secret.try_into().unwrap());
        let public = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
        let signature = "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b\
                         d25bf5f0595bbe24655141438e7a100b";
        assert_eq!(key.verifying_key().to_bytes().to_vec(), hex(public));
        assert_eq!(key.sign(b"").to_bytes().to_vec(), hex(signature));
    }

    #[test]
    fn a_refused_or_wrong_signature_is_detected() {
        let mut sign = Sign::new();
        sign.pass().unwrap();
        sign.verify().unwrap();
        sign.signatures[5][3] ^= 1;
        assert!(sign.verify().unwrap_err().what.contains("signatures"));
        let mut stranger = Sign { public: SigningKey::from_bytes(&[1; 32]).verifying_key(), ..Sign::new() };
        stranger.pass().unwrap();
        assert_eq!((stranger.refused as usize, stranger.verify().unwrap_err().outcome.name()), (MESSAGES, "invalid"));
    }
}
