"""The renderer of all drawings, by vl-convert: in this process, or in a separate one under an address limit.

vl-convert contains V8, which reserves more than 60 GiB of addresses (no memory) at its start, and ends its process if a
limit on addresses (`ulimit -v`) prevents that. Under such a limit, a separate process draws.
"""

import base64
import json
import resource
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from typing import Any

from cloudcmp.errors import Fault, OutsideFault
from cloudcmp.report.charts.fonts import own_font_only_in_memory

_NEEDED = "72 GiB"
_NOTHING = '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'
_SERVE = "from cloudcmp.report.charts.renderer import serve; serve()"


def svg_of(spec: dict[str, Any]) -> str:
    """A Vega-Lite specification as SVG; nothing is fetched. Raises OutsideFault if a limit prevents it."""
    if _is_limited():
        return _render_process().ask({"spec": spec})
    return str(_vl_convert().vegalite_to_svg(dict(spec), allowed_base_urls=[]))


def png_of(svg: str) -> bytes:
    """An SVG drawing as PNG, two pixels for each unit. Raises OutsideFault if a limit prevents it."""
    if _is_limited():
        return base64.b64decode(_render_process().ask({"svg": svg}))
    return bytes(_vl_convert().svg_to_png(svg, scale=2))


@cache
def _vl_convert() -> Any:
    """The module `vl_convert`, with its fonts: it reads them once, for the first drawing."""
    import vl_convert

    with own_font_only_in_memory():
        vl_convert.svg_to_png(_NOTHING)
    return vl_convert


def serve() -> None:
    """Serve drawing requests on standard input, one JSON document a line; the main loop of the drawing process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    converter = _vl_convert()
    for line in sys.stdin:
        request = json.loads(line)
        if "spec" in request:
            drawn = converter.vegalite_to_svg(request["spec"], allowed_base_urls=[])
        else:
            drawn = base64.b64encode(converter.svg_to_png(request["svg"], scale=2)).decode()
        sys.stdout.write(json.dumps(drawn) + "\n")
        sys.stdout.flush()


class _RenderProcess:
    """A separate process that draws; it ends with this one."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _SERVE],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip

    def ask(self, request: Mapping[str, Any]) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            limit = resource.getrlimit(resource.RLIMIT_AS)[0] // 2**20
            what = f"figures cannot be drawn with an address limit of {limit} MiB"
            raise OutsideFault(
                Fault("cloudcmp report", what, f"allow {_NEEDED} of addresses (ulimit -v); they use no memory")
            )
        return str(json.loads(answer))


@cache
def _render_process() -> _RenderProcess:
    return _RenderProcess()


def _is_limited() -> bool:
    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY
