"""The controller's side of the measuring agent: its binary, its jobs, and the checked decoding of its output."""

from cloudcmp.agent.job import ExpectedSeries, JobTarget, encode_job, expected_series
from cloudcmp.agent.locate import locate, this_triple
from cloudcmp.agent.wire import Decoder, Limits

__all__ = ["Decoder", "ExpectedSeries", "JobTarget", "Limits", "encode_job", "expected_series", "locate", "this_triple"]
