"""Inventories of fleets: which machines somebody pays for, and how much of each is in use."""

from cloudcmp.cost.inventory.read import read_inventory
