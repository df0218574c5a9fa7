"""The formulas of the example under examination: `printed.toml` quotes them, `variance` computes what they say."""
