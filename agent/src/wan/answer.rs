//! The head of an HTTP answer: its status, and how long its body is.

/// What the head of an answer says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    pub status: u16,
    /// The length of the body; `None` if it ends with the connection.
    pub length: Option<u64>,
    /// The bytes of the head itself, with the empty line that ends it.
    pub bytes: usize,
    /// What an endpoint of ours says of its own kernel, as `name=value` words.
    pub kernel: Option<String>,
}

pub const LONGEST: usize = 16 * 1024;
const KERNEL: &str = "x-cloudcmp-kernel";
const LONGEST_KERNEL: usize = 200;

/// Reads a head at the beginning of `bytes`; `Ok(None)` while its end has not come, an error if it is none.
pub fn read(bytes: &[u8]) -> Result<Option<Head>, &'static str> {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
        let begun = &bytes[..bytes.len().min(5)];
        return if bytes.len() > LONGEST || !b"HTTP/".starts_with(begun) { Err("no HTTP") } else { Ok(None) };
    };
    let text = std::str::from_utf8(&bytes[..end]).map_err(|_| "no HTTP")?;
    let mut lines = text.split("\r\n");
    let mut words = lines.next().unwrap_or("").splitn(3, ' ');
    let version = words.next().unwrap_or("");
    let status = words.next().filter(|code| code.len() == 3).and_then(|code| code.parse().ok());
    let status = status.filter(|_| matches!(version, "HTTP/1.0" | "HTTP/1.1")).ok_or("no HTTP")?;
    let (mut length, mut chunked, mut kernel) = (None, false, None);
    for line in lines {
        let (name, value) = line.split_once(':').ok_or("no HTTP")?;
        let value = value.trim();
        if name.eq_ignore_ascii_case("content-length") {
            let bytes: u64 = value.parse().map_err(|_| "bad length")?;
            if length.is_some_and(|had| had != bytes) {
                return Err("two lengths");
            }
            length = Some(bytes);
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            chunked = true;
        } else if name.eq_ignore_ascii_case(KERNEL) && value.len() <= LONGEST_KERNEL {
            kernel = Some(value.to_owned());
        }
    }
    Ok(Some(Head { status, length: length.filter(|_| !chunked), bytes: end + 4, kernel }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_head_says_how_long_its_body_is() {
        let head = |text: &str| read(text.as_bytes());
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 12\r\nX-Cloudcmp-Kernel: initial_window=10\r\n\r\nbody";
        let known = head(answer).unwrap().unwrap();
        assert_eq!((known.status, known.length, known.bytes), (200, Some(12), answer.len() - 4));
        assert_eq!(known.kernel.as_deref(), Some("initial_window=10"));
        let chunked = head("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").unwrap().unwrap();
        assert_eq!(chunked.length, None);
        assert_eq!(head("HTTP/1.1 200 OK\r\n"), Ok(None));
        for wrong in [
            "SSH-2.0-x\r\n\r\n",
            "HTTP/2 200\r\n\r\n",
            "HTTP/1.1 2000 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
        ] {
            assert!(head(wrong).is_err(), "{wrong}");
        }
        assert!(read(&vec![b'H'; LONGEST + 1]).is_err());
    }

    proptest! {
        #![proptest_config(crate::hostile())]

        #[test]
        fn p28_heads_of_any_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&bytes);
            let _ = read(&[b"HTTP/1.1 200 OK\r\n".as_slice(), &bytes, b"\r\n\r\n"].concat());
        }
    }
}
