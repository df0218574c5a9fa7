"""How are the questions of one call of `verify` answered by several processes, with answers that do not depend on their number?"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from sgverify.campaigns.processes import processes
from sgverify.cli.shared import output

if TYPE_CHECKING:
    from sgverify.evidence import Evidence
    from sgverify.verdict.asking import Answered, Enquiry


class Call(NamedTuple):
    """What a process needs to make the enquiry of a call of `verify` anew."""

    scheme: str
    config: str | None
    settings: tuple[str, ...]
    selected: tuple[str, ...]
    brief: bool


class Helpers:
    """Further processes, each of which answers one portion of the questions after the other.

    This process takes portions from the front and the others take them from the back, until none is left. What a process that ends
    without an answer leaves open is answered here.
    """

    def __init__(self, pool: ProcessPoolExecutor, call: Call, count: int) -> None:
        self._pool, self._call, self._count = pool, call, count
        self._waiting: deque[tuple[int, ...]] = deque()
        self._running: dict[Future[dict[int, Answered]], tuple[int, ...]] = {}
        # Portions are handed out by the pool's thread as well.
        self._lock = threading.Lock()
        self._told_of_an_end = False
        # They load torch and sympy while this process does.
        for _ in range(count):
            pool.submit(_prepare, call)

    def answers(
        self, enquiry: Enquiry, progress: Any, told: Callable[[list[Evidence]], None]
    ) -> list[Evidence]:
        """The evidence of an enquiry; `told` gets the answers to each question, in the order of the questions.

        Raises what asking them one after the other raises; its evidence is what was told until then.
        """
        from sgverify.checks.progress import Interrupted, keep_evidence

        if enquiry.not_validated:
            return enquiry.ask(progress, told)
        found: dict[int, Answered] = {}
        shown: list[Evidence] = []
        order = iter(range(len(enquiry.questions)))
        following = next(order, None)

        def enter(answers: dict[int, Answered]) -> None:
            nonlocal following
            found.update(answers)
            while following in found:
                told(found[following].evidence)
                shown.extend(found[following].evidence)
                following = next(order, None)

        try:
            self._waiting.extend(enquiry.portions)
            for _ in range(self._count):
                self._hand_out()
            while (taken := self._next()) is not None:
                places, future = taken
                answers = None if future is None else self._result(future, progress)
                if answers is not None:
                    enter(answers)
                    continue
                for place in places:
                    enter({place: enquiry.answered(place, progress, len(found))})
        except KeyboardInterrupt:
            raise Interrupted(enquiry.in_order(shown)) from None
        except Exception as error:
            keep_evidence(error, enquiry.in_order(shown))
            raise
        return enquiry.concluded([found[place] for place in sorted(found)])

    def _hand_out(self, _: object = None) -> None:
        """Give a process the last portion that waits; called again when that is answered."""
        with self._lock:
            if not self._waiting:
                return
            places = self._waiting.pop()
            try:
                future = self._pool.submit(_answers, self._call, places)
            except RuntimeError:
                # The other processes have ended.
                self._waiting.append(places)
                return
            self._running[future] = places
        future.add_done_callback(self._hand_out)

    def _next(self) -> tuple[tuple[int, ...], Future[dict[int, Answered]] | None] | None:
        """A portion to answer here, else one that another process answers, else None."""
        with self._lock:
            if self._waiting:
                return self._waiting.popleft(), None
            if not self._running:
                return None
            future = next(iter(self._running))
            return self._running.pop(future), future

    def _result(self, future: Future[dict[int, Answered]], progress: Any) -> dict[int, Answered] | None:
        """The answers of another process; None where it has none, and the questions are to be asked here."""
        try:
            return future.result()
        except BrokenExecutor:
            if not self._told_of_an_end:
                self._told_of_an_end = True
                with output.above(progress):
                    output.say(
                        "a process of --workers ended without an answer, as it does when memory runs out; its questions are "
                        "answered here",
                        err=True,
                    )
        except Exception:
            # Whatever a question raises there it raises here, in its turn.
            pass
        return None


@contextmanager
def helpers(call: Call, workers: int) -> Iterator[Helpers | None]:
    """A context with `workers` - 1 further processes; None for one worker. Leaving it by an exception ends them."""
    if workers == 1:
        yield None
        return
    with processes(workers - 1) as pool:
        yield Helpers(pool, call, workers - 1)


@cache
def _made(call: Call) -> Enquiry:
    from sgverify.configuration import load_configuration
    from sgverify.verdict.asking import enquire

    configuration = load_configuration(call.config, call.settings)
    enquiry = enquire(call.scheme, configuration, call.selected, brief=call.brief)
    _ = enquiry.not_validated, enquiry.portions
    return enquiry


def _prepare(call: Call) -> None:
    """Load what an enquiry needs: for another process."""
    _made(call)


def _answers(call: Call, places: Sequence[int]) -> dict[int, Answered]:
    """The answers to the questions at these places: for another process."""
    enquiry = _made(call)
    return {place: enquiry.answered(place) for place in places}
