"""Roles of files, told from their paths."""

from __future__ import annotations

import re

import pytest

from findspot.rank.roles import ASKS_FOR_EXAMPLES, ASKS_FOR_TESTS, Role, declares_only, is_collected, role_of

ROLES = """
TEST: tests/unit/auth.py test/auth.rb src/__tests__/cart.ts spec/models/user.rb pkg/testdata/a.json
    e2e/login.ts src/__mocks__/api.ts Tests/ShopTests/Cart.swift src/androidTest/kotlin/Cart.kt
    src/commonTest/kotlin/Cart.kt shop/tests.py test_auth.py auth_test.go user_spec.rb cart.test.ts
    cart-spec.js conftest.py src/OrderRepositoryTest.java src/CartTests.cs src/CartSpec.scala
    cart_unittest.cc run.bats examples/tests/test_a.py features/deploy.feature vendor/x/tests/test_y.py
    shop/test/test_client.py shop/test/conftest.py tests/test/helpers.py test/helpers.py src/test/python/a.py
    shop/tests/testing/helpers.py shop/testing/tests/a.py
SOURCE: src/auth.py src/contest.py src/latest/news.py src/testimony.py src/protest.go src/inspector.rb
    src/Latest.java attestation/verify.go src/special/case.ts sampler/sampler.py demography.py
    src/Shop/Lang/de.php lib/languages/js/source-code/token-store.js src/main/java/shop/lang/ast/Node.java
    shop/locales/api/views.py packages/i18n/src/index.ts src/i18n/api.ts src/i18n/is_valid.py
    src/i18n/config.json src/languages/cpp.js languages/php/index.ts shop/lang/de/stop_words.py
    src/languages/i18n/de.ts translations/api/views.py internal/pipe/changelog/changelog.go
    release_notes/build.py src/vendor/VendorService.java app/vendor/views.py shop/vendor/invoice.py
    vendor.py deps/deps.go deps/resolver.py extern/binding.c src/external/client.py
    autogen/agentchat/agent.py src/dist/math.js src/locale/format.ts src/lang/parser.py
    src/i18n/translator.rb src/history.py src/news.go src/release.ts src/generator.py src/deps/resolve.rs
    shop/contrib/cart.py src/vendors.py distutils/command.py src/lock.py src/manage/a.py shop/test/client.py
    src/shop/testing/fakes.py
EXAMPLE: examples/retry.py Samples/App.cs docs/tutorial/a.py benchmarks/speed.py legacy/gateway.py
DECLARATION: types/index.d.ts types/index.d.mts stubs/os.pyi
TRANSLATION: shop/locale/de/LC_MESSAGES/django.po web/locales/pt-BR.json config/locales/models/de.yml
    src/locale/pt_BR/index.ts shop/conf/locale/zh_Hans/formats.py src/i18n/messages/pt-br.js
    config/locales/devise.en.yml lang/de/cart.json res/values-pt-rBR/strings.xml src/shop_de.properties
    app/src/main/res/values-de/strings.xml Shop/Messages.fr.resx lib/l10n/app_de.arb
CHANGELOG: CHANGES CHANGELOG.md HISTORY-2.x.txt changelog.d/12.bugfix.txt newsfragments/12.feature.rst
    docs/releases/2.2.txt doc/whatsnew/3.0.rst changelog.d/12.feature docs/changelog.html
MANUAL: man/shop.1 doc/shop.8.in
GENERATED: api/shop_pb2.py api/shop.pb.go lib/cart.g.dart src/__generated__/schema.ts Shop/Form.Designer.cs
    static/jquery.min.js dist/shop.js yarn.lock pkg/generated/client.go api/zz_generated.deepcopy.go
VENDORED: vendor/github.com/x/y.go pip/_vendor/requests/api.py third_party/zlib/inflate.c deps/lua/lua.c
    lib/vendor/thor/base.rb shop/static/js/vendor/jquery.js web/node_modules/x/index.js
    extern/zlib/inflate.c
"""
PATHS = [(part.split(":")[0], path) for part in re.split(r"\n(?=\w)", ROLES)[1:] for path in part.split()[1:]]


@pytest.mark.parametrize(("role", "path"), PATHS)
def test_roles(role: str, path: str) -> None:
    assert role_of(path) is Role[role]


def test_data_is_told_by_language_and_comes_last() -> None:
    """It stays data wherever it was copied from."""
    paths = (
        "vendor/x/config.yaml",
        "package-lock.json",
        "config/shop.yaml",
        "web/locales/de.json",
        "tests/a.yaml",
    )
    found = [role_of(path, data=True) for path in paths]
    assert found == [Role.DATA] * 3 + [Role.TRANSLATION, Role.TEST]


def test_asking_for_tests_and_examples() -> None:
    for text in ("tests for the cart", "how is login tested", "which specs exist", "a test that fails",
                 "which test checks a cookie"):  # fmt: skip
        assert ASKS_FOR_TESTS.search(text), text
    for text in ("the latest order", "special contest", "attest", "test_auth", "what mocks are reset",
                 "how is a test reported as timed out"):  # fmt: skip
        assert not ASKS_FOR_TESTS.search(text), text
    assert ASKS_FOR_EXAMPLES.search("an example of charging")
    assert not ASKS_FOR_EXAMPLES.search("exemplary sampling")


def test_a_header_declares_only_beside_its_implementation() -> None:
    paths = {"src/idna.c", "src/idna.h", "include/uv.h", "src/list.h", "test/list.c"}
    assert declares_only("src/idna.h", paths)
    assert not any(declares_only(path, paths) for path in ("src/idna.c", "include/uv.h", "src/list.h"))


def test_what_a_test_runner_collects() -> None:
    collected = (
        "tests/test_apps/test_app.py",
        "tests/blog/tests.py",
        "tests/conftest.py",
        "pkg/store_test.go",
        "src/test/java/StoreTest.java",
        "spec/store_spec.rb",
        "test/store.js",
        "tests/login.feature",
    )
    others = ("tests/test_apps/app.py", "pkg/testdata/store.go", "src/test/java/Helper.java",
              "tests/data/prices.csv")  # fmt: skip
    assert tuple(path for path in collected + others if is_collected(path)) == collected
