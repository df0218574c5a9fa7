"""Adaptively weighted samplers without sampling: masses of energy regions, the weights they settle at, and how."""
