"""How Findspot stands on this machine: one check a line, and a bundle for those who help."""
