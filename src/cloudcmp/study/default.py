"""The two studies that need no file: this machine, and three simulated clouds."""

from collections.abc import Sequence
from importlib.resources import files

from cloudcmp.model.offering import Offering
from cloudcmp.model.study import Study
from cloudcmp.study.read import read_text

_NAME = "this-machine.yaml"


def default_text(offerings: Sequence[Offering]) -> str:
    """The study of this machine as a file's text, with one candidate for each offering of the `local` provider."""
    lines = [f"  - {{provider: {sold.provider}, region: {sold.region}, offering: {sold.name}}}" for sold in offerings]
    return _resource("local.yaml").replace("candidates: []", "\n".join(["candidates:", *lines]))


def default_study(offerings: Sequence[Offering]) -> Study:
    """The study of this machine: what `cloudcmp run` measures when no study is named."""
    return read_text(default_text(offerings), _NAME, providers=frozenset(sold.provider for sold in offerings))


def demo_text() -> str:
    """The study of three simulated clouds: what `cloudcmp demo` runs."""
    return _resource("demo.yaml")


def _resource(name: str) -> str:
    return files("cloudcmp.study").joinpath(name).read_text(encoding="utf-8")
