"""The names of endpoints in a study: what was given to each vantage point, and the times to every address."""

import json
from types import SimpleNamespace

from cloudcmp.app.wide_area_names import names_of
from cloudcmp.model.cast import CastMember, Role, Service, ServiceKind, Vantage
from cloudcmp.model.trial import Outcome
from cloudcmp.model.wide_area import AddressTime, NameAnswers


def measured(*told: tuple[str, dict[str, object]], url: str = "https://a.example.org/x") -> SimpleNamespace:
    service = Service(ServiceKind.HTTP, "aws", "eu-north-1", url)
    trials = [
        SimpleNamespace(launch=0, cast=(CastMember(Role.VANTAGE, Vantage(name)), CastMember(Role.ENDPOINT, service)))
        for name, _ in told
    ]
    plan = SimpleNamespace(
        trials=trials, launches=[SimpleNamespace(candidate=0)], candidates=[SimpleNamespace(service=service)]
    )
    attempts = [
        SimpleNamespace(trial=number, outcome=Outcome.OK, facts=json.dumps({"notes": notes}))
        for number, (_, notes) in enumerate(told)
    ]
    return SimpleNamespace(plan=plan, attempts=attempts)


def test_each_vantage_point_has_its_answers_and_the_times_to_all_addresses() -> None:
    north = {"addresses": "192.0.2.1 192.0.2.2", "address_1": "192.0.2.1 5 5 0.010", "address_2": "192.0.2.2 0 5"}
    again = {"addresses": "192.0.2.1", "address_1": "192.0.2.1 5 5 0.030"}
    south = {"addresses": "192.0.2.3", "address_1": "192.0.2.3 4 5 0.2", "address_2": "192.0.2.1 5 5 0.3"}
    found = names_of(measured(("north", north), ("north", again), ("south", south)), {"north": 0, "south": 1})
    assert found == (
        NameAnswers(
            "aws", "a.example.org", ("192.0.2.1", "192.0.2.2", "192.0.2.3"), ((0, 0), (0, 1), (1, 2)),
            (AddressTime(0, 0, 0.02, 10, 10), AddressTime(0, 1, None, 0, 5), AddressTime(1, 2, 0.2, 4, 5),
             AddressTime(1, 0, 0.3, 5, 5)),
        ),
    )  # fmt: skip


def test_what_an_agent_may_not_say_is_left_out() -> None:
    odd = {"addresses": "192.0.2.1 evil", "address_1": "evil 5 5 0.1", "address_2": "192.0.2.1 x 5 0.1",
           "address_3": "192.0.2.1 5 5 -0.1", "address_4": "192.0.2.1 5 5 nan"}  # fmt: skip
    (found,) = names_of(measured(("a", odd)), {"a": 0})
    assert found.addresses == ("192.0.2.1",)
    assert [one.median_s for one in found.times] == [None]
    assert names_of(measured(("a", odd), url="http://192.0.2.1"), {"a": 0}) == ()
    assert names_of(measured(("a", odd)), {}) == ()
