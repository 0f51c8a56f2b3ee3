//! Jobs of every role, with the targets that they may and may not have.

use super::*;
use proptest::prelude::*;
use serde_json::json;

fn server(listen: &str, client: &str) -> Result<Link, String> {
    read(Role::Server, Some(listen), Some(&json!([{"role": "client", "address": client}])))
}

fn client(server: &str) -> Result<Link, String> {
    read(Role::Client, None, Some(&json!([{"role": "server", "address": server}])))
}

#[test]
fn each_part_has_its_targets_and_no_others() {
    let listens = |at: &str, ips: &[&str]| {
        let admits = ips.iter().map(|ip| ip.parse().unwrap()).collect();
        Ok(Link::Listens { at: at.parse().unwrap(), admits })
    };
    let connects = |to: &str, others: &[&str]| {
        let others = others.iter().map(|ip| ip.parse().unwrap()).collect();
        Ok(Link::Connects { to: to.parse().unwrap(), others })
    };
    let peer = |address: &str| json!({"role": "peer", "address": address});
    assert_eq!(server("10.0.0.5:0", "10.0.0.9"), listens("10.0.0.5:0", &["10.0.0.9"]));
    assert_eq!(server("[::1]:5", "::1"), listens("[::1]:5", &["::1"]));
    assert_eq!(server("[::ffff:10.0.0.5]:7", "::ffff:10.0.0.9"), listens("10.0.0.5:7", &["10.0.0.9"]));
    assert_eq!(client("10.0.0.5:7"), connects("10.0.0.5:7", &[]));
    let others = json!([peer("10.0.0.6"), peer("10.0.0.7"), peer("10.0.0.6")]);
    let first = read(Role::Peer, Some("10.0.0.5:0"), Some(&others));
    assert_eq!(first, listens("10.0.0.5:0", &["10.0.0.6", "10.0.0.7", "10.0.0.6"]));
    assert_eq!(read(Role::Peer, None, Some(&json!([peer("10.0.0.5:7")]))), connects("10.0.0.5:7", &[]));
    let all = json!([peer("10.0.0.5:7"), peer("10.0.0.6"), peer("10.0.0.7")]);
    assert_eq!(read(Role::Peer, None, Some(&all)), connects("10.0.0.5:7", &["10.0.0.6", "10.0.0.7"]));
    let stays = |more: &str| read(Role::Peer, None, Some(&json!([peer("127.0.0.1:7"), peer(more)]))).unwrap().stays();
    assert!(stays("127.0.0.1") && !stays("10.0.0.6"));
    assert_eq!(read(Role::Solo, None, None), Ok(Link::Alone));
    let one = |role: &str, address: &str| json!([{"role": role, "address": address}]);
    for (role, listen, targets) in [
        (Role::Solo, Some("10.0.0.5:0"), json!([])),
        (Role::Solo, None, one("server", "10.0.0.5:7")),
        (Role::Server, None, one("client", "10.0.0.9")),
        (Role::Server, Some("10.0.0.5:0"), json!([])),
        (Role::Server, Some("10.0.0.5:0"), one("client", "10.0.0.9:7")),
        (Role::Server, Some("10.0.0.5:0"), one("peer", "10.0.0.9")),
        (Role::Server, Some("10.0.0.5:0"), json!([peer("10.0.0.6"), peer("10.0.0.7")])),
        (Role::Client, Some("10.0.0.9:0"), one("server", "10.0.0.5:7")),
        (Role::Client, None, one("server", "10.0.0.5")),
        (Role::Client, None, one("client", "10.0.0.5:7")),
        (Role::Client, None, json!([])),
        (Role::Peer, None, json!([])),
        (Role::Peer, Some("10.0.0.5:0"), json!([])),
        (Role::Peer, Some("10.0.0.5:0"), json!([peer("10.0.0.6"), peer("10.0.0.7:7")])),
        (Role::Peer, None, json!([peer("10.0.0.6:7"), peer("10.0.0.7:7")])),
        (Role::Peer, None, json!([peer("10.0.0.7"), peer("10.0.0.6:7")])),
        (Role::Peer, None, json!([peer("10.0.0.6:7"), {"role": "client", "address": "10.0.0.7"}])),
    ] {
        assert_eq!(read(role, listen, Some(&targets)), Err(role.takes().into()), "{listen:?} {targets}");
    }
}

#[test]
fn targets_without_a_probe_are_read_and_distinguished() {
    let url = "https://blobs.example.org:8443/a/b.c";
    for role in [Role::Endpoint, Role::Victim, Role::Neighbour, Role::Vantage] {
        for place in [json!({"endpoint": url, "credential_ref": "reader-1"}), json!({"address": "10.0.0.5"})] {
            let mut target = place;
            target["role"] = role.name().into();
            assert_eq!(read(Role::Client, None, Some(&json!([target]))), Ok(Link::Unmeasured(role)));
        }
    }
    let server = json!([{"role": "server", "endpoint": "http://[::1]:80/"}]);
    assert_eq!(read(Role::Client, None, Some(&server)), Ok(Link::Unmeasured(Role::Endpoint)));
}

#[test]
fn a_service_has_one_client_and_no_other_target() {
    let service = json!({"role": "service", "endpoint": "http://[::1]:9", "protocol": "s3", "data_set": "mine"});
    let link = read(Role::Client, None, Some(&json!([service]))).unwrap();
    let (server, client) =
        (json!({"role": "server", "address": "10.0.0.5:7"}), json!({"role": "client", "address": "10.0.0.9"}));
    assert!(link.stays() && matches!(&link, Link::Service(service) if service.url.port == 9), "{link:?}");
    for (role, listen, targets) in [
        (Role::Client, None, json!([service, service])),
        (Role::Client, None, json!([{"role": "server", "address": "10.0.0.5"}, service])),
        (Role::Client, None, json!([{"role": "client", "address": "10.0.0.5"}, service])),
        (Role::Client, None, json!([{"role": "victim", "address": "10.0.0.5"}, service])),
        (Role::Client, None, json!([server, server, service])),
        (Role::Client, Some("10.0.0.5:0"), json!([server, service])),
        (Role::Client, Some("10.0.0.5:0"), json!([service])),
        (Role::Client, None, json!([{"role": "service", "address": "10.0.0.5"}])),
        (Role::Solo, None, json!([service])),
        (Role::Server, Some("10.0.0.5:0"), json!([service])),
        (Role::Server, None, json!([client, service])),
        (Role::Server, Some("10.0.0.5:0"), json!([client, client, service])),
        (Role::Peer, None, json!([{"role": "peer", "address": "10.0.0.5:7"}, service])),
    ] {
        assert!(read(role, listen, Some(&targets)).is_err(), "{role:?} {targets}");
    }
}

#[test]
fn a_client_and_a_server_may_use_one_service() {
    let service = json!({"role": "service", "endpoint": "http://[::1]:9", "protocol": "s3", "data_set": "mine"});
    let of = |role, listen, other: Value| read(role, listen, Some(&json!([other, service]))).unwrap();
    let reads = of(Role::Client, None, json!({"role": "server", "address": "127.0.0.1:7"}));
    assert_eq!(reads.agents(), &Link::Connects { to: "127.0.0.1:7".parse().unwrap(), others: Vec::new() });
    assert!(reads.stays() && reads.service().is_some_and(|service| service.url.port == 9));
    let writes = of(Role::Server, Some("10.0.0.5:0"), json!({"role": "client", "address": "10.0.0.9"}));
    assert!(matches!(writes.agents(), Link::Listens { .. }) && writes.service().is_some() && !writes.stays());
    assert_eq!(reads.agents().service(), None);
}

#[test]
fn a_malformed_target_is_refused_without_echoing_its_secret() {
    let good = json!({"role": "endpoint", "endpoint": "https://example.org/"});
    for (key, value) in [
        ("role", json!("solo")),
        ("role", json!("root")),
        ("role", json!(7)),
        ("more", json!("1")),
        ("address", json!("10.0.0.5")),
        ("endpoint", json!(null)),
        ("endpoint", json!("")),
        ("endpoint", json!("ftp://example.org")),
        ("endpoint", json!("https://")),
        ("endpoint", json!("https://:80/")),
        ("endpoint", json!("https://5ec3e7@example.org/")),
        ("endpoint", json!("https://me:5ec3e7@example.org/")),
        ("endpoint", json!("https://example.org/?sig=5ec3e7")),
        ("endpoint", json!("https://example.org/#5ec3e7")),
        ("endpoint", json!("https://example.org/a b")),
        ("endpoint", json!("https://example.org:0/")),
        ("endpoint", json!("https://example.org:65536/")),
        ("endpoint", json!("https://example.org:+80/")),
        ("endpoint", json!("https://example..org/")),
        ("endpoint", json!("https://[::1/")),
        ("endpoint", json!(format!("https://example.org/{}", "a".repeat(2048)))),
        ("credential_ref", json!("")),
        ("credential_ref", json!("5ec3e7+/=")),
        ("credential_ref", json!("5ec3e7".repeat(11))),
        ("credential_ref", json!(5)),
    ] {
        let mut target = good.clone();
        target[key] = value;
        let fault = read(Role::Client, None, Some(&json!([target]))).unwrap_err();
        assert!(!fault.contains("5ec3e7") && !fault.contains('\n'), "{fault}");
    }
    for wrong in [json!({}), json!("10.0.0.5:7"), json!([7]), json!([[]]), json!(vec![good; MOST_TARGETS + 1])] {
        assert!(read(Role::Client, None, Some(&wrong)).is_err(), "{wrong}");
    }
}

#[test]
fn p27_a_target_is_one_machine_and_never_a_name_a_range_or_a_list() {
    for wrong in [
        "example.org:80",
        "localhost:80",
        "10.0.0.5:",
        "10.0.0.5:80-90",
        "10.0.0.5:80,81",
        "10.0.0.5:80,10.0.0.6",
        "10.0.0.0/24:80",
        "10.0.0.5-9:80",
        "10.0.0.*:80",
        "10.0.0.5:80 10.0.0.6:80",
        "10.0.0.5:80;10.0.0.6:80",
        "http://10.0.0.5:80",
        "0.0.0.0:80",
        "0.1.2.3:80",
        "255.255.255.255:80",
        "224.0.0.1:80",
        "239.255.255.255:80",
        "[::]:80",
        "[ff02::1]:80",
        "[::ffff:0.0.0.0]:80",
        "[::ffff:255.255.255.255]:80",
        "[::ffff:224.0.0.1]:80",
        "010.0.0.5:80",
        "167772165:80",
        " 10.0.0.5:80",
        "10.0.0.5:99999",
    ] {
        assert!(server(wrong, "10.0.0.9").is_err() && client(wrong).is_err(), "{wrong}");
    }
    for admits in ["0.0.0.0", "255.255.255.255", "::", "ff02::1", "10.0.0.0/8", "10.0.0.9,10.0.0.10", "host", ""] {
        assert!(server("10.0.0.5:0", admits).is_err(), "{admits}");
    }
    assert!(server("10.0.0.5", "10.0.0.9").is_err() && client("10.0.0.5:0").is_err());
    assert!(client("10.0.0.5").is_err() && client("10.0.0.5:7").is_ok());
}

proptest! {
    #![proptest_config(crate::hostile())]

    #[test]
    fn p28_addresses_of_any_shape_never_panic_and_name_one_machine(text in r"[\[\]0-9a-f:.,/%-]{0,40}") {
        if let Ok(Link::Listens { at, admits }) = server(&text, "10.0.0.9").or_else(|_| server("10.0.0.5:0", &text)) {
            prop_assert!(one_machine(at.ip()) && admits.into_iter().all(one_machine));
        }
        if let Ok(Link::Connects { to, .. }) = client(&text) {
            prop_assert!(one_machine(to.ip()) && to.port() > 0);
        }
    }

    #[test]
    fn p28_targets_of_any_shape_never_panic(
        role in "solo|server|client|peer|service|[a-z]{0,9}", key in "address|endpoint|credential_ref|[a-z_]{1,9}",
        text in r"\PC{0,30}", count in 0..70_usize
    ) {
        let target = json!({"role": role, "address": "10.0.0.5", key: text});
        for part in Role::PLAYED {
            for listen in [None, Some("10.0.0.5:0")] {
                let link = read(part, listen, Some(&json!(vec![target.clone(); count])));
                prop_assert!(count <= MOST_TARGETS || link.is_err());
            }
        }
    }
}
