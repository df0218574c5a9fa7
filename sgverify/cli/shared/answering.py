"""The tasks of a command: answers that a store has are taken from there, the rest is computed on several processes and kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from sgverify.campaigns.engines import LocalProcesses, Lost
from sgverify.campaigns.tasks import Task, answered
from sgverify.cli.shared import output
from sgverify.cli.shared.options import StoreChoice
from sgverify.evidence.published import Provenance, ReusedAnswers
from sgverify.keeping.workers import default_workers

MOST = 5
"""The most messages of a store that are printed; of more, their number."""


@dataclass
class TaskAnswers:
    """What came of the tasks of a command, by their numbers: answers, and the `lost` tasks, which failed.

    `interrupted`: Ctrl-C ended the run. `reused` says what was in the store; None where nothing was.
    """

    found: dict[int, Any] = field(default_factory=dict)
    lost: dict[int, Lost] = field(default_factory=dict)
    interrupted: bool = False
    reused: ReusedAnswers | None = None

    def made_by(self, provenance: Provenance) -> Provenance:
        """The provenance, with what was not computed anew."""
        return replace(provenance, reused=self.reused)


def answers(tasks: Sequence[Task], workers: int | None, choice: StoreChoice, title: str) -> TaskAnswers:
    """Answer tasks under a progress bar; what the store says of itself goes to stderr. Raises `UserError` for a wrong `--store`."""
    done = TaskAnswers()
    store = choice.opened()
    engine = LocalProcesses(default_workers() if workers is None else workers)
    try:
        with output.progress(title) as progress:
            told = progress.told if progress else None
            for number, answer in answered(tasks, engine, store, fresh=choice.fresh, told=told):
                (done.lost if isinstance(answer, Lost) else done.found)[number] = answer
    except KeyboardInterrupt:
        done.interrupted = True
    done.found = {number: done.found[number] for number in sorted(done.found)}
    done.lost = {number: done.lost[number] for number in sorted(done.lost)}
    if store is not None:
        if store.reused:
            done.reused = ReusedAnswers(len(store.reused), len(tasks), min(store.reused), max(store.reused))
            output.say(f"{done.reused}; --fresh computes them again", err=True)
        for problem in _few(store.problems):
            output.say(problem, err=True)
        store.close()
    return done


def _few(problems: Sequence[str]) -> Iterator[str]:
    yield from problems[:MOST]
    if len(problems) > MOST:
        yield f"{len(problems) - MOST} more of this kind"


def listed(value: Any) -> Any:
    """A dataclass, or a list of them, as JSON has it, with lists in place of tuples."""
    if isinstance(value, list | tuple):
        return [listed(item) for item in value]
    if isinstance(value, dict):
        return {key: listed(item) for key, item in value.items()}
    return listed(asdict(value)) if hasattr(value, "__dataclass_fields__") else value
