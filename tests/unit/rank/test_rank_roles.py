"""Roles of files, told from their paths."""

from __future__ import annotations

import pytest

from findspot.rank.roles import ASKS_FOR_EXAMPLES, ASKS_FOR_TESTS, Role, declares_only, role_of


@pytest.mark.parametrize(
    "path",
    [
        "tests/unit/auth.py",
        "test/auth.rb",
        "src/__tests__/cart.ts",
        "spec/models/user.rb",
        "pkg/testdata/a.json",
        "e2e/login.ts",
        "src/__mocks__/api.ts",
        "Tests/ShopTests/Cart.swift",
        "src/androidTest/kotlin/Cart.kt",
        "src/commonTest/kotlin/Cart.kt",
        "shop/tests.py",
        "test_auth.py",
        "auth_test.go",
        "user_spec.rb",
        "cart.test.ts",
        "cart-spec.js",
        "conftest.py",
        "src/OrderRepositoryTest.java",
        "src/CartTests.cs",
        "src/CartSpec.scala",
        "cart_unittest.cc",
        "run.bats",
    ],
)
def test_tests(path: str) -> None:
    assert role_of(path) is Role.TEST


@pytest.mark.parametrize(
    "path",
    [
        "src/auth.py",
        "src/contest.py",
        "src/latest/news.py",
        "src/testimony.py",
        "src/protest.go",
        "src/inspector.rb",
        "src/Latest.java",
        "attestation/verify.go",
        "src/special/case.ts",
        "sampler/sampler.py",
        "demography.py",
    ],
)
def test_sources(path: str) -> None:
    assert role_of(path) is Role.SOURCE


@pytest.mark.parametrize(
    ("path", "role"),
    [
        ("examples/retry.py", Role.EXAMPLE),
        ("Samples/App.cs", Role.EXAMPLE),
        ("docs/tutorial/a.py", Role.EXAMPLE),
        ("benchmarks/speed.py", Role.EXAMPLE),
        ("legacy/gateway.py", Role.EXAMPLE),
        ("examples/tests/test_a.py", Role.TEST),
        ("types/index.d.ts", Role.DECLARATION),
        ("types/index.d.mts", Role.DECLARATION),
        ("stubs/os.pyi", Role.DECLARATION),
    ],
)
def test_other_roles(path: str, role: Role) -> None:
    assert role_of(path) is role


def test_data_is_told_by_language_and_comes_last() -> None:
    assert role_of("config/shop.yaml", data=True) is Role.DATA
    assert role_of("tests/shop.yaml", data=True) is Role.TEST


@pytest.mark.parametrize(
    "text", ["tests for the cart", "how is login tested", "the Spec of it", "fixture", "mocked api"]
)
def test_asking_for_tests(text: str) -> None:
    assert ASKS_FOR_TESTS.search(text)


@pytest.mark.parametrize("text", ["the latest order", "special contest", "attest", "test_auth"])
def test_not_asking_for_tests(text: str) -> None:
    assert not ASKS_FOR_TESTS.search(text)


def test_asking_for_examples() -> None:
    assert ASKS_FOR_EXAMPLES.search("an example of charging")
    assert not ASKS_FOR_EXAMPLES.search("exemplary sampling")


def test_a_header_declares_only_beside_its_implementation() -> None:
    paths = {"src/idna.c", "src/idna.h", "include/uv.h", "src/list.h", "test/list.c"}
    assert declares_only("src/idna.h", paths)
    assert not any(declares_only(path, paths) for path in ("src/idna.c", "include/uv.h", "src/list.h"))
