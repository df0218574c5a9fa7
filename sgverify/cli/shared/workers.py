"""The questions of one call of `verify` on several processes, with answers that do not depend on their number."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from sgverify.cli.shared import output
from sgverify.keeping.stopping import late
from sgverify.keeping.workers import Done, Workers

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

    def __init__(self, workers: Workers, call: Call) -> None:
        self._workers, self._call = workers, call
        self._waiting: deque[tuple[int, ...]] = deque()
        # Portions are handed out by the threads of the processes as well.
        self._lock = threading.Lock()
        self._told_of_an_end = False
        # They load torch and sympy while this process does.
        for place in range(workers.count):
            workers.give(place, (), _answers, call, ())

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
            for place in range(self._workers.count):
                self._hand_out(place)
            while (places := self._taken()) or self._workers:
                for call in () if places else self._workers.done():
                    places += self._entered(call, enter, progress)
                for question in places:
                    enter({question: enquiry.answered(question, progress, len(found))})
        except KeyboardInterrupt:
            if not late():
                raise Interrupted(enquiry.in_order(shown)) from None
            self._workers.end()
            for question in range(len(enquiry.questions)):
                # The time has ended: it is named, and not asked.
                if question not in found:
                    enter({question: enquiry.answered(question)})
        except Exception as error:
            keep_evidence(error, enquiry.in_order(shown))
            raise
        return enquiry.concluded([found[question] for question in sorted(found)])

    def _taken(self) -> tuple[int, ...]:
        """The first portion that waits, to be answered here; empty where none does."""
        with self._lock:
            return self._waiting.popleft() if self._waiting else ()

    def _hand_out(self, place: int) -> None:
        """Give a process the last portion that waits; called again when that is answered."""
        with self._lock:
            if not self._waiting:
                return
            questions = self._waiting.pop()
            try:
                future = self._workers.give(place, questions, _answers, self._call, questions)
            except RuntimeError:
                # The process has ended.
                self._waiting.append(questions)
                return
        future.add_done_callback(lambda _: self._hand_out(place))

    def _entered(
        self, call: Done, enter: Callable[[dict[int, Answered]], None], progress: Any
    ) -> tuple[int, ...]:
        """Enter the answers of another process; the questions of one that has none, which are to be asked here."""
        if call.future.exception() is None:
            enter(call.future.result())
            return ()
        # Whatever a question raises there it raises here, in its turn.
        if call.lost and not self._told_of_an_end:
            self._told_of_an_end = True
            with output.above(progress):
                output.say(
                    "a process of --workers ended without an answer, as it does when memory runs out; its questions are "
                    "answered here",
                    err=True,
                )
        questions: tuple[int, ...] = call.label
        return questions


@contextmanager
def helpers(call: Call, workers: int) -> Iterator[Helpers | None]:
    """A context with `workers` - 1 further processes; None for one worker. Leaving it by an exception ends them."""
    if workers == 1:
        yield None
        return
    with Workers(workers - 1) as others:
        yield Helpers(others, call)


@cache
def _made(call: Call) -> Enquiry:
    from sgverify.configuration import load_configuration
    from sgverify.verdict.asking import enquire

    configuration = load_configuration(call.config, call.settings)
    enquiry = enquire(call.scheme, configuration, call.selected, brief=call.brief)
    _ = enquiry.not_validated, enquiry.portions
    return enquiry


def _answers(call: Call, places: Sequence[int]) -> dict[int, Answered]:
    """The answers to the questions at these places: for another process."""
    enquiry = _made(call)
    return {place: enquiry.answered(place) for place in places}
