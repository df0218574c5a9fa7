"""A user's own posterior: `log_density`, and the `function` of it with its data."""
