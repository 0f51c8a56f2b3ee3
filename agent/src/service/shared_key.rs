//! Signatures of requests to tables of Azure with the key of an account (Shared Key Lite).
//!
//! The only way into a table of Cosmos DB: it makes no shared access signatures. Such a key lives on, so that the
//! controller gives it to an agent of its own machine only. What is signed is the time and the path:
//! https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key

use std::time::SystemTime;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::sigv4::{Civil, civil};

const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Signs for one account.
pub struct SharedKey {
    account: String,
    /// Ready to sign.
    key: Hmac<Sha256>,
}

impl SharedKey {
    pub fn new(account: &str, key: &[u8]) -> SharedKey {
        let key = Hmac::new_from_slice(key).expect("HMAC takes a key of any length");
        SharedKey { account: account.to_owned(), key }
    }

    /// Returns the headers `x-ms-date` and `authorization` of a request of a path, as it is sent, without its query.
    pub fn sign(&self, path: &str, now: SystemTime) -> (String, String) {
        let (date, account) = (http_date(now), &self.account);
        let text = format!("{date}\n/{account}{path}");
        let signature = STANDARD.encode(self.key.clone().chain_update(text).finalize().into_bytes());
        (date, format!("SharedKeyLite {account}:{signature}"))
    }
}

/// Returns a time as `Thu, 26 Nov 2026 04:25:00 GMT`.
fn http_date(time: SystemTime) -> String {
    let Civil { days, year, month, day, second } = civil(time);
    let (weekday, month) = (DAYS[days as usize % 7], MONTHS[month as usize - 1]);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{weekday}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn a_date_is_written_as_http_wants_it() {
        let at = |seconds| http_date(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(at(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT", "RFC 9110, section 5.6.7");
        assert_eq!(at(1_709_251_199), "Thu, 29 Feb 2024 23:59:59 GMT");
    }

    /// The second witness: `printf ... | openssl dgst -sha256 -mac HMAC -macopt hexkey:00010203 -binary | base64`.
    #[test]
    fn the_signature_is_that_of_time_and_path() {
        let at = UNIX_EPOCH + Duration::from_secs(784_111_777);
        let (date, header) = SharedKey::new("one", &[0, 1, 2, 3]).sign("/Tables()", at);
        assert_eq!(date, "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(header, "SharedKeyLite one:JTeZT70BCIjTNkgE9dFm0aYuO4l9ITkCEsTAGukncMY=");
    }
}
