"""Where to put a service for a population: times of people to regions, the best set, its money and its certainty."""
