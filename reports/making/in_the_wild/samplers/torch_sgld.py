"""torch-sgld: its optimizer, without momentum (SGLD) and with (SGHMC); it moves by its buffer, which is h p."""

from __future__ import annotations

import torch_sgld

from sgverify.schemes.adapting import adapt

sgld = adapt(torch_sgld.SGLD, map={"lr": "h", "temperature": "T", "momentum": 0}, order=1)
sghmc = adapt(
    torch_sgld.SGLD,
    dynamics="kinetic",
    map={"lr": "h**2", "momentum": "h*D", "temperature": "T"},
    order=1,
)
