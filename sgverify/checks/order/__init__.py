"""The order of one step: proved for a definition, measured by quadrature for torch code.

`local_order` proves P_h f = exp(hL) f + O(h^(K+1)) for every smooth potential, and shows what minibatches add,
`configured_steps` holds the expansion against the step sizes that are configured. `invariant_order` asks for the
order of the invariant law, `stationarity` whether the dynamics leaves its density invariant, `splittings`
what symmetric ones share, and the flow of several minibatches. For torch code: `black_box` answers, from
quadrature of E f(X_1) over its draws (`sgverify.law`), and of a definition that cannot be proved, which
`definition_as_code` makes such code. `own_loss` judges code that brings its own loss and
data, `own_loss_call` enumerates the minibatches of one call, and `own_loss_cause` names the factor that is wrong.
"""
