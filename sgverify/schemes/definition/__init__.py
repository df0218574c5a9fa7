"""The interface of definitions: what they may contain, and how interpreters run them on their own values.

`declaration` reads a signature, `mathematics` has the functions and noise laws that definitions use, `foreign` reads those of
torch, numpy, JAX and math as these, `binding` joins a
definition to values, with the gradient ingredient, and helps carriers. `reverse_mode` differentiates potentials and
energies on the values of any interpreter. `abstract` runs a definition on shapes (`abstract_value`) and refuses what is not
well-formed, `limits` counts its gradients and lists what a definition cannot say.
"""
