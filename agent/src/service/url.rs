//! The URL of an endpoint: scheme, host, port and a base path; nothing in it can be a secret.

use std::net::{IpAddr, Ipv6Addr};

const LONGEST: usize = 2048;

/// An `http` or `https` URL without user, query and fragment, each of which could carry a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    pub tls: bool,
    /// A name, or an address without brackets.
    pub host: String,
    pub port: u16,
    /// Empty, or a path that starts with a slash and does not end with one.
    pub base: String,
}

impl Url {
    pub fn parse(text: &str) -> Option<Url> {
        let (tls, rest) = match text.strip_prefix("https://") {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix("http://")?),
        };
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
            _ => (authority, None),
        };
        let label =
            |label: &str| !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let host = match bracketed {
            Some(ip) => ip.parse::<Ipv6Addr>().ok().map(|_| ip)?,
            None => host.split('.').all(label).then_some(host)?,
        };
        let port = match port {
            None => [80, 443][usize::from(tls)],
            Some(port) if port.starts_with('+') => return None,
            Some(port) => port.parse().ok().filter(|&port: &u16| port > 0)?,
        };
        let plain = |byte: u8| byte.is_ascii_graphic() && !br#""<>\^`{|}?#"#.contains(&byte);
        if text.len() > LONGEST || !path.bytes().all(plain) {
            return None;
        }
        Some(Url { tls, host: host.to_owned(), port, base: path.trim_end_matches('/').to_owned() })
    }

    /// Returns the address that is written as the host; `None` if the host is a name.
    pub fn address(&self) -> Option<IpAddr> {
        self.host.parse().ok().map(|ip: IpAddr| ip.to_canonical())
    }

    /// Returns the value of the header `host`, for this host or for `label` in front of it.
    pub fn authority(&self, label: Option<&str>) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        let host = label.map_or_else(|| host.clone(), |label| format!("{label}.{host}"));
        if self.port == [80, 443][usize::from(self.tls)] { host } else { format!("{host}:{}", self.port) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_url_is_split_and_joined() {
        let url = |tls, host: &str, port, base: &str| Some(Url { tls, host: host.into(), port, base: base.into() });
        assert_eq!(Url::parse("http://127.0.0.1:9000"), url(false, "127.0.0.1", 9000, ""));
        assert_eq!(Url::parse("https://s3.example.org/"), url(true, "s3.example.org", 443, ""));
        assert_eq!(Url::parse("http://[::1]/a/b/"), url(false, "::1", 80, "/a/b"));
        let authority = |text: &str, label| Url::parse(text).unwrap().authority(label);
        assert_eq!(authority("http://[::1]:81", None), "[::1]:81");
        assert_eq!(authority("https://s3.example.org", Some("mine")), "mine.s3.example.org");
        assert_eq!(authority("https://s3.example.org:444", None), "s3.example.org:444");
        assert_eq!(Url::parse("http://[::ffff:10.0.0.1]").unwrap().address(), Some([10, 0, 0, 1].into()));
        assert_eq!(Url::parse("http://example.org").unwrap().address(), None);
    }

    proptest! {
        #![proptest_config(crate::hostile())]

        #[test]
        fn p28_urls_of_any_shape_never_panic_and_hold_no_user_query_or_fragment(
            text in r"(https?://)?([a-z0-9.:@\[\]-]{0,20}|\PC{0,8})(/[!-~]{0,20}|\PC{0,8})?"
        ) {
            if let Some(url) = Url::parse(&text) {
                prop_assert!(text.starts_with("http") && !url.host.is_empty() && !url.host.contains(['@', '/', '[']));
                prop_assert!(url.base.bytes().all(|byte| byte.is_ascii_graphic()) && !text.contains(['?', '#']));
                prop_assert!(url.port > 0 && !url.base.ends_with('/'));
            }
        }
    }
}
