"""Preflight findings that all clouds share: clock, account, refusals, quotas."""

from collections.abc import Callable, Sequence
from datetime import UTC
from email.utils import parsedate_to_datetime

from cloudcmp.errors import ProviderFault
from cloudcmp.model.plan import Candidate
from cloudcmp.model.safety import Finding

_SKEW_S = 60.0


def parse_http_date(header: str) -> float | None:
    """The time in a Date header (Unix s), UTC if it has no zone; None if it cannot be parsed."""
    try:
        at = parsedate_to_datetime(header)
    except (ValueError, OverflowError):
        return None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


def clock_finding(at: float | None, now: float) -> Finding:
    """Compares this machine's clock (`now`) with the cloud's (`at`), in Unix s; fails above a minute of difference."""
    if at is None:
        return Finding("clock", None, "the answer has no date")
    ahead_s = now - at
    what = f"this machine's clock is {abs(ahead_s):.0f} s {'ahead of' if ahead_s > 0 else 'behind'} the provider's"
    if abs(ahead_s) > _SKEW_S:
        return Finding("clock", False, what, "set the clock: times to live depend on it")
    return Finding("clock", True, what)


def account_finding(
    id: str | None,
    label: str,
    candidates: Sequence[Candidate],
    *,
    mismatch_hint: str,
    unknown_text: str = "this cloud reports no account",
    normalize: Callable[[str], str] = str,
) -> Finding:
    """Compares the account in use with the option `account` of the study.

    `id` is the account in use, as a study writes it; if it is None or empty, the finding says `unknown_text`. `label`
    names the account in messages; `normalize` prepares accounts for the comparison.
    """
    pinned = {dict(one.options)["account"] for one in candidates if "account" in dict(one.options)}
    if not id:
        return Finding("account", None, unknown_text)
    if not pinned:
        return Finding(
            "account", None, f"{label}, which no study pins", f"write account: '{id}' in a study, which pins it"
        )
    if {normalize(one) for one in pinned} != {normalize(id)}:
        what = f"the calls are made for {label}, the study is for {', '.join(sorted(pinned))}"
        return Finding("account", False, what, mismatch_hint)
    return Finding("account", True, f"{label}, as pinned")


def refusal_finding(what: str, fault: ProviderFault, whose: str = "") -> Finding:
    """The finding about `what` for a cloud's refusal; `whose` names its candidate."""
    first = fault.faults[0]
    return Finding(what, False, f"{whose}: {first.what}" if whose else first.what, first.next)


def quota_finding(where: str, need: float, used: float, most: float, more: str, *, word: str = "in use") -> Finding:
    """Whether a quota leaves room for `need`; `more` is where to request a higher one."""
    text = f"{where}: {need:g} needed, {used:g} {word}, {most:g} allowed"
    if need + used > most:
        return Finding("quota", False, text, f"ask for more ({more}), or run fewer at once")
    return Finding("quota", True, text)
