"""Makes the index of format 1 that `test_formats_kept.py` opens.

    python tests/backcompat/make_format_1.py

Run it only while format 1 is the newest: once a later format exists, this index stays as it is.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from contents import record  # noqa: E402
from findspot.core.model import Corpus, Skip, SkipReason  # noqa: E402
from findspot.store.sqlite_store import SqliteStore  # noqa: E402


def main() -> None:
    folder = HERE / "format-1"
    shutil.rmtree(folder, ignore_errors=True)
    store = SqliteStore(folder, "/a/project")
    with store.writer() as writer:
        writer.put(
            record("src/cart.py", "def total(): return 0", "class Cart: pass", names=("total",), outline=True)
        )
        writer.put(record("README.md", "How to run the shop", corpus=Corpus.DOCS))
        writer.skips.replace_walk([Skip("logo.png", SkipReason.BINARY, "by extension")])
        writer.set_meta(
            project_path="/a/project",
            model="local:static@v0/64",
            created_at="2026-01-01T00:00:00Z",
            build="complete",
        )
        writer.commit()
    for name in ("writer.lock", "index.sqlite-wal", "index.sqlite-shm"):
        (folder / name).unlink(missing_ok=True)


if __name__ == "__main__":
    main()
