"""Bugs in gradients that subtract what a minibatch says elsewhere: a table of gradients, and a fixed centre."""

from __future__ import annotations

from typing import Any

from sgverify.checks.mutants.catalogue.estimators import REGRESSION
from sgverify.checks.mutants.mutant import Mutant

PLACE = "sgverify.samplers.control_variates"

TABLE: dict[str, Any] = {"gradient": {"kind": "saga", "batch": 2}, **REGRESSION}
CENTRE: dict[str, Any] = {"gradient": {"kind": "control-variate", "batch": 2}, **REGRESSION}


def bug(name: str, place: str, was: str, now: str, settings: dict[str, Any], reason: str) -> Mutant:
    """A bug of an estimator, under ABOBA."""
    return Mutant(
        name=name,
        family="gradient estimators",
        scheme="sghmc-aboba",
        place=f"{PLACE}:{place}",
        was=was,
        now=now,
        settings=settings,
        reason=reason,
    )


MUTANTS = (
    bug(
        "saga-table-updated-before-use",
        "TableEstimator.evaluate",
        "change = in_order(found - self._table.gather(0, _wide(drawn, found)))",
        "self._asked = {minibatch: (drawn, found)}; self._enter(); "
        "change = in_order(found - self._table.gather(0, _wide(drawn, found)))",
        TABLE,
        "the new gradients enter the table before the old ones are subtracted: nothing of the change is left",
    ),
    bug(
        "saga-table-updated-for-half-the-minibatch",
        "TableEstimator._enter",
        "in zip(places.split(1), found.split(1), strict=True)",
        "in list(zip(places.split(1), found.split(1), strict=True))[: len(found) // 2]",
        TABLE,
        "half of the minibatch keeps its old gradients, as where only one of two accumulated batches is written back",
    ),
    bug(
        "saga-sum-left-behind",
        "TableEstimator._enter",
        "self._sum = self._sum + (value - self._table.gather(0, place))[0]",
        "self._sum = self._sum",
        TABLE,
        "the table is updated and its sum is not: subtracted and added gradients are no longer the same ones",
    ),
    bug(
        "saga-change-not-scaled",
        "TableEstimator.evaluate",
        "(len(self._data) / self._batch) * change",
        "change",
        TABLE,
        "N/n is missing in front of the change, as in a mean over the table that is taken for its sum",
    ),
    bug(
        "saga-duplicates-counted-twice",
        "TableEstimator._enter",
        "    for place, value in zip(places.split(1), found.split(1), strict=True):\n"
        "            self._sum = self._sum + (value - self._table.gather(0, place))[0]\n",
        "    self._sum = self._sum + in_order(found - self._table.gather(0, places))\n"
        "        for place, value in zip(places.split(1), found.split(1), strict=True):\n",
        TABLE,
        "a datum that the minibatch holds twice moves the sum twice, and its entry once",
    ),
    bug(
        "control-variate-of-wrong-sign",
        "CentredEstimator.evaluate",
        "self.potential.sum_over(theta, chosen) - there",
        "self.potential.sum_over(theta, chosen) + there",
        CENTRE,
        "the control variate is added where it is to be taken away",
    ),
    bug(
        "control-variate-change-not-scaled",
        "CentredEstimator.evaluate",
        "(len(self._data) / self._batch) * change",
        "change",
        CENTRE,
        "N/n is missing in front of the change from the centre",
    ),
    bug(
        "control-variate-prior-at-the-centre",
        "CentredEstimator.evaluate",
        "self.potential.prior(theta) + self._gradient",
        "self.potential.prior(self._centre) + self._gradient",
        CENTRE,
        "the full gradient at the centre takes the prior's along, which is then never asked at theta",
    ),
    bug(
        "saga-table-emptied-by-a-pause",
        "TableEstimator.resume",
        "self._table = wide.permute(2, 0, 1, 3).clone(",
        "self._table = wide.permute(2, 0, 1, 3).mul(0).clone(",
        TABLE,
        "a run that goes on begins with a table of zeros beside the sum of the old one",
    ),
    Mutant(
        name="svrg-snapshot-by-steps-of-the-block",
        family="gradient estimators",
        scheme="sghmc-aboba",
        place="sgverify.samplers.gradients:SnapshotEstimator.begin",
        was="(self._first + step) % self._refresh == 0",
        now="step % self._refresh == 0",
        settings={"gradient": {"kind": "svrg", "batch": 2}, **REGRESSION},
        reason="the snapshot is taken at the start of every block, however many steps are drawn at once",
    ),
)
