"""The one process of a home that answers all its clients."""
