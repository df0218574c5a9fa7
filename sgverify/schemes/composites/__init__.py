"""Composites: what a definition of one step cannot say (swaps, adaptive weights), as pure rules around schemes."""
