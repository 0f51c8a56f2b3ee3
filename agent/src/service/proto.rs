//! The few words of Protocol Buffers that are written and read here, without a schema.

const NUMBER: u64 = 0;
const EIGHT: u64 = 1;
const BYTES: u64 = 2;
const FOUR: u64 = 5;

/// A message that is being written, field by field.
#[derive(Default)]
pub struct Message(Vec<u8>);

/// A field as it was read. Fixed numbers are skipped: nothing here reads any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl Message {
    pub fn new() -> Message {
        Message::default()
    }

    pub fn number(mut self, field: u32, value: u64) -> Message {
        self.key(field, NUMBER);
        self.varint(value);
        self
    }

    pub fn bytes(mut self, field: u32, value: &[u8]) -> Message {
        self.key(field, BYTES);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
        self
    }

    pub fn text(self, field: u32, value: &str) -> Message {
        self.bytes(field, value.as_bytes())
    }

    pub fn message(self, field: u32, value: &Message) -> Message {
        self.bytes(field, &value.0)
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// Returns a message that was written before.
    #[cfg(test)]
    pub fn of_bytes(bytes: Vec<u8>) -> Message {
        Message(bytes)
    }

    fn key(&mut self, field: u32, kind: u64) {
        self.varint(u64::from(field) << 3 | kind);
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

/// Reads the fields of a message in their order; `None` if it is none.
pub fn fields(mut bytes: &[u8]) -> Option<Vec<(u32, Field<'_>)>> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes)?;
        let field = u32::try_from(key >> 3).ok().filter(|&field| field > 0)?;
        match key & 7 {
            NUMBER => fields.push((field, Field::Number(varint(&mut bytes)?))),
            BYTES => {
                let length = usize::try_from(varint(&mut bytes)?).ok()?;
                fields.push((field, Field::Bytes(take(&mut bytes, length)?)));
            }
            EIGHT => drop(take(&mut bytes, 8)?),
            FOUR => drop(take(&mut bytes, 4)?),
            _ => return None,
        }
    }
    Some(fields)
}

/// Returns the values of the fields with one number that hold bytes, text or messages.
pub fn all<'a>(fields: &[(u32, Field<'a>)], field: u32) -> Vec<&'a [u8]> {
    let of = |&(number, value): &(u32, Field<'a>)| match value {
        Field::Bytes(bytes) if number == field => Some(bytes),
        _ => None,
    };
    fields.iter().filter_map(of).collect()
}

/// Returns the last value of such a field, as Protocol Buffers have it where one is sent twice.
pub fn one<'a>(fields: &[(u32, Field<'a>)], field: u32) -> Option<&'a [u8]> {
    all(fields, field).pop()
}

/// Returns the last value of such a field as text.
pub fn text<'a>(fields: &[(u32, Field<'a>)], field: u32) -> Option<&'a str> {
    std::str::from_utf8(one(fields, field)?).ok()
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_message_is_written_as_the_format_has_it() {
        let inner = Message::new().number(1, 150);
        let bytes = Message::new().text(2, "testing").message(3, &inner).number(4, u64::MAX).into_bytes();
        assert_eq!(bytes[..14], [0x12, 7, b't', b'e', b's', b't', b'i', b'n', b'g', 0x1a, 3, 8, 0x96, 1]);
        let read = fields(&bytes).unwrap();
        assert_eq!((text(&read, 2), one(&read, 3)), (Some("testing"), Some([8, 0x96, 1].as_slice())));
        assert_eq!(read[2], (4, Field::Number(u64::MAX)));
        assert_eq!((text(&read, 3), one(&read, 9), all(&read, 4).len()), (None, None, 0));
    }

    #[test]
    fn what_is_cut_or_of_another_form_is_no_message() {
        let bytes = Message::new().text(2, "testing").into_bytes();
        assert!((1..bytes.len()).all(|at| fields(&bytes[..at]).is_none()));
        for wrong in [&[0x0b][..], &[0x00, 1], &[0x80; 11], &[0x0d, 1, 2], &[0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]]
        {
            assert!(fields(wrong).is_none(), "{wrong:?}");
        }
        assert_eq!(fields(&[0x09, 1, 2, 3, 4, 5, 6, 7, 8, 0x0d, 1, 2, 3, 4]), Some(Vec::new()));
    }

    proptest! {
        #![proptest_config(crate::hostile())]

        #[test]
        fn p28_bytes_of_any_shape_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = fields(&bytes);
        }

        #[test]
        fn what_was_written_is_read(number in any::<u64>(), field in 1_u32..1 << 29, text in prop::collection::vec(any::<u8>(), 0..300)) {
            let bytes = Message::new().number(field, number).bytes(field, &text).into_bytes();
            prop_assert_eq!(fields(&bytes), Some(vec![(field, Field::Number(number)), (field, Field::Bytes(&text))]));
        }
    }
}
