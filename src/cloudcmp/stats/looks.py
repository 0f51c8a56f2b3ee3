"""The share of the error rate that each look at growing data may spend."""

# The first look spends most of it, because most studies end there; each later one half of what is left.
_FIRST = 0.8


def share_of_look(look: int, stops: int = 1) -> float:
    """The share of the error rate for a look, 0 being the first: 0.8, 0.1, 0.05, 0.025, ...

    `stops` is the number of moments at which the first one may be taken, if the data choose: they share what it has.

    All shares add up to 1: by Bonferroni's inequality the error rate holds for any number of looks, whatever decides
    about the next one.
    Source: the spending of error in Lan and DeMets, "Discrete sequential boundaries for clinical trials", Biometrika
    70, 1983, here without use of the correlation between looks.
    """
    return _FIRST / stops if look == 0 else (1.0 - _FIRST) / 2.0**look
