"""The assistants on this machine: where each keeps its configuration, and how it is written."""
