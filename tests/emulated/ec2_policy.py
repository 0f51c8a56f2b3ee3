"""IAM's decision for the calls that matter here, conditions included (moto evaluates actions only)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any


@dataclass(frozen=True, slots=True)
class Touched:
    """One resource that a call touches: its ARN, its tags, the tags that it is given, and further context."""

    action: str
    arn: str = "*"
    tags: Mapping[str, str] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)
    context: Mapping[str, str] = field(default_factory=dict)

    def value(self, key: str) -> str | None:
        """A condition key's value in this call."""
        head, _, name = key.partition("/")
        if head.lower() == "aws:requesttag":
            return self.given.get(name)
        if head.lower() in {"aws:resourcetag", "ec2:resourcetag"}:
            return self.tags.get(name)
        return self.context.get(key)


def permitted(policy: dict[str, Any] | None, touched: Iterable[Touched]) -> bool:
    """Whether every part of a call is allowed and none is denied; without a policy everything is."""
    return policy is None or all(_one(policy, part) for part in touched)


def _one(policy: dict[str, Any], part: Touched) -> bool:
    effects = {each["Effect"] for each in policy["Statement"] if _applies(each, part)}
    return "Deny" not in effects and "Allow" in effects


def _applies(statement: dict[str, Any], part: Touched) -> bool:
    return (
        any(fnmatchcase(part.action.lower(), pattern.lower()) for pattern in _list(statement["Action"]))
        and any(fnmatchcase(part.arn, pattern) for pattern in _list(statement["Resource"]))
        and all(
            _holds(operator, key, _list(wanted), part)
            for operator, keys in statement.get("Condition", {}).items()
            for key, wanted in keys.items()
        )
    )


def _holds(operator: str, key: str, wanted: list[str], part: Touched) -> bool:
    value = part.value(key)
    if operator == "Null":
        return (value is None) == (str(wanted[0]).lower() == "true")
    if operator == "StringEquals":
        return value in wanted
    if operator == "StringLike":
        return value is not None and any(fnmatchcase(value, pattern) for pattern in wanted)
    raise ValueError(f"the emulation knows no condition operator {operator!r}")


def _list(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)
