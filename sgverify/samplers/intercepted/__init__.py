"""The intercepted reading: somebody else's torch code, its random draws and its gradient put in by us."""

from sgverify.samplers.intercepted.black_box import BlackBox, BlackBoxError
from sgverify.samplers.intercepted.interception import Interception, UnreadableDrawError

__all__ = ["BlackBox", "BlackBoxError", "Interception", "UnreadableDrawError"]
