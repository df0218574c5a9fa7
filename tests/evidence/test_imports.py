from __future__ import annotations

import subprocess
import sys


def test_evidence_and_claims_import_nothing_heavy():
    code = (
        "import sys, sgverify.evidence, sgverify.claims; sgverify.claims.claims();"
        "print([name for name in ('torch', 'sympy', 'matplotlib', 'jinja2', 'jsonschema', 'flint', 'scipy')"
        " if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_the_report_draws_only_when_asked():
    code = "import sys, sgverify.report; print([n for n in ('torch', 'matplotlib', 'jinja2') if n in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
