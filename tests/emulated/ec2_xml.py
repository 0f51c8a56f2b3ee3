"""XML of the EC2 Query API: reading, changing and making it."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

from tests.emulated.wire import Answer

NAMESPACE = "http://ec2.amazonaws.com/doc/2016-11-15/"

_STATUS = {
    "AuthFailure": 401,
    "UnauthorizedOperation": 403,
    "AccessDenied": 403,
    "ExpiredToken": 403,
    "DryRunOperation": 412,
    "RequestLimitExceeded": 503,
    "Unavailable": 503,
    "ServiceUnavailable": 503,
    "InternalError": 500,
    "InternalFailure": 500,
    "InsufficientInstanceCapacity": 500,
    "InsufficientCapacity": 500,
}

STATES = {"pending": 0, "running": 16, "shutting-down": 32, "terminated": 48, "stopping": 64, "stopped": 80}


def parse(body: bytes) -> ET.Element:
    """An answer without its namespace."""
    return ET.fromstring(re.sub(rb'\sxmlns="[^"]*"', b"", body, count=1))


def dump(root: ET.Element) -> bytes:
    """An element as an answer's body, with EC2's namespace."""
    root.set("xmlns", NAMESPACE)
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root)


def headers(content: str = "text/xml;charset=UTF-8", skew_s: float = 0.0) -> dict[str, str]:
    """What EC2 sends along, with the time that it believes it is."""
    at = datetime.now(UTC) + timedelta(seconds=skew_s)
    return {"Content-Type": content, "Date": at.strftime("%a, %d %b %Y %H:%M:%S GMT"), "Server": "emulated"}


def error(code: str, message: str, service: str = "ec2") -> Answer:
    """An error in the form of the service that was asked."""
    status = _STATUS.get(code, 400)
    if service in {"ssm", "servicequotas"}:
        import json

        body = json.dumps({"__type": code, "message": message}).encode()
        return Answer(status, body, headers("application/x-amz-json-1.1"))
    tag = ET.Element("Response" if service == "ec2" else "ErrorResponse")
    holder = ET.SubElement(ET.SubElement(tag, "Errors"), "Error") if service == "ec2" else ET.SubElement(tag, "Error")
    ET.SubElement(holder, "Code").text = code
    ET.SubElement(holder, "Message").text = message
    ET.SubElement(tag, "RequestID" if service == "ec2" else "RequestId").text = "emulated-request"
    return Answer(status, b'<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(tag), headers())


def put(parent: ET.Element, name: str, text: str) -> ET.Element:
    """Set the text of a child, which is made where it is missing."""
    child = parent.find(name)
    child = ET.SubElement(parent, name) if child is None else child
    child.text = text
    return child


def drop(parent: ET.Element, name: str) -> None:
    """Remove a child if it is there."""
    child = parent.find(name)
    if child is not None:
        parent.remove(child)


def put_state(parent: ET.Element, name: str, state: str) -> None:
    """Set a state's name and code."""
    child = parent.find(name)
    child = ET.SubElement(parent, name) if child is None else child
    put(child, "code", str(STATES[state]))
    put(child, "name", state)


def put_tags(parent: ET.Element, tags: Iterable[tuple[str, str]]) -> None:
    """Add a tag set."""
    holder = ET.SubElement(parent, "tagSet")
    for key, value in tags:
        item = ET.SubElement(holder, "item")
        put(item, "key", key)
        put(item, "value", value)


def instances(root: ET.Element) -> Iterator[ET.Element]:
    """The instances of a DescribeInstances or RunInstances answer."""
    for holder in root.iter("instancesSet"):
        yield from holder.findall("item")


def text(parent: ET.Element, name: str) -> str:
    """A child's text, empty where there is none."""
    return parent.findtext(name) or ""
