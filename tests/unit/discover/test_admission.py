"""The hard deny list, and what is documentation."""

from __future__ import annotations

import pytest

from contents import DEFAULT_FILES
from findspot.core.model import Corpus
from findspot.core.paths import is_denied
from findspot.discover.admission import compiled, corpus_of
from findspot.discover.root_folder import cleaned, is_unsafe, nfc, spelled_out

# fmt: off
FOLDERS = [
    "node_modules",
    "jspm_packages",
    "bower_components",
    "vendor",
    ".venv",
    "venv",
    ".git",
    ".hg",
    ".svn",
    "dist",
    "build",
    "out",
    "target",
    "__pycache__",
    ".next",
    ".nuxt",
    ".idea",
    ".vscode",
    "coverage",
    ".nyc_output",
    ".pytest_cache",
    ".please",
    ".cortex",
]
SECRETS = [".env", ".env.local", ".env.example", "server.pem", "id.key", "a.p12", "a.pfx", ".pem"]
FILES = [
    "x.log",
    "x.lock",
    "package-lock.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "Gemfile.lock",
    "poetry.lock",
    ".DS_Store",
    "a.swp",
    ".a.swo",
]
# fmt: on


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


@pytest.mark.parametrize(
    "path",
    [
        ".netrc",
        "_netrc",
        "home/.git-credentials",
        ".pgpass",
        ".my.cnf",
        ".htpasswd",
        ".dockercfg",
        ".docker/config.json",
        "x/.kube/config",
        "kubeconfig",
        "terraform.tfstate",
        "terraform.tfstate.backup",
        "prod.tfvars",
        "a.auto.tfvars.json",
        ".envrc",
        "prod.env",
        ".env-prod",
        ".env_local",
        ".env~",
        ".flaskenv",
        "deploy.ppk",
        "config/secrets.yml",
        "secrets.yaml",
        "credentials.json",
        ".aws/credentials",
        ".pypirc",
        "id_ed25519",
        ".netrc~",
        "id_ed25519.bak",
        ".env.bak",
        "prod.env.orig",
        ".pgpass.old",
        "server.key.1",
        ".secrets.yml.swp",
        "#secrets.yml#",
        ".#credentials.json~",
        "terraform.tfstate.backup.bak",
        ".aws/credentials.old",
        ".kube/config.bak",
        "service-account.json",
        "etc/shadow",
        "etc/shadow-",
        ".env copy",
        ".env (1)",
        "deploy/.env.local copy 2",
        "credentials - copy.json",
        "env.production",
        ".dev.vars",
        ".envrc.private",
        ".secrets",
        "secret.yaml",
        "kubeconfig.yaml",
        ".databrickscfg",
        ".msmtprc",
        ".authinfo",
        ".smbcredentials",
        ".python_history",
        ".kaggle/kaggle.json",
        "private_key",
    ],
)
def test_credential_files_are_denied_in_any_case(path: str) -> None:
    """security 9, first-impression B6, documents A3: none of these was on the list."""
    folder, _, name = path.rpartition("/")
    prefix = f"{folder}/" if folder else ""
    assert is_denied(name, folder=False, prefix=prefix)
    assert is_denied(name.upper(), folder=False, prefix=prefix.upper())


@pytest.mark.parametrize(
    "path",
    [
        "secrets.py",
        "secrets.md",
        "credentials.py",
        "docs/credentials.md",
        "config.json",
        "app/config",
        "prod.tfvars.example",
        "a.py~",
        "#notes.md#",
        "config.yml.bak",
        "~",
        ".bak",
        "ui/shadow",
        "service-account.md",
        "id_rsa.pub",
        "env.py",
        "docker/config.json",
        "netrc.py",
        "environment.yml",
        ".npmrc",
        "secret.go",
        "docs/secrets.md",
        "chart/templates/secret.yaml",
        "env.ts",
        "kaggle.json",
        "locales/auth.json",
        "private_key.py",
        "notes copy.md",
    ],
)
def test_files_about_credentials_are_not_denied(path: str) -> None:
    folder, _, name = path.rpartition("/")
    assert not is_denied(name, folder=False, prefix=f"{folder}/" if folder else "")


@pytest.mark.parametrize("name", [".ssh", ".gnupg", ".secrets"])
def test_folders_of_keys_are_denied(name: str) -> None:
    assert is_denied(name, folder=True)


@pytest.mark.parametrize("name", ["credentials", "kubeconfig", "secrets", "x.env"])
def test_folders_named_like_secret_files_are_not_denied(name: str) -> None:
    assert not is_denied(name, folder=True)


@pytest.mark.parametrize("name", FILES)
def test_denied_files(name: str) -> None:
    assert is_denied(name, folder=False)
    assert is_denied(name.swapcase(), folder=False, ignore_case=True)


@pytest.mark.parametrize("name", ["NODE_MODULES", "Vendor", "BUILD"])
def test_case_counts_where_the_file_system_says_so(name: str) -> None:
    assert not is_denied(name, folder=True)


@pytest.mark.parametrize(
    "name",
    ["environment.py", "env", "keys.py", "key", "log", "lock.py", "building", "x.keys", "a", ""],
)
def test_lookalikes_are_not_denied(name: str) -> None:
    assert not is_denied(name, folder=False)


@pytest.mark.parametrize(
    ("path", "corpus"),
    [
        ("README.md", Corpus.DOCS),
        ("docs/a/guide.txt", Corpus.DOCS),
        ("a.rst", Corpus.DOCS),
        ("a.mdx", Corpus.DOCS),
        ("a.adoc", Corpus.DOCS),
        ("a.markdown", Corpus.DOCS),
        ("src/CMakeLists.txt", Corpus.CODE),
        ("requirements.txt", Corpus.CODE),
        ("requirements-dev.txt", Corpus.CODE),
        ("dev-requirements.txt", Corpus.CODE),
        ("requirements/base.txt", Corpus.CODE),
        ("api/constraints-3.11.txt", Corpus.CODE),
        ("robots.txt", Corpus.DOCS),
        ("a.py", Corpus.CODE),
        ("Makefile", Corpus.CODE),
        ("LICENSE", Corpus.DOCS),
        ("lib/README", Corpus.DOCS),
        ("license", Corpus.CODE),
    ],
)
def test_corpus(path: str, corpus: Corpus) -> None:
    assert corpus_of(path, compiled(DEFAULT_FILES.doc_patterns)) is corpus


def test_doc_patterns_choose_the_corpus() -> None:
    docs = compiled(("docs/**",))
    assert corpus_of("docs/example.py", docs) is Corpus.DOCS
    assert corpus_of("notes.txt", docs) is Corpus.CODE
    assert corpus_of("notes.rst", docs) is Corpus.DOCS


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
