"""The affine reading: one step of a scheme on a quadratic potential, exactly."""
