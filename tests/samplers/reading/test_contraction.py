"""Coordinates that are chosen, joined and contracted: the values of torch, in a fixed order of additions."""

from __future__ import annotations

import torch

from sgverify.samplers.reading.arithmetic import contracted, joined, progression, summed, taken
from tests.tables import each_row


def values(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@each_row("places", [(2,), (1, 1, 1), (0, 2, 4), (4, 2, 0), (3, 0, 3, 1)])
def test_coordinates_are_chosen(places: tuple[int, ...]) -> None:
    x = values(2, 3, 5)
    assert torch.equal(taken(x, places), x[..., list(places)])


def test_a_product_of_matrices_is_contracted_in_order() -> None:
    rows, inner, columns = 3, 4, 2
    a, b = values(7, 5, rows * inner), values(7, 5, inner * columns, seed=1)
    places = [(i, j) for i in range(rows) for j in range(columns)]
    found = contracted(
        a,
        b,
        [tuple(i * inner + k for i, _ in places) for k in range(inner)],
        [tuple(k * columns + j for _, j in places) for k in range(inner)],
    )
    left, right = a.unflatten(-1, (rows, inner)), b.unflatten(-1, (inner, columns))
    expected = left[..., :, 0, None] * right[..., 0, None, :]
    for k in range(1, inner):
        expected = expected + left[..., :, k, None] * right[..., k, None, :]
    assert torch.equal(found, expected.flatten(-2))
    torch.testing.assert_close(found, (left @ right).flatten(-2))


def test_sums_and_joined_coordinates() -> None:
    x, y = values(3, 4), values(2, 3, 2, seed=1)
    assert torch.equal(summed(x, [(0, 1), (2, 3)]), x[:, :2] + x[:, 2:])
    assert summed(x, [(0, 0)]).shape == (3, 2)
    assert torch.equal(joined(x, y), torch.cat([x.expand(2, 3, 4), y], -1))


def test_progressions() -> None:
    assert progression((3,)) == (3, 0)
    assert progression((3, 5, 7)) == (3, 2)
    assert progression((3, 5, 8)) is None
