"""The data that a check returns, and how they are stored: a verdict, its points, its certificate, and a replay command.

`model` has the evidence, `points` those points that are computed at sight, `scope` for what an answer holds, `storage` its
document, with what an answer says beyond it, and its files, `published` the schemas, with the command line that replays an
answer, versions and platform. Other documents are `erratum`, `study`, those of violations that are written down (`recorded`) and
the small ones of `documents`; `crash` records an unforeseen exception. `answers` says what was asked and reads the answers of a
place, `differences` compares two sets of them, and `numbers` says when two numbers differ.

The central type is `Evidence`, one answer: a scheme, a claim, a check, the configuration under which it was asked, the method
that settled it, the prediction and the finding, the points behind it, a certificate, and a reason in one sentence. It answers
"what do we conclude, and how sure are we?". Checks return evidence and never a bool; terminal, exit code, reports, pytest and
JSON all read the one word `outcome`, so that no two of them can disagree.

The method is a rung of a ladder: `proof` (exact arithmetic, for every smooth potential), `exact` (numbers with a bound),
`quadrature` (a black box with its draws replaced by nodes), `monte-carlo` (samples, at a stated error rate). A claim is settled
on the highest rung that reaches it. `conforms` needs to be shown: an absence of evidence is `inconclusive`, and a hypothesis
that does not hold makes a claim `not-applicable`. A claim as printed that fails by an error of its own, and not of the scheme, is
`refuted`: its corrected card judges the scheme.

Evidence is data. It knows neither how to compute itself nor how to print itself, and it holds everything that another process
needs to do either: the command that replays it, the numbers with their signs (an estimate less the truth) and bounds, the texts
of certificates. Its id depends on scheme, claim, check and configuration alone; the same configuration and seed give the same
bits, provenance and seconds aside. A published schema validates every document that is written, and another version is read or
refused by name.

An answer enters from `checks/`, is asked for by `verdict/`, is kept by `keeping/` and shown by `report/`; two sets of answers are
compared in one place, `differences`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgverify.exports import lazily

if TYPE_CHECKING:
    from sgverify.evidence.answers import reference_beside, reference_from
    from sgverify.evidence.erratum import ERRATA, Erratum, decode_errata, encode_errata, write_errata
    from sgverify.evidence.model import (
        METHODS,
        OUTCOMES,
        VERDICTS,
        Evidence,
        Found,
        Method,
        Outcome,
        Point,
        Predicted,
        Verdict,
        evidence_id,
        exit_code,
        outcome_of,
        whole_outcome,
    )
    from sgverify.evidence.points import PointsAtSight
    from sgverify.evidence.published import Provenance
    from sgverify.evidence.recorded import DEFAULT_FILE, RecordedFailure, add_regression, read_regressions
    from sgverify.evidence.scope import AXES, EVERY, Extent, Scope, held, tried
    from sgverify.evidence.storage import (
        SCHEMA_NAME,
        Document,
        canonical,
        decode,
        decode_evidence,
        documented,
        encode,
        encode_evidence,
        find_evidence,
        read_evidence,
        schema,
        validate,
        write_evidence,
    )
    from sgverify.evidence.study import (
        Cell,
        Panel,
        Series,
        Studies,
        Study,
        Table,
        decode_studies,
        encode_studies,
        read_studies,
        studies_schema,
        validate_studies,
        write_studies,
    )

__all__ = [
    "AXES",
    "DEFAULT_FILE",
    "ERRATA",
    "EVERY",
    "METHODS",
    "OUTCOMES",
    "SCHEMA_NAME",
    "VERDICTS",
    "Cell",
    "Document",
    "Erratum",
    "Evidence",
    "Extent",
    "Found",
    "Method",
    "Outcome",
    "Panel",
    "Point",
    "PointsAtSight",
    "Predicted",
    "Provenance",
    "RecordedFailure",
    "Scope",
    "Series",
    "Studies",
    "Study",
    "Table",
    "Verdict",
    "add_regression",
    "canonical",
    "decode",
    "decode_errata",
    "decode_evidence",
    "decode_studies",
    "documented",
    "encode",
    "encode_errata",
    "encode_evidence",
    "encode_studies",
    "evidence_id",
    "exit_code",
    "find_evidence",
    "held",
    "outcome_of",
    "read_evidence",
    "read_regressions",
    "read_studies",
    "reference_beside",
    "reference_from",
    "schema",
    "studies_schema",
    "tried",
    "validate",
    "validate_studies",
    "whole_outcome",
    "write_errata",
    "write_evidence",
    "write_studies",
]

__getattr__, __dir__ = lazily(__name__)
