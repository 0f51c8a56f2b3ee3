//! The agent cannot be used to reflect or amplify traffic, as counted on the wire in both directions.


use std::time::Duration;

use crate::common::{Agent, Space, sockets, start_pair_in};
use serde_json::json;

/// The handshake, control messages and ARP (B): in these, a server sends more than it receives.
const CONTROL: u64 = 4096;
/// The number of datagrams that a stranger sends; each has the size below, without headers.
const ATTEMPTS: u64 = 2000;
const SIZES: [usize; 2] = [1, 1400];

fn pair(first: &Space, second: &Space, probe: &str, params: &[(&str, &str)]) -> (Agent, Agent) {
    // Caps so high that they do not limit the server.
    let caps = json!({"bytes": 1_u64 << 40, "bytes_per_s": 1e12, "packets_per_s": 1e9});
    let server = json!({"listen": "10.9.0.1:0", "targets": [{"role": "client", "address": "10.9.0.2"}], "caps": caps});
    start_pair_in(Some((first, second)), probe, params, &server, &json!({"caps": caps}))
}

/// Asserts that both end as ok.
fn end(server: Agent, client: Agent) {
    let (client, server) = (client.end().1, server.end().1);
    let about = format!("{:#?} {:#?}", client.frames, server.frames);
    assert_eq!((client.outcome.as_str(), server.outcome.as_str()), ("ok", "ok"), "{about}");
}

#[test]
fn p26_a_server_sends_no_more_than_it_receives() {
    let Some((first, second)) = Space::pair() else { return };
    for (probe, params) in [
        ("rtt", vec![("protocol", "udp"), ("size_bytes", "1")]),
        ("rtt", vec![("protocol", "udp"), ("size_bytes", "1400")]),
        ("udp", vec![("size_bytes", "1400")]),
    ] {
        // A slow machine sends less in the same time: extend the time until there is enough to judge.
        let enough = ["0.3", "1.5", "7.5"].into_iter().any(|duration_s| {
            let params = [&params[..], &[("duration_s", duration_s)]].concat();
            let before = (first.sent("va"), second.sent("vb"));
            let (server, client) = pair(&first, &second, probe, &params);
            end(server, client);
            let (answered, asked) = (first.sent("va").0 - before.0.0, second.sent("vb").0 - before.1.0);
            assert!(answered <= asked + CONTROL, "{probe} {params:?}: {answered} bytes for {asked}");
            asked > 10 * CONTROL
        });
        assert!(enough, "{probe}: too few bytes were sent to tell");
    }
}

#[test]
fn p26_an_address_that_echoed_no_cookie_gets_no_more_than_it_sends() {
    let Some((first, second)) = Space::pair() else { return };
    let Some(stranger) = first.neighbour("wa", "wb", "10.8.0") else { return };
    assert!(stranger.run("ip route add 10.9.0.0/24 via 10.8.0.1"));
    for probe in ["rtt", "udp"] {
        let params = [("duration_s", "2"), if probe == "rtt" { ("protocol", "udp") } else { ("size_bytes", "1400") }];
        let (server, client) = pair(&first, &second, probe, &params);
        std::thread::sleep(Duration::from_millis(300));
        let socket = sockets(server.child.id()).into_iter().find(|socket| socket.0 == "udp").unwrap();
        let port = u16::from_str_radix(socket.1.rsplit(':').next().unwrap(), 16).unwrap();
        for size in SIZES {
            let before = (first.sent("wa"), stranger.sent("wb"));
            // One socket each, so that an answer to one does not block the next.
            let one = format!("printf %0{size}d 1 >/dev/udp/10.9.0.1/{port}");
            if !stranger.run(&format!("exec bash -c 'for i in {{1..{ATTEMPTS}}}; do {one}; done'")) {
                eprintln!("skipped: no bash to send datagrams with");
                return;
            }
            let (answered, asked) = (first.sent("wa"), stranger.sent("wb"));
            let (answered, asked) = ((answered.0 - before.0.0, answered.1 - before.0.1), asked.0 - before.1.0);
            assert!(asked >= ATTEMPTS * size as u64, "they were sent: {asked}");
            // The kernel itself occasionally answers that this port is closed to the stranger, and sends ARP requests.
            assert!(answered.0 <= asked / 20 && answered.1 < ATTEMPTS / 20, "{probe}: {answered:?} for {asked}");
        }
        end(server, client);
    }
}
