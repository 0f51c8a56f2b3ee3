//! Messages of a queue: text that names its own number, so that whoever receives one can verify it.

use super::content;

/// Digits of the number at the start of a message; a shorter message has fewer.
const DIGITS: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Message {
    /// The length of its text, bytes.
    pub size: u64,
    pub number: u64,
}

/// A message as a service handed it out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    pub message: Message,
    /// What the service wants in order to delete it: a receipt handle, an acknowledgement id, or an id and a receipt.
    pub handle: String,
}

impl Message {
    /// Creates a message; its text has room for the lowest digits of the number alone if it is short.
    pub fn new(size: u64, number: u64) -> Message {
        let digits = (size as usize).min(DIGITS);
        let number = if digits < DIGITS { number & ((1 << (4 * digits)) - 1) } else { number };
        Message { size, number }
    }

    /// Returns the text: hexadecimal digits of the number, then letters, digits, `-` and `_` that follow from it.
    pub fn text(&self) -> String {
        let digits = (self.size as usize).min(DIGITS);
        let rest = self.size as usize - digits;
        format!("{:0digits$x}{}", self.number, content::words(self.number, self.size, rest))
    }

    /// Returns the message with this text; `None` if no message of this size has it.
    pub fn of_text(text: &str, size: u64) -> Option<Message> {
        let digits = text.get(..text.len().min(DIGITS))?;
        let message = Message { size, number: u64::from_str_radix(digits, 16).ok()? };
        (message.text() == text).then_some(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_message_begins_with_its_number() {
        let text = Message::new(50, 0xbeef).text();
        assert!(text.starts_with("000000000000beef") && text.len() == 50);
        assert_eq!(Message::new(2, 0xbeef).text(), "ef");
        assert_eq!(Message::of_text("+f", 2), None);
    }

    proptest! {
        #[test]
        fn any_message_is_known_by_its_text_and_a_change_is_not(
            size in 1_u64..200, number in any::<u64>(), at in any::<prop::sample::Index>()
        ) {
            let message = Message::new(size, number);
            let text = message.text();
            prop_assert_eq!(text.len() as u64, size);
            prop_assert_eq!(Message::of_text(&text, size), Some(message));
            prop_assert_eq!(Message::of_text(&text, size + 1), None);
            let mut bytes = text.into_bytes();
            let at = at.index(bytes.len());
            bytes[at] = if bytes[at] == b'0' { b'1' } else { b'0' };
            let changed = String::from_utf8(bytes).unwrap();
            prop_assert!(Message::of_text(&changed, size) != Some(message));
            prop_assert!(size <= 16 || Message::of_text(&changed, size).is_none());
        }
    }
}
