"""The control plane underneath: a moto server on loopback with authentication on, one account for each cloud."""

import hashlib
import http.client
import json
import logging
import os
import re
from dataclasses import dataclass
from functools import cache
from itertools import count
from typing import Any
from urllib.parse import parse_qsl, urlencode

from tests.emulated.wire import Answer, Request

_NUMBERS = count(1)


@dataclass(frozen=True, slots=True)
class Image:
    """A machine image that this cloud has in every region; `disks` are devices that stay unless a call says more."""

    name: str
    owner: str
    architecture: str
    root: str
    created: str
    platform: str | None = None
    disks: tuple[str, ...] = ()

    def id(self, region: str) -> str:
        """Its id in a region."""
        return "ami-" + hashlib.sha256(f"{region}/{self.name}".encode()).hexdigest()[:17]


_AMAZONS = {"137112412989", "801119661308"}
_DEBIAN, _CANONICAL, _AMAZON = "136693071363", "099720109477", "137112412989"
IMAGES = (
    Image("debian-13-amd64-20260811-2566", _DEBIAN, "x86_64", "/dev/xvda", "2026-08-11T00:00:00.000Z"),
    Image("debian-13-amd64-20261020-2643", _DEBIAN, "x86_64", "/dev/xvda", "2026-10-20T00:00:00.000Z"),
    Image("debian-13-arm64-20261020-2643", _DEBIAN, "arm64", "/dev/xvda", "2026-10-20T00:00:00.000Z"),
    Image(
        "ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-amd64-server-20261015",
        _CANONICAL, "x86_64", "/dev/sda1", "2026-10-15T00:00:00.000Z",
    ),
    Image(
        "ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-arm64-server-20261015",
        _CANONICAL, "arm64", "/dev/sda1", "2026-10-15T00:00:00.000Z",
    ),
    Image(
        "al2023-ami-2023.9.20261103.0-kernel-6.1-x86_64",
        _AMAZON, "x86_64", "/dev/xvda", "2026-11-03T00:00:00.000Z",
    ),
    Image(
        "Windows_Server-2022-English-Full-Base-2026.10.14",
        "801119661308", "x86_64", "/dev/sda1", "2026-10-14T00:00:00.000Z", "windows",
    ),
)  # fmt: skip
FAMILIES = ("t3", "t4g", "m5", "m5d", "m7g", "c5", "r5", "i3")


@cache
def moto_port() -> int:
    """The port of this process's moto server, which is started at the first call and lives as long as the process."""
    os.environ["MOTO_EC2_LOAD_DEFAULT_AMIS"] = "false"
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    from moto import settings
    from moto.moto_server.threaded_moto_server import ThreadedMotoServer

    _fewer_types()
    settings.INITIAL_NO_AUTH_ACTION_COUNT = 0.0
    settings.ENABLE_AMI_VALIDATION = True
    settings.EC2_ENABLE_INSTANCE_TYPE_VALIDATION = True
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    return server.get_host_and_port()[1]


def _fewer_types() -> None:
    """Leave a hundred of moto's instance types, with whose whole list every look-up takes seconds."""
    from moto.ec2.models.instance_types import InstanceTypeBackend

    InstanceTypeBackend.instance_types = [
        one for one in InstanceTypeBackend.instance_types if str(one["InstanceType"]).partition(".")[0] in FAMILIES
    ]


def call_of(request: Request) -> tuple[str, str, str, dict[str, str]]:
    """The service, region, action and parameters of a request; empty where they are not said."""
    scope = re.search(r"Credential=[^/]*/\d+/([^/]*)/([^/]*)/", request.header("Authorization"))
    region, service = (scope.group(1), scope.group(2)) if scope else ("", "")
    target = request.header("X-Amz-Target")
    if target:
        said = json.loads(request.body or b"{}")
        return service, region, target.rpartition(".")[2], {key: str(value) for key, value in said.items()}
    params = dict(parse_qsl(request.body.decode(), keep_blank_values=True))
    return service, region, params.pop("Action", ""), params


class Account:
    """One account of the moto server with one user, its key and policy; signed requests only."""

    def __init__(self, policy: dict[str, Any] | None = None) -> None:
        self.port = moto_port()
        from moto.iam.models import iam_backends

        self.id = f"{os.getpid() % 10**6:06d}{next(_NUMBERS):06d}"
        self._iam = iam = iam_backends[self.id]["aws"]
        iam.create_user("us-east-1", "tester")
        self.expired: set[str] = set()
        self.renew()
        self.policy = policy
        iam.put_user_policy("tester", "tests", json.dumps(_plain(policy)))
        self._seeded: set[str] = set()
        self.disks: dict[str, tuple[str, ...]] = {}

    def renew(self) -> None:
        """Give the user another key."""
        key = self._iam.create_access_key("tester")
        self.key_id, self.secret = str(key.access_key_id), str(key.secret_access_key)

    def expire(self) -> None:
        """From now on the user's key is answered by an error."""
        self.expired.add(self.key_id)

    def has_expired(self, request: Request) -> bool:
        """Whether a request bears a key that was good once."""
        return any(f"Credential={key}/" in request.header("Authorization") for key in self.expired)

    def ec2(self, region: str) -> Any:
        """moto's own state of a region, for the truth; with this cloud's images."""
        from moto.ec2.models import ec2_backends

        if region not in self._seeded:
            self._seeded.add(region)
            for image in IMAGES:
                self.add(region, image)
        return ec2_backends[self.id][region]

    def add(self, region: str, image: Image, id: str = "") -> None:
        """One more image in a region, that everybody may use."""
        from moto.ec2.models import ec2_backends
        from moto.ec2.models.amis import Ami

        backend, id = ec2_backends[self.id][region], id or image.id(region)
        self.disks[id] = image.disks
        backend.amis[id] = Ami(
            backend, id, name=image.name, owner_id=image.owner, public=True,
            platform=image.platform,
            owner_alias="amazon" if image.owner in _AMAZONS else None,
            architecture=image.architecture, root_device_name=image.root, root_device_type="ebs",
            virtualization_type="hvm", creation_date=_moment(image.created), region_name=f"{region}a",
        )  # fmt: skip

    def regions(self) -> tuple[str, ...]:
        """The regions in which anything was ever asked."""
        return tuple(sorted(self._seeded))

    def signed_right(self, request: Request) -> bool:
        """Whether a request bears this account's own key and a right signature (Signature Version 4)."""
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest

        said = request.header("Authorization")
        names = re.search(r"SignedHeaders=([^,]*)", said)
        service, region, _, _ = call_of(request)
        if f"Credential={self.key_id}/" not in said or not names or not service:
            return False
        kept = {name: request.header(name) for name in names.group(1).split(";")}
        again = AWSRequest(method=request.method, url=request.path, data=request.body, headers=kept)
        again.context["timestamp"] = request.header("X-Amz-Date")
        auth = SigV4Auth(self._credentials(), service, region)
        signature = auth.signature(auth.string_to_sign(again, auth.canonical_request(again)), again)
        return bool(said.rpartition("Signature=")[2] == signature)

    def _credentials(self) -> Any:
        from botocore.credentials import Credentials

        return Credentials(self.key_id, self.secret)

    def forward(self, request: Request) -> Answer:
        """A request as it came, to moto, which checks the signature again."""
        heads = {name: value for name, value in request.headers.items() if name.lower() != "expect"}
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            link.request(request.method, request.path, request.body, {**heads, "x-moto-account-id": self.id})
            said = link.getresponse()
            return Answer(said.status, said.read(), {"Content-Type": said.getheader("Content-Type", "text/xml")})
        finally:
            link.close()

    def ask(self, service: str, region: str, action: str, params: dict[str, str]) -> Answer:
        """A call of our own, signed with the account's key."""
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest

        if service == "ec2":
            self.ec2(region)
        body = urlencode({"Action": action, "Version": "2016-11-15" if service == "ec2" else "2011-06-15", **params})
        url = f"http://127.0.0.1:{self.port}/"
        made = AWSRequest("POST", url, {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}, body)
        SigV4Auth(self._credentials(), service, region).add_auth(made)
        heads = {**dict(made.headers.items()), "Host": f"127.0.0.1:{self.port}"}
        return self.forward(Request("POST", "/", heads, body.encode()))


def _plain(policy: dict[str, Any] | None) -> dict[str, Any]:
    """A policy as moto can read it: it refuses whatever has a condition, so the proxy looks at those."""
    if policy is None:
        return {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
    return {
        **policy,
        "Statement": [
            {"Effect": each["Effect"], "Action": each["Action"], "Resource": "*"} for each in policy["Statement"]
        ],
    }


def _moment(text: str) -> Any:
    from datetime import datetime

    return datetime.fromisoformat(text.replace("Z", "+00:00")).replace(tzinfo=None)
