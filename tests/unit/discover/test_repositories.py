"""Addresses of repositories: every spelling of one is the same, and no credential is in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from findspot.core.errors import InvalidArgumentError
from findspot.discover.checkouts import named_folder, remote_address, repository_address

LOGIN = ":".join(("alice", "s3cret"))
"""In two parts: a password in an address counts as a secret, and this file would not be indexed."""


@pytest.mark.parametrize(
    "written",
    [
        "github.com/acme/shop",
        "GitHub.com/Acme/Shop/",
        "github.com/acme/shop.git",
        "git@github.com:acme/shop.git",
        "github.com:acme/shop",
        "https://github.com/acme/shop",
        "https://github.com:443/acme/shop.git/",
        f"https://{LOGIN}@github.com/acme/shop.git",
        "https://ghp_token@github.com/acme/shop.git?x=1#y",
        "ssh://git@github.com:22/acme/shop.git",
        "git://github.com/acme/shop.git",
        "git+ssh://git@github.com/acme/shop",
    ],
)
def test_every_spelling_is_the_same(written: str) -> None:
    assert repository_address(written) == "github.com/acme/shop"


@pytest.mark.parametrize(
    "written",
    [
        "", ".", "..", "shop", "src/auth", "./github.com/acme", "../github.com/acme", "/srv/shop", "~/shop",
        "C:\\work\\shop", "C:/code/shop", "file:///srv/shop.git", "/srv/git/shop.git", "github.com",
        "https://github.com", "github.com/../../etc", "https://[::1/x", "ext::sh -c touch", "git@:x",
        "a b.c/d", "https://github.com:99999/x", "x" * 600 + ".com/a",
    ],
)  # fmt: skip
def test_what_is_no_address(written: str) -> None:
    assert repository_address(written) is None


def test_ports_and_groups_of_other_hosts() -> None:
    assert repository_address("https://git.example.com:8443/a/b/c.git") == "git.example.com:8443/a/b/c"
    assert repository_address("ssh://git@git.example.com:7999/a/b.git") == "git.example.com/a/b"
    assert repository_address("git@intranet:team/shop.git") == "intranet/team/shop"
    assert repository_address("localhost:3000/team/shop") == "localhost:3000/team/shop"


def config(folder: Path, text: str) -> Path:
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "config").write_text(text)
    return folder


def test_the_remote_of_a_checkout(tmp_path: Path) -> None:
    two = config(
        tmp_path / "two",
        '[core]\n\tbare = false\n[remote "upstream"]\n\turl = https://github.com/up/stream\n'
        '[remote "origin"]\n\tfetch = +refs/*\n\turl = "https://u:p@github.com/me/fork.git" # mine\n'
        '[branch "x"]\n',
    )
    assert remote_address(two) == "github.com/me/fork"
    (tmp_path / "linked").mkdir()
    linked = two / ".git" / "worktrees" / "linked"
    linked.mkdir(parents=True)
    (linked / "commondir").write_text("../..\n")
    (tmp_path / "linked" / ".git").write_text(f"gitdir: {linked}\n")
    assert remote_address(tmp_path / "linked") == "github.com/me/fork"
    only = config(tmp_path / "only", '[remote "company"]\nurl=git@git.example.com:team/shop.git\n')
    assert remote_address(only) == "git.example.com/team/shop"
    several = config(tmp_path / "several", '[remote "a"]\nurl=x.org/a/b\n[remote "b"]\nurl=x.org/b/b\n')
    assert remote_address(several) is None
    assert remote_address(config(tmp_path / "local", '[remote "origin"]\nurl = /srv/git/shop.git\n')) is None
    assert remote_address(tmp_path) is None


def test_a_folder_below_a_repository() -> None:
    shop, copy = Path("/srv/shop"), Path("/srv/copy")
    known = {shop: "github.com/acme/shop", Path("/srv/group"): "git.example.com/a/b/c"}
    assert named_folder("https://github.com/Acme/shop.git", known) == shop
    assert named_folder("github.com/acme/shop/src/Auth", known) == shop / "src" / "Auth"
    assert named_folder("git.example.com/a/b/c/d", known) == Path("/srv/group/d")
    assert named_folder("github.com/acme/other", known) is None
    assert named_folder("src/auth", known) is None
    with pytest.raises(InvalidArgumentError, match="/srv/copy, /srv/shop"):
        named_folder("github.com/acme/shop", known | {copy: "github.com/acme/shop"})
