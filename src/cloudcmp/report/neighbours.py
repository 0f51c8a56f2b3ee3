"""Prints what each load of a neighbour takes from each victim."""

from rich.console import Console
from rich.text import Text

from cloudcmp.model.untrusted_text import clip, visible
from cloudcmp.report.report_model import MARKS, STYLES, StudyView
from cloudcmp.report.sheets import isolation
from cloudcmp.report.table import ascii_only, put, say
from cloudcmp.report.text import plain_ascii


def show_neighbours(console: Console, width: int, study: StudyView) -> None:
    """Print each victim with its value alone, and a line for each load; nothing without any."""
    victims = isolation.brief(study)
    widest = max((len(load) for victim in victims for _, load, _, _ in victim.lines), default=0)
    shown = plain_ascii if ascii_only(console) else str
    for victim in victims:
        put(console, Text(shown(clip(visible(victim.name), width))))
        for verdict, load, change, spread in victim.lines:
            line = Text(shown(f"  {MARKS[verdict]} "), STYLES[verdict])
            line.append(shown(f"beside {load.ljust(widest)}  {change.ljust(32)}"))
            line.append(shown(spread), "dim")
            line.truncate(width, overflow="crop")
            put(console, line)
    if victims:
        say(console, "▼ slower ▲ faster = same within 3 % ? undecided; paired inside launches, 95 %", "dim")
        say(console, "")
