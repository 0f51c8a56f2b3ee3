"""JSON Schemas of the values in a study file: quantities with units, words, and the parameters of probes and tools.

Only keywords that mean the same in draft 7 and in draft 2020-12 are used, because older editors know no other draft.
`patternErrorMessage` is what an editor shows instead of the pattern; validators ignore it. A schema accepts every value
that the reader accepts; a few refusals need arithmetic, such as a duration of zero, and are left to the reader.
"""

import re
from collections.abc import Iterable
from typing import Any

from cloudcmp.model.metric import Param, ParamKind
from cloudcmp.model.promise import Promised
from cloudcmp.units import CURRENCIES, NUMBER, RATE_UNITS, SIZE_UNITS, TIME_UNITS

Schema = dict[str, Any]


def one_of(words: Iterable[str]) -> str:
    """The pattern of one of several words, the longest first."""
    return f"(?:{'|'.join(re.escape(word) for word in sorted(words, key=lambda word: (-len(word), word)))})"


def text(pattern: str, message: str, *examples: str) -> Schema:
    """A text that matches a pattern as a whole, apart from blanks around it; `message` says what it should be."""
    schema: Schema = {"type": "string", "pattern": rf"^\s*{pattern}\s*$", "patternErrorMessage": message}
    return {**schema, "examples": list(examples)} if examples else schema


def closed(properties: dict[str, Schema], *required: str) -> Schema:
    """A mapping with no other keys."""
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": list(required)} if required else schema


def or_null(schema: Schema) -> Schema:
    """The same value, or an empty one."""
    return {"anyOf": [schema, {"type": "null"}]}


WORD: Schema = {"type": ["string", "number"], "pattern": r"\S"}
SENTENCE: Schema = {"type": "string", "pattern": r"\S"}
POSITIVE: Schema = {"type": "number", "exclusiveMinimum": 0}
WHOLE: Schema = {"type": "integer", "minimum": 1, "maximum": 10_000}
PLACE: Schema = {
    "anyOf": [
        {"type": "string", "minLength": 1},
        {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2},
    ],
    "examples": [[59.3, 18.1], "Stockholm"],
}
SEED: Schema = {"type": "integer", "minimum": 0, "maximum": 2**53 - 1}
FORMAT: Schema = {"const": 1}

# A number with a digit that is not zero, and no minus before it.
_ABOVE_ZERO = rf"(?!-)(?=\+?[\d.]*[1-9]){NUMBER}"
_TIME = rf"\s*{one_of(TIME_UNITS)}"
DURATION = text(_ABOVE_ZERO + _TIME, "a time with its unit, e.g. 30 min", "30 min", "1 h")
SIZE = text(rf"{_ABOVE_ZERO}\s*{one_of(SIZE_UNITS)}", "a size with its unit, e.g. 100 GiB", "100 GiB")
RATE = text(rf"{_ABOVE_ZERO}\s*{one_of(RATE_UNITS)}", "a rate with its unit, e.g. 10 MB/s", "1.25 GB/s", "1 Gbit/s")
MONEY = text(rf"{_ABOVE_ZERO}\s*[A-Z]{{3}}", "money with its currency, e.g. 5 USD", "5 USD")
_SPEND = rf"{_ABOVE_ZERO}\s*[A-Z]{{3}}\s*/\s*(?:year|month)"
SPEND = text(_SPEND, "money for a year, e.g. 20000 USD/year", "20000 USD/year", "1500 EUR/month")
PRICE = text(rf"{_ABOVE_ZERO}\s*[A-Z]{{3}}\s*/\s*h(?:our)?", "a price an hour, e.g. 0.10 USD/h", "0.10 USD/h")
_PERCENT = text(rf"{NUMBER}\s*%?", "a share, e.g. 3 % or 0.03", "3 %")
CURRENCY: Schema = {"enum": sorted(CURRENCIES)}
SHARE: Schema = {"anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, _PERCENT]}
CHANGE: Schema = {"anyOf": [{"type": "number", "exclusiveMinimum": -1, "maximum": 10}, _PERCENT]}
SECONDS_IN_KEY: Schema = {"anyOf": [{"type": "number", "minimum": 0}, DURATION]}
QUANTITY: Schema = {"type": ["number", "string"]}
"""A number in a metric's unit, bare or with its unit."""

_CLOCK = r"(?:[01]?\d|2[0-4]):[0-5]\d"
HOURS = text(rf"{_CLOCK}\s*-\s*{_CLOCK}", "hours, e.g. 09:00-17:00", "09:00-17:00", "22:00-06:00")
TIMEZONE: Schema = {**SENTENCE, "examples": ["UTC", "Europe/Stockholm", "America/New_York"]}
NETWORKS: Schema = {**SENTENCE, "examples": ["203.0.113.7/32"]}
DAY: Schema = {"type": ["string", "integer"], "examples": ["2027-06-30"]}
TERM = text(r"\d+ \s*(?:month|year)s?", "a term, e.g. 12 months", "12 months", "3 years")

_COUNT: Schema = {"type": "integer", "minimum": 1, "maximum": 2**53 - 1}
VOLUME_KEYS: dict[str, Schema] = {
    "type": SENTENCE,
    "size": or_null(SIZE),
    "iops": or_null({"type": "integer", "minimum": 1}),
    "root": {"type": "boolean"},
    "price": PRICE,
}
VOLUME: Schema = {"anyOf": [SENTENCE, closed(VOLUME_KEYS, "type")]}
CAPS_KEYS: dict[str, Schema] = {
    "burst": DURATION,
    "bytes": SIZE,
    "duty": SHARE,
    "machines": _COUNT,
    "packets": _COUNT,
    "rate": RATE,
}
CAPS = closed(CAPS_KEYS)
MACHINE_KEYS: dict[str, Schema] = {
    "offering": {"type": "string"},
    "price": PRICE,
    "provider": {"type": "string"},
    "region": {"type": "string"},
}
MACHINE: Schema = {"anyOf": [{"const": "local"}, closed(MACHINE_KEYS, "offering")]}
ENDPOINT = text(r"https?://\S+", "an address, e.g. http://127.0.0.1:9000", "http://127.0.0.1:9000")


def _unit_price(unit: str, example: str) -> Schema:
    return text(rf"\d+(?:\.\d+)?\s*[A-Z]{{3}}\s*/\s*{unit}", f"a price, e.g. {example}", example)


OPERATIONS = ("get", "put", "query", "download", "upload", "list", "send", "receive")
"""Operations of services whose requests may have a price of their own."""
UNIT_PRICE_KEYS: dict[str, Schema] = {
    "requests": _unit_price(r"\d+", "0.005 USD/1000"),
    "moved": _unit_price("GB", "0.09 USD/GB"),
    "stored": _unit_price("GB-month", "0.023 USD/GB-month"),
    "nodes": _unit_price("h", "0.65 USD/h"),
    **dict.fromkeys(OPERATIONS, _unit_price(r"\d+", "0.005 USD/1000")),
}
TRAFFIC_PRICE = _unit_price("GB", "0.02 USD/GB")
UNIT_PRICES: Schema = {**closed(UNIT_PRICE_KEYS), "minProperties": 1}

PROMISE_KEYS: dict[str, Schema] = {
    "of": {"enum": [one.value for one in Promised]},
    "baseline": {"anyOf": [RATE, POSITIVE]},
    "up_to": {"anyOf": [RATE, POSITIVE]},
    "op": {"enum": ["read", "write"]},
    "source": SENTENCE,
    "as_of": DAY,
}
_PROMISE: Schema = {
    **closed(PROMISE_KEYS, "of", "source"),
    "anyOf": [{"required": ["baseline"]}, {"required": ["up_to"]}],
}
PROMISES: Schema = {"type": "array", "items": _PROMISE, "minItems": 1}


def days(words: Iterable[str]) -> Schema:
    """A day's name, or a list of them."""
    day: Schema = {"enum": list(words)}
    return {"anyOf": [day, {"type": "array", "items": day, "minItems": 1}]}


_BARE: Schema = {"type": "string", "pattern": r"^\s*(?:\d+\.?\d*|\.\d+)\s*$"}
_WHOLE_NUMBER: Schema = {"type": "integer", "minimum": 1}
_NUMBER: Schema = {"type": "number", "minimum": 0}
_ANY_TIME = text(NUMBER + _TIME, "a time with its unit, e.g. 500 ms", "1 s")
_KINDS: dict[ParamKind, Schema] = {
    ParamKind.COUNT: {"anyOf": [_WHOLE_NUMBER, _BARE]},
    ParamKind.THREADS: {"anyOf": [_WHOLE_NUMBER, _BARE]},
    ParamKind.BYTES: {"anyOf": [_WHOLE_NUMBER, _BARE, SIZE]},
    ParamKind.SECONDS: {"anyOf": [_NUMBER, _BARE, _ANY_TIME]},
    ParamKind.RATE: {"anyOf": [_NUMBER, _BARE, RATE]},
    ParamKind.TEXT: {"type": ["string", "number"], "pattern": r"^\s*[^=; \t\n]+\s*$"},
}


def kinds() -> dict[str, Schema]:
    """The definitions of a parameter's values, by its kind and without its words."""
    return {kind.value: schema for kind, schema in _KINDS.items()}


def setting(param: Param) -> Schema:
    """One value of a parameter: of its kind, which the schema defines by `kinds`, or one of its words."""
    values: list[Schema] = [] if param.kind is ParamKind.CHOICE else [{"$ref": f"#/$defs/{param.kind.value}"}]
    if param.words:
        values.append({"enum": list(param.words)})
    if "yes" in param.words:
        values.append({"type": "boolean"})
    return values[0] if len(values) == 1 else {"anyOf": values}


def parameter(param: Param) -> Schema:
    """A parameter of a probe or tool: a value, or a list of them."""
    one = setting(param)
    several = {"type": "array", "items": one, "minItems": 1}
    default = int(param.default) if param.default.isdecimal() else param.default
    return {"description": param.doc, "default": default, "anyOf": [*one.get("anyOf", [one]), several]}
