"""The hard deny list, and what is documentation."""

from __future__ import annotations

import pytest

from contents import DEFAULT_FILES
from findspot.core.model import Corpus
from findspot.core.paths import is_denied
from findspot.discover.root_folder import cleaned, is_unsafe, nfc, spelled_out
from findspot.discover.walk import compiled, corpus_of

FOLDERS = [
    "node_modules", "jspm_packages", "bower_components", "vendor", ".venv", "venv", ".git", ".hg", ".svn",
    "dist", "build", "out", "target", "__pycache__", ".next", ".nuxt", ".idea", ".vscode", "coverage",
    ".nyc_output", ".pytest_cache", ".please", ".cortex",
]  # fmt: skip
SECRETS = [".env", ".env.local", ".env.example", "server.pem", "id.key", "a.p12", "a.pfx", ".pem"]
FILES = [
    "x.log", "x.lock", "package-lock.json", "yarn.lock", "pnpm-lock.yaml", "Gemfile.lock", "poetry.lock",
    ".DS_Store", "a.swp", ".a.swo",
]  # fmt: skip
CREDENTIALS = [
    ".netrc", "_netrc", "home/.git-credentials", ".pgpass", ".my.cnf", ".htpasswd", ".dockercfg",
    ".docker/config.json", "x/.kube/config", "kubeconfig", "terraform.tfstate", "terraform.tfstate.backup",
    "prod.tfvars", "a.auto.tfvars.json", ".envrc", "prod.env", ".env-prod", ".env_local", ".env~",
    ".flaskenv", "deploy.ppk", "config/secrets.yml", "secrets.yaml", "credentials.json", ".aws/credentials",
    ".pypirc", "id_ed25519", ".netrc~", "id_ed25519.bak", ".env.bak", "prod.env.orig", ".pgpass.old",
    "server.key.1", ".secrets.yml.swp", "#secrets.yml#", ".#credentials.json~",
    "terraform.tfstate.backup.bak", ".aws/credentials.old", ".kube/config.bak", "service-account.json",
    "etc/shadow", "etc/shadow-", "env.production", ".dev.vars", ".envrc.private", ".secrets", "secret.yaml",
    "kubeconfig.yaml", ".databrickscfg", ".msmtprc", ".authinfo", ".smbcredentials", ".python_history",
    ".kaggle/kaggle.json", "private_key",
]  # fmt: skip
CREDENTIALS += [".env copy", ".env (1)", "deploy/.env.local copy 2", "credentials - copy.json"]
ABOUT_CREDENTIALS = [
    "secrets.py", "secrets.md", "credentials.py", "docs/credentials.md", "config.json", "app/config",
    "prod.tfvars.example", "a.py~", "#notes.md#", "config.yml.bak", "~", ".bak", "ui/shadow",
    "service-account.md", "id_rsa.pub", "env.py", "docker/config.json", "netrc.py", "environment.yml",
    ".npmrc", "secret.go", "docs/secrets.md", "chart/templates/secret.yaml", "env.ts", "kaggle.json",
    "locales/auth.json", "private_key.py", "environment.py", "env", "keys.py", "key", "log", "lock.py",
    "building", "x.keys", "a",
]  # fmt: skip
ABOUT_CREDENTIALS += ["notes copy.md", ""]


@pytest.mark.parametrize("name", FOLDERS)
def test_denied_folders(name: str) -> None:
    assert is_denied(name, folder=True)
    assert is_denied(name, folder=False) is (name == ".git")
    assert is_denied(name.upper(), folder=True, ignore_case=True)


@pytest.mark.parametrize("name", SECRETS)
def test_secrets_are_denied_in_any_case(name: str) -> None:
    for spelling in (name, name.upper(), name.title(), name.swapcase()):
        assert is_denied(spelling, folder=False)
        assert is_denied(spelling, folder=True)


@pytest.mark.parametrize(("denied", "paths"), [(True, CREDENTIALS), (False, ABOUT_CREDENTIALS)])
def test_credential_files_are_denied_in_any_case_and_nothing_else(denied: bool, paths: list[str]) -> None:
    """security 9, first-impression B6, documents A3: none of these was on the list."""
    for path in paths:
        folder, _, name = path.rpartition("/")
        prefix = f"{folder}/" if folder else ""
        assert is_denied(name, folder=False, prefix=prefix) is denied, path
        if denied:
            assert is_denied(name.upper(), folder=False, prefix=prefix.upper()), path


def test_folders_of_keys_are_denied_and_others_named_like_them_are_not() -> None:
    names = (".ssh", ".gnupg", ".secrets", "credentials", "kubeconfig", "secrets", "x.env")
    assert [is_denied(name, folder=True) for name in names] == [True] * 3 + [False] * 4
    assert not any(is_denied(name, folder=True) for name in ("NODE_MODULES", "Vendor", "BUILD"))


@pytest.mark.parametrize("name", FILES)
def test_denied_files(name: str) -> None:
    assert is_denied(name, folder=False)
    assert is_denied(name.swapcase(), folder=False, ignore_case=True)


def test_corpus() -> None:
    docs = [
        "README.md", "docs/a/guide.txt", "a.rst", "a.mdx", "a.adoc", "a.markdown", "robots.txt", "LICENSE",
        "lib/README",
    ]  # fmt: skip
    code = [
        "src/CMakeLists.txt", "requirements.txt", "requirements-dev.txt", "dev-requirements.txt",
        "requirements/base.txt", "api/constraints-3.11.txt", "a.py", "Makefile", "license",
    ]  # fmt: skip
    patterns = compiled(DEFAULT_FILES.doc_patterns)
    assert [path for path in docs + code if corpus_of(path, patterns) is Corpus.DOCS] == docs
    chosen = compiled(("docs/**",))
    found = [corpus_of(path, chosen) for path in ("docs/example.py", "notes.txt", "notes.rst")]
    assert found == [Corpus.DOCS, Corpus.CODE, Corpus.DOCS]


@pytest.mark.parametrize(
    ("name", "clean"),
    [
        (".e\u200bnv", ".env"),
        ("\u202e.env", ".env"),
        (".env\ufeff", ".env"),
        ("node\u2060_modules", "node_modules"),
        ("a\nb.py", "ab.py"),
        ("a\udcff.py", "a.py"),
        ("a\u3164.py", "a.py"),
    ],
)
def test_names_that_hide_something(name: str, clean: str) -> None:
    assert is_unsafe(name)
    assert cleaned(name) == clean
    assert spelled_out(name).encode()
    assert not is_unsafe(spelled_out(name))


@pytest.mark.parametrize("name", ["a.py", "über.md", "日本.txt", "a b.c", "a\u00a0b", "e\u0301.py", "😀.md"])
def test_names_that_hide_nothing(name: str) -> None:
    assert not is_unsafe(name)
    assert cleaned(name) == nfc(name)
