"""Wrong definitions with the true cause of each and the right form beside it, by which diagnoses are measured.

They are mistakes as they are made in practice, none of which is planted in a scheme of the catalogue. `bug` says what is stated
of each; `overdamped`, `underdamped`, `thermostats`, `riemannian`, `splittings` and `trial` hold them, and `unseen` those that
were written before the search for edits was finished and were not diagnosed until then. `registry` lists them.
"""
