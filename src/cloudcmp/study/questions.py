"""The five questions of `start`, and how their answers are understood."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from cloudcmp.catalog import nearest, place_of
from cloudcmp.model.start import Answers
from cloudcmp.study.starter import CLOUDS, MATTERS, PRICE, PURPOSES, REGIONS, region_of
from cloudcmp.study.user_places import nearest_place
from cloudcmp.units import NUMBER, parse_money

_SIZES = {"small": (2, 4), "medium": (2, 8), "large": (4, 16), "xlarge": (8, 32)}
"""vCPUs and GiB of memory."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question: the option that answers it, its words, the possible answers, and a line that explains them."""

    option: str
    words: str
    choices: tuple[str, ...]
    explained: str


@dataclass(frozen=True, slots=True)
class Understood:
    """An answer in canonical spelling, and a line on what was assumed; empty if nothing was."""

    text: str
    assumed: str = ""


_SIZE_WORDS = ", ".join(f"{name} ({vcpus} vCPUs, {memory} GiB)" for name, (vcpus, memory) in _SIZES.items())
QUESTIONS: tuple[Question, ...] = (
    Question("--for", "1/5 What are the machines for?", tuple(PURPOSES), ", ".join(PURPOSES)),
    Question("--users", "2/5 Where are the users?", tuple(REGIONS), f"{', '.join(REGIONS)}, or a country or a city"),
    Question("--size", "3/5 How big is a machine?", tuple(_SIZES), f"{_SIZE_WORDS}, or vCPUs/GiB such as 2/8"),
    Question(
        "--matters",
        "4/5 What matters?",
        (*MATTERS, PRICE),
        f"{', '.join(MATTERS)} (how soon a new machine can be used), {PRICE} (work for money); "
        "several with commas, the most important first",
    ),
    Question("--budget", "5/5 What may the measuring cost at worst?", (), "money, such as 20 USD"),
)
_DEFAULTS = {"--for": "general", "--users": "europe", "--size": "medium", "--budget": "20 USD"}


def default_of(option: str, given: Mapping[str, str]) -> str:
    """The default answer of a question; that of what matters follows from the purpose."""
    if option == "--matters":
        return ",".join(PURPOSES[given.get("--for", _DEFAULTS["--for"])])
    return _DEFAULTS[option]


def understood(option: str, text: str) -> Understood:
    """An answer as it is understood; raises ValueError with the possible answers."""
    match option:
        case "--budget":
            return _budget(text.strip())
        case "--size":
            return _size(text.strip().lower())
        case "--users":
            return _users(text.strip())
        case "--matters":
            return Understood(_matters(text.lower()))
        case _:
            return Understood(_one_of(text.strip().lower(), option))


def answers(given: Mapping[str, str]) -> Answers:
    """The answers, with defaults for missing ones; raises ValueError as `understood`."""
    texts = {
        one.option: understood(one.option, given.get(one.option) or default_of(one.option, given)).text
        for one in QUESTIONS
    }
    vcpus, memory = _SIZES.get(texts["--size"]) or _parts(texts["--size"])
    matters = tuple(texts["--matters"].split(","))
    return Answers(texts["--for"], texts["--users"], vcpus, memory, matters, parse_money(texts["--budget"]))


_SYNONYMS = {
    "cheap": PRICE, "cheapest": PRICE, "cost": PRICE, "costs": PRICE, "money": PRICE, "budget": PRICE,
    "speed": "cpu", "fast": "cpu", "performance": "cpu", "compute": "cpu", "processor": "cpu", "processors": "cpu",
    "ram": "memory", "storage": "disk", "disks": "disk", "ssd": "disk", "net": "network", "bandwidth": "network",
    "scale": "scaling", "website": "web", "site": "web", "shop": "web", "api": "web", "db": "database",
    "sql": "database", "postgres": "database", "mysql": "database", "jobs": "batch", "everything": "general",
}  # fmt: skip
"""Words of people for answers."""


def _one_of(text: str, option: str) -> str:
    """The one choice that a text names, alone or in a phrase, by its own word or a common one."""
    choices = next(one.choices for one in QUESTIONS if one.option == option)
    meant = {_SYNONYMS.get(word, word) for word in re.findall(r"[a-z]+", text)} & set(choices)
    if len(meant) == 1:
        return str(*meant)
    near = nearest(text, choices)
    what = f"{text!r} names {' and '.join(sorted(meant))}" if meant else f"{text!r} is none of {', '.join(choices)}"
    raise ValueError(f"{what}; did you mean {near}?" if near and not meant else what)


def _matters(text: str) -> str:
    """Words between commas, blanks or `and`, each once; all that are not understood are named together."""
    words = [word for word in re.split(r"[,;\s]+", text) if word and word != "and"] or [""]
    found, wrong = [], []
    for word in words:
        try:
            found.append(_one_of(word, "--matters"))
        except ValueError as fault:
            wrong.append(str(fault))
    if wrong:
        raise ValueError("; ".join(wrong))
    return ",".join(dict.fromkeys(found))


def _users(text: str) -> Understood:
    users = nearest_place(text)
    if users is None:
        raise ValueError(f"{text!r} is none of {', '.join(REGIONS)}, and no country or city that is known here")
    if users == text.lower():
        return Understood(users)
    near = place_of(CLOUDS[0], region_of(users, CLOUDS[0]))
    return Understood(users, f"{text}: {users} is taken, with machines in {near.name}" if near else "")


_CPUS = r"v?cpus?|v?cores?|c"
_MEMORY = r"(?:gi?b?|gigs?|gigabytes?)(?:\s*(?:of\s+)?(?:ram|memory))?"
_BETWEEN = r"\s*[/x×,;+&]\s*|\s+(?:and|with)\s+|\s+|(?<=[a-z])(?=\d)"
_SIZE = re.compile(rf"(\d+)\s*({_CPUS}|{_MEMORY})?(?:{_BETWEEN})(\d+)\s*({_CPUS}|{_MEMORY})?", re.ASCII)


def _size(text: str) -> Understood:
    if text in _SIZES:
        return Understood(text)
    vcpus, memory = _parts(text)
    size = f"{vcpus}/{memory}"
    return Understood(size, "" if text == size else f"{vcpus} vCPUs and {memory} GiB")


def _parts(text: str) -> tuple[int, int]:
    """vCPUs and GiB of a text such as `4/16`, `4x16` or `16 GB, 4 cpus`."""
    if re.fullmatch(r"\d{1,5}", text, re.ASCII) and int(text):
        raise ValueError(f"{text!r} is one number; write vCPUs and GiB, such as {int(text)}/{4 * int(text)}")
    found = _SIZE.fullmatch(text)
    is_memory = (
        [bool(unit) and re.fullmatch(_MEMORY, unit) is not None for unit in (found[2], found[4])] if found else []
    )
    is_cpus = [bool(unit) and re.fullmatch(_CPUS, unit) is not None for unit in (found[2], found[4])] if found else []
    if found is None or all(is_memory) or all(is_cpus):
        raise ValueError(f"{text!r} is no size; write one of {', '.join(_SIZES)}, or vCPUs and GiB such as 2/8")
    first, second = int(found[1]), int(found[3])
    vcpus, memory = (second, first) if is_memory[0] or is_cpus[1] else (first, second)
    if not (0 < vcpus <= 1024 and 0 < memory <= 65536):
        raise ValueError(f"{text!r} is no size that a machine has; write e.g. 2/8")
    return vcpus, memory


_CURRENCIES = {
    "$": "USD", "us$": "USD", "dollar": "USD", "dollars": "USD", "€": "EUR", "euro": "EUR", "euros": "EUR", "£": "GBP",
    "pound": "GBP", "pounds": "GBP", "": "",
}  # fmt: skip
_SIGN = r"[^\d.,+\-]*"
_AMOUNT = re.compile(rf"({_SIGN}?)\s*({NUMBER})\s*({_SIGN})", re.ASCII)


def _budget(text: str) -> Understood:
    """Money with a code, a sign or a word for its currency, on either side; US dollars without any."""
    found = _AMOUNT.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no amount of money; write e.g. '20 USD'")
    codes = {_CURRENCIES.get(word.lower(), word.upper()) for word in (found[1].strip(), found[3].strip())} - {""}
    if len(codes) > 1:
        raise ValueError(f"{text!r} names two currencies; write e.g. '20 USD'")
    code = codes.pop() if codes else "USD"
    if re.fullmatch(r"[A-Z]{3}", code) is None:
        raise ValueError(f"{text!r} is no amount of money; write e.g. '20 USD', the most that the measuring may cost")
    try:
        money = parse_money(f"{found[2]} {code}")
    except ValueError as wrong:
        if "not more than zero" not in str(wrong):
            raise ValueError(str(wrong).replace("5 USD", "20 USD")) from None
        raise ValueError(f"{text!r} is not more than zero; it is the most that may be spent") from None
    canonical = f"{money.amount} {money.currency}"
    named = code != "USD" or any(word in text.lower() for word in ("usd", "us$"))
    return Understood(canonical, "" if named else f"{canonical}: US dollars are assumed")
