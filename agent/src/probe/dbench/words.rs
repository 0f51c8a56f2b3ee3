//! The words of one line of a loadfile. A fault names the line and quotes only a short part of the wrong word.

use super::ops::{Expect, KINDS};
use crate::fault::Fault;

const MOST_WORDS: usize = 12;
const MOST_LINE: usize = 4096;
const MOST_S: f64 = 86_400.0;
const NEXT: &str = "mend the loadfile, or use loadfile=own";

/// Returns a fault of a loadfile at a line.
pub fn fault(line: u32, what: impl std::fmt::Display) -> Fault {
    Fault::failed(format!("loadfile line {line}: {what}"), NEXT)
}

/// Parses a line as dbench's client does before each operation: splits the words, looks the operation up, converts
/// numbers. Returns a number that depends on all of them.
pub fn read_again(line: &[u8]) -> u64 {
    let words = line.split(|&byte| byte == b' ').filter(|word| !word.is_empty());
    words.fold(0, |sum: u64, word| {
        let value = match std::str::from_utf8(word).unwrap_or_default() {
            text if text.starts_with("0x") => u64::from_str_radix(&text[2..], 16).unwrap_or(0),
            text if word[0].is_ascii_digit() => text.parse().unwrap_or(0),
            text => KINDS.iter().position(|(_, known, _)| *known == text).unwrap_or(word.len()) as u64,
        };
        sum.rotate_left(7) ^ value
    })
}

/// The rest of a line.
pub struct Words<'a> {
    line: u32,
    words: Vec<&'a [u8]>,
    next: usize,
}

impl<'a> Words<'a> {
    pub fn new(text: &'a [u8], line: u32) -> Result<Words<'a>, Fault> {
        if text.len() > MOST_LINE {
            return Err(fault(line, format!("is longer than {MOST_LINE} bytes")));
        }
        let (mut words, mut rest) = (Vec::with_capacity(8), text.trim_ascii_start());
        while !rest.is_empty() {
            let length = match rest[0] {
                b'"' => {
                    2 + rest[1..].iter().position(|&byte| byte == b'"').ok_or_else(|| fault(line, "an open quote"))?
                }
                _ => rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len()),
            };
            words.push(&rest[..length]);
            rest = rest[length..].trim_ascii_start();
            if words.len() > MOST_WORDS {
                return Err(fault(line, format!("more than {MOST_WORDS} words")));
            }
        }
        Ok(Words { line, words, next: 0 })
    }

    /// Reads the time at which the operation is due, ns; 0 if the line does not begin with a number.
    pub fn time(&mut self) -> Result<u64, Fault> {
        let Some(&first) = self.words.first().filter(|word| word[0].is_ascii_digit()) else { return Ok(0) };
        self.next = 1;
        match text(first).parse::<f64>() {
            Ok(seconds) if (0.0..=MOST_S).contains(&seconds) => Ok((seconds * 1e9) as u64),
            _ => Err(self.wrong("is no time from 0 to 86400 s", first)),
        }
    }

    pub fn word(&mut self, wanted: &str) -> Result<&'a [u8], Fault> {
        let word = self.words.get(self.next).ok_or_else(|| fault(self.line, format!("{wanted} is missing")))?;
        self.next += 1;
        Ok(word)
    }

    pub fn wrong(&self, why: &str, word: &[u8]) -> Fault {
        let shown: String = text(word).chars().take(40).filter(|c| !c.is_control()).collect();
        fault(self.line, format!("{shown:?} {why}"))
    }

    /// Reads a whole number, decimal or with 0x.
    pub fn number(&mut self, wanted: &str, most: u64) -> Result<u64, Fault> {
        let word = self.word(wanted)?;
        let shown = text(word);
        let number = match shown.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => shown.parse(),
        };
        match number {
            Ok(number) if number <= most && word[0] != b'+' => Ok(number),
            _ => Err(self.wrong(&format!("is not {wanted}, at most {most}"), word)),
        }
    }

    /// Reads an information level, which a file system does not use.
    pub fn level(&mut self) -> Result<(), Fault> {
        self.number("an information level", u64::from(u32::MAX)).map(|_| ())
    }

    /// Reads the parts of a path in quotes, which is always below the client's own folder.
    pub fn path(&mut self) -> Result<Vec<&'a [u8]>, Fault> {
        let word = self.word("a path")?;
        let Some(path) = word.strip_prefix(b"\"").and_then(|word| word.strip_suffix(b"\"")) else {
            return Err(self.wrong("is no path in quotes", word));
        };
        let parts = path.split(|byte| b"\\/".contains(byte)).filter(|part| !part.is_empty() && *part != b".");
        let parts: Vec<&[u8]> = parts.collect();
        match parts.iter().any(|part| *part == b".." || part.len() > 255 || part.contains(&0)) {
            true => Err(self.wrong("leaves the folder, or has a part that is no file name", word)),
            false => Ok(parts),
        }
    }

    /// Whether the line's last word is a status other than success.
    pub fn expects_failure(&self) -> bool {
        self.words.last().and_then(|word| expect(word)) == Some(Expect::Fails)
    }

    pub fn status(&mut self) -> Result<Expect, Fault> {
        let word = self.word("a status")?;
        expect(word).ok_or_else(|| self.wrong("is no status", word))
    }

    pub fn end(&self) -> Result<(), Fault> {
        match self.words.get(self.next) {
            None => Ok(()),
            Some(word) => Err(self.wrong("is one word too many", word)),
        }
    }
}

fn text(word: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(word)
}

/// Parses `NT_STATUS_OK`, another `NT_STATUS_` name, a status as a hexadecimal number, or `*` for any.
fn expect(word: &[u8]) -> Option<Expect> {
    match text(word).as_ref() {
        "*" => Some(Expect::Any),
        "NT_STATUS_OK" => Some(Expect::Ok),
        name if name.starts_with("NT_STATUS_") => Some(Expect::Fails),
        number => {
            let number = u32::from_str_radix(number.strip_prefix("0x")?, 16).ok()?;
            Some(if number == 0 { Expect::Ok } else { Expect::Fails })
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::load::{Call, parse};
    use super::super::ops::Kind;
    use super::*;

    const GOOD: &str = "NTCreateX \"\\clients\\client1\\a.doc\" 0x40 0x2 7 NT_STATUS_OK\n\
        0.25 WriteX 7 65534 1 1 NT_STATUS_OK\r\n\n# a comment\nReadX 7 0 4096 4096 NT_STATUS_OK\nClose 7 NT_STATUS_OK\n\
        QUERY_PATH_INFORMATION \"\\clients\\CLIENT1\\b c.doc\" 1004 NT_STATUS_OBJECT_NAME_NOT_FOUND\n\
        FIND_FIRST \"\\clients\\client1\\<.JNK\" 260 1366 0 0xc000000f\n";

    #[test]
    fn a_loadfile_is_read_with_its_times_and_statuses() {
        let load = parse(GOOD.as_bytes()).unwrap();
        assert_eq!((load.steps.len(), load.names.len(), load.slots), (6, 3, 1));
        assert_eq!((load.largest_read, load.largest_write), (4096, 1));
        assert_eq!((load.steps[1].due_ns, load.steps[1].line), (250_000_000, 2));
        assert_eq!(load.steps[1].call, Call::Write { slot: 0, bytes: 1, moved: 1, offset: 65_534 });
        assert_eq!((load.steps[4].expect, load.steps[4].kind), (Expect::Fails, Kind::QPathInfo));
        assert!(load.steps[5].expect == Expect::Any && load.names[2].wild && !load.names[1].wild);
        assert_eq!(load.names[1].full.to_str(), Ok("clients/CLIENT1/b c.doc"));
        assert_eq!(load.names[1].parent.to_str(), Ok("clients/CLIENT1"));
    }

    #[test]
    fn an_error_is_one_line_with_its_line_number() {
        for (line, says) in [
            ("Frobnicate 7 NT_STATUS_OK", "no operation"),
            ("Close 8 NT_STATUS_OK", "not open"),
            ("Close", "missing"),
            ("Close 7", "missing"),
            ("Close 7 fine", "no status"),
            ("Close 7 NT_STATUS_OK 1", "too many"),
            ("Close -7 NT_STATUS_OK", "a handle"),
            ("NTCreateX \"\\a\" 0x40 0x2 7 NT_STATUS_OK", "open already"),
            ("NTCreateX \"\\a\" 0x40 0x9 8 NT_STATUS_OK", "disposition"),
            ("NTCreateX \"\\a 0x40 0x2 8 NT_STATUS_OK", "quote"),
            ("Unlink \"\\..\\..\\etc\\passwd\" 0x6 NT_STATUS_OK", "leaves the folder"),
            ("Unlink /etc/passwd 0x6 NT_STATUS_OK", "quotes"),
            ("WriteX 7 0 999999999 1 NT_STATUS_OK", "size"),
            ("ReadX 7 0 4096 4097 NT_STATUS_OK", "bytes moved"),
            ("ReadX 7 99999999999999 1 1 NT_STATUS_OK", "offset"),
            ("9e9 Flush 7 NT_STATUS_OK", "time"),
        ] {
            let wrong = format!("{}\n{line}\n", GOOD.lines().take(3).collect::<Vec<_>>().join("\n"));
            let fault = parse(wrong.as_bytes()).expect_err(line);
            assert!(fault.what.starts_with("loadfile line 4: ") && fault.what.contains(says), "{}", fault.what);
        }
        assert!(parse(b"").unwrap_err().what.contains("nothing was read or written"));
        assert!(parse("x".repeat(5000).as_bytes()).unwrap_err().what.contains("longer"));
    }

    proptest! {
        #![proptest_config(crate::hostile())]

        #[test]
        fn hostile_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = parse(&bytes);
        }

        #[test]
        fn a_changed_loadfile_never_panics_and_never_leaves_the_folder(
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)
        ) {
            let mut bytes = GOOD.as_bytes().to_vec();
            for (at, byte) in changes {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            match parse(&bytes) {
                Ok(load) => for name in &load.names {
                    let parts: Vec<&[u8]> = name.full.as_bytes().split(|&byte| byte == b'/').collect();
                    prop_assert!(!parts.contains(&&b".."[..]) && !name.full.as_bytes().starts_with(b"/"));
                },
                Err(fault) => prop_assert!(!fault.what.contains('\n')),
            }
        }
    }
}
