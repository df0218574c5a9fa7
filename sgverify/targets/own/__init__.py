"""A user's own posterior: `log_density`, its `function` and its `data`."""
