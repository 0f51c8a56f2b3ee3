"""The controller's side of the measuring agent: its binary, its jobs, and the checked decoding of its output."""

from cloudcmp.agent.job import JobTarget, encode_job, expected_series
from cloudcmp.agent.locate import locate, this_triple
from cloudcmp.agent.wire import Decoder
