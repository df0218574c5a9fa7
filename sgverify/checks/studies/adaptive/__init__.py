"""The experiments of awsgld: exploring a sample space of many modes, and how soon samplers reach a global minimum."""
