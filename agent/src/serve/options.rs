//! Flags and environment of a server, read strictly.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use crate::fault::Fault;

/// A server that nobody ends leaves after this time, s.
const DEFAULT_S: f64 = 3_600.0;
const MOST_S: f64 = 7.0 * 86_400.0;
const TOKEN: &str = "CLOUDCMP_SERVE_TOKEN";
const LAMBDA: &str = "AWS_LAMBDA_RUNTIME_API";
/// Where a platform names the port: Cloud Run and App Engine, and a custom handler of Azure Functions.
const PORTS: [&str; 2] = ["PORT", "FUNCTIONS_CUSTOMHANDLER_PORT"];
const USAGE: &str =
    "use: cloudcmp-agent serve [--listen ADDR:PORT] [--cert PEM --key PEM] [--for SECONDS] [--dir DIR] [--limits]";

/// How requests come.
#[derive(Debug, PartialEq)]
pub enum Way {
    /// Over HTTP at an address, with TLS if there are files of a certificate and its key.
    Listen(SocketAddr, Option<(String, String)>),
    /// By the runtime interface of AWS Lambda at an address.
    Lambda(SocketAddr),
}

#[derive(Debug)]
pub struct Options {
    pub way: Way,
    pub dir: PathBuf,
    pub token: Option<String>,
    pub limits: bool,
    /// The longest life, s; `None` on a platform, which ends its handlers by itself.
    pub most_s: Option<f64>,
    pub ends_with_stdin: bool,
}

#[derive(Default)]
struct Flags {
    listen: Option<SocketAddr>,
    cert: Option<String>,
    key: Option<String>,
    most_s: Option<f64>,
    dir: Option<PathBuf>,
    limits: bool,
}

impl Options {
    /// Reads flags, and of the environment what `env` returns by name.
    pub fn read(flags: &[String], env: impl Fn(&str) -> Option<String>) -> Result<Options, Fault> {
        let flags = read_flags(flags)?;
        let tls = match (flags.cert, flags.key) {
            (Some(cert), Some(key)) => Some((cert, key)),
            (None, None) => None,
            _ => return Err(bad("--cert and --key go together".into())),
        };
        let port = PORTS.iter().find_map(|name| env(name).map(|text| (name, text)));
        let (way, on_platform) = match (flags.listen, env(LAMBDA), port) {
            (Some(at), _, _) => (Way::Listen(at, tls), false),
            (None, Some(text), _) => (Way::Lambda(address(LAMBDA, &text)?), true),
            (None, None, Some((name, text))) => {
                let port = text.parse().map_err(|_| bad(format!("{name} is {text}, which is no port")))?;
                (Way::Listen(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), port), tls), true)
            }
            (None, None, None) => (Way::Listen(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0), tls), false),
        };
        let token = env(TOKEN).filter(|token| !token.is_empty());
        if flags.limits && token.is_none() && !is_here(&way) {
            return Err(bad(format!("--limits where others can ask needs a token in {TOKEN}")));
        }
        Ok(Options {
            ends_with_stdin: !on_platform && stdin_is_held(),
            most_s: flags.most_s.or((!on_platform).then_some(DEFAULT_S)),
            dir: flags.dir.unwrap_or_else(std::env::temp_dir),
            limits: flags.limits,
            token,
            way,
        })
    }
}

fn read_flags(flags: &[String]) -> Result<Flags, Fault> {
    let mut read = Flags::default();
    let mut flags = flags.iter();
    while let Some(flag) = flags.next() {
        let mut value = || flags.next().cloned().ok_or_else(|| bad(format!("{flag} needs a value")));
        match flag.as_str() {
            "--limits" => read.limits = true,
            "--listen" => read.listen = Some(address(flag, &value()?)?),
            "--cert" => read.cert = Some(value()?),
            "--key" => read.key = Some(value()?),
            "--dir" => read.dir = Some(value()?.into()),
            "--for" => {
                let text = value()?;
                let most_s = text.parse::<f64>().ok().filter(|most_s| (0.1..=MOST_S).contains(most_s));
                read.most_s = Some(most_s.ok_or_else(|| bad(format!("--for {text}: give 0.1 to {MOST_S} seconds")))?);
            }
            _ => return Err(bad(format!("there is no flag {flag}"))),
        }
    }
    Ok(read)
}

fn address(of: &str, text: &str) -> Result<SocketAddr, Fault> {
    text.parse().map_err(|_| bad(format!("{of} is {text}, which is no address and port, such as 127.0.0.1:8080")))
}

/// Whether only this machine, or only a platform's own runtime, can ask.
fn is_here(way: &Way) -> bool {
    matches!(way, Way::Listen(at, _) if loopback(at.ip()))
}

fn loopback(ip: IpAddr) -> bool {
    ip.to_canonical().is_loopback()
}

/// Whether somebody holds the other end of stdin: it is a pipe, a socket or a terminal.
fn stdin_is_held() -> bool {
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    let known = unsafe { libc::fstat(0, &raw mut stat) } == 0;
    let kind = stat.st_mode & libc::S_IFMT;
    known && (kind == libc::S_IFIFO || kind == libc::S_IFSOCK || unsafe { libc::isatty(0) } == 1)
}

fn bad(what: String) -> Fault {
    Fault::bad_job(what, USAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(flags: &[&str], env: &[(&str, &str)]) -> Result<Options, String> {
        let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
        let value = |name: &str| env.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        Options::read(&flags, value).map_err(|fault| fault.what)
    }

    fn listens(options: &Options) -> String {
        match &options.way {
            Way::Listen(at, _) => at.to_string(),
            Way::Lambda(at) => format!("lambda {at}"),
        }
    }

    #[test]
    fn it_listens_on_loopback_unless_told_and_where_a_platform_says() {
        let at = |flags: &[&str], env: &[(&str, &str)]| listens(&read(flags, env).unwrap());
        assert_eq!(at(&[], &[]), "127.0.0.1:0");
        assert_eq!(at(&["--listen", "[::1]:8080"], &[("PORT", "1")]), "[::1]:8080");
        assert_eq!(at(&[], &[("PORT", "8080")]), "0.0.0.0:8080");
        assert_eq!(at(&[], &[("FUNCTIONS_CUSTOMHANDLER_PORT", "7071")]), "0.0.0.0:7071");
        assert_eq!(at(&[], &[("AWS_LAMBDA_RUNTIME_API", "127.0.0.1:9001"), ("PORT", "1")]), "lambda 127.0.0.1:9001");
    }

    #[test]
    fn a_server_on_a_machine_has_a_deadline_and_one_on_a_platform_the_platforms() {
        assert_eq!(read(&[], &[]).unwrap().most_s, Some(DEFAULT_S));
        assert_eq!(read(&["--for", "2.5"], &[("PORT", "1")]).unwrap().most_s, Some(2.5));
        assert_eq!(read(&[], &[("PORT", "1")]).unwrap().most_s, None);
    }

    #[test]
    fn limits_need_a_token_where_others_can_ask() {
        let token = ("CLOUDCMP_SERVE_TOKEN", "5ec3e7");
        assert!(read(&["--limits"], &[]).is_ok());
        for way in [("PORT", "8080"), ("AWS_LAMBDA_RUNTIME_API", "127.0.0.1:9001")] {
            assert!(read(&["--limits"], &[way]).unwrap_err().contains("token"), "{way:?}");
            assert!(read(&["--limits"], &[way, token]).unwrap().limits);
        }
        assert!(read(&["--limits", "--listen", "0.0.0.0:1"], &[("CLOUDCMP_SERVE_TOKEN", "")]).is_err());
    }

    #[test]
    fn what_is_no_flag_or_no_value_is_named() {
        for (flags, env, named) in [
            (&["--port", "1"][..], &[][..], "--port"),
            (&["--listen"], &[], "--listen needs a value"),
            (&["--listen", "example.org:80"], &[], "example.org:80"),
            (&["--cert", "a.pem"], &[], "go together"),
            (&["--for", "nan"], &[], "--for nan"),
            (&["--for", "1e9"], &[], "--for 1e9"),
            (&[], &[("PORT", "many")], "PORT is many"),
            (&[], &[("AWS_LAMBDA_RUNTIME_API", "runtime")], "runtime"),
        ] {
            let what = read(flags, env).unwrap_err();
            assert!(what.contains(named), "{what}");
        }
    }
}
