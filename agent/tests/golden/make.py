"""Writes the golden frames beside it: what is right by hand, what is wrong by one change to it."""

import hashlib
import json
from pathlib import Path

HERE = Path(__file__).parent
SECRET = bytes(range(32)).hex()
BOOT_ID = "6d3f3c1e-2b7a-4c55-9d0e-0123456789ab"
HELLO: dict[str, object] = {
    "version": "0.1.0",
    "target": "x86_64-unknown-linux-gnu",
    "host": {"kernel": "6.1.0", "os": None, "boot_id": BOOT_ID, "uptime_s": 12.345678901},
    "clock": {"source": "CLOCK_MONOTONIC_RAW", "resolution_s": 1e-9, "cost_s": 2.5e-8},
}
FMA = {"precision": "f64", "threads": "one"}
DISK = {
    "block_bytes": "4096",
    "depth": "1",
    "durability": "direct",
    "op": "read",
    "pattern": "random",
    "threads": "one",
}
# 3 x 1 us, 2 x 2 us, 1 x 1 ms, as the agent encodes them.
HIST = "HISTFAAAAD14nAEyAM3/HISTEwAAAAoAAAAAAAAAAwAAAAAAAAABAAADRjC4oAA/8AAAAAAAAM8PBs0PBJ+PAQKN2AdK"
# Targets that are refused: addresses that are not one machine's, and objects of another shape.
NO_ADDRESSES = (
    "example.org:80", "10.0.0.5", "10.0.0.5:0", "0.0.0.0:9", "224.0.0.1:9", "255.255.255.255:9", "10.0.0.5:7-9",
    "10.0.0.5:7,8", "10.0.0.5:7,10.0.0.9", "10.0.0.0/24:7", "[::ffff:224.0.0.1]:9",
)  # fmt: skip
CLIENT: list[dict[str, object]] = [{"role": "client", "address": "10.0.0.9"}]
NO_CLIENTS: tuple[dict[str, object], ...] = (
    {"address": "10.0.0.9:7"}, {"address": "10.0.0.0/8"}, {"address": "host"}, {"role": "server"}, {"role": "solo"},
    {"role": "root"}, {"endpoint": "https://example.org/"}, {"port": 7}, {"credential_ref": "5ec3e7 5ec3e7"},
)  # fmt: skip
STORE: dict[str, object] = {
    "role": "service", "endpoint": "https://blobs.example.org", "protocol": "s3", "data_set": "cloudcmp-x",
    "region": "us-east-1", "style": "host", "addresses": ["192.0.2.7", "2001:db8::7"],
    "ca": "-----BEGIN CERTIFICATE-----\nMAo=\n-----END CERTIFICATE-----\n", "credential_ref": "reader",
}  # fmt: skip
SIGV4: dict[str, object] = {
    "kind": "sigv4",
    "access_key": "AKIA",
    "session_token": "a/b=",
    "keys": {"20261126": SECRET},
}
NO_SERVICES: tuple[dict[str, object], ...] = (
    {"endpoint": None}, {"endpoint": "example.org"}, {"endpoint": "file:///etc"}, {"endpoint": "https://"},
    {"endpoint": "https://me:5ec3e7@example.org/"}, {"endpoint": "https://example.org/?key=5ec3e7"},
    {"credential_ref": "5ec3e7=="}, {"credential_ref": "writer"}, {"address": "10.0.0.5"}, {"protocol": "ftp"},
    {"data_set": "../x"}, {"data_set": None}, {"region": "us east"}, {"style": "both"}, {"addresses": []},
    {"addresses": ["blobs.example.org"]}, {"addresses": ["224.0.0.1"]}, {"ca": "5ec3e7"}, {"more": 1},
)  # fmt: skip
NO_CREDENTIALS: tuple[object, ...] = (
    [], "5ec3e7", {"a b": SIGV4}, {"reader": "5ec3e7"}, {"reader": {"kind": "5ec3e7"}},
    {"reader": {**SIGV4, "keys": {}}},
    {"reader": {**SIGV4, "secret_key": "5ec3e7"}}, {"reader": {**SIGV4, "keys": {"20261126": "5ec3e7"}}},
    {"reader": {**SIGV4, "access_key": "5ec3e7\n"}}, {"reader": {"kind": "sas", "query": "?sig=5ec3e7"}},
    {"reader": {"kind": "token", "header": "host", "value": "5ec3e7"}},
)  # fmt: skip
Frame = tuple[str, dict[str, object]]


def line(fields: dict[str, object]) -> bytes:
    text = json.dumps(fields, separators=(",", ":"), ensure_ascii=False)
    return text.replace("e-09", "e-9").replace("e-08", "e-8").encode() + b"\n"


def stream(*frames: Frame, outcome: str = "ok", count: int | None = None) -> list[bytes]:
    """A whole stream: hello, the frames, the end record with its digest."""
    lines = [
        line({"v": 2, "seq": i, "type": kind, **body}) for i, (kind, body) in enumerate([("hello", HELLO), *frames])
    ]
    n = sum(kind in {"sample", "hist"} for kind, _ in frames) if count is None else count
    return [*lines, end(lines, outcome, n)]


def end(lines: list[bytes], outcome: str, count: int) -> bytes:
    digest = hashlib.sha256(b"".join(lines)).hexdigest()
    return line({"v": 2, "seq": len(lines), "type": "end", "outcome": outcome, "count": count, "sha256": digest})


def resealed(lines: list[bytes], outcome: str = "ok", count: int = 2) -> list[bytes]:
    """The lines with a right end record in place of the last: only the fault inside is wrong."""
    return [*lines[:-1], end(lines[:-1], outcome, count)]


def note(key: str, value: object) -> Frame:
    return "note", {"key": key, "value": value}


def sample(t_s: float, value: float, metric: str = "fma_flop_per_s", params: dict[str, str] = FMA) -> Frame:
    return "sample", {"metric": metric, "params": params, "t_s": t_s, "value": value}


def printed(name: str, text: str) -> Frame:
    return "text", {"name": name, "text": text}


def error(what: str, then: str) -> Frame:
    return "error", {"what": what, "next": then}


def good() -> dict[str, list[bytes]]:
    rates = (sample(1.0, 1024.0, "disk_op_per_s", DISK), sample(1.0, 4194304.0, "disk_bytes_per_s", DISK))
    hist: Frame = ("hist", {"metric": "disk_latency_s", "params": DISK, "t_s": 1.0, "hist": HIST})
    gone = error("stdin has ended: the controller is gone", "keep stdin open while the run is wanted")
    return {
        "fma": stream(note("isa", "avx512f"), note("disturbed", False), sample(1.0, 9.25e10), sample(2.0, 9.5e10)),
        "disk": stream(note("engine", "io_uring"), note("file_bytes", 268435456), *rates, hist),
        "command": stream(
            note("cpu_time_s", 0.25),
            printed("stdout", "frames: 42\n"),
            printed("stdout", "done\n"),
            printed("stderr", "slow\tdisk\n"),
            sample(1.5, 1.5, "command_time_s", {"command": "mine"}),
        ),
        "server": stream(("ready", {"addr": "127.0.0.1:40000"})),
        "failed": stream(error("the folder is in memory (tmpfs)", "name a directory on a disk"), outcome="failed"),
        "timeout": stream(sample(1.0, 9.25e10), error("the deadline has passed", "raise it"), outcome="timeout"),
        "aborted": stream(gone, outcome="aborted"),
        "invalid": stream(error("the scaled residual is 17, not below 16", "do not trust this CPU"), outcome="invalid"),
    }


def bad() -> dict[str, list[bytes]]:
    right = good()["fma"]
    swap = lambda old, new: resealed([text.replace(old, new) for text in right])  # noqa: E731
    return {
        "gap": resealed([right[0], *right[2:]]),
        "repeat": resealed([*right[:3], right[2], *right[3:]]),
        "digest": [*right[:3], right[3].replace(b"92500000000.0", b"92600000000.0"), *right[4:]],
        "count": [*right[:-1], end(right[:-1], "ok", 3)],
        "no-end": right[:-1],
        "cut-line": [*right[:-1], right[-1][:40]],
        "after-end": [*right, line({"v": 2, "seq": 6, "type": "note", "key": "late", "value": 1})],
        "no-hello": resealed(
            [text.replace(b'"seq":%d' % (i + 1), b'"seq":%d' % i) for i, text in enumerate(right[1:])]
        ),
        "outcome": [*right[:-1], end(right[:-1], "fine", 2)],
        "nan": swap(b"92500000000.0", b"NaN"),
        "infinity": swap(b"92500000000.0", b"Infinity"),
        "overflow": swap(b"92500000000.0", b"1e999"),
        "text-value": swap(b"92500000000.0", b'"92500000000.0"'),
        "negative-time": swap(b'"t_s":1.0', b'"t_s":-1.0'),
        "version": swap(b'"v":2,"seq":3', b'"v":1,"seq":3'),
        "type": swap(b'"type":"note"', b'"type":"shell"'),
        "not-utf8": swap(b"avx512f", b"avx\xff512f"),
        "not-json": swap(b'"key":"isa"', b'"key";"isa"'),
        "text": stream(printed("stdout", "42\n"), sample(1.0, 9.25e10), sample(2.0, 9.5e10)),
        "long-line": swap(b"avx512f", b"x" * 65_536),
    }


def jobs() -> list[dict[str, object]]:
    def job(probe: str, params: dict[str, str], role: str = "solo", **more: object) -> dict[str, object]:
        base: dict[str, object] = {"v": 2, "seq": 0, "type": "job", "probe": probe, "params": params, "role": role}
        base |= {"cpus": [0], "dir": None, "listen": None, "targets": [], "secret": None, "deadline_s": 20.0, "seed": 7}
        return base | more

    def target(role: str, address: str) -> dict[str, str]:
        return {"role": role, "address": address}

    def server(address: str) -> dict[str, object]:
        return {"role": "client", "targets": [target("server", address)], "secret": SECRET}

    serves = {"role": "server", "listen": "10.0.0.5:0", "targets": [target("client", "10.0.0.9")], "secret": SECRET}
    others = [target("peer", f"10.0.0.{last}") for last in (6, 7, 7)]
    plain = {"role": "service", "endpoint": "http://127.0.0.1:9000", "protocol": "sqs", "data_set": "000000000000/q"}
    watched = {"role": "endpoint", "endpoint": "https://example.org/data", "credential_ref": "reader"}
    sas, token = {"kind": "sas", "query": "sv=1&sig=a%3D"}, {"kind": "token", "header": "x-auth-token", "value": "a"}
    return [
        job("fma", {"threads": "one", "duration_s": "1", "interval_s": "1", "precision": "f64"}),
        job("int", {"threads": "all"}, cpus=[0, 1]),
        job("lu", {"n": "1000", "threads": "4"}),
        job("stream", {"store": "plain", "array_bytes": "auto"}),
        job("chase", {"size_bytes": "16384", "pages": "huge"}, deadline_s=0.5),
        job("disk", DISK, dir="/srv/a folder"),
        job("tcp", {"streams": "8", "path": "zone"}, **serves),
        job("tcp", {"streams": "1"}, **serves, caps={"bytes": 250000000, "burst_s": 1800.0}, lease_s=3600.0),
        job("udp", {"rate_bytes_per_s": "max"}, **server("[::1]:4711")),
        job("barrier", {"peers": "4"}, role="peer", listen="10.0.0.5:0", targets=others, secret=SECRET),
        job("barrier", {"peers": "4"}, role="peer", targets=[target("peer", "10.0.0.5:4711")], secret=SECRET),
        job("fma", {}, role="client", targets=[watched]),
        job("blob", {"op": "list"}, role="client", targets=[STORE], credentials={"reader": SIGV4, "other": sas}),
        job("queue", {}, role="client", targets=[plain], credentials={"mine": token}, caps={"operations": 5}),
        job("rtt", {"protocol": "udp"}, cpus=[2, 3], seed=2**64 - 1, **server("10.0.0.5:4711")),
    ]


def bad_jobs() -> list[bytes]:
    base = jobs()[-1]
    wrong: list[dict[str, object]] = [
        {"v": 1}, {"seq": 1}, {"seq": "0"}, {"type": "hello"}, {"role": "root"}, {"probe": 7}, {"extra": 1},
        {"cpus": []}, {"cpus": [0, 0]}, {"cpus": [-1]}, {"cpus": [1.5]}, {"cpus": [1024]}, {"cpus": "0"},
        {"params": []}, {"params": {"threads": 1}}, {"dir": ""}, {"dir": 5}, {"dir": "a\0b"},
        {"peer": "10.0.0.5:4711"}, {"listen": ""}, {"listen": 7}, {"listen": "10.0.0.5:0"}, {"targets": {}},
        {"targets": [7]}, {"targets": ["10.0.0.5:4711"]}, {"targets": []}, {"targets": [{}]},
        {"targets": [{"role": "server"}]}, {"targets": [{"role": "server", "address": 7}]},
        {"role": "victim"}, {"role": "solo"}, {"role": "server"}, {"role": "peer"},
        *({"targets": [{"role": "server", "address": address}]} for address in NO_ADDRESSES),
        *({"role": "server", "listen": listen, "targets": CLIENT} for listen in ("host:0", "0.0.0.0:0", "10.0.0.5")),
        *({"role": "server", "listen": "10.0.0.5:0", "targets": CLIENT * n} for n in (0, 2, 65)),
        *({"role": "server", "listen": "10.0.0.5:0", "targets": [{**CLIENT[0], **more}]} for more in NO_CLIENTS),
        *({"targets": [{**STORE, **more}], "credentials": {"reader": SIGV4}} for more in NO_SERVICES),
        *({"targets": [STORE], "credentials": wrong} for wrong in NO_CREDENTIALS),
        *({"targets": targets, "credentials": {"reader": SIGV4}} for targets in ([STORE, STORE], [STORE, *CLIENT])),
        {"secret": "5ec3e7"}, {"secret": "5ec3e7zz" * 8},
        {"deadline_s": 0}, {"deadline_s": -1}, {"deadline_s": 1e300}, {"deadline_s": "20"}, {"seed": -1}, {"seed": 0.5},
        {"caps": []}, {"caps": {"bytes": 0}}, {"caps": {"bytes": 1.5}}, {"caps": {"bytes_per_s": -1}},
        {"caps": {"packets_per_s": "9"}}, {"caps": {"burst_s": 1e300}}, {"caps": {"byte": 1}},
        {"caps": {"operations": 0}}, {"caps": {"operations": 1.5}},
        {"lease_s": 0}, {"lease_s": "9"}, {"lease_s": 1e300},
    ]  # fmt: skip
    broken = [b"{}\n", b"[]\n", b"null\n", b"{\n", b'{"v":2,"v":\n', b"[" * 4000 + b"\n", b"\n"]
    return [line(base | change) for change in wrong] + broken


def main() -> None:
    for old in HERE.glob("*.ndjson"):
        old.unlink()
    for name, lines in [*((f"ok-{k}", v) for k, v in good().items()), *((f"bad-{k}", v) for k, v in bad().items())]:
        (HERE / f"stream-{name}.ndjson").write_bytes(b"".join(lines))
    (HERE / "job-ok.ndjson").write_bytes(b"".join(line(job) for job in jobs()))
    (HERE / "job-bad.ndjson").write_bytes(b"".join(bad_jobs()))


if __name__ == "__main__":
    main()
