//! What a request asks for: the method and the end of its path, so that a prefix which a platform adds does not matter.

/// The bytes of `/2mb`: 2 MB of 10^6 B each.
const TWO_MB: u64 = 2_000_000;
/// The longest body that `/bytes/N` gives.
pub const MOST_BYTES: u64 = 100_000_000;
/// The longest time that `/wait` takes, s: more than any platform's limit known to us.
pub const MOST_WAIT_S: f64 = 3_600.0;
/// The most memory that `/hold` takes, bytes.
pub const MOST_HELD_BYTES: u64 = 64 << 30;
/// The longest body that `/upload` reads, bytes.
pub const MOST_UPLOAD_BYTES: u64 = 1 << 30;

/// One kind of answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Work {
    /// Says that the server is there, and counts as no request.
    Health,
    /// An image of one pixel.
    Pixel,
    /// So many incompressible bytes.
    Bytes(u64),
    /// A task of the probe `task`, by its name.
    Task { name: &'static str, small: bool },
    /// Answers after so many seconds without work.
    Wait(f64),
    /// Answers after writing to so many bytes of memory.
    Hold(u64),
    /// Reads a body, and answers with its length.
    Upload,
}

impl Work {
    /// Whether it is there only to find the limits of a platform.
    pub fn finds_limits(self) -> bool {
        matches!(self, Work::Wait(_) | Work::Hold(_) | Work::Upload)
    }
}

/// Why a request gets no answer of the kind that it wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    NotFound,
    Method,
    Value,
}

/// Reads method, path and query (without its question mark).
pub fn parse(method: &str, path: &str, query: &str) -> Result<Work, Refusal> {
    let mut ends = path.rsplit('/');
    let (last, before) = (ends.next().unwrap_or(""), ends.next().unwrap_or(""));
    let work = match (before, last) {
        ("bytes", count) => Work::Bytes(whole(Some(count), MOST_BYTES)?),
        (_, "2mb") => Work::Bytes(TWO_MB),
        (_, "health") => Work::Health,
        (_, "pixel") => Work::Pixel,
        (_, "cpu") => Work::Task { name: "cpu", small: is_small(query)? },
        (_, "memory") => Work::Task { name: "memory", small: is_small(query)? },
        (_, "disk") => Work::Task { name: "disk", small: is_small(query)? },
        (_, "wait") => Work::Wait(wait_s(query)?),
        (_, "hold") => Work::Hold(whole(field(query, "bytes"), MOST_HELD_BYTES)?),
        (_, "upload") => Work::Upload,
        _ => return Err(Refusal::NotFound),
    };
    let right = if work == Work::Upload { ["POST", "PUT"].contains(&method) } else { method == "GET" };
    if right { Ok(work) } else { Err(Refusal::Method) }
}

/// Returns the value of a field of a query; a field that is there twice counts once.
fn field<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}

fn is_small(query: &str) -> Result<bool, Refusal> {
    match field(query, "size") {
        None | Some("small") => Ok(true),
        Some("full") => Ok(false),
        Some(_) => Err(Refusal::Value),
    }
}

fn wait_s(query: &str) -> Result<f64, Refusal> {
    let seconds = field(query, "seconds").and_then(|text| text.parse::<f64>().ok());
    seconds.filter(|seconds| (0.0..=MOST_WAIT_S).contains(seconds)).ok_or(Refusal::Value)
}

fn whole(text: Option<&str>, most: u64) -> Result<u64, Refusal> {
    let digits = text.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    digits.and_then(|text| text.parse().ok()).filter(|&number| number <= most).ok_or(Refusal::Value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_path_is_found_behind_any_prefix() {
        let task = |name, small| Ok(Work::Task { name, small });
        for prefix in ["", "/api", "/stage/function"] {
            let get = |path: &str, query: &str| parse("GET", &format!("{prefix}{path}"), query);
            assert_eq!(get("/pixel", ""), Ok(Work::Pixel));
            assert_eq!(get("/2mb", "nonce=7"), Ok(Work::Bytes(2_000_000)));
            assert_eq!(get("/bytes/0", ""), Ok(Work::Bytes(0)));
            assert_eq!(get("/bytes/100000000", ""), Ok(Work::Bytes(100_000_000)));
            assert_eq!(get("/cpu", ""), task("cpu", true));
            assert_eq!(get("/disk", "x=1&size=full"), task("disk", false));
            assert_eq!(get("/memory", "size=small"), task("memory", true));
            assert_eq!(get("/wait", "seconds=0.25"), Ok(Work::Wait(0.25)));
            assert_eq!(get("/hold", "bytes=1048576"), Ok(Work::Hold(1 << 20)));
            assert_eq!(get("/health", ""), Ok(Work::Health));
        }
        assert_eq!(parse("POST", "/upload", ""), Ok(Work::Upload));
    }

    #[test]
    fn what_is_too_much_or_not_there_is_refused() {
        for (method, path, query, refusal) in [
            ("GET", "/", "", Refusal::NotFound),
            ("GET", "/cpux", "", Refusal::NotFound),
            ("GET", "/cpu/", "", Refusal::NotFound),
            ("POST", "/cpu", "", Refusal::Method),
            ("GET", "/upload", "", Refusal::Method),
            ("GET", "/bytes/100000001", "", Refusal::Value),
            ("GET", "/bytes/-1", "", Refusal::Value),
            ("GET", "/bytes/+1", "", Refusal::Value),
            ("GET", "/bytes/", "", Refusal::Value),
            ("GET", "/cpu", "size=huge", Refusal::Value),
            ("GET", "/wait", "", Refusal::Value),
            ("GET", "/wait", "seconds=nan", Refusal::Value),
            ("GET", "/wait", "seconds=3601", Refusal::Value),
            ("GET", "/wait", "seconds=-1", Refusal::Value),
            ("GET", "/hold", "bytes=99999999999999999999", Refusal::Value),
        ] {
            assert_eq!(parse(method, path, query), Err(refusal), "{method} {path}?{query}");
        }
    }

    proptest! {
        #[test]
        fn no_request_goes_beyond_a_bound(
            method in "[A-Z]{1,7}", path in "(/[a-z0-9%.]{0,9}){0,4}", query in "[a-z0-9=&.+e-]{0,30}"
        ) {
            match parse(&method, &path, &query) {
                Ok(Work::Bytes(bytes)) => prop_assert!(bytes <= MOST_BYTES),
                Ok(Work::Hold(bytes)) => prop_assert!(bytes <= MOST_HELD_BYTES),
                Ok(Work::Wait(seconds)) => prop_assert!((0.0..=MOST_WAIT_S).contains(&seconds)),
                _ => {}
            }
        }
    }
}
