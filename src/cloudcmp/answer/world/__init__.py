"""A world-wide service, simulated: requests of users through a network to the machines of data centres."""
