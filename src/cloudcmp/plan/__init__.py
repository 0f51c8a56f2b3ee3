"""Makes the plan of a study: its trials, their order and their times."""

from cloudcmp.plan.candidates import unpriced
from cloudcmp.plan.cast import cast_of
from cloudcmp.plan.extension import shortened, still_measured, with_measured, with_more_rounds
from cloudcmp.plan.planner import make
from cloudcmp.plan.published_offerings import published_providers
from cloudcmp.plan.resize_target import list_prices_apply, resize_price
from cloudcmp.plan.run_checks import check_runnable
from cloudcmp.plan.schedule import next_opening
from cloudcmp.plan.service_use import is_billed, service_caps, shared_caps
from cloudcmp.plan.traffic import ALONE, caps_of, longest_load_s, machine_limit, machines, most_bytes, split_caps
from cloudcmp.plan.vantages import HERE, served_to, serves, vantage_in, vantage_of
