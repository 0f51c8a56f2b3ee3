//! Messages of a queue: text that names its own number, so that whoever receives one can verify it.

use super::content;
use super::outcome::{Done, Failure, Kind};

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

impl Received {
    /// Judges a message that a receive of this size returned; a receive of size 0 takes any message, to be rid of it.
    pub fn judge(text: &str, handle: String, size: u64) -> Result<Done, Failure> {
        let length = text.len() as u64;
        let message = match Message::of_text(text, size) {
            Some(message) => message,
            None if size == 0 => Message { size: length, number: 0 },
            None => {
                let what = format!("a message of {length} bytes that was not sent, and one of {size} was");
                return Err(Failure::new(Kind::WrongBody, what));
            }
        };
        Ok(Done { received: Some(Received { message, handle }), ..Done::new(length, true) })
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

    #[test]
    fn a_received_message_is_one_that_was_sent_unless_any_will_do() {
        let text = Message::new(50, 7).text();
        let done = Received::judge(&text, "h".to_owned(), 50).unwrap();
        assert_eq!(done.received, Some(Received { message: Message::new(50, 7), handle: "h".to_owned() }));
        assert_eq!(Received::judge(&text, "h".to_owned(), 51).unwrap_err().kind, Kind::WrongBody);
        assert!(Received::judge("", "h".to_owned(), 50).is_err());
        for any in ["", "other", &text] {
            let done = Received::judge(any, "h".to_owned(), 0).unwrap();
            assert_eq!((done.received.unwrap().handle.as_str(), done.there), ("h", true));
        }
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
            // A changed number has other text behind it; a few letters of it may be the same by chance.
            prop_assert!(size < 48 || Message::of_text(&changed, size).is_none());
        }
    }
}
