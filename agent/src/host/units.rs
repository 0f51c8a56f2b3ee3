//! The number of bits of fused multiply-adds that a core can start in one cycle, for processors with published data.
//!
//! The width of the instructions does not give this number: AMD's family 25 (Zen 4) splits 512 bits into two halves of
//! 256.

use serde_json::Value;

/// Returns the bits that all units of one core start per cycle; `None` if the processor is not in the table.
pub fn multiply_add_bits() -> Option<u32> {
    let facts = super::cpu::facts();
    let text = |key: &str| facts.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let number = |key: &str| text(key).parse::<u32>().unwrap_or(0);
    match text("vendor").as_str() {
        "AuthenticAMD" | "HygonGenuine" => amd(number("family"), number("model_number")),
        "0x41" | "0xc0" => arm(&text("model")),
        _ => None,
    }
}

/// By family and model; from the "Software Optimization Guide" of each family, chapter on the floating-point unit.
fn amd(family: u32, model: u32) -> Option<u32> {
    match (family, model) {
        (23 | 24, 0..=0x2f) => Some(2 * 128),             // Zen, Zen+
        (23, _) | (25, _) => Some(2 * 256),               // Zen 2; Zen 3, Zen 4
        (26, 0x20..=0x2f | 0x60..=0x7f) => Some(2 * 256), // Zen 5 of notebooks
        (26, _) => Some(2 * 512),                         // Zen 5
        _ => None,
    }
}

/// By part number; from the "Software Optimization Guide" of each core, section on ASIMD multiply-adds.
fn arm(part: &str) -> Option<u32> {
    match part {
        "0xd0c" | "0xd49" | "0xd8e" | "0xac3" => Some(2 * 128), // Neoverse N1, N2, N3; AmpereOne
        "0xd40" | "0xd4f" | "0xd84" => Some(4 * 128),           // Neoverse V1, V2, V3
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_of_the_clouds_are_distinguished() {
        assert_eq!([amd(23, 1), amd(23, 49), amd(25, 17), amd(26, 2)], [256, 512, 512, 1024].map(Some));
        assert_eq!([arm("0xd0c"), arm("0xd40"), arm("0xd4f")], [256, 512, 512].map(Some));
        assert_eq!((amd(21, 2), arm("0xd08")), (None, None));
    }
}
