"""What a check returns: a verdict, the points behind it, the certificate, and the command that replays it."""

from sgverify.evidence.calibration import (
    CALIBRATION,
    Bar,
    Calibration,
    Counted,
    Tally,
    decode_calibration,
    encode_calibration,
    write_calibration,
)
from sgverify.evidence.codec import (
    SCHEMA_NAME,
    Document,
    decode,
    decode_evidence,
    documented,
    encode,
    encode_evidence,
)
from sgverify.evidence.erratum import ERRATA, Erratum, decode_errata, encode_errata, write_errata
from sgverify.evidence.identity import canonical, evidence_id
from sgverify.evidence.model import Evidence, Found, Point, Predicted
from sgverify.evidence.provenance import Provenance
from sgverify.evidence.regression import (
    DEFAULT_FILE,
    Regression,
    add_regression,
    read_regressions,
    reference_beside,
    reference_from,
)
from sgverify.evidence.storage import find_evidence, read_evidence, write_atomically, write_evidence
from sgverify.evidence.study import Cell, Panel, Series, Study, Table
from sgverify.evidence.study_codec import STUDIES_SCHEMA_NAME, Studies, decode_studies, encode_studies
from sgverify.evidence.study_storage import read_studies, studies_schema, validate_studies, write_studies
from sgverify.evidence.validation import schema, validate
from sgverify.evidence.verdicts import METHODS, VERDICTS, Method, Verdict, exit_code

__all__ = [
    "CALIBRATION",
    "DEFAULT_FILE",
    "ERRATA",
    "METHODS",
    "SCHEMA_NAME",
    "STUDIES_SCHEMA_NAME",
    "VERDICTS",
    "Bar",
    "Calibration",
    "Cell",
    "Counted",
    "Document",
    "Erratum",
    "Evidence",
    "Found",
    "Method",
    "Panel",
    "Point",
    "Predicted",
    "Provenance",
    "Regression",
    "Series",
    "Studies",
    "Study",
    "Table",
    "Tally",
    "Verdict",
    "add_regression",
    "canonical",
    "decode",
    "decode_calibration",
    "decode_errata",
    "decode_evidence",
    "decode_studies",
    "documented",
    "encode",
    "encode_calibration",
    "encode_errata",
    "encode_evidence",
    "encode_studies",
    "evidence_id",
    "exit_code",
    "find_evidence",
    "read_evidence",
    "read_regressions",
    "read_studies",
    "reference_beside",
    "reference_from",
    "schema",
    "studies_schema",
    "validate",
    "validate_studies",
    "write_atomically",
    "write_calibration",
    "write_errata",
    "write_evidence",
    "write_studies",
]
