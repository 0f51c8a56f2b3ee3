//! Lines between two machines: what they are told, and that the server's line outlives neither its trial nor its peer.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::{Agent, Folder, Stream, start_pair};
use serde_json::{Value, json};

/// A server's line that listens on its port, accepts one connection and holds it; `word` marks its process.
fn listener(word: &str) -> String {
    format!(
        "exec python3 -c 'import os, socket, time\n\
         s = socket.create_server((os.environ[\"CLOUDCMP_ADDRESS\"], int(os.environ[\"CLOUDCMP_PORT\"])))\n\
         c = s.accept()[0]\nc.recv(1)\n' {word}"
    )
}

/// A client's line that connects from an address and ends the connection.
fn caller(from: &str) -> String {
    format!(
        "exec python3 -c 'import os, socket, time\n\
         s = socket.create_connection((os.environ[\"CLOUDCMP_PEER\"], int(os.environ[\"CLOUDCMP_PORT\"])), 5, (\"{from}\", 0))\n\
         time.sleep(0.5)\n\
         print(\"called\")\n'"
    )
}

fn has_python() -> bool {
    let there = Command::new("python3").arg("--version").output().is_ok();
    if !there {
        eprintln!("skipped: there is no python3 here to listen with");
    }
    there
}

/// Starts a server and a client of a command, each in its folder, with additions to their jobs.
fn pair(folder: &Folder, params: &[(&str, &str)], more: &Value) -> (Agent, Agent) {
    let mut own = json!({"dir": folder.0.to_str().unwrap()});
    more.as_object().unwrap().iter().for_each(|(key, value)| own[key] = value.clone());
    start_pair("command", &[&[("command", "mine")], params].concat(), &own, &own)
}

fn ended(folder: &Folder, params: &[(&str, &str)]) -> (Stream, Stream) {
    let (server, client) = pair(folder, params, &json!({}));
    let client = client.end().1;
    (server.end().1, client)
}

fn text(stream: &Stream) -> String {
    stream.of("text").filter(|frame| frame["name"] == "stdout").map(|frame| frame["text"].as_str().unwrap()).collect()
}

fn gone_soon(word: &str) {
    let until = Instant::now() + Duration::from_secs(5);
    let alive = || Command::new("pgrep").args(["-f", word]).status().is_ok_and(|status| status.success());
    while alive() {
        assert!(Instant::now() < until, "{word} is still there");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Returns a word that no other process of the machine has.
fn word(name: &str) -> String {
    format!("line-{name}-{}", std::process::id())
}

#[test]
fn the_client_is_told_the_address_and_the_rate() {
    let folder = Folder::new("pair");
    let line = "echo $CLOUDCMP_PEER $CLOUDCMP_ADDRESS $CLOUDCMP_PORT $CLOUDCMP_BITS_PER_S";
    let (server, client) = ended(&folder, &[("run", line), ("rate_bytes_per_s", "1000")]);
    assert_eq!((server.outcome.as_str(), client.outcome.as_str()), ("ok", "ok"), "{:?}", client.frames);
    assert_eq!(text(&client), "127.0.0.1 127.0.0.1 0 8000\n");
    assert_eq!((client.count(), server.count()), (1, 0));
}

#[test]
fn the_servers_line_listens_for_the_client_and_ends_with_it() {
    if !has_python() {
        return;
    }
    let (folder, word) = (Folder::new("pair"), word("listens"));
    let (server, client) = ended(&folder, &[("run", &caller("127.0.0.1")), ("serve", &listener(&word))]);
    assert_eq!((server.outcome.as_str(), client.outcome.as_str()), ("ok", "ok"), "{:?}", client.frames);
    assert_eq!(text(&client), "called\n");
    gone_soon(&word);
}

#[test]
fn p25_a_stranger_that_connects_ends_the_servers_line_and_the_trial_is_invalid() {
    if !has_python() {
        return;
    }
    let (folder, word) = (Folder::new("pair"), word("stranger"));
    let (server, client) = ended(&folder, &[("run", &caller("127.0.0.2")), ("serve", &listener(&word))]);
    assert_eq!(server.outcome, "invalid", "{:?}", server.frames);
    assert_eq!(server.error(), "a stranger connected to the server's port");
    assert_ne!(client.outcome, "ok");
    gone_soon(&word);
}

#[test]
fn p15_a_killed_client_takes_the_servers_line_with_it() {
    if !has_python() {
        return;
    }
    let (folder, word) = (Folder::new("pair"), word("killed"));
    let (server, mut client) =
        pair(&folder, &[("run", "echo here >here; exec sleep 60"), ("serve", &listener(&word))], &json!({}));
    let begun = Instant::now();
    while !Command::new("pgrep").args(["-f", &word]).status().unwrap().success() {
        assert!(begun.elapsed() < Duration::from_secs(10), "the server's line does not start");
        std::thread::sleep(Duration::from_millis(5));
    }
    client.child.kill().unwrap();
    assert_ne!(server.end().1.outcome, "ok");
    gone_soon(&word);
}

#[test]
fn a_server_that_ends_before_it_listens_says_why() {
    let folder = Folder::new("pair");
    let (server, client) = ended(&folder, &[("run", "true"), ("serve", "echo too old >&2; exit 3")]);
    assert_eq!((server.outcome.as_str(), server.error()), ("failed", "serve ended with exit 3: too old"));
    assert_eq!((client.outcome.as_str(), client.error()), ("failed", "the peer says: serve ended with exit 3: too old"));
}

#[test]
fn a_program_that_is_missing_on_either_side_is_told_in_one_line() {
    let folder = Folder::new("pair");
    let (server, client) = ended(&folder, &[("run", "true"), ("serve", "true"), ("program", "no-such-tool")]);
    assert_eq!((client.outcome.as_str(), client.error()), ("failed", "no-such-tool is not installed"));
    assert_ne!(server.outcome, "ok");
}

#[test]
fn a_client_whose_peer_never_answers_ends_at_its_limit() {
    if !has_python() {
        return;
    }
    let (folder, word) = (Folder::new("pair"), word("silent"));
    let params = [("run", "exec sleep 60"), ("serve", &listener(&word)), ("limit_s", "0.5")];
    let (_, client) = ended(&folder, &params);
    assert_eq!((client.outcome.as_str(), client.error()), ("timeout", "run did not end within its limit"));
    gone_soon(&word);
}

#[test]
fn p15_what_the_caps_do_not_allow_is_refused_before_it_starts() {
    let folder = Folder::new("pair");
    let caps = json!({"caps": {"burst_s": 1, "bytes_per_s": 1000, "packets_per_s": 10, "bytes": 5000}});
    let refused: [(&[(&str, &str)], &str); 4] = [
        (&[("bulk_s", "2")], "a burst of 2 s"),
        (&[("bulk_s", "1"), ("rate_bytes_per_s", "2000")], "bytes_per_s 2000"),
        (&[("spacing_s", "0.1"), ("packet_bytes", "8"), ("packets", "9")], "packets_per_s 20"),
        (&[("spacing_s", "1"), ("packet_bytes", "64"), ("packets", "40")], "5120 bytes"),
    ];
    for (params, says) in refused {
        let (server, client) = pair(&folder, &[&[("run", "echo ran")], params].concat(), &caps);
        let (code, client) = client.end();
        assert_eq!((code, client.of("text").count()), (2, 0));
        assert!(client.error().contains(says), "{}", client.error());
        drop(server);
    }
}
