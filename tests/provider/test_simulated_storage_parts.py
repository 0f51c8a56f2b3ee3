"""The parts of the simulated storage service, each against a second witness: brute force, botocore, or its formula."""

import contextlib
import json
import math
import random
import time
from dataclasses import replace

import botocore.auth
import numpy as np
import pytest
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given, settings
from hypothesis import strategies as st

from cloudcmp.errors import UserMistake
from cloudcmp.model.codec import to_json
from cloudcmp.provider.simulated.storage import (
    Distribution,
    Key,
    Operation,
    OperationTruth,
    RateLimit,
    Share,
    Stall,
    StorageTruth,
    parse_truth,
)
from cloudcmp.provider.simulated.storage.counts import summary
from cloudcmp.provider.simulated.storage.http_message import BadMessage, RequestReader
from cloudcmp.provider.simulated.storage.replicas import Replicas
from cloudcmp.provider.simulated.storage.schedule import Draws, Schedule, TokenBucket, clock_time, work_time
from cloudcmp.provider.simulated.storage.signature import SKEW_MAX_S, Refusal, verify

# The truth.


def test_a_truth_is_read_as_it_was_written():
    truth = StorageTruth(
        seed=3,
        keys=(Key("A", "b", "c", expired=True),),
        operations={"blob_get": OperationTruth(Distribution(0.02, 0.5), throttled=Share(every=7), stale_share=0.25)},
        stall=Stall(10.0, 1.0),
        limit=RateLimit(100.0, 5.0),
    )
    assert parse_truth(to_json(truth)) == truth
    assert parse_truth("{}") == StorageTruth()


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("", "no JSON text"),
        ('{"seeds": 1}', "'seeds' is no field"),
        ('{"operations": {"blob_gte": {}}}', "'blob_gte' is no operation"),
        ('{"default": {"latency": {"median_s": -1}}}', "truth.default.latency"),
        ('{"operations": {"blob_get": {"stale_share": 1.5}}}', "truth.operations.blob_get.stale_share"),
        ('{"default": {"cut": {"share": 0.1, "every": 2}}}', "truth.default.cut"),
        ('{"stall": {"every_s": 1, "for_s": 1}}', "truth.stall"),
        ('{"limit": {"per_s": 0}}', "truth.limit"),
        ('{"keys": []}', "truth.keys"),
    ],
)
def test_a_wrong_truth_is_refused_in_one_line_that_names_the_place(text, where):
    with pytest.raises(UserMistake) as caught:
        parse_truth(text)
    assert where in str(caught.value)
    assert "\n" not in str(caught.value)


names = st.sampled_from(
    ["seed", "keys", "default", "operations", "stall", "limit", "blob_get", "latency", "every_s", "x"]
)
values = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
documents = st.recursive(
    values, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=3), max_leaves=6
)


@given(st.text(max_size=40) | documents.map(json.dumps))
@settings(max_examples=150)
def test_no_text_breaks_the_parser_of_truths(text):
    with contextlib.suppress(UserMistake):
        parse_truth(text)


# Times.


@pytest.mark.parametrize(("median_s", "sigma"), [(0.01, 0.0), (0.02, 0.5), (0.3, 1.0)])
def test_drawn_times_have_the_planted_quantiles_and_mean(median_s, sigma):
    planted = Distribution(median_s, sigma)
    draws = Draws(OperationTruth(latency=planted), Operation.BLOB_GET, 7)
    times = np.array([draws.service_s() for _ in range(40_000)])
    for share in (0.05, 0.5, 0.95, 0.99):
        assert np.quantile(times, share) == pytest.approx(planted.quantile_s(share), rel=0.05 * sigma + 1e-9)
    assert times.mean() == pytest.approx(planted.mean_s, rel=0.05 * sigma + 1e-9)


def test_draws_follow_from_the_seed_and_the_operation_alone():
    truth = OperationTruth(latency=Distribution(0.01, 0.4), cut=Share(0.3))
    first, again = Draws(truth, Operation.BLOB_GET, 1), Draws(truth, Operation.BLOB_GET, 1)
    other, moved = Draws(truth, Operation.BLOB_GET, 2), Draws(truth, Operation.BLOB_PUT, 1)
    rows = [[(one.fault(), one.service_s()) for _ in range(50)] for one in (first, again, other, moved)]
    assert rows[0] == rows[1]
    assert rows[0] != rows[2]
    assert rows[0] != rows[3]


@pytest.mark.parametrize("share", [0.02, 0.5])
def test_drawn_faults_have_the_planted_share_and_counted_ones_come_exactly(share):
    count = 20_000
    draws = Draws(OperationTruth(throttled=Share(share), failed=Share(every=4)), Operation.TABLE_GET, 5)
    found = [draws.fault() for _ in range(count)]
    throttled = found.count("throttled")
    assert abs(throttled - share * count) < 4 * math.sqrt(count * share * (1 - share))
    assert all((fault or "failed") in {"failed", "throttled"} for fault in found[3::4])
    assert "failed" not in found[0::4] + found[1::4] + found[2::4]


times = st.floats(0, 1000, allow_nan=False)
stalls = st.tuples(st.floats(0.01, 50), st.floats(0.01, 0.99)).map(lambda pair: Stall(pair[0], pair[0] * pair[1]))


@given(times, times, stalls)
def test_work_stands_still_in_a_stall_and_goes_on_after_it(clock_s, more_s, stall):
    work = work_time(clock_s, stall)
    assert work <= clock_s + 1e-9
    later = work_time(clock_s + more_s, stall)
    assert -1e-9 <= later - work <= more_s + 1e-9
    back = clock_time(work, stall)  # the end of the stall, if there is one at clock_s
    in_stall = clock_s % stall.every_s > stall.every_s - stall.for_s
    assert back == pytest.approx(clock_s, abs=1e-6) or in_stall or back % stall.every_s == pytest.approx(0, abs=1e-6)
    assert work_time(back, stall) == pytest.approx(work, abs=1e-6)


def brute_force(arrivals, services, servers, stall):
    """When each request is answered, in steps of a second: a FIFO queue before servers that stop in a stall."""
    left, ends = list(services), [0] * len(arrivals)
    waiting, running, now = list(range(len(arrivals))), [], 0

    def stalls(at):
        return stall is not None and at % stall.every_s >= stall.every_s - stall.for_s

    while waiting or running:
        while waiting and arrivals[waiting[0]] <= now and (not servers or len(running) < servers):
            running.append(waiting.pop(0))
        works = not stalls(now)
        now += 1
        for one in list(running) if works else ():
            left[one] -= 1
            if left[one] == 0:
                running.remove(one)
                ends[one] = next(at for at in range(now, now + 10**6) if not stalls(at))
    return ends


@pytest.mark.parametrize("servers", [0, 1, 3])
@pytest.mark.parametrize("stall", [None, Stall(500, 100)])
def test_answers_come_when_a_simulation_in_steps_says(servers, stall):
    draw = random.Random(servers)
    arrivals = sorted(draw.randrange(3000) for _ in range(150))
    services = [draw.randrange(1, 25 if servers == 1 else 40) for _ in arrivals]
    schedule = Schedule(StorageTruth(servers=servers, stall=stall))
    found = [schedule.answer_at(arrival, service) for arrival, service in zip(arrivals, services, strict=True)]
    assert found == brute_force(arrivals, services, servers, stall)


def test_a_queue_before_one_server_has_the_mean_wait_of_theory():
    """Poisson arrivals, constant service: the mean wait is rho s / (2 (1 - rho)) (Pollaczek and Khinchine)."""
    draw, service, load = random.Random(1), 0.01, 0.8
    schedule, now, waits = Schedule(StorageTruth(servers=1)), 0.0, []
    for _ in range(200_000):
        now += draw.expovariate(load / service)
        waits.append(schedule.answer_at(now, service) - now - service)
    assert sum(waits) / len(waits) == pytest.approx(load * service / (2 * (1 - load)), rel=0.05)


def test_a_token_bucket_lets_through_its_burst_and_then_its_rate():
    bucket = TokenBucket(RateLimit(per_s=10.0, burst=5.0))
    taken = [bucket.take(index / 100) for index in range(1000)]
    assert taken[:5] == [True] * 5
    assert sum(taken) == pytest.approx(5 + 100, abs=1)


def test_percentiles_are_the_smallest_value_with_their_share():
    found = summary(range(1, 1001))
    assert found["percentiles"] == {
        "1": 10,
        "5": 50,
        "25": 250,
        "50": 500,
        "75": 750,
        "90": 900,
        "95": 950,
        "99": 990,
        "99.9": 999,
    }
    assert summary([]) is None


# Replicas.


keys = st.sampled_from(["a", "b", "ba", "c"])
steps = st.lists(
    st.tuples(keys, st.none() | st.integers(0, 9), st.floats(0, 2), st.floats(0, 1)), min_size=1, max_size=30
)


@given(steps)
@settings(max_examples=200)
def test_replicas_return_what_a_full_history_says(writes):
    """The witness keeps every version for ever."""
    replicas, history, now, alive = Replicas(), [], 0.0, set()
    for key, value, delay, pause in writes:
        now += pause
        mine = [(at, one) for name, at, one in history if name == key]
        if value is None and (not mine or (mine[-1][1] is None and mine[-1][0] <= now)):
            replicas.write(key, None, now + delay, now)  # nothing is removed, so nothing has to reach a replica
            continue
        everywhere = max([now + delay, *(at for name, at, _ in history if name == key)])
        replicas.write(key, value, now + delay, now)
        history.append((key, everywhere, value))
        for name in ("a", "b", "ba", "c"):
            mine = [(at, one) for other, at, one in history if other == name]
            seen = [one for at, one in mine if at <= now]
            assert replicas.newest(name) == (mine[-1][1] if mine else None)
            assert replicas.lagging(name, now) == (seen[-1] if seen else None)
            assert replicas.is_unsettled(name, now) == any(at > now for at, _ in mine)
        alive = {name for name in ("a", "b", "ba", "c") if replicas.newest(name) is not None}
        assert len(replicas) == len(alive)
        listed = list(replicas.keys_from("", now))
        assert listed == sorted(listed)
        assert alive <= set(listed)
    assert not list(replicas.unsettled(now + 10))
    assert list(replicas.keys_from("", now + 10)) == sorted(alive)
    assert list(replicas.keys_from("b", now + 10)) == [name for name in sorted(alive) if name >= "b"]


# HTTP.


def read_all(pieces):
    reader, found = RequestReader(), []
    for piece in pieces:
        reader.feed(piece)
        while (one := reader.next()) is not None:
            found.append(one)
    return found


@given(st.lists(st.tuples(st.binary(max_size=300), st.booleans()), min_size=1, max_size=4), st.data())
@settings(max_examples=150)
def test_requests_are_the_same_however_their_bytes_are_cut(bodies, data):
    stream = b""
    for body, chunked in bodies:
        stream += b"PUT /b/k?x=1 HTTP/1.1\r\nHost: h\r\nX-A:  one \r\nx-a: two\r\n"
        if chunked:
            half = len(body) // 2
            parts = [part for part in (body[:half], body[half:]) if part]
            stream += b"Transfer-Encoding: chunked\r\n\r\n"
            stream += b"".join(b"%x;e=1\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\nT: 1\r\n\r\n"
        else:
            stream += b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=12)))
    pieces = [stream[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    found = read_all(pieces)
    assert [body for _, body in found] == [body for body, _ in bodies]
    assert all((head.method, head.path, head.query) == ("PUT", "/b/k", "x=1") for head, _ in found)
    assert all(head.headers["x-a"] == "one,two" for head, _ in found)


@pytest.mark.parametrize(
    "text",
    [
        b"GET / HTTP/2.0\r\n\r\n",
        b"GET  / HTTP/1.1\r\nHost: h\r\n\r\n",
        b"GET http://h/ HTTP/1.1\r\nHost: h\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: h\r\nHost: i\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: h\r\n folded\r\n\r\n",
        b"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n",
        b"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 999999999999\r\n\r\n",
        b"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        b"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
        b"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1" * 300,
        b"A" * 70_000,
    ],
)
def test_a_request_that_could_mean_two_things_is_refused(text):
    with pytest.raises(BadMessage) as caught:
        read_all([text])
    assert 400 <= caught.value.status < 500


@given(st.lists(st.binary(max_size=200), max_size=6))
@settings(max_examples=300)
def test_no_bytes_break_the_reader(pieces):
    with contextlib.suppress(BadMessage):
        read_all(pieces)


# Signatures.


def signed_head(service, method, path, query, headers, body, key):
    """A request that botocore signed, as the server reads it, and its body."""
    url = f"http://h.example:81{path}" + (f"?{query}" if query else "")
    request = AWSRequest(method, url, data=body, headers=headers)
    signer = {"s3": botocore.auth.S3SigV4Auth}.get(service, botocore.auth.SigV4Auth)
    signer(Credentials(key.access_key, key.secret_key, key.session_token or None), service, "us-east-1").add_auth(
        request
    )
    lines = [
        f"{method} {path}{'?' + query if query else ''} HTTP/1.1",
        "Host: h.example:81",
        f"Content-Length: {len(body)}",
    ]
    lines += [f"{name}: {value}" for name, value in request.headers.items()]
    ((head, read),) = read_all(["\r\n".join([*lines, "", ""]).encode("latin-1") + body])
    return head, read


safe = st.text(st.characters(codec="ascii", categories=("L", "N")) | st.sampled_from("-._~"), min_size=1, max_size=12)
words = st.lists(safe, min_size=1, max_size=4)


@given(
    st.sampled_from(["s3", "dynamodb", "sqs"]),
    words,
    st.dictionaries(safe, safe, max_size=4),
    st.binary(max_size=50),
    st.booleans(),
)
@settings(max_examples=150)
def test_what_botocore_signs_is_taken_and_what_is_changed_is_not(service, parts, query, body, temporary):
    key = Key("AKIATEST", "a secret/+", "token" if temporary else "")
    truth = StorageTruth(keys=(key,))
    text = "&".join(f"{name}={value}" for name, value in query.items())
    head, read = signed_head(service, "PUT", "/" + "/".join(parts), text, {"X-Amz-Meta-A": " two  words "}, body, key)
    now_s = time.time()
    clock = lambda: now_s  # noqa: E731
    assert verify(truth, service, head, read, clock) is None
    assert verify(truth, service, head, read + b"!", clock) in {Refusal.WRONG_SIGNATURE, Refusal.WRONG_PAYLOAD}
    assert verify(truth, service, replace(head, target=head.path + "x"), read, clock) is Refusal.WRONG_SIGNATURE
    assert verify(truth, service, replace(head, method="GET"), read, clock) is Refusal.WRONG_SIGNATURE
    changed = replace(head, headers={**head.headers, "x-amz-meta-a": "another"})
    assert verify(truth, service, changed, read, clock) is Refusal.WRONG_SIGNATURE
    added = replace(head, headers={**head.headers, "x-amz-acl": "public-read"})
    assert verify(truth, service, added, read, clock) is Refusal.UNSIGNED_HEADERS
    late = lambda: now_s + SKEW_MAX_S + 5  # noqa: E731
    assert verify(truth, service, head, read, late) is Refusal.SKEWED
    assert verify(replace(truth, region="eu-west-1"), service, head, read, clock) is Refusal.WRONG_REGION
    assert verify(truth, "other", head, read, clock) is Refusal.WRONG_SERVICE
    other = replace(truth, keys=(replace(key, session_token="other"),))
    assert verify(other, service, head, read, clock) is Refusal.WRONG_TOKEN


@given(st.text(st.characters(codec="latin-1", exclude_characters="\r\n\0"), max_size=120))
@settings(max_examples=150)
def test_no_authorization_breaks_the_check(text):
    head = read_all([b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"])[0][0]
    head = replace(head, headers={"host": "h", "authorization": f"AWS4-HMAC-SHA256 {text}", "x-amz-date": text})
    assert isinstance(verify(StorageTruth(), "s3", head, b"", lambda: 0.0), Refusal)
