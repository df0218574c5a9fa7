"""The interface of definitions: what they may contain, and how interpreters run them on their own values.

`declaration` reads a signature, `mathematics` and `noise` are the functions that definitions use, `gradient` the gradient
ingredient, `binding` joins a definition to values, `arithmetic` helps carriers. `reverse_mode` differentiates potentials and
energies on the values of any interpreter. `abstract` runs a definition on shapes (`abstract_value`) and refuses what is not
well-formed, `evaluations` counts its gradients, `limits` lists what a definition cannot say.
"""
