"""Start the server for the folder that was chosen when the bundle was installed."""

from __future__ import annotations

import os
import sys

from findspot.__main__ import main

if __name__ == "__main__":
    if sys.argv[1:]:
        os.chdir(sys.argv[1])
    sys.argv[1:] = ["serve"]
    main()
