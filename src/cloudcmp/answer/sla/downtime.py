"""When a watched service was down, from its samples, in three readings."""

import numpy as np

from cloudcmp.answer.sla.timeline import Timeline
from cloudcmp.model.credits import Downtime, Spans


def downtime_of(line: Timeline) -> Downtime:
    """Return the outages of a watch: runs of failed samples, and the gaps of which no sample tells.

    Between two failed samples in a row without a gap the service counts as down throughout. It does not see outages
    between two good samples.
    """
    failed = ~line.ok
    gap_after = np.append(line.until[:-1] < line.at[1:], False)
    new = np.ones(len(failed), np.bool_)
    new[1:] = ~failed[:-1] | gap_after[:-1]
    firsts = np.flatnonzero(failed & new)
    ends = np.append(~failed[1:] | gap_after[:-1], True)
    lasts = np.flatnonzero(failed & ends)
    least = _spans(line.at[firsts], line.at[lasts])
    likely = _spans(line.at[firsts], line.until[lasts])
    before = np.where(firsts > 0, np.where(gap_after[firsts - 1], line.until[firsts - 1], line.at[firsts - 1]),
                      line.at[firsts])  # fmt: skip
    most = [*_spans(before, line.until[lasts]), *_gaps(line), *line.left_out]
    watched = _joined(_spans(line.at, line.until))
    return Downtime(line.target, line.start, float(line.at[-1]), watched, least, likely, _joined(tuple(sorted(most))))


def _gaps(line: Timeline) -> Spans:
    unseen = np.flatnonzero(line.until[:-1] < line.at[1:])
    return _spans(line.until[unseen], line.at[unseen + 1])


def _spans(starts: "np.ndarray", ends: "np.ndarray") -> Spans:
    return tuple(zip(starts.tolist(), ends.tolist(), strict=True))


def _joined(spans: Spans) -> Spans:
    """Spans in order, those that touch or overlap made one."""
    found: list[tuple[float, float]] = []
    for start, end in spans:
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return tuple(found)
