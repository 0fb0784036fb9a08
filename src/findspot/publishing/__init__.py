"""Published indexes: the versions at an address, which of them fits a checkout, and how they get there."""
