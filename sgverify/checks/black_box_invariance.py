"""The order of the invariant law that torch code states: its law on Gaussian targets, at every setting that is tried."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

from sgverify.checks.question import Question
from sgverify.checks.settings_tried import check_settings
from sgverify.checks.torch_subject import TorchSubject
from sgverify.evidence import Evidence, Predicted


@dataclass(frozen=True)
class _Law(TorchSubject):
    """The same step, held to its law alone and to the order that it states of that."""

    @property
    def predicted_order(self) -> int:
        """The order that is stated of the invariant law."""
        return cast(int, self.scheme.invariant_order)

    @property
    def held_to_flow(self) -> bool:
        """Nothing is claimed of one step."""
        return False


def black_box_invariance(question: Question) -> Evidence:
    """Means and covariances of the chain's law, in all coordinates and pairs, are those of the density to O(h^r)."""
    subject = cast(TorchSubject, question.subject)
    law = _Law(subject.scheme, subject.configuration, subject.reference, subject.method)
    found = check_settings(replace(question, subject=law))
    prediction = question.predict({"K": subject.scheme.invariant_order})
    certificate = {
        **found.certificate,
        "kind": "invariant",
        "judged_by": "means and covariances on Gaussian targets",
    }
    return replace(
        found,
        predicted=Predicted(prediction.exponent, prediction.kind),
        replay=subject.command("verify", "--checks", question.quantity),
        certificate=certificate,
    )


__all__ = ["black_box_invariance"]
