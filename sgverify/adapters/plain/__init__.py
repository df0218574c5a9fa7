"""Plain code as a step: functions, lambdas, modules and classes that nobody wrote for this package.

`calls` tells the parameters of code by their names, and how it is called. `functions` makes a step of code that is handed
its position and a gradient, in the form that `trying` finds; `trainers` makes an optimizer of code that trains a model, and of
optimizers that are made already.
"""
