"""What a step may change beside its state: the walk over what its code can reach."""

from __future__ import annotations

import torch

from sgverify.samplers.intercepted.kept_state import changed, kept_shapes, surroundings

KEPT: dict[str, torch.Tensor] = {}


def test_a_tensor_kept_from_inside_a_batch_that_is_over_is_read_all_the_same() -> None:
    def step(theta):
        KEPT["last"] = theta * 2
        return theta

    torch.func.vmap(step)(torch.ones(3))
    before = surroundings(step)
    torch.func.vmap(step)(torch.zeros(3))
    assert changed(before, surroundings(step))


def _unreadable(self):
    raise TypeError("no weak reference")


class OfAnExtension:
    """Its type lists the slot of weak references, which cannot be read, as types of extension modules do."""

    __slots__ = ("kept",)


OfAnExtension.__slots__ = ("kept", "__weakref__")
OfAnExtension.__weakref__ = property(_unreadable)  # type: ignore[attr-defined]


def test_slots_of_weak_references_are_passed_over():
    held = OfAnExtension()
    held.kept = torch.zeros(3)
    assert list(kept_shapes(lambda: held).values()) == [(3,)]
