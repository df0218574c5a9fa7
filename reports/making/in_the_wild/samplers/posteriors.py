"""posteriors: its transforms as they are, by the adapter of posteriors: lr = h, temperature = T, alpha = D."""

from __future__ import annotations

import posteriors.sgmcmc as sgmcmc

from sgverify.schemes.adapting import adapt

_IN_PLACE = {"inplace": True}

sgld = adapt(sgmcmc.sgld, order=1)
sghmc = adapt(sgmcmc.sghmc, order=1)
sgnht = adapt(sgmcmc.sgnht, order=1)
baoa = adapt(sgmcmc.baoa)
sglrw = adapt(sgmcmc.sglrw, order=1)

sgld_in_place = adapt(sgmcmc.sgld, map=_IN_PLACE, order=1)
sghmc_in_place = adapt(sgmcmc.sghmc, map=_IN_PLACE, order=1)
