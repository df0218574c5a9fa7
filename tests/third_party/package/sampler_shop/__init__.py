"""Integrators for sale: `steps`, with a target and a check of the shop's own."""
