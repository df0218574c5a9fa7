"""How does a sampler of another library become a step that can be judged?

`adapter` is what an adapter says of itself, `settings` how a user tells the conventions of the sampler (its parameters as
`parameters` in h, T and D), and `finding` asks the adapters, those that ship and those of installed packages, who takes an object.
The adapters that ship are in `sgverify.adapters`, which is loaded when an object is given that is no step by itself.
"""

from sgverify.schemes.adapting.adapter import Adapter
from sgverify.schemes.adapting.finding import adapt, adapted, adapters
from sgverify.schemes.adapting.settings import AdapterSettings

__all__ = ["Adapter", "AdapterSettings", "adapt", "adapted", "adapters"]
