"""Write into the documents what their code blocks print: `python -m docs.making [README.md docs/NAME.md ...]`."""

from __future__ import annotations

import sys

from docs.making.blocks import DOCUMENTS, write_outputs

if __name__ == "__main__":
    write_outputs(tuple(sys.argv[1:]) or DOCUMENTS)
