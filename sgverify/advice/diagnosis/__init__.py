"""Why does a scheme fail, and which edit of its own source mends it?

`model`: a diagnosis, with its cause and its edit. `diagnosing`: the diagnosis of a failing scheme. `causes` names the cause of a
failure, by the `wrong_terms` of a step, or by its `measured_terms` where it can only be run; `running_code` that of a failure of
somebody's own code, or of the rule of a composite.

`declared`: where a file declares a scheme, and the claim of an order that a method has.

The search for the edit. `source`: the text of a scheme, and the scheme of an edited text. `edits`: the edits of it that are
tried. `screening`: which of them may be right, in floats. `pairs`: two that are right together alone. `trial`: which of them
are right, by proof and exact checks. `search`: the simplest one.
"""
