"""`python -m findspot.resident HOME`: started by the first client that needs it."""

from __future__ import annotations

import sys

from findspot.resident.host import main

main(sys.argv[1])
