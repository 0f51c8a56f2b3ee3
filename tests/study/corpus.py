"""Bad study files, made from a good one: every rule of the format with several ways to break it."""

from collections.abc import Iterator

PROVIDERS = frozenset({"local", "simulated", "aws", "gcp"})
BILLED = frozenset({"aws", "gcp"})

GOOD = """\
schema: 1
question: Which is faster?
name: example
candidates:
  - provider: aws
    region: us-east-1
    offering: m7i.large
    price: 0.10 USD/h
  - provider: gcp
    match: {vcpus: 2, memory_gib: 8, category: general}
    volume: fast
    count: 2
  - provider: simulated
    region: nimbus
    offering: small
    truth:
      boot_s: 30
      faults: {capacity: 2 %, stale_list_s: 5}
      cells:
        triad_bytes_per_s: {mean: 12 GB/s, cov: 2 %, between: 1 %, drift: -1 %, daily: 3 %}
        udp_loss_ratio: {mean: 1 %}
probes:
  - probe: stream
    params: {threads: [one, all], duration_s: 500 ms}
  - suite: cpu
  - {probe: udp, params: {rate_bytes_per_s: 10 Mbit/s}, runs: 3}
decide:
  - triad_bytes_per_s
  - fma_flop_per_s threads=all
  - {cell: udp_loss_ratio, margin: 1 %}
launches: 6
runs: 2
sessions:
  - {name: peak, days: weekdays, hours: 09:00-17:00, timezone: Europe/Stockholm}
  - {name: night, days: [sat, sun], hours: 22:00-06:00, timezone: UTC}
every: 1 h
for: 7 days
budget: 5 USD
deadline: 30 days
seed: 7
"""

# What is replaced by what: each is one fault (or more) of the rule that names the group.
SWAPS: dict[str, list[tuple[str, str]]] = {
    "schema": [("schema: 1", f"schema: {value}") for value in ("2", "one", "1.5", "[1]", "true", "", "{a: 1}")],
    "unknown key": [
        ("question:", "qestion:"),
        ("candidates:", "candidate:"),
        ("    region: us-east-1", "    regoin: us-east-1"),
        ("vcpus: 2", "cpus: 2"),
        ("boot_s", "boot"),
        ("capacity", "capasity"),
        ("cov: 2 %", "cv: 2 %"),
        ("margin: 1 %", "margn: 1 %"),
        ("timezone: UTC", "tz: UTC"),
        ("seed: 7", "sede: 7"),
        ("seed: 7", "sede:"),
        ("runs: 2", "run: 2"),
        ("params: {threads", "parameters: {threads"),
        ("seed: 7", "<<: 7"),
        ("seed: 7", "seed: 7\nexpr: $HOME"),
    ],
    "unknown word": [
        ("provider: aws", "provider: asw"),
        ("probe: stream", "probe: streams"),
        ("suite: cpu", "suite: cpus"),
        ("threads: [one", "thread: [one"),
        ("[one, all]", "[one, al]"),
        ("[one, all]", "[one, 0]"),
        ("- triad_bytes_per_s", "- triad_byte_per_s"),
        ("fma_flop_per_s threads=all", "fma_flop_per_s thread=all"),
        ("fma_flop_per_s threads=all", "fma_flop_per_s threads=3"),
        ("- triad_bytes_per_s", "- rtt_s"),
        ("triad_bytes_per_s: {", "triad: {"),
        ("days: weekdays", "days: workdays"),
        ("[sat, sun]", "[sat, sonntag]"),
        ("timezone: UTC", "timezone: Mars/Base"),
        ("Stockholm", "Stokholm"),
        ("question:", "until: never\nquestion:"),
        ("question:", "stop: sometimes\nquestion:"),
        ("question:", "stop: {rule: always}\nquestion:"),
        ("udp_loss_ratio: {", "udp_loss_ratio path=zone: {"),
    ],
    "unit": [
        ("budget: 5 USD", f"budget: {value}")
        for value in ("5", "5 usd", "USD", "0 USD", "-5 USD", "5 dollars", "[5 USD]", "1e999 USD", "true", "nan USD")
    ]
    + [
        ("question:", f"stop: {{spend: {value}}}\nquestion:")
        for value in ("5", "5 USD", "5 USD/week", "0 USD/year", "year", "USD/year")
    ]
    + [("every: 1 h", f"every: {value}") for value in ("1", "1 hr", "0 s", "-1 h", "h", ".inf", "1 h 3", "[1 h]")]
    + [("deadline: 30 days", f"deadline: {value}") for value in ("30", "30 dayz", "tomorrow", "1e400 s")]
    + [
        ("0.10 USD/h", value)
        for value in ("0 USD/h", "0.00 USD/h", "-1 USD/h", "0.10", "0.10 USD", "0.10/h", "1 EUR/h")
    ]
    + [("500 ms", value) for value in ("500 parsec", "-1 s", "0 s", "fast", "[]", "{a: 1}", "true", ".nan")]
    + [("10 Mbit/s", value) for value in ("10 Mbit", "10 m/s", "-3", "''", "min")]
    + [("12 GB/s", value) for value in ("12 GB", "0", "-1", "fast", "[1]", "1e400", "12 Gflop/s")],
    "number": [
        ("launches: 6", "launches: 0"),
        ("launches: 6", "launches: six"),
        ("launches: 6", "launches: 6.5"),
        ("launches: 6", "launches: 100000"),
        ("runs: 2", "runs: -1"),
        ("runs: 3", "runs: 0"),
        ("seed: 7", "seed: -7"),
        ("seed: 7", "seed: 99999999999999999"),
        ("seed: 7", "seed: x"),
        ("count: 2", "count: 0"),
        ("vcpus: 2", "vcpus: 0"),
        ("vcpus: 2", "vcpus: two"),
        ("memory_gib: 8", "memory_gib: 8 GiB"),
        ("2 %, stale", "200 %, stale"),
        ("stale_list_s: 5", "stale_list_s: -5"),
        ("cov: 2 %", "cov: -2 %"),
        ("drift: -1 %", "drift: -100 %"),
        ("boot_s: 30", "boot_s: 30 GB"),
        ("margin: 1 %", "margin: 0"),
        ("margin: 1 %", "margin: 1 GB"),
    ],
    "window": [
        ("22:00-06:00", value)
        for value in ("22-06", "25:00-26:00", "10:00", "10:00-10:00", "10:61-11:00", "24:00-01:00", "7")
    ],
    "shape": [
        ("question: Which is faster?", "question: [a]"),
        ("question: Which is faster?", "question: 3"),
        ("name: example", "name: a/b"),
        ("name: example", "name: ''"),
        ("name: example", "name: [x]"),
        ("truth:\n", "truth: 3\n#"),
        ("{capacity: 2 %, stale_list_s: 5}", "some"),
        ("{mean: 1 %}", "[1]"),
        ("  - suite: cpu", "  - 3"),
        ("  - suite: cpu", "  - {}"),
        ("  - suite: cpu", "  - {suite: cpu, probe: fma}"),
        ("  - suite: cpu", "  - {command: make bench}"),
        ("  - suite: cpu", "  - {probe: fma, params: 3}"),
        ("  - suite: cpu", "  - {probe: fma, params: [1]}"),
        ("  - suite: cpu", "  - [cpu]"),
        ("  - triad", "  - {x: 1}\n  - triad"),
        ("    offering: m7i.large\n", ""),
        ("    offering: m7i.large", "    offering: m7i.large\n    match: {vcpus: 2}"),
        ("{vcpus: 2, memory_gib: 8, category: general}", "{}"),
        ("  - provider: gcp", "  - gcp"),
        ("provider: simulated", "provider: aws"),
        ("name: night", "name: peak"),
        ("  - triad_bytes_per_s", "  - triad_bytes_per_s\n  - triad_bytes_per_s"),
        ("{cell: udp_loss_ratio, margin: 1 %}", "{cell: int_op_per_s, margin: 1}"),
        ("every: 1 h\n", ""),
        ("for: 7 days\n", ""),
        ("every: 1 h", "every: 70 days"),
        ("budget: 5 USD\n", ""),
        ("- {name: peak", "- 3\n  - {name: peak"),
        ("  - suite: cpu", "  - {probe: stream}"),
        ("schema: 1\n", ""),
        ("question: Which is faster?\n", ""),
        ("probes:", "probs:"),
        ("  - triad_bytes_per_s", "  - 7"),
    ],
    "yaml": [
        ("seed: 7", "seed: 7\nseed: 8"),
        ("region: us-east-1", "region: a\n    region: b"),
        ("seed: 7", "seed: !!int 7"),
        ("name: example", "name: !x example"),
        ("region: nimbus", "region: &r nimbus"),
        ("region: nimbus", "region: *r"),
        ("seed: 7", "seed: 7\n---\nschema: 1"),
        ("seed: 7", "seed: [7"),
        ("seed: 7", "seed: 'x"),
        ("seed: 7", "seed: {7"),
        ("schema: 1", "%YAML 1.1\n---\nschema: 1"),
        ("seed: 7", "? [a]\n: 7"),
        ("seed: 7", "<<: {a: 1}"),
        ("runs: 2", "\truns: 2"),
        ("seed: 7", "seed: " + "[" * 25 + "]" * 25),
        ("seed: 7", "seed:\n" + "".join(" " * n + "- \n" for n in range(1, 30))),
        ("seed: 7", "seed: \u0007"),
        ("seed: 7", "seed: \u202e7"),
        ("seed: 7", "# " + "x" * 5000),
        ("seed: 7", "@x: 1"),
        ("question: Which", "question: 'a' Which"),
        ("- suite: cpu", "- suite: cpu: fma"),
        ("seed: 7", 'seed: "\\q"'),
    ],
}

WHOLE: dict[str, bytes] = {
    "empty": b"",
    "only a comment": b"# nothing here\n",
    "only null": b"~\n",
    "a word": b"study\n",
    "a number": b"1\n",
    "a list": b"- schema: 1\n- question: x\n",
    "not UTF-8": b"schema: 1\nquestion: \xe9t\xe9\n",
    "UTF-16": GOOD.encode("utf-16"),
    "NUL": b"schema: 1\0\n",
    "too large": b"# " + b"x\n" * 2**19 + b"\n",
    "too many values": b"probes: [" + b"1," * 11_000 + b"1]\n",
    "two documents": b"schema: 1\n---\nschema: 1\n",
    "binary": bytes(range(256)),
    "deep": b"a: " + b"[" * 3000,
    "only a tag": b"!!python/object/apply:os.system ['true']\n",
    "CSV": b"provider,region\naws,us\n",
    "JSON cut short": b'{"schema": 1, "question": "x", ',
    "HTML": b"<!doctype html><title>404</title>\n",
}


def bad_files() -> Iterator[tuple[str, bytes]]:
    """The name and the content of every bad file."""
    for rule, swaps in SWAPS.items():
        for number, (old, new) in enumerate(swaps):
            assert old in GOOD, f"{rule} {number}: {old!r} is not in the good file"
            yield f"{rule} {number}", GOOD.replace(old, new, 1).encode()
    yield from WHOLE.items()
    lines = GOOD.splitlines()
    for number in range(4, len(lines), 2):
        yield f"indent {number}", "\n".join([*lines[:number], "   ?" + lines[number], *lines[number + 1 :]]).encode()


RICH = """\
schema: 1
question: Does every part of a study have its keys?
name: rich
candidates:
  - provider: aws
    region: eu-north-1
    offering: m7i.large
    account: "123456789012"
    allow: 203.0.113.7/32
    image: debian-13
    os: linux
    market: spot
    tenancy: shared
    placement: cluster
    credits: standard
    zone: eu-north-1a
    far: {zone: eu-north-1b}
    accept_untracked: true
    network: net
    address: floating
    count: 2
    price: 0.05 USD/h
    resize_price: 0.10 USD/h
    advertised:
      - {of: network, baseline: 781 Mbit/s, up_to: 12.5 Gbit/s, source: its data sheet, as_of: 2026-11-01}
      - {of: volume_iops, op: read, baseline: 3000, source: its data sheet}
    volume: {type: gp3, size: 100 GiB, iops: 6000, root: false, price: 0.021 USD/h}
  - {provider: gcp, match: {vcpus: 2, memory_gib: 8, category: general}}
  - {provider: gcp, region: us-central1, offering: e2-micro, price: 0.01 USD/h,
     far: {region: europe-west4, zone: europe-west4-a, price: 0.012 USD/h, traffic: 0.02 USD/GB}}
  - {provider: simulated, service: blob, from: {offering: small, price: 0.1 USD/h},
     prices: {requests: 0.005 USD/1000, moved: 0.09 USD/GB, stored: 0.023 USD/GB-month, nodes: 0.65 USD/h}}
  - {provider: s3, name: mine, service: blob, endpoint: http://127.0.0.1:9000, from: local, serve: ./server --port 9000}
  - {provider: gcp, region: us-central1, service: table, api: bigtable, from: local}
  - {provider: azure, region: westeurope, service: http, endpoint: "https://example.org/pages"}
  - {provider: s3, region: eu-1, service: blob, endpoint: "https://s3.example.org",
     from: {provider: aws, region: eu-north-1, offering: m7i.large}}
  - provider: simulated
    offering: small
    truth:
      boot_s: 30
      faults: {capacity: 1 %, preemption: 0, hang: 0, garbage: 0, lost_answer: 0, stale_list_s: 5 s}
      cells:
        fma_flop_per_s threads=all: {mean: 5 Gflop/s, cov: 1 %, between: 1 %, drift: -1 %, daily: 2 %}
        score_per_s: 3
probes:
  - {probe: fma, params: {threads: [one, all], duration_s: 500 ms}, runs: 3}
  - {suite: memory, params: {pages: huge}}
  - {tool: fio, install: true, params: {direct: false}}
  - command:
      name: mine
      run: ./mine
      setup: "true"
      warmup: "true"
      check: "true"
      expected: 5 s
      limit: 1 min
      setup_limit: 1 min
      threads: 2
      files: []
      metrics:
        - {name: score_per_s, unit: score/s, better: higher, regex: "(.+)", scale: 2, signed: true}
        - {name: rest_per_s, unit: rest/s, better: lower, json: a.0.b}
wan:
  vantages:
    - here
    - {name: lab, provider: ssh, offering: lab-host, at: [59.3, 18.1], country: se, weight: 3}
  sizes: [1, 100 KB]
  pages: 5
isolation: {victims: [memory, {probe: chase, runs: 3}], neighbours: [cpu, net_in], threads: [4], rates: [5 MB/s]}
decide:
  - fma_flop_per_s threads=all
  - {cell: score_per_s, margin: 1}
weights: {fma_flop_per_s threads=all: 2, rest_per_s: 1}
stop: {rule: fixed, tolerance: 3 %, spend: 20000 USD/year}
launches: 6
runs: 2
sessions:
  - {name: peak, days: [mon, tue], hours: 09:00-17:00, timezone: UTC}
every: 1 h
for: 7 days
budget: 5 USD
caps: {burst: 10 s, rate: 1 Gbit/s, packets: 1000, bytes: 50 GB, duty: 50 %, machines: 8}
terms:
  currency: USD
  discounts: [{share: 12 %, provider: aws, item: instance}]
  credits: [{money: 2 USD, until: 2027-06-30, provider: aws}]
  commitments:
    - {provider: aws, region: eu-north-1, offering: m7i.large, purchase: reserved, term: 1 year, upfront: 2 USD,
       hourly: 0.03 USD/h, count: 2, os: linux, tenancy: shared}
  support:
    - {provider: aws, minimum: 29 USD, spend: 1000 USD, shares: [{up_to: 10000 USD, share: 3 %}, {share: 2 %}]}
deadline: 30 days
seed: 7
"""
"""A study with every key."""
