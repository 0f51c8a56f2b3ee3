"""The JSON Schema of study files, made from the shapes that read them and from the tables of probes and tools."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind, models_json_schema

from cloudcmp.catalog import APART, COMMAND, LOADS, METRICS, PROBES, SUITES, TOOLS
from cloudcmp.model.cast import APIS, BESIDE
from cloudcmp.model.metric import Param
from cloudcmp.model.selection import StopRule
from cloudcmp.study.build import NAME
from cloudcmp.study.candidates import HTTP, LOOPBACK_URL, NOT_OF_ENDPOINTS, OF_MACHINES, OF_SERVICES, S3, SIMULATED
from cloudcmp.study.commands import THREADS, CommandShape, MetricShape
from cloudcmp.study.isolation import VICTIMS
from cloudcmp.study.key_texts import KEY_TEXTS
from cloudcmp.study.quantities import LOCAL
from cloudcmp.study.shape import (
    CandidateShape,
    CellShape,
    DecideShape,
    Head,
    IsolationShape,
    ProbeShape,
    SessionShape,
    Shape,
)
from cloudcmp.study.stop import StopShape
from cloudcmp.study.terms import TermsShape
from cloudcmp.study.value_schemas import QUANTITY, Schema, closed, kinds, one_of, or_null, parameter, setting, text
from cloudcmp.study.wan import VantageShape, WanShape

DIALECT = "https://json-schema.org/draft/2020-12/schema"
TITLE = "cloudcmp study file"
_SHAPES: tuple[type[Shape], ...] = (
    Head, CandidateShape, CellShape, ProbeShape, IsolationShape, DecideShape, SessionShape, CommandShape, MetricShape,
    StopShape, TermsShape, WanShape, VantageShape,
)  # fmt: skip
_KINDS = ("probe", "suite", "tool", COMMAND)
_OWN_METRIC = "[a-z][a-z0-9_]{0,63}"


def study_schema(providers: Collection[str]) -> Schema:
    """The JSON Schema (draft 2020-12) of a study file; `providers` are the names that candidates may have.

    It accepts every file that `read` accepts. Rules over several values (one currency, margins, combinations of
    parameters, two entries with one cell) are left to the reader.
    """
    parts = _shapes()
    _set_lists(parts)
    _set_providers(parts, providers)
    head = parts.pop("Head")
    planted = {"anyOf": [QUANTITY, _ref("CellShape")]}
    definitions = {
        **parts,
        **kinds(),
        "planted": planted,
        "known_cell": _known_cell(),
        "cell": _cell(),
        **dict(_params_definitions()),
    }
    return {
        "$schema": DIALECT,
        "title": TITLE,
        **head,
        "description": "A question to cloudcmp: what is compared, what is measured, and what decides.",
        "allOf": [*_together("every", "for"), _only_known_cells()],
        "$defs": {name: definitions[name] for name in sorted(definitions)},
    }


class _Generator(GenerateJsonSchema):
    """Pydantic's generator; a default that has no JSON form is left out."""

    def emit_warning(self, kind: JsonSchemaWarningKind, detail: str) -> None:
        """Do nothing, because such a default is no fault."""


def _shapes() -> dict[str, Schema]:
    """The schema of each shape by its name, with the meaning of each key."""
    models: Sequence[tuple[type[BaseModel], Any]] = [(shape, "validation") for shape in _SHAPES]
    _, found = models_json_schema(models, by_alias=True, schema_generator=_Generator)
    # The others are types of our own behind a text, such as Money.
    shapes: dict[str, Schema] = {name: shape for name, shape in found["$defs"].items() if name in KEY_TEXTS}
    for name, shape in shapes.items():
        shape.pop("title")
        properties = shape["properties"]
        for key, value in properties.items():
            properties[key] = {"description": KEY_TEXTS[name][key], **_plain(value)}
    return shapes


def _plain(value: Schema) -> Schema:
    """A property without pydantic's title, and without a default that is in another form than people write."""
    kept = {key: item for key, item in value.items() if key != "title"}
    if isinstance(kept.get("default"), float | dict | list) or kept.get("default") in {None, ""}:
        kept.pop("default", None)
    return kept


def _set_lists(parts: dict[str, Schema]) -> None:
    """Adds what the shapes leave to the rest of the reader: entries of lists, and the keys that go together."""
    head, candidate, probe, command = (parts[name] for name in ("Head", "CandidateShape", "ProbeShape", "CommandShape"))
    for key, entry in (("candidates", "CandidateShape"), ("probes", "ProbeShape"), ("sessions", "SessionShape")):
        head["properties"][key]["items"] = _ref(entry)
    head["properties"]["decide"]["items"] = {"anyOf": [_ref("cell"), _ref("DecideShape")]}
    head["properties"]["weights"].update(
        {"propertyNames": _ref("cell"), "additionalProperties": {"type": "number", "exclusiveMinimum": 0}}
    )
    head["properties"]["terms"].update(_ref("TermsShape"))
    head["properties"]["stop"]["anyOf"] = [{"enum": ["fixed", *StopRule]}, _ref("StopShape")]
    head["properties"]["name"].update({"type": ["string", "number"], "pattern": rf"^\s*(?:{NAME.pattern})\s*$"})
    head["properties"]["name"].pop("anyOf")
    head["required"] = ["schema", "question", "candidates"]
    head["anyOf"] = [_has("probes"), _has("isolation"), _has("wan")]
    victims = {"anyOf": [{"enum": list(VICTIMS)}, _ref("ProbeShape")]}
    isolation = parts["IsolationShape"]["properties"]
    isolation["victims"].update({"items": victims, "minItems": 1})
    isolation["neighbours"].update({"items": {"enum": list(LOADS)}, "minItems": 1})
    isolation["threads"]["minItems"] = 1
    rate = next(one for one in PROBES["traffic"].params if one.name == "rate_bytes_per_s")
    isolation["rates"].update({"items": setting(rate), "minItems": 1})
    one = _ref("IsolationShape")
    head["properties"]["isolation"]["anyOf"] = [one, {"type": "array", "items": one, "minItems": 1}]
    head["properties"]["wan"].update(_ref("WanShape"))
    vantage = {"anyOf": [{"type": "string", "minLength": 1}, _ref("VantageShape")]}
    parts["WanShape"]["properties"]["vantages"].update({"items": vantage, "minItems": 1})
    size = next(one for one in PROBES["page"].params if one.name == "size_bytes")
    parts["WanShape"]["properties"]["sizes"].update({"items": setting(size), "minItems": 1})
    for key in ("candidates", "probes"):
        head["properties"][key]["minItems"] = 1
    for key in head["properties"].keys() - {*head["required"]}:
        _allow_null(head["properties"], key)  # an empty key counts as one that is not written
    parts["DecideShape"]["properties"]["cell"].update(_ref("cell"))
    parts["MatchShape"]["minProperties"] = 1
    parts["CellShape"]["properties"]["mean"].update(QUANTITY)
    truth = parts["TruthShape"]["properties"]["cells"]
    truth["propertyNames"] = _ref("cell")
    truth["additionalProperties"] = _ref("planted")
    truth["properties"] = {
        metric.name: {"description": f"{metric.doc} In {metric.unit}.", **_ref("planted")}
        for metric in METRICS.values()
    }
    candidate["allOf"] = list(_candidate_rules())
    probe["allOf"] = list(_probe_rules())
    for kind, known in (("probe", _measured()), ("suite", SUITES), ("tool", TOOLS)):
        probe["properties"][kind].update(_names_with_texts(known))
        probe["properties"][kind].pop("anyOf")
    probe["properties"][COMMAND].update(or_null(_ref("CommandShape")))
    command["properties"]["files"]["items"] = {"type": "string", "minLength": 1, "maxLength": 400}
    command["properties"]["metrics"]["items"] = _ref("MetricShape")
    threads = command["properties"]["threads"]
    command["properties"]["threads"] = {"description": threads["description"], "default": "all", **setting(THREADS)}
    parts["MetricShape"]["oneOf"] = [_has("regex"), _has("json")]
    parts["CommitmentShape"]["anyOf"] = [_has("hourly"), _has("upfront")]


def _set_providers(parts: dict[str, Schema], providers: Collection[str]) -> None:
    known = {"enum": sorted(providers)}
    for name, shape in parts.items():
        if "provider" in shape["properties"]:
            required = "provider" in shape.get("required", ())
            meaning = {"description": KEY_TEXTS[name]["provider"]}
            shape["properties"]["provider"] = {**meaning, **(known if required else or_null(known))}


def _allow_null(properties: dict[str, Schema], key: str) -> None:
    value = properties[key]
    kept: Schema = {word: value.pop(word) for word in ("description", "default") if word in value}
    alternatives = value["anyOf"] if list(value) == ["anyOf"] else [value]
    null: Schema = {"type": "null"}
    properties[key] = {**kept, "anyOf": [*(one for one in alternatives if one != null), null]}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _has(*keys: str) -> Schema:
    """Keys that are written and not empty."""
    return {"required": list(keys), "properties": {key: {"not": {"type": "null"}} for key in keys}}


def _without(keys: Iterable[str]) -> list[Schema]:
    return [{"not": {"required": [key]}} for key in keys]


def _together(*keys: str) -> Iterator[Schema]:
    """Each of the keys needs the others."""
    for key in keys:
        yield {"if": _has(key), "then": {"required": [other for other in keys if other != key]}}


def _candidate_rules() -> Iterator[Schema]:
    machine = {"oneOf": [_has("offering"), _has("match")], "allOf": _without(OF_SERVICES)}
    http = {"required": ["service"], "properties": {"service": {"const": HTTP}}}
    stored = {"if": http, "then": {**_has("endpoint"), "allOf": _without(NOT_OF_ENDPOINTS)},
              "else": {**_has("from"), "allOf": _without(OF_MACHINES)}}  # fmt: skip
    yield {"if": _has("service"), "then": stored, "else": machine}
    of_s3 = {"required": ["provider"], "properties": {"provider": {"const": S3}, "service": {"const": "blob"}}}
    yield {"if": _has("endpoint"), "then": {"anyOf": [of_s3, http]}}
    yield {
        "if": {"required": ["provider"], "properties": {"provider": {"const": S3}}},
        "then": _has("endpoint", "service"),
    }
    several = [
        {
            "required": ["service"],
            "properties": {
                "provider": {"const": provider},
                "service": {"const": kind.value},
                "api": {"enum": [name for name in names if name]},
            },
        }
        for (provider, kind), names in APIS.items()
    ]
    yield {"if": _has("api"), "then": {"anyOf": several}}
    served = {
        "properties": {"from": {"const": LOCAL}, "endpoint": {"pattern": LOOPBACK_URL}},
        "required": ["from", "endpoint"],
    }
    yield {"if": _has("serve"), "then": served}
    yield {"if": _has("far"), "then": {"anyOf": [
        _place_of("zone", {"required": ["zone"], "allOf": _without(("region", "price", "traffic"))}),
        _place_of("region", {"required": ["region"]}),
    ]}}  # fmt: skip
    simulated = {"required": ["provider"], "properties": {"provider": {"const": SIMULATED}}}
    yield {"if": {"required": ["truth"]}, "then": simulated}


def _place_of(key: str, far: Schema) -> Schema:
    """A candidate with this key, and such a far end."""
    return {"required": [key], "properties": {key: {"not": {"type": "null"}}, "far": far}}


def _probe_rules() -> Iterator[Schema]:
    """One kind for each entry, and for each name of a kind its parameters."""
    yield {"oneOf": [_has(kind) for kind in _KINDS]}
    yield {"if": _has("install"), "then": _has("tool")}
    yield {"if": _has(COMMAND), "then": {"properties": {"params": {"maxProperties": 0}}}}
    for kind, names in (("probe", _measured()), ("suite", SUITES), ("tool", TOOLS)):
        for name in names:
            named = {"required": [kind], "properties": {kind: {"const": name}}}
            yield {"if": named, "then": {"properties": {"params": _ref(_params_name(kind, name))}}}


def _measured() -> dict[str, Any]:
    """The probes that an entry can name: commands and tools have keys of their own."""
    return {name: probe for name, probe in PROBES.items() if name not in APART}


def _names_with_texts(known: Mapping[str, Any]) -> Schema:
    """A choice of names, or nothing; editors show the text of each."""
    texts = [one.doc for one in known.values()]
    return {"enum": [*known, None], "enumDescriptions": [*texts, "not given"]}


def _params_name(kind: str, name: str) -> str:
    return f"params of {kind} {name}".replace(" ", "_")


def _params_definitions() -> Iterator[tuple[str, Schema]]:
    """The parameters of each probe, suite and tool; of a suite those of its probes, as the first one has them."""
    for name, probe in _measured().items():
        yield _params_name("probe", name), _params(probe.params)
    for name, suite in SUITES.items():
        yield (
            _params_name("suite", name),
            _params(param for member, _ in suite.probes for param in PROBES[member].params),
        )
    for name, tool in TOOLS.items():
        yield _params_name("tool", name), _params(tool.params)


def _params(params: Iterable[Param]) -> Schema:
    first: dict[str, Param] = {}
    for param in params:
        first.setdefault(param.name, param)
    return closed({name: parameter(param) for name, param in first.items()})


_VALUE = r"[^=; \t\n]+"


def _known_cell() -> Schema:
    """The text of a cell of cloudcmp's own metrics: a metric, or a metric with some of its parameters."""
    metrics_of: dict[tuple[str, ...], list[str]] = {}
    for metric in METRICS.values():
        metrics_of.setdefault(metric.params, []).append(metric.name)
    cells = [
        rf"{one_of(names)}(?: [\s;]*(?:{one_of((*keys, *BESIDE))}={_VALUE}(?:\s*;[\s;]*|\s*$))*)?"
        for keys, names in metrics_of.items()
    ]
    return text(f"(?:{'|'.join(cells)})", "a metric, or metric key=value;key=value; see 'cloudcmp list metrics'")


def _cell() -> Schema:
    """The text of any cell, also of a metric that a command of the study defines."""
    names: Schema = {"enum": list(METRICS), "enumDescriptions": [metric.doc for metric in METRICS.values()]}
    own = text(rf"(?!{one_of(METRICS)}(?:\s|$)){_OWN_METRIC}(?: .*)?", "a metric, or metric key=value;key=value")
    return {"anyOf": [names, _ref("known_cell"), own]}


def _only_known_cells() -> Schema:
    """Without commands of the user's own, there are no metrics but cloudcmp's."""
    with_command = {"type": "array", "contains": {"type": "object", "required": [COMMAND]}}
    known = _ref("known_cell")
    decide = {"if": {"type": "string"}, "then": known, "else": {"properties": {"cell": known}}}
    truth = {"properties": {"cells": {"propertyNames": known}}}
    rest = {
        "decide": {"items": decide},
        "weights": {"propertyNames": known},
        "candidates": {"items": {"properties": {"truth": truth}}},
    }
    return {"if": {"properties": {"probes": with_command}}, "else": {"properties": rest}}
