"""The controller's side of the measuring agent: where it is, what is sent to it, and what is believed of its answer."""

from cloudcmp.agent.expected import Expected, expected_series
from cloudcmp.agent.job import JobTarget, encode_job
from cloudcmp.agent.locate import locate, this_triple
from cloudcmp.agent.wire import Decoder, Limits

__all__ = ["Decoder", "Expected", "JobTarget", "Limits", "encode_job", "expected_series", "locate", "this_triple"]
