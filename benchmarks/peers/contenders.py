"""Who samples: sgverify, the libraries, the loops written by hand, and the floor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from benchmarks.peers.problems import Answer, Task

OURS, LIBRARY, LOOP, FLOOR = "ours", "library", "loop", "floor"


@dataclass(frozen=True)
class Contender:
    """A way to run a task: the module and its function that makes the run, and what it imports of others."""

    name: str
    role: str
    module: str
    function: str = "make"
    imports: tuple[str, ...] = ()

    def make(self, task: Task) -> Callable[[int], Answer]:
        """The run of a task, a function of its number of steps; raises `Absent`."""
        made: Callable[[int], Answer] = getattr(
            import_module(f"benchmarks.peers.{self.module}"), self.function
        )(task)
        return made


CONTENDERS: dict[str, Contender] = {
    contender.name: contender
    for contender in (
        Contender("sgverify", OURS, "ours", imports=("sgverify.samplers",)),
        Contender("blackjax", LIBRARY, "jax_libraries", "make_blackjax", ("jax", "blackjax")),
        Contender("SGMCMCJax", LIBRARY, "jax_libraries", "make_sgmcmcjax", ("jax", "sgmcmcjax")),
        Contender("posteriors", LIBRARY, "posteriors_library"),
        Contender("torch loop", LOOP, "torch_loops"),
        Contender("numba loop", LOOP, "numba_loops", imports=("numba",)),
        Contender("floor", FLOOR, "floors"),
    )
}

OTHER_LAW = {
    (
        "csgld",
        "blackjax",
    ): "starts from other weights and bends the lowest region too: the same work, not the same law"
}
"""Where the answers differ by definition, and are not compared."""
