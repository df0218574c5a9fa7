"""The network, loss and data of a script as a target: `verify train.py:SGLD --loss train.py:nll --loader train.py:data`."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset

from sgverify.errors import DefinitionError, UserError
from sgverify.samplers.own.module_target import REDUCTIONS, ModuleTarget, module_target
from sgverify.schemes.loading import Wanted, load_module, load_object
from sgverify.schemes.user_files import loaded_once
from sgverify.user_code import own_code

MOST_BATCHES = 10_000
"""The most batches that are taken from a loader which is no `DataLoader`; an endless one is refused."""

ASSUMED = "prior N(0, 1), network in evaluation mode"
"""What no script says of its network, as an answer prints it."""

_LOSS = Wanted(
    key="--loss",
    noun="loss",
    type=object,
    written="a loss(outputs, y) of a batch, as torch.nn.MSELoss(), beside --loader",
    catalogue="targets",
)
_LOADER = Wanted(
    key="--loader",
    noun="loader",
    type=Iterable,
    written="a torch.utils.data.DataLoader, or a list of batches (x, y)",
    catalogue="targets",
)


def network_target(loss: str, loader: str) -> ModuleTarget:
    """The posterior of the network that a script trains: U(theta) = |theta|^2/2 + sum_i loss(network(x_i), y_i).

    `loss` and `loader` are references FILE.py:NAME. The network is the one module with parameters among the names beside the loss,
    else beside the loader; it is judged in evaluation mode. The data of the loader are taken once, in the order of its data set.
    Whether the loss adds or averages over a batch is what it says itself (`reduction`), else what it does. Raises `UserError` for a
    reference that leads nowhere, `DefinitionError` for a loss, a loader or a network that is not understood.
    """
    told = f"--loss {loss} --loader {loader}"
    with loaded_once(), own_code():
        function, batches = load_object(loss, _LOSS), load_object(loader, _LOADER)
        if not callable(function):
            raise DefinitionError(
                f"{told}: the loss is of type {type(function).__name__}; expected {_LOSS.written}"
            )
        spaces = [
            vars(load_module(reference, wanted)) for reference, wanted in ((loss, _LOSS), (loader, _LOADER))
        ]
        network = _network(spaces, function, told)
        data = _data(batches, told)
    network.eval()
    said = getattr(function, "reduction", None)
    refused: UserError | None = None
    for reduction in (said,) if said in REDUCTIONS else REDUCTIONS:
        try:
            made = module_target(network, function, data=data, reduction=reduction, name=loss)
            return replace(made, told=ASSUMED)
        except UserError as error:
            refused = error
    raise DefinitionError(f"{told}: {refused}; {_wrapper(function)}")


def _network(spaces: Iterable[Mapping[str, Any]], loss: Any, told: str) -> torch.nn.Module:
    """The one module with parameters among the names of the first file that has one."""
    for space in spaces:
        found = {
            id(value): (name, value)
            for name, value in space.items()
            if isinstance(value, torch.nn.Module)
            and value is not loss
            and next(value.parameters(), None) is not None
        }
        if len(found) == 1:
            return next(network for _, network in found.values())
        if found:
            raise DefinitionError(
                f"{told}: the file has several networks ({', '.join(name for name, _ in found.values())}); expected one; name the "
                "target: posterior = sgverify.module_target(network, loss, data=(x, y)), --set target.name=FILE.py:posterior"
            )
    raise DefinitionError(
        f"{told}: no network beside the loss or the loader; expected a torch.nn.Module with parameters in the file; "
        "make it outside of any function: network = Net()"
    )


def _data(batches: Any, told: str) -> tuple[Tensor, Tensor]:
    """All pairs (x, y) of a loader, each once, in the order of its data set where it has one."""
    if isinstance(batches, DataLoader) and not isinstance(batches.dataset, IterableDataset):
        batches = DataLoader(
            batches.dataset, batch_size=batches.batch_size or 1, collate_fn=batches.collate_fn
        )
    parts: list[tuple[Tensor, Tensor]] = []
    for number, batch in enumerate(batches):
        if number == MOST_BATCHES:
            raise DefinitionError(
                f"{told}: the loader has more than {MOST_BATCHES} batches; expected data that end; give a list of batches"
            )
        pair = tuple(batch) if isinstance(batch, (list, tuple)) else ()
        if len(pair) != 2:
            raise DefinitionError(
                f"{told}: a batch is a {type(batch).__name__}; expected a pair (x, y) of tensors"
            )
        parts.append((torch.as_tensor(pair[0]), torch.as_tensor(pair[1])))
    if not parts:
        raise DefinitionError(f"{told}: the loader has no batches; expected pairs (x, y) of tensors; fill it")
    x, y = (torch.cat(list(part)) for part in zip(*parts, strict=True))
    return x, y


def _wrapper(loss: Any) -> str:
    """The form of a loss, to be written where that of a script is another one."""
    name = getattr(loss, "__name__", "criterion")
    with suppress(TypeError, ValueError):
        name = f"{name}{inspect.signature(loss)}"
    return f"{name} is called as loss(outputs, y) of a batch; write one: loss = lambda outputs, y: ..."
