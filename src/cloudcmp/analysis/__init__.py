"""From samples to figures: launch values, estimates with intervals, distributions, and warnings."""

from cloudcmp.analysis.bursts import bursts
from cloudcmp.analysis.duplicates import launches_in_common, without_launches
from cloudcmp.analysis.estimates import estimate
from cloudcmp.analysis.facts import facts_of, name_warnings, spans
from cloudcmp.analysis.history import tracks_of
from cloudcmp.analysis.latencies import cdfs
from cloudcmp.analysis.overall import overall
from cloudcmp.analysis.quality import disturbed, late_rounds, marks, quality
from cloudcmp.analysis.scaling import scaling
from cloudcmp.analysis.services import DELAY, services
from cloudcmp.analysis.steadiness import steadiness
