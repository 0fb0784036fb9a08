"""How true the reference graph is, against what other tools say of the same code."""
