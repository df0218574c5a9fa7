"""How far the tool is to be trusted: pools of right and wrong steps, and what `verify` says of each."""
