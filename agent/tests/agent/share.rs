//! Several senders to one receiver.

use std::time::{Duration, Instant};

use crate::common::group::{Network, end, first, start};
use crate::common::{Agent, near, tries};
use serde_json::{Value, json};

/// Returns the rates of the first and the last sender, and the fairness.
fn values(lead: &crate::common::Stream, path: &str, peers: &str) -> (f64, f64, f64) {
    let cell = json!({"path": path, "peers": peers, "size_bytes": "131072"});
    let fairness = lead.values("fairness_ratio", &cell);
    let rate = |sender: &str| {
        let mut cell = cell.clone();
        cell["sender"] = sender.into();
        let of = |frame: &&Value| frame["metric"] == "sender_bytes_per_s" && frame["params"] == cell;
        lead.of("sample").find(of).unwrap()["value"].as_f64().unwrap()
    };
    assert_eq!((fairness.len(), lead.count()), (1, 3));
    (rate("first"), rate("last"), fairness[0])
}

#[test]
fn senders_share_a_receiver_and_it_reports_their_rates() {
    for count in ["3", "5"] {
        let params = [("peers", count), ("duration_s", "0.3")];
        let (lead, others, _) = start("share", count.parse().unwrap(), &params, &json!({}));
        let (lead, others) = end(lead, others);
        assert_eq!(lead.outcome, "ok", "{:#?}", lead.frames);
        let (one, two, fairness) = values(&lead, "loopback", count);
        let senders = others.len() as f64;
        assert!(one > 0.0 && two > 0.0 && (1.0 / senders..=1.0).contains(&fairness));
        let note = |key| lead.note(key).unwrap().as_f64().unwrap();
        assert!(note("all_bytes_per_s") >= one + two - 1.0 && (0.0..1.0).contains(&note("first_by_s")));
        if others.len() == 2 {
            let jain = (one + two).powi(2) / (2.0 * (one * one + two * two));
            assert!((fairness - jain).abs() < 1e-9 && (note("all_bytes_per_s") - one - two).abs() < 1.0);
        }
        assert_eq!(lead.note("first_sender"), Some(&json!("127.0.0.1")));
        assert!(others.iter().all(|one| one.outcome == "ok" && one.count() == 0));
        let sent: u64 = others.iter().map(|one| one.note("payload_bytes").unwrap().as_u64().unwrap()).sum();
        let came = lead.note("payload_bytes").unwrap().as_u64().unwrap();
        assert!(came <= sent && came as f64 >= 0.3 * note("all_bytes_per_s"), "{came} of {sent}");
    }
}

#[test]
fn a_sender_that_dies_ends_the_trial_and_one_that_stands_still_gives_no_result() {
    for still in [false, true] {
        let params = [("peers", "3"), ("duration_s", if still { "2" } else { "20" })];
        let (lead, mut others, _) = start("share", 3, &params, &json!({}));
        std::thread::sleep(Duration::from_millis(800));
        let mut ends = others.pop().unwrap();
        let begun = Instant::now();
        if still {
            unsafe { libc::kill(ends.child.id() as i32, libc::SIGSTOP) };
        } else {
            ends.child.kill().unwrap();
        }
        let (lead, others) = end(lead, others);
        assert!(begun.elapsed() < Duration::from_secs(12), "{:?}", begun.elapsed());
        assert_eq!((lead.outcome.as_str(), lead.count()), ("failed", 0), "{:#?}", lead.frames);
        assert!(others.iter().all(|one| one.count() == 0));
        let _ = ends.child.kill();
        ends.child.wait().unwrap();
    }
}

#[test]
fn p15_the_receiver_holds_all_senders_together_to_the_caps() {
    let capped = |caps: Value| {
        let (lead, others, _) = start("share", 3, &[("peers", "3"), ("duration_s", "20")], &json!({"caps": caps}));
        let begun = Instant::now();
        let (lead, others) = end(lead, others);
        assert_eq!((lead.outcome.as_str(), lead.count()), ("aborted", 0), "{:#?}", lead.frames);
        assert!(others.iter().all(|one| one.outcome != "ok") && begun.elapsed() < Duration::from_secs(12));
        (lead.error().to_owned(), lead.note("payload_bytes").unwrap().as_u64().unwrap())
    };
    let (words, came) = capped(json!({"bytes": 3_000_000}));
    assert!(words.contains("byte cap of 3000000") && came < 3_000_000 + 4 * 131_072, "{words} {came}");
    assert!(capped(json!({"bytes_per_s": 4e6})).0.contains("held the traffic back"));
    let mut long = first("share", 2, &[("duration_s", "20")]);
    long["caps"] = json!({"burst_s": 20});
    let (code, stream) = Agent::run(&long).end();
    assert!(code == 2 && stream.error().contains("a burst of 20.1 s, and the cap is 20 s"), "{}", stream.error());
}

#[test]
fn a_slower_sender_among_namespaces_has_the_planted_rate() {
    let Some(network) = Network::new(3) else { return };
    let paced = |space: usize, rate: &str| {
        network.spaces[space].run(&format!("tc qdisc add dev card root tbf rate {rate} burst 16kb latency 2s"))
    };
    if !paced(1, "20mbit") || !paced(2, "60mbit") {
        eprintln!("skipped: no tc here");
        return;
    }
    let caps = json!({"caps": {"bytes_per_s": 1e12, "bytes": 1_u64 << 40}});
    let params = [("path", "zone"), ("duration_s", "1.5"), ("warmup_s", "0.7")];
    tries(|| {
        let (lead, others) = network.run("share", &params, &caps);
        assert_eq!(lead.outcome, "ok", "{:#?} {:#?}", lead.frames, others[0].frames);
        let first = lead.note("first_sender").unwrap().as_str().unwrap();
        assert!(["10.7.0.2", "10.7.0.3"].contains(&first), "{first}");
        let (one, two, fairness) = values(&lead, "zone", "3");
        let payload = 1448.0 / 1514.0 / 8.0;
        let (slow, fast) = (one.min(two) / (20e6 * payload), one.max(two) / (60e6 * payload));
        let good = near(slow, 1.0, 0.03) && near(fast, 1.0, 0.03) && (fairness - 0.8).abs() < 0.03;
        good.then_some(()).ok_or(format!("{slow} and {fast} of what is planted, fairness {fairness}"))
    });
}
