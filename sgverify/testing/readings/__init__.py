"""How the shipped readings take one injected step, for the conformance suite."""
