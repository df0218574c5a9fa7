"""A run whose draws are kept while they are drawn: begun, stopped, resumed, made longer, and written as netCDF at its end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from sgverify.draws.files import (
    NETCDF,
    alone_with,
    check_place,
    check_room,
    partial_of,
    put_draws,
    read_netcdf,
    remove_folder,
)
from sgverify.draws.inference_data import tell
from sgverify.draws.stored.folder import ChunkGrid, DrawsFolder
from sgverify.draws.stored.ledger import Ledger, StoredRun, legible
from sgverify.draws.stored.shards import Processes, Shard, ShardCall, Told
from sgverify.draws.stored.source import DrawSource, check_identity, identity
from sgverify.errors import ConfigurationError, UserError
from sgverify.keeping.files import FULL, move
from sgverify.samplers.run.halting import Halt
from sgverify.samplers.run.leg import Divergence, whole_groups
from sgverify.samplers.run.recording import Draws


class KeptRun:
    """A run whose draws go to `out`: a Zarr folder, or a netCDF file that is written at the end from a folder beside it.

    `force` replaces what is there, `resume` goes on with it. The chains are divided among `workers` processes. `stop` is asked
    between blocks of steps whether to stop; `say` is told in lines what the user did not ask for; `judge` gives attributes of all
    draws.
    """

    def __init__(
        self,
        source: DrawSource,
        out: str | Path,
        *,
        force: bool = False,
        resume: bool = False,
        workers: int = 1,
        stop: Callable[[], bool] | None = None,
        say: Callable[[str], None] | None = None,
        judge: Callable[[Any], Mapping[str, Any]] | None = None,
    ) -> None:
        check_place(out, force=force, resume=resume)
        with ExitStack() as stack:
            # Whatever the mode, and before anything is looked at that is read, gone on with or replaced.
            stack.enter_context(alone_with(out))
            self._judge = judge or (lambda made: {})
            self._source, self._out = source, check_place(out, force=force, resume=resume)
            self._force, self._resume, self._workers = force, resume, workers
            self._stop, self._say = stop or (lambda: False), say or (lambda line: None)
            self._chains, self.place = source.ensemble.chains, partial_of(self._out, force=force)
            self._begun = self._there = resume and self.place.exists()
            self._open_run()
            self._stack = stack.pop_all()

    def _open_run(self) -> None:
        """The run that is there and its folder, or those that will be."""
        source = self._source
        if self._begun:
            self._run = Ledger(self.place).read()
            check_identity(self._run.identity, identity(source), str(self._out))
        else:
            layout = ChunkGrid.of(source.size, source.kept, len(self._chains), self._workers)
            self._run = StoredRun({}, source.steps, layout, (self._chains,))
        self._folder = DrawsFolder(self.place, self._chains, self._run.layout, source.made)

    def draw(self, progress: Callable[[int], None] | None = None) -> Any:
        """Draw what is missing; all draws as InferenceData.

        Raises `UserError` where the disk or the memory is full: what was drawn until then is kept, up to some seconds.
        """
        if self._resume and not self._begun:
            if self._out.exists():
                return self._finished_before()
            self._say(f"nothing is at {self._out} to go on with: the run begins at its first step")
        with self._stack:
            try:
                return self._drawn(progress)
            except (OSError, MemoryError, RuntimeError) as error:
                reason = _reason(error)
                if reason is None:
                    raise
                raise UserError(f"--out {str(self._out)!r}: {reason}; {self._kept()}") from None

    def _drawn(self, progress: Callable[[int], None] | None) -> Any:
        there = 0
        if self._begun:
            before = self._folder.attributes()
            if before["diverged"]:
                self._say(f"{self._out}: {before['diverged']}; there is no step to go on with")
                return self._written(ended=True)
            complete = before["complete"] and self._run.steps == self._source.steps
            self._lengthen()
            with legible(self.place):
                whole = self._look_over(self._folder.seen())
            if complete and whole:
                self._say(f"{self._out} is complete: {self._run.steps:,} steps, none is left")
                # The last chunk is written anew: of one that is not full no checksum is kept.
                return self._closed([shard.told(everything=True) for shard in self._shards()])
            there = self._source.size * int(before["steps_done"]) // self._source.steps
        check_room(self._out, self._source.size - there)
        if self._workers > 1 and not self._apart:
            self._say(
                f"the {len(self._chains):,} chains are not divided: the files of this folder hold all of them"
            )
        told = self._by_processes(progress) if self._apart else self._here(progress)
        if told is None:
            # So few steps that there was nothing to keep before their end.
            return self._written(self._alone.recording.draws(), ended=True)
        return self._closed(told)

    @property
    def _apart(self) -> bool:
        return len(self._cut) > 1

    @property
    def _cut(self) -> tuple[range, ...]:
        return self._run.layout.cut(self._chains, self._workers)

    def _here(self, progress: Callable[[int], None] | None) -> list[Told] | None:
        """Draw all chains in this process; None if the folder was not needed."""
        self._divide()
        shard = self._alone = self._shards()[0]
        while True:
            shard.recording.advance(seconds=shard.patience, stop=self._stop, progress=progress)
            ended = shard.recording.finished or self._stop()
            if ended and not self._there:
                short = shard.recording.finished and (self._out != self.place or shard.recording.diverged)
                if short or not shard.recording.done:
                    return None
            told = [shard.told(everything=ended)]
            if ended:
                return told
            self._publish(told)

    def _by_processes(self, progress: Callable[[int], None] | None) -> list[Told]:
        """Draw the chains in several processes."""
        source, subject = self._source, self._source.subject
        source.check_divisible()
        self._prepare()
        self._divide()
        chains = [
            ShardCall(
                self.place,
                part,
                self._run.division,
                subject.reference,
                subject.configuration,
                source.row,
                source.energy,
            )
            for part in self._run.cut
        ]

        def tell(told: Sequence[Told]) -> None:
            self._publish(told)
            if progress is not None:
                progress(sum(one.step for one in told) // len(told))

        return Processes(chains).run(self._stop, tell)

    def _prepare(self) -> None:
        """Make the folder, where it is not there yet."""
        if self._there:
            return
        run = self._run = replace(self._run, identity=identity(self._source))
        self._folder.create(
            self._like([]),
            self._source.kept,
            force=self._force,
            along=lambda beside: Ledger(beside).write(run),
        )
        self._there = True

    def _lengthen(self) -> None:
        """Take over the number of steps, where it is larger than that of the run that was stopped."""
        was, now = self._run.steps, self._source.steps
        if now < was:
            raise ConfigurationError(
                f"--resume {str(self._out)!r}: steps={now}: the run was begun with steps={was}; expected at least as many; give it "
                "these, or start anew with --force"
            )
        if now > was:
            self._run = replace(self._run, steps=now)
            Ledger(self.place).write(self._run)

    def _divide(self) -> None:
        """Divide the chains of a run that was begun among the processes of now: all of them go to one step, and part there."""
        if self._cut == self._run.cut:
            return
        run, ledger = self._run.divided(self._cut), Ledger(self.place)
        if self._there:
            shards = self._shards()
            furthest = max(shard.recording.done for shard in shards)
            for shard in shards:
                shard.recording.advance(until=furthest)
            # A chain that diverges on the way does so again, wherever it is drawn.
            if not any(shard.recording.diverged for shard in shards):
                whole = Halt.joined([shard.recording.halt() for shard in shards])
                for chains in run.cut:
                    ledger.save(run, whole.part(chains), shards[0].parts, 0)
            ledger.write(run)
        self._run = run

    def _shards(self) -> list[Shard]:
        """The chains as they are divided, each part at its latest halt."""
        ledger = Ledger(self.place)
        return [
            self._shard(chains, *(ledger.newest(self._run, chains) if self._there else (None, 0)))
            for chains in self._run.cut
        ]

    def _look_over(self, seen: int) -> bool:
        """Go back, with all chains, to halts that are whole and behind which all chunks are; readers saw `seen` draws.

        What describes the draws is mended first. Are all chains at the end of the run?
        """
        ledger, told = Ledger(self.place), []
        if mended := self._folder.restore(self._like([]), self._source.kept):
            self._say(f"damaged in {self.place}, and written anew: {_few(mended)}")
        self._folder.plan(self._source.kept)
        for chains in self._run.cut:
            halt, parts, damaged = ledger.latest(self._run, chains, self._folder)
            ledger.forget(self._run, chains, -1 if halt is None else halt.step)
            held = 0 if halt is None else len(halt.held["numbers"])
            step = 0 if halt is None else halt.step
            told.append(Told(step, parts * self._run.layout.draws + held, False, ()))
            if damaged:
                self._say_damaged(damaged, chains, step)
        if self._count(told) < seen:
            self._publish(told)
        self._folder.tidy()
        return all(one.step == self._source.steps for one in told)

    def _shard(self, chains: range, halt: Halt | None, parts: int) -> Shard:
        return Shard(
            self._run,
            self._source.ensemble_of(chains),
            self._folder,
            energy=self._source.energy,
            prepare=self._prepare,
            halt=halt,
            parts=parts,
        )

    def _say_damaged(self, damaged: Sequence[str], chains: range, step: int) -> None:
        where = "at the first step" if step == 0 else f"after step {step:,}"
        self._say(
            f"damaged in {self.place}: {_few(damaged)}; the chains {chains.start} to {chains.stop - 1} go on {where}, up to which "
            "all is whole"
        )

    def _like(self, told: Sequence[Told]) -> Draws:
        """No more of the run than its kind: one draw of zeros, with what is known of the run now."""
        diverged = self._divergences(told)
        done = min((one.step for one in told), default=0)
        if diverged:
            done = diverged[0].step_number
        complete = bool(told) and all(one.finished for one in told) and not diverged
        return replace(self._source.like, diverged=diverged, reached=done, complete=complete)

    def _divergences(self, told: Sequence[Told]) -> tuple[Divergence, ...]:
        """The divergences at the first step at which a chain of any process diverges, as one process would name them."""
        found = [why for one in told for why in one.diverged]
        first = min((why.step_number for why in found), default=0)
        hooks, rows = self._source.ensemble.hooks, [row.name for row in self._source.ensemble.rows]
        own: dict[int, Divergence] = {}
        for why in found:
            if why.step_number == first:
                place = rows.index(why.schedule)
                chains = own[place].chains if place in own else ()
                own[place] = replace(why, chains=tuple(sorted({*chains, *why.chains})))
        ordered = {place: own[place] for place in sorted(own)}
        return tuple(whole_groups(ordered, 1 if hooks is None else hooks.replicas).values())

    def _publish(self, told: Sequence[Told]) -> None:
        self._folder.publish(self._like(told), self._count(told))

    def _count(self, told: Sequence[Told]) -> int:
        """The draws that all chains have, before the step at which one diverges."""
        diverged = self._divergences(told)
        if not diverged:
            return min(one.count for one in told)
        return self._source.kept_before(diverged[0].step_number)

    def _closed(self, told: Sequence[Told]) -> Any:
        """Leave the folder, and the file, as they are at the end of the run or where it was stopped."""
        like, count = self._like(told), self._count(told)
        if like.diverged:
            if not count:
                remove_folder(self.place)
                raise self._source.unstable(like.diverged)
            self._folder.tell_divergence(count, [chain for why in like.diverged for chain in why.chains])
        ended = like.complete or bool(like.diverged)
        if ended or len(told) == 1:
            self._folder.close(like, count)
        else:
            # The processes have come differently far: what some have drawn beyond is kept for them.
            self._folder.publish(like, count)
        return self._written(ended=ended)

    def _written(self, draws: Draws | None = None, *, ended: bool) -> Any:
        """The draws, written as netCDF where that is asked for; then the folder is needed no more, if the run has `ended`."""
        if draws is not None:
            if draws.diverged and not len(draws.numbers):
                raise self._source.unstable(draws.diverged)
            made = self._source.made(draws, self._chains)
            if len(draws.numbers):
                tell(made, self._judge(made))
                put_draws(made, self._out, force=self._force)
            return made
        if self._out.suffix != NETCDF and self.place != self._out and self._folder.seen():
            move(self.place, self._out)
            self.place = self._folder.place = self._out
        with legible(self.place):
            made = self._folder.opened()
            if made.posterior.sizes["draw"]:
                told = self._judge(made)
                tell(made, told)
                self._folder.tell(told)
        if self._out.suffix != NETCDF or not made.posterior.sizes["draw"]:
            return made
        with legible(self.place):
            made.load(inplace=True)
        try:
            put_draws(made, self._out, force=True)
        except ConfigurationError as error:
            raise UserError(f"{error}; {self._kept()}") from None
        if ended:
            remove_folder(self.place)
        return made

    def _finished_before(self) -> Any:
        """The draws of a netCDF file, if they are all that this run has. Raises `ConfigurationError` otherwise."""
        with legible(self._out):
            made = read_netcdf(self._out)
            held = dict(made.attrs)
        wanted = dict(self._source.made(self._source.like, self._chains).attrs)
        names = ("scheme", "target", "configuration", "inference_library_version")
        differing = [name for name in names if str(held.get(name)) != str(wanted[name])]
        if differing or not (held.get("complete") or held.get("diverged")):
            why = (
                f"its {differing[0]} is another one"
                if differing
                else "it is not complete, and nothing is beside it"
            )
            raise ConfigurationError(
                f"--resume {str(self._out)!r}: {why}; expected the run that was stopped: a netCDF file holds no state to go on "
                f"from, which {partial_of(self._out).name} holds until the run is complete; to make runs longer later, draw "
                "into a folder DIR.zarr; start anew with --force"
            )
        said = (
            "is complete, no step is left"
            if held.get("complete")
            else f"{held['diverged']}: there is no step to go on with"
        )
        self._say(f"{self._out}: {said}")
        return made

    def _kept(self) -> str:
        """What is kept where a run ended with an error, and how it goes on."""
        if not self._there:
            return "nothing is kept; make room, and call it again"
        done = int(self._folder.attributes()["steps_done"])
        return f"the draws up to step {done:,} are kept in {self.place}; make room, and go on with --resume"


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _reason(error: BaseException) -> str | None:
    """Why a run ended that was right itself; None for another error."""
    if isinstance(error, OSError):
        return f"cannot be written ({error.strerror})" if error.errno in FULL else None
    if isinstance(error, MemoryError) or "can't allocate memory" in str(error):
        return "there was no more memory"
    return None


def stopped_text(out: str | Path) -> str:
    """How a run that was stopped goes on."""
    return (
        f"go on with the same command and --resume; until then its state is kept in {partial_of(Path(out))}"
    )
