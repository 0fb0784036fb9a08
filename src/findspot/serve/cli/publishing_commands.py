"""`findspot publish`, `export`, `import` and `store`: an index for everyone, at an address or in a file."""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from findspot.core.config import INDEX_FILE, ci_branch, set_value, unset_value
from findspot.core.errors import InvalidArgumentError
from findspot.core.files import remove_folder
from findspot.core.git import Checkout, differing, read_checkout, untracked
from findspot.core.paths import absolute, expanded
from findspot.core.utc_time import utc_now
from findspot.discover.walk import walk
from findspot.project import Project
from findspot.publishing.archive import IMPORTED, pack, unpack
from findspot.publishing.choosing import KEEP_DAYS, KEEP_VERSIONS, outdated
from findspot.publishing.published import PROJECT, PublishedIndex, Version
from findspot.publishing.published_store import published_address
from findspot.publishing.publisher import Publisher
from findspot.serve import shapes
from findspot.serve.arguments import count
from findspot.serve.cli import output
from findspot.serve.cli.index_commands import update_project
from findspot.serve.cli.interaction import confirm
from findspot.serve.cli.options import Group, Reply, command, option_of, together
from findspot.serve.cli.project_choice import open_project
from findspot.store.index_meta import write_metadata

_SHOWN_COMMIT = 12
_MOST_DIRTY = 3

_of_commit = together(
    click.option("--branch", metavar="NAME", help="The branch. Default: git's, or the build service's."),
    click.option("--commit", metavar="HASH", help="The commit, for a folder that is no git checkout."),
    click.option("--allow-dirty", is_flag=True, help="Go ahead although files differ from the commit."),
)


@command(project=True)
@click.argument("address", required=False)
@_of_commit
@option_of("keep_days", count("Remove versions that are older", 1, default=KEEP_DAYS), metavar="N")
@option_of("keep", count("Versions to keep per branch", 1, default=KEEP_VERSIONS), metavar="N")
@click.option(
    "--ray", metavar="ADDRESS", help="Read, cut and embed on a Ray cluster: ray://HOST:PORT, or local."
)
@click.option("--list", "listing", is_flag=True, help="Show the versions at ADDRESS; publish nothing.")
def publish(
    reply: Reply,
    address: str | None,
    *,
    project: str | None,
    keep_days: int,
    keep: int,
    ray: str | None,
    listing: bool,
    **checked_out: Any,
) -> None:
    """Publish the index of the project you are in at ADDRESS, as the version of its commit.

    ADDRESS is a folder, or a place on an object store such as s3://bucket/prefix: LanceDB tables, which
    `findspot serve --from ADDRESS` searches where they lie. Without it, `publishTo` of your own
    configuration names it. Your own index is brought up to date first; vectors of a slow model are taken
    from the nearest published version. Only files that differ are sent. Then old versions are removed.

    Nothing is asked, so that it can run in a pipeline. Exit codes: 0 published; 1 failed; 2 wrong usage, no
    commit, or a checkout that differs from its commit; 4 ADDRESS does not answer.
    """
    if listing and address:
        _list(address, reply)
        return
    with open_project(project, {"workers": ray} if ray else None, exact=True) as opened:
        target = _target(opened, address)
        if listing:
            _list(target, reply)
        else:
            checkout = _checkout(opened, **checked_out)
            opened.index.publishes_to = target
            _publish(opened, PublishedIndex(target), checkout, reply, keep_days, keep)


@command(path=True, yes=True)
@click.argument("file")
@_of_commit
def export(reply: Reply, file: str, project: str | None, *, yes: bool, **checked_out: Any) -> None:
    """Write to FILE what `findspot publish` sends to an address: the index of the project at PATH.

    It is the index of a commit, brought up to date first. `findspot import FILE` reads it on another machine.
    A FILE that is there is replaced, after a question.
    """
    if absolute(file).is_dir():
        raise InvalidArgumentError(f"{file} is a folder.", hint="Name a file in it.")
    with open_project(project, exact=True) as opened, tempfile.TemporaryDirectory() as folder:
        target = Path(_target(opened, str(absolute(file))))
        checkout = _checkout(opened, **checked_out)
        if target.exists():
            confirm(f"Replace {target}?", yes, reply)
        _publish(opened, PublishedIndex(folder), checkout, reply, KEEP_DAYS, KEEP_VERSIONS, file=target)


def _target(project: Project, address: str | None) -> str:
    target = address or project.settings.publishing.target
    if target is None:
        raise InvalidArgumentError(
            "There is no address to publish to.",
            hint="Run `findspot publish ADDRESS`, or `findspot config set publishTo ADDRESS`.",
        )
    target = target.replace(PROJECT, project.root.name)
    if "://" not in target and expanded(target).resolve().is_relative_to(project.root.resolve()):
        raise InvalidArgumentError(
            f"{target} is inside the project, whose files are indexed.", hint="Name a place outside of it."
        )
    return target


def _checkout(project: Project, *, branch: str | None, commit: str | None, allow_dirty: bool) -> Checkout:
    """Return what is published: the commit of HEAD and its branch, or what options say."""
    found = read_checkout(project.root)
    if commit and found.commit and not found.commit.startswith(commit.lower()):
        raise InvalidArgumentError(
            f"The commit that is checked out is {found.commit}, not {commit}.",
            hint=f"Run `git checkout {commit}` first, or leave --commit out.",
        )
    named = branch or found.branch or ci_branch()
    ancestors = found.ancestors or ((commit.lower(),) if commit else ())
    hint = "Name it with --commit or --branch."
    if not ancestors or not named:
        what = "branch" if ancestors else "commit"
        raise InvalidArgumentError(f"The {what} of {project.root} is not known.", hint=hint)
    try:
        Version(ancestors[0], named, utc_now(), 0, 0, "", "").check()
    except ValueError as error:
        raise InvalidArgumentError(f"This cannot be published: {error}.", hint=hint) from error
    checkout = Checkout(ancestors, named, found.default_branch)
    if not allow_dirty:
        _require_clean(project, checkout)
    return checkout


def _require_clean(project: Project, checkout: Checkout) -> None:
    """Refuse a checkout whose files are not those of its commit: others would look for them in vain."""
    changed = differing(project.root, checkout.commit)
    if changed is None:  # no git, or not a commit of it: the options said what this is
        return
    admitted = {file.path for file in walk(project.root, project.settings.discover).files}
    added = [path for path in (untracked(project.root) or "").split("\0") if path in admitted]
    dirty = [path for path in changed.split("\0") if path] + added
    if dirty:
        count, commit = output.count(len(dirty), "file"), checkout.commit[:_SHOWN_COMMIT]
        first = ", ".join(dirty[:_MOST_DIRTY]) + (" and others" if len(dirty) > _MOST_DIRTY else "")
        raise InvalidArgumentError(
            f"{count} differ{'s' if len(dirty) == 1 else ''} from the commit {commit}: {first}.",
            hint="Commit or remove them, or pass --allow-dirty.",
        )


def _publish(
    project: Project,
    published: PublishedIndex,
    checkout: Checkout,
    reply: Reply,
    *keep: int,
    file: Path | None = None,
) -> None:
    update_project(project, reply, force=False, yes=True)
    project.history.close()  # commits are read for the publisher, and only those that are not published
    meta, counts = project.index.own.figures()
    version = Version(
        commit=checkout.commit,
        branch=checkout.branch,
        published_at=utc_now(),
        files=sum(files for files, _ in counts.values()),
        chunks=sum(chunks for _, chunks in counts.values()),
        model=meta["model"],
        pipeline=meta["pipeline"],
    )
    publisher = Publisher(published, project.root)
    files_sent, bytes_sent = publisher.add(version, project.index.own)
    versions = published.versions()
    removed = [old for old in outdated(versions, checkout, *keep) if old.key != version.key]
    if removed:
        publisher.remove(removed)
    if file:
        pack(Path(published.address), file)
    address, left = str(file or published.address), len(versions) - len(removed)
    value = {"status": "success", "projectPath": str(project.root), "address": address, **_as_object(version)}
    value |= {"filesSent": files_sent, "bytesSent": bytes_sent, "versions": left}
    value["removed"] = [_as_object(old) for old in removed]
    named = f"{version.commit[:_SHOWN_COMMIT]} of {version.branch} published"
    held = f"{output.count(version.files, 'file')}, {output.count(version.chunks, 'chunk')}"
    done = f"{output.count(files_sent, 'file')} sent ({shapes.size(bytes_sent)})"
    there = f"{len(removed):,} old removed; {output.count(left, 'version')} there"
    reply.give(value, f"{address}: {named}: {held}; {done}, {there}")


def _as_object(version: Version) -> dict[str, Any]:
    value = asdict(version)
    return value | {"publishedAt": value.pop("published_at")}


def _list(address: str, reply: Reply) -> None:
    published = PublishedIndex(address)
    value = {"address": published.address, "versions": list(map(_as_object, published.versions()))}
    columns = "commit branch published=publishedAt files chunks model"
    reply.table(value, "versions", columns, f"{published.address}: nothing is published yet.")


@click.group(cls=Group)
def store() -> None:
    """Read a published index, or look after your own."""


@command(group=store, path=True, yes=True)
@click.argument("address", metavar="ADDRESS|default")
def use(reply: Reply, address: str, project: str | None, yes: bool) -> None:
    """Read the index published at ADDRESS, for the project at PATH.

    With the project's files, they are indexed here, and vectors of a slow model are taken from ADDRESS.
    Without them, searches answer from what is published, where it lies. Nothing is
    ever written to ADDRESS. With `default` the project reads no published index any more.
    """
    with open_project(project, exact=True) as opened:
        _read_from(opened, None if address == "default" else published_address(opened.root, address))
    _show_reading(reply, address, project, yes=yes)


@command("import", path=True, yes=True)
@click.argument("file")
def import_(reply: Reply, file: str, project: str | None, yes: bool) -> None:
    """Read the index in FILE, which `findspot export` wrote, for the project at PATH.

    It is unpacked and read as `findspot store use` reads a folder. Importing again replaces it.
    """
    if not absolute(file).is_file():
        raise InvalidArgumentError(f"There is no file {file}.", hint="Name one that `findspot export` wrote.")
    with open_project(project, exact=True) as opened:
        _read_from(opened, str(unpack(absolute(file), opened.store.folder)))
    _show_reading(reply, file, project, yes=yes)


def _read_from(project: Project, address: str | None) -> None:
    """Let a project read a published index, or none, and remove what was imported for it before."""
    folder = project.store.folder
    if address:
        set_value(folder / INDEX_FILE, "store", address)
    else:
        unset_value(folder / INDEX_FILE, "store")
    for imported in folder.glob(f"{IMPORTED}*"):
        if imported.name != Path(address or "").name:
            remove_folder(imported)


def _show_reading(reply: Reply, address: str, project: str | None, *, yes: bool) -> None:
    """Index the files that are here, and say what the project reads now."""
    with open_project(project, exact=True) as opened:  # which reads the address now
        if opened.index.shared and opened.index.has_files:
            update_project(opened, reply, force=False, yes=yes)
        status = opened.status(check_disk=False)
        if opened.store.exists:
            write_metadata(opened.store, opened.root)
    result: dict[str, Any] = {"status": "success", "projectPath": status.project_path, "store": address}
    result |= {"totalFiles": status.total_files, "totalChunks": status.total_chunks}
    figures = f"{output.count(status.total_files, 'file')}, {output.count(status.total_chunks, 'chunk')}"
    reply.give(result, f"{status.project_path} reads {address}: {figures}")
    for note in () if reply.json else status.notes:
        output.note(note)
