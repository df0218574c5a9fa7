"""The data that a check returns, and how they are stored: a verdict, its points, its certificate, and a replay command.

`model` has the evidence, `storage` its document, with what an answer says beyond it, and its files, `provenance` the command line
that replays it, versions and platform, and `published` the schemas. Other documents are `erratum`, `study`, `regression`,
`baseline` and the small ones of `documents`; `crash` records an unforeseen exception. `differences` compares two sets of answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgverify.exports import lazily

if TYPE_CHECKING:
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
        canonical,
        evidence_id,
        exit_code,
        outcome_of,
        whole_outcome,
    )
    from sgverify.evidence.provenance import Provenance
    from sgverify.evidence.regression import (
        DEFAULT_FILE,
        RecordedFailure,
        add_regression,
        read_regressions,
        reference_beside,
        reference_from,
    )
    from sgverify.evidence.storage import (
        SCHEMA_NAME,
        Document,
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
    "DEFAULT_FILE",
    "ERRATA",
    "METHODS",
    "OUTCOMES",
    "SCHEMA_NAME",
    "VERDICTS",
    "Cell",
    "Document",
    "Erratum",
    "Evidence",
    "Found",
    "Method",
    "Outcome",
    "Panel",
    "Point",
    "Predicted",
    "Provenance",
    "RecordedFailure",
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
    "outcome_of",
    "read_evidence",
    "read_regressions",
    "read_studies",
    "reference_beside",
    "reference_from",
    "schema",
    "studies_schema",
    "validate",
    "validate_studies",
    "whole_outcome",
    "write_errata",
    "write_evidence",
    "write_studies",
]

__getattr__, __dir__ = lazily(__name__)
