"""Has this question been answered before, by the same code? Answers are kept on disk under hashes of all that determines them.

`keys` makes the key of a question, `sources` finds the code behind a scheme's reference, `imports` reads what a module imports and
what it reads at run time, `installation` hashes this package and names libraries and platform. `database` keeps answers and finds
them, `rows` says what is kept of one and when it is trusted, `files` makes the file and sets a damaged one aside, `places` says
where it lies.
"""

from sgverify.store.database import CannotKeepError, Store, StoredAnswer
from sgverify.store.installation import Circumstances, running_edits
from sgverify.store.keys import ContentKey, key_of
from sgverify.store.places import VARIABLE

__all__ = [
    "VARIABLE",
    "CannotKeepError",
    "Circumstances",
    "ContentKey",
    "Store",
    "StoredAnswer",
    "key_of",
    "running_edits",
]
