"""A whole OpenStack Swift in one process: proxy, account, container and object server, each on a port of loopback.

It runs in the environment of `pyproject.toml` beside it, with a folder for its data and the ports of its four servers.
A token is held in memory, where a deployment has memcached. Users and keys are of Swift's own test middleware,
tempauth, which checks both tokens and the signatures of its S3 interface.
"""

import argparse
import os
import time
from pathlib import Path

from swift.common import concurrency, utils, wsgi
from swift.common.http_protocol import SwiftHttpProtocol
from swift.common.ring.builder import RingBuilder

PIPELINE = "catch_errors healthcheck cache s3api tempauth bulk slo dlo versioned_writes"


class Memory:
    """What Swift asks of memcached, in a dictionary of this process."""

    def __init__(self):
        self._kept = {}

    def get(self, key, *_, **__):
        until, value = self._kept.get(key, (0, None))
        return value if not until or until > time.time() else None

    def set(self, key, value, *_, time=0, **__):
        self._kept[key] = (_now() + time if time else 0, value)

    def incr(self, key, delta=1, time=0, **__):
        self.set(key, max((self.get(key) or 0) + delta, 0), time=time)
        return self.get(key)

    def decr(self, key, delta=1, time=0, **__):
        return self.incr(key, -delta, time)

    def delete(self, key, *_, **__):
        self._kept.pop(key, None)


def _now():
    return time.time()


def cache(*_, **__):
    """The filter that gives every request the same memory."""
    memory = Memory()

    def wrap(app):
        def answer(environ, start_response):
            environ["swift.cache"] = memory
            return app(environ, start_response)

        return answer

    return wrap


def rings(folder, ports):
    """Where each kind of data lies: all of it on one device of this process."""
    for kind, port in ports.items():
        builder = RingBuilder(1, 1, 0)
        builder.add_dev(
            {"id": 0, "region": 1, "zone": 1, "weight": 1.0, "ip": "127.0.0.1", "port": port, "device": "disk"}
        )
        builder.rebalance()
        builder.get_ring().save(str(folder / f"{kind}.ring.gz"))


def settings(folder, app, more="", pipeline=""):
    """The settings file of one of the servers, whose requests pass the filters of its pipeline."""
    written = folder / f"{app}.conf"
    written.write_text(
        f"[DEFAULT]\nswift_dir = {folder}\ndevices = {folder}\nmount_check = false\nlog_level = ERROR\n"
        f"log_address = {folder}/no-log\n"
        f"[pipeline:main]\npipeline = {pipeline} {app}\n"
        f"[app:{app}]\nuse = egg:swift#{app.removesuffix('-server')}\n{more}"
    )
    return written


def proxy(folder, user, key):
    """The settings of the proxy: who may ask, and in which protocols."""
    account, _, name = user.partition(":")
    filters = "".join(
        f"[filter:{each}]\nuse = egg:swift#{each}\n"
        for each in ("catch_errors", "healthcheck", "bulk", "slo", "dlo", "versioned_writes")
    )
    return settings(
        folder,
        "proxy-server",
        "account_autocreate = true\nallow_account_management = true\n"
        f"{filters}[filter:cache]\npaste.filter_factory = all_in_one:cache\n"
        "[filter:s3api]\nuse = egg:swift#s3api\nallow_no_owner = true\ns3_acl = false\n"
        f"[filter:tempauth]\nuse = egg:swift#tempauth\nuser_{account}_{name} = {key} .admin\n",
        PIPELINE,
    )


def serve(listener, app):
    """One server, until the process ends."""
    concurrency.wsgi.server(
        listener, app, utils.NullLogger(), protocol=SwiftHttpProtocol, capitalize_response_headers=False, debug=False
    )


def main():
    """Make what it needs in the folder, and serve."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--folder", type=Path, required=True)
    asked.add_argument("--port", type=int, required=True)
    asked.add_argument("--user", default="test:tester", help="account:name")
    asked.add_argument("--key", required=True)
    args = asked.parse_args()
    folder = args.folder.resolve()
    (folder / "disk").mkdir(parents=True, exist_ok=True)
    (folder / "swift.conf").write_text(
        "[swift-hash]\nswift_hash_path_suffix = tests\n[storage-policy:0]\nname = one\ndefault = yes\n"
    )
    os.environ["TZ"] = "UTC+0"
    time.tzset()
    utils.set_swift_dir(str(folder))
    concurrency.monkey_patch()
    listeners = {kind: concurrency.listen(("127.0.0.1", 0)) for kind in ("account", "container", "object")}
    rings(folder, {kind: each.getsockname()[1] for kind, each in listeners.items()})
    for kind, listener in listeners.items():
        concurrency.spawn(serve, listener, wsgi.loadapp(str(settings(folder, f"{kind}-server"))))
    serve(concurrency.listen(("127.0.0.1", args.port)), wsgi.loadapp(str(proxy(folder, args.user, args.key))))


if __name__ == "__main__":
    main()
