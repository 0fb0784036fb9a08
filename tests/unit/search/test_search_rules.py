"""Ranking rules that look at more than one file, over small real projects."""

from __future__ import annotations

from collections.abc import Callable

from findspot import Project, Query
from findspot.rank.roles import Role
from findspot.rank.signals import ROLE_FACTOR

MakeProject = Callable[..., Project]

SOURCE = b"def open_till(till):\n    # Mentions the Ledger of the till.\n    return till.ledger\n"
TEST = b"class LedgerProbe:\n    def common(self):\n        return open_till(Ledger())\n"


def first(project: Project, text: str) -> str:
    project.update()
    return project.search(Query(text)).hits[0].path


def test_tests_that_alone_define_a_name_are_not_pushed_down(make_project: MakeProject) -> None:
    files = {"till.py": SOURCE, "tests/test_till.py": TEST}
    assert first(make_project(files), "what does LedgerProbe open") == "tests/test_till.py"


def test_what_re_exports_a_name_stands_in_for_its_definition(make_project: MakeProject) -> None:
    uses = "".join(f"use crate::answer::Reply;\npub fn r{n}(x: Reply) -> Reply {{ x }}\n" for n in range(3))
    files = {"src/reply.rs": uses.encode(), "src/answer/mod.rs": b"pub use elsewhere::{Body, Reply};\n"}
    assert first(make_project(files), "Reply") == "src/answer/mod.rs"


def test_a_header_counts_less_than_the_file_beside_it(make_project: MakeProject) -> None:
    code = b"int encode_domain(const char* name) {\n  return name[0];\n}\n"
    project = make_project({"src/idna.h": b"int encode_domain(const char* name);\n", "src/idna.c": code})
    project.update()
    hits = project.search(Query("encode a domain name", explain=True)).hits
    factors = {hit.path: hit.why["roleFactor"] for hit in hits if hit.why}
    assert factors == {"src/idna.h": ROLE_FACTOR[Role.DECLARATION], "src/idna.c": 1.0}
