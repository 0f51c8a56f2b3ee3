"""Rows written before the first trial: the plan, the prices at that time, and short notes about the study."""

import hashlib
import secrets
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date

from cloudcmp.errors import Fault, UserMistake
from cloudcmp.model.codec import CodecError, from_json, to_json
from cloudcmp.model.offering import Price
from cloudcmp.model.plan import Plan, PlannedTrial, steps_of
from cloudcmp.model.untrusted_text import one_line
from cloudcmp.store import row_values as of
from cloudcmp.store.crash import crash_point
from cloudcmp.store.database import Database
from cloudcmp.store.faults import corrupt, corrupt_if_malformed
from cloudcmp.store.seals import Seals, is_intact

OWN = "."
"""The prefix of the keys of the store's own notes."""
_PLAN = f"{OWN}plan"
"""The note of the plan's digest; its signature signs the plan."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a study: its text as the user wrote it, provenance such as versions, and its Unix time (s)."""

    study_text: str
    provenance: dict[str, str]
    created_at: float


def _digest(body: str, trials: Iterable[str]) -> str:
    digest = hashlib.sha256(body.encode())
    for trial in trials:
        digest.update(b"\n" + trial.encode())
    return digest.hexdigest()


def insert_plan(connection: sqlite3.Connection, seals: Seals, plan: Plan) -> None:
    """Writes the plan, its trials one per row, and the known prices of its candidates and their volumes."""
    body = to_json(replace(plan, trials=()))
    trials = [to_json(trial) for trial in plan.trials]
    digest = _digest(body, trials)
    connection.execute("INSERT INTO plan VALUES (0, ?, ?)", (body, digest))
    put_meta(connection, seals, _PLAN, digest)
    connection.executemany("INSERT INTO trial VALUES (?, ?)", enumerate(trials))
    for item, price in prices_of(plan):
        as_of = None if price.as_of is None else price.as_of.isoformat()
        values = (*item, str(price.amount_per_hour), price.currency, _source(price), as_of)
        connection.execute(
            "INSERT INTO price (provider, region, offering, amount_per_hour, currency, source, as_of, seal)"
            " VALUES (?,?,?,?,?,?,?,?)",
            (*values, seals.make("price", *values)),
        )


def replan(database: Database, own: Plan, other: Plan, tag: str) -> None:
    """Replaces the stored plan by one that differs only after the trials and launches that have begun.

    Raises ValueError if it changes one of those, or loses it. The study's tag is stored with it: that of an old study
    depends on its plan.
    """
    launches, kept = _common(own.launches, other.launches), _common(own.trials, other.trials)
    kept = next((at for at, one in enumerate(own.trials[:kept]) if one.launch >= launches), kept)
    body = to_json(replace(other, trials=()))
    texts = [to_json(trial) for trial in other.trials]
    digest = _digest(body, texts)
    with database.transaction() as connection:
        for table, column, first in (("attempt", "trial", kept), ("launch", "launch", launches)):
            query = f"SELECT count(*) FROM {table} WHERE {column} >= ?"  # noqa: S608
            if connection.execute(query, (first,)).fetchone()[0]:
                raise ValueError(f"a {column} was begun that the other plan does not have")
        insert_tag(connection, database.seals, tag)
        connection.execute("UPDATE plan SET body = ?, sha256 = ?", (body, digest))
        connection.execute("DELETE FROM trial WHERE trial >= ?", (kept,))
        connection.executemany("INSERT INTO trial VALUES (?, ?)", list(enumerate(texts))[kept:])
        put_meta(connection, database.seals, _PLAN, digest)
        crash_point("replan.before_commit")
    crash_point("replan.after_commit")


def _common(own: Sequence[object], other: Sequence[object]) -> int:
    """The number of entries with which both begin."""
    pairs = enumerate(zip(own, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(own), len(other)))


def prices_of(plan: Plan) -> list[tuple[tuple[str, str, str], Price]]:
    """Provider, region, name and price of each machine and volume with a known price in a plan."""
    priced = []
    for one in plan.candidates:
        sold, volume = one.offering, one.volume
        if sold.price is not None:
            priced.append(((sold.provider, sold.region, sold.name), sold.price))
        if volume is not None and volume.price is not None:
            priced.append(((sold.provider, sold.region, str(volume)), volume.price))
    return priced


def _source(price: Price) -> str:
    """The source of a price, with its SKU and its list."""
    parts = (
        price.source,
        f"SKU {price.sku}" if price.sku else "",
        f"{price.how} list {price.list}" if price.list else "",
    )
    return ", ".join(filter(None, parts))


def load_plan(database: Database) -> Plan:
    """The plan as it was written; raises CorruptStore if it was changed since."""
    plans = database.rows("SELECT body, sha256 FROM plan")
    trials = [body for (body,) in database.rows("SELECT body FROM trial ORDER BY trial")]
    if not plans:
        raise UserMistake(
            Fault(str(database.path.parent), "the study was cut short while it was made", "start it again")
        )
    with corrupt_if_malformed(database.path, "the plan"):
        texts = [of.text(body) for body in (plans[0][0], *trials)]
    if _digest(texts[0], texts[1:]) != plans[0][1]:
        raise corrupt(database.path, "the plan was changed")
    try:
        # Until schema 2 is no longer read: it calls `usage` `stays`. Within a text its quotes would be escaped.
        body = plans[0][0].replace('"stays":', '"usage":', 1)
        # Until schema 3 is no longer read: its plans name the only rule to stop that there was.
        plan = from_json(Plan, body.replace('"stop":"fixed",', "", 1))
        plan = replace(plan, trials=from_json(tuple[PlannedTrial, ...], f"[{','.join(trials)}]"))
    except CodecError as error:
        raise corrupt(database.path, f"the plan cannot be read ({error})") from None
    with corrupt_if_malformed(database.path, "the plan"):
        steps_of(plan)
        for one in (plan.launches, plan.trials):
            of.moment(plan.start_at + max((part.start_s for part in one), default=0.0))
            of.moment(plan.start_at + min((part.start_s for part in one), default=0.0))
    if not _holds_together(plan):
        raise corrupt(database.path, "the plan names a candidate or a launch that it does not have")
    return plan


def _holds_together(plan: Plan) -> bool:
    """True if every index is its own place and every reference exists: a study's folder may come from a stranger."""
    return (
        all(
            [one.index for one in indexed] == list(range(len(indexed)))
            for indexed in (plan.candidates, plan.launches, plan.trials)
        )
        and all(0 <= launch.candidate < len(plan.candidates) for launch in plan.launches)
        and all(0 <= trial.launch < len(plan.launches) for trial in plan.trials)
    )


def check_places(database: Database, plan: Plan) -> None:
    """Raises CorruptStore if a row names a trial or a launch that the plan does not have."""
    for what, table, planned in (("trial", "attempt", plan.trials), ("launch", "launch", plan.launches)):
        odd = f"typeof({what}) != 'integer' OR {what} < 0 OR {what} >= ?"
        for (named,) in database.rows(f"SELECT {what} FROM {table} WHERE {odd} LIMIT 1", (len(planned),)):  # noqa: S608
            shown = one_line(named, 40)
            raise corrupt(database.path, f"a row names {what} {shown}, which the plan does not have")


def plan_is_signed(database: Database) -> bool:
    """True if the plan is the one in the signed note of its digest."""
    return database.rows("SELECT sha256 FROM plan") == [(get_meta(database, _PLAN),)]


def sign_plan(connection: sqlite3.Connection, seals: Seals) -> None:
    """Signs the current plan, for a study that is adopted."""
    ((digest,),) = connection.execute("SELECT sha256 FROM plan").fetchall()
    put_meta(connection, seals, _PLAN, digest)


def prices(database: Database) -> tuple[tuple[str, str, str, Price], ...]:
    """Provider, region, offering and price of each candidate whose price was known when the study was planned."""
    rows = []
    for *values, sealed in database.rows(
        "SELECT provider, region, offering, amount_per_hour, currency, source, as_of, seal FROM price ORDER BY id"
    ):
        if not is_intact(sealed, "price", *values):
            raise corrupt(database.path, f"the price of {values[2]} was changed")
        provider, region, offering, amount, currency, source, as_of = values
        with corrupt_if_malformed(database.path, f"the price of {offering}"):
            day = None if as_of is None else date.fromisoformat(as_of)
            price = Price(of.amount(amount), of.text(currency), of.text(source), day)
            rows.append((of.text(provider), of.text(region), of.text(offering), price))
    return tuple(rows)


def put_meta(connection: sqlite3.Connection, seals: Seals, key: str, value: str) -> None:
    """Writes a short text under a key, replacing an earlier one."""
    sealed = seals.make("meta", key, value)
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?, ?)", (key, value, sealed))


def get_meta(database: Database, key: str) -> str | None:
    """The short text under a key, None if there is none; raises CorruptStore if it was changed."""
    for value, sealed in database.rows("SELECT value, seal FROM meta WHERE key = ?", (key,)):
        if not is_intact(sealed, "meta", key, value):
            raise corrupt(database.path, f"the note {key!r} was changed")
        with corrupt_if_malformed(database.path, f"the note {key!r}"):
            return of.name(value)
    return None


def insert_origin(connection: sqlite3.Connection, seals: Seals, origin: Origin) -> None:
    """Writes the origin of the study."""
    put_meta(connection, seals, OWN + "origin", to_json(origin))


def insert_pseudonym_key(connection: sqlite3.Connection, seals: Seals) -> None:
    """Writes the study's own random key for the pseudonyms of ids in reports."""
    put_meta(connection, seals, OWN + "pseudonyms", secrets.token_bytes(32).hex())


def pseudonym_key(database: Database) -> bytes:
    """The study's pseudonym key; a temporary one if the study was created without."""
    kept = get_meta(database, OWN + "pseudonyms")
    with corrupt_if_malformed(database.path, "the key of the pseudonyms"):
        return bytes.fromhex(kept) if kept else secrets.token_bytes(32)


def tag_of(plan: Plan, created_at: float) -> str:
    """The name in the tags of all resources of a study, unique to the study."""
    digest = hashlib.sha256(f"{to_json(plan)}\n{created_at}".encode()).hexdigest()
    return f"{plan.name}-{digest[:12]}"


def insert_tag(connection: sqlite3.Connection, seals: Seals, tag: str) -> None:
    """Writes the study's tag: a later version may serialize plans differently, and would compute another tag."""
    put_meta(connection, seals, OWN + "tag", tag)


def load_tag(database: Database) -> str | None:
    """The study's tag; None if the study is older than stored tags."""
    return get_meta(database, OWN + "tag")


def load_origin(database: Database) -> Origin:
    """The origin of the study."""
    text = get_meta(database, OWN + "origin")
    try:
        origin = from_json(Origin, text or "")
    except CodecError as error:
        raise corrupt(database.path, f"the study's origin cannot be read ({error})") from None
    with corrupt_if_malformed(database.path, "the study's origin"):
        of.moment(origin.created_at)
    return origin


def digest_key(file: str) -> str:
    """The key of the note with the digest of a file that holds the samples of several trials."""
    return f"{OWN}digest.{file}"


def digest_of(database: Database, file: str) -> str | None:
    """The digest of a file that holds the samples of several trials; None if no such file was acknowledged."""
    return get_meta(database, digest_key(file))
