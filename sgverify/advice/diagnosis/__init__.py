"""Why does a scheme fail, and which edit of its own source mends it?

`model`: a diagnosis, with its cause and its edit. `causes` names the cause of a failure, by the `wrong_terms` of a step.
"""
