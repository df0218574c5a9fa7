"""The diagnosis of a failing scheme: its cause, and the edit of its own source that mends it.

`model`: a diagnosis, with its cause and its edit. `diagnosing`: the diagnosis of a failing scheme, of somebody's own code, or of
the rule of a composite. `causes` names the cause of a failure, by the `wrong_terms` of a step, or by its `measured_terms` where it
can only be run. `own_words`: the cause with the names and the lines of the user's code.

The search for the edit. `source`: the text of a scheme, and the scheme of an edited text. `edits`: the edits of it that are
tried. `screening`: which of them may be right, in floats. `trial`: which of them are right, by proof and exact checks, alone or in
pairs; where a file declares a scheme, and the claim of an order that a method has. `search`: the simplest one; `coefficients`: the
number that is due in the place of a wrong one. `code_edits`: the
same for torch code, whose file is edited, loaded and judged again.
"""
