"""Parameters, filters and pages of the EC2 Query API."""

import xml.etree.ElementTree as ET
from collections.abc import Iterator

from tests.emulated import ec2_xml as xml
from tests.emulated.wire import Answer

Params = dict[str, str]


def many(params: Params, name: str) -> Iterator[str]:
    """The values of a list parameter, in order."""
    n = 1
    while f"{name}.{n}" in params:
        yield params[f"{name}.{n}"]
        n += 1


def filters_of(params: Params) -> dict[str, list[str]]:
    """The filters of a Describe call."""
    found: dict[str, list[str]] = {}
    n = 1
    while f"Filter.{n}.Name" in params:
        found[params[f"Filter.{n}.Name"]] = list(many(params, f"Filter.{n}.Value"))
        n += 1
    return found


def tags_of(params: Params) -> dict[str, dict[str, str]]:
    """The tags of each resource type in a creating call."""
    found: dict[str, dict[str, str]] = {}
    n = 1
    while f"TagSpecification.{n}.ResourceType" in params:
        head = f"TagSpecification.{n}"
        tags = found.setdefault(params[f"{head}.ResourceType"], {})
        k = 1
        while f"{head}.Tag.{k}.Key" in params:
            tags[params[f"{head}.Tag.{k}.Key"]] = params.get(f"{head}.Tag.{k}.Value", "")
            k += 1
        n += 1
    return found


def matches(filters: dict[str, list[str]], tags: dict[str, str]) -> bool:
    """Whether tags fulfil the tag filters of a call."""
    return all(
        bool(set(values) & set(tags)) if name == "tag-key" else tags.get(name.removeprefix("tag:")) in values
        for name, values in filters.items()
    )


def paged(name: str, holder: str, items: list[ET.Element], params: Params, page: int | None) -> Answer:
    """One page of a list, with a token for the next one; a token that was not ours, or was cut, is refused."""
    root = ET.Element(name)
    token = params.get("NextToken", "")
    if token and not (token.startswith("page-") and token.endswith("-end")):
        return xml.error("InvalidPaginationToken", "The specified pagination token is not valid")
    start = int(token[5:-4]) if token else 0
    most = min(int(params.get("MaxResults", 1000)), page or 1000)
    ET.SubElement(root, holder).extend(items[start : start + most])
    if start + most < len(items):
        ET.SubElement(root, "nextToken").text = f"page-{start + most}-end"
    return Answer(200, xml.dump(root), xml.headers())
