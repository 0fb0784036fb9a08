"""Roles of files, told from their paths."""

from __future__ import annotations

import pytest

from findspot.rank.roles import ASKS_FOR_EXAMPLES, ASKS_FOR_TESTS, Role, declares_only, is_collected, role_of


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


@pytest.mark.parametrize(
    ("path", "role"),
    [
        ("shop/locale/de/LC_MESSAGES/django.po", Role.TRANSLATION),
        ("web/locales/pt-BR.json", Role.TRANSLATION),
        ("config/locales/models/de.yml", Role.TRANSLATION),
        ("src/locale/pt_BR/index.ts", Role.TRANSLATION),
        ("src/Shop/Lang/de.php", Role.SOURCE),
        ("shop/conf/locale/zh_Hans/formats.py", Role.TRANSLATION),
        ("src/i18n/messages/pt-br.js", Role.TRANSLATION),
        ("config/locales/devise.en.yml", Role.TRANSLATION),
        ("lang/de/cart.json", Role.TRANSLATION),
        ("res/values-pt-rBR/strings.xml", Role.TRANSLATION),
        ("src/shop_de.properties", Role.TRANSLATION),
        ("app/src/main/res/values-de/strings.xml", Role.TRANSLATION),
        ("Shop/Messages.fr.resx", Role.TRANSLATION),
        ("lib/l10n/app_de.arb", Role.TRANSLATION),
        ("CHANGES", Role.CHANGELOG),
        ("CHANGELOG.md", Role.CHANGELOG),
        ("HISTORY-2.x.txt", Role.CHANGELOG),
        ("changelog.d/12.bugfix.txt", Role.CHANGELOG),
        ("newsfragments/12.feature.rst", Role.CHANGELOG),
        ("docs/releases/2.2.txt", Role.CHANGELOG),
        ("doc/whatsnew/3.0.rst", Role.CHANGELOG),
        ("changelog.d/12.feature", Role.CHANGELOG),
        ("docs/changelog.html", Role.CHANGELOG),
        ("features/deploy.feature", Role.TEST),
        ("man/shop.1", Role.MANUAL),
        ("doc/shop.8.in", Role.MANUAL),
        ("api/shop_pb2.py", Role.GENERATED),
        ("api/shop.pb.go", Role.GENERATED),
        ("lib/cart.g.dart", Role.GENERATED),
        ("src/__generated__/schema.ts", Role.GENERATED),
        ("Shop/Form.Designer.cs", Role.GENERATED),
        ("static/jquery.min.js", Role.GENERATED),
        ("dist/shop.js", Role.GENERATED),
        ("yarn.lock", Role.GENERATED),
        ("vendor/github.com/x/y.go", Role.VENDORED),
        ("pip/_vendor/requests/api.py", Role.VENDORED),
        ("third_party/zlib/inflate.c", Role.VENDORED),
        ("deps/lua/lua.c", Role.VENDORED),
        ("pkg/generated/client.go", Role.GENERATED),
        ("api/zz_generated.deepcopy.go", Role.GENERATED),
        ("lib/vendor/thor/base.rb", Role.VENDORED),
        ("shop/static/js/vendor/jquery.js", Role.VENDORED),
        ("web/node_modules/x/index.js", Role.VENDORED),
        ("extern/zlib/inflate.c", Role.VENDORED),
        ("vendor/x/tests/test_y.py", Role.TEST),
        ("lib/languages/js/source-code/token-store.js", Role.SOURCE),
        ("src/main/java/shop/lang/ast/Node.java", Role.SOURCE),
        ("shop/locales/api/views.py", Role.SOURCE),
        ("packages/i18n/src/index.ts", Role.SOURCE),
        ("src/i18n/api.ts", Role.SOURCE),
        ("src/i18n/is_valid.py", Role.SOURCE),
        ("src/i18n/config.json", Role.SOURCE),
        ("src/languages/cpp.js", Role.SOURCE),
        ("languages/php/index.ts", Role.SOURCE),
        ("shop/lang/de/stop_words.py", Role.SOURCE),
        ("src/languages/i18n/de.ts", Role.SOURCE),
        ("translations/api/views.py", Role.SOURCE),
        ("internal/pipe/changelog/changelog.go", Role.SOURCE),
        ("release_notes/build.py", Role.SOURCE),
        ("src/vendor/VendorService.java", Role.SOURCE),
        ("app/vendor/views.py", Role.SOURCE),
        ("shop/vendor/invoice.py", Role.SOURCE),
        ("vendor.py", Role.SOURCE),
        ("deps/deps.go", Role.SOURCE),
        ("deps/resolver.py", Role.SOURCE),
        ("extern/binding.c", Role.SOURCE),
        ("src/external/client.py", Role.SOURCE),
        ("autogen/agentchat/agent.py", Role.SOURCE),
        ("src/dist/math.js", Role.SOURCE),
        ("src/locale/format.ts", Role.SOURCE),
        ("src/lang/parser.py", Role.SOURCE),
        ("src/i18n/translator.rb", Role.SOURCE),
        ("src/history.py", Role.SOURCE),
        ("src/news.go", Role.SOURCE),
        ("src/release.ts", Role.SOURCE),
        ("src/generator.py", Role.SOURCE),
        ("src/deps/resolve.rs", Role.SOURCE),
        ("shop/contrib/cart.py", Role.SOURCE),
        ("src/vendors.py", Role.SOURCE),
        ("distutils/command.py", Role.SOURCE),
        ("src/lock.py", Role.SOURCE),
        ("src/manage/a.py", Role.SOURCE),
    ],
)
def test_roles_of_what_is_written_elsewhere_or_for_others(path: str, role: Role) -> None:
    assert role_of(path) is role


def test_data_stays_data_wherever_it_was_copied_from() -> None:
    assert role_of("vendor/x/config.yaml", data=True) is Role.DATA
    assert role_of("package-lock.json", data=True) is Role.DATA
    assert role_of("web/locales/de.json", data=True) is Role.TRANSLATION


def test_data_is_told_by_language_and_comes_last() -> None:
    assert role_of("config/shop.yaml", data=True) is Role.DATA
    assert role_of("tests/shop.yaml", data=True) is Role.TEST


@pytest.mark.parametrize(
    "text",
    [
        "tests for the cart",
        "how is login tested",
        "which specs exist",
        "a test that fails",
        "which test checks a cookie",
    ],
)
def test_asking_for_tests(text: str) -> None:
    assert ASKS_FOR_TESTS.search(text)


@pytest.mark.parametrize(
    "text",
    [
        "the latest order",
        "special contest",
        "attest",
        "test_auth",
        "how is a test reported as timed out",
        "what mocks are reset",
    ],
)
def test_not_asking_for_tests(text: str) -> None:
    assert not ASKS_FOR_TESTS.search(text)


def test_asking_for_examples() -> None:
    assert ASKS_FOR_EXAMPLES.search("an example of charging")
    assert not ASKS_FOR_EXAMPLES.search("exemplary sampling")


def test_a_header_declares_only_beside_its_implementation() -> None:
    paths = {"src/idna.c", "src/idna.h", "include/uv.h", "src/list.h", "test/list.c"}
    assert declares_only("src/idna.h", paths)
    assert not any(declares_only(path, paths) for path in ("src/idna.c", "include/uv.h", "src/list.h"))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tests/test_apps/app.py", False),
        ("tests/test_apps/test_app.py", True),
        ("tests/blog/tests.py", True),
        ("tests/conftest.py", True),
        ("pkg/store_test.go", True),
        ("pkg/testdata/store.go", False),
        ("src/test/java/Helper.java", False),
        ("src/test/java/StoreTest.java", True),
        ("spec/store_spec.rb", True),
        ("test/store.js", True),
        ("tests/login.feature", True),
        ("tests/data/prices.csv", False),
    ],
)
def test_what_a_test_runner_collects(path: str, expected: bool) -> None:
    assert is_collected(path) is expected
