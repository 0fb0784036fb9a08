"""What building the package adds: its compiled part, and its description on an index page.

`src/native` is compiled to the module `findspot._native`, for wheels and for editable installs. Where that
fails, the package is built without it and works in the same way, only slower. FINDSPOT_NATIVE=require makes
that an error, FINDSPOT_NATIVE=off builds a package for every system.

On an index page, relative links and pictures lead nowhere, so they are made absolute by `project.urls`. The
lines about installing from a clone give way to those for a released package. `python hatch_build.py` makes
the latter change in README.md itself, which is a step of the first release.
"""

from __future__ import annotations

import os
import re
import shutil
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
    from hatchling.metadata.plugin.interface import MetadataHookInterface
except ImportError:  # run as a script, without the build system
    BuildHookInterface = MetadataHookInterface = object

ROOT = Path(__file__).parent
NATIVE = "FINDSPOT_NATIVE"
"""The variable that says whether the compiled part is wanted: `off`, `require`, or as it can be."""

README = ROOT / "README.md"
SOURCE = "Source"
"""The name of the repository's address in `project.urls`."""
_CLONE = re.compile(r"<!-- until the release: begin -->.*?<!-- until the release: end -->\n", re.DOTALL)
_RELEASED = re.compile(r"<!-- from the release on: begin\n(.*?)from the release on: end -->\n", re.DOTALL)
_LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?!https?:|mailto:|#)(?P<target>[^)\s]+)\)")


class CustomMetadataHook(MetadataHookInterface):  # type: ignore[misc]
    """Set the field `readme`."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = released(README.read_text("utf-8"))
        source = metadata.get("urls", {}).get(SOURCE)
        if source:
            text = with_absolute_links(text, source, f"v{metadata['version']}")
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


class CustomBuildHook(BuildHookInterface):  # type: ignore[misc]
    """Compile `src/native` and put the module into the package."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        wanted = os.environ.get(NATIVE)
        if self.target_name != "wheel" or wanted == "off":
            return
        self._folder = tempfile.TemporaryDirectory()
        try:
            module = compiled(ROOT / "src" / "native", Path(self._folder.name))
        except Exception as error:
            if wanted == "require":
                raise
            self.app.display_warning(
                f"The compiled part could not be built: {error}. Findspot works without it, only slower."
            )
            return
        build_data["pure_python"] = False
        build_data["tag"] = f"cp311-abi3-{re.sub(r'[-.]', '_', sysconfig.get_platform())}"
        place = f"findspot/{module.name}"
        if version == "editable":
            target = ROOT / "src" / place
            new = shutil.copy2(module, target.with_suffix(".new"))
            Path(new).replace(target)  # a running process may have the old file open
        else:
            build_data["force_include"][str(module)] = place

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if hasattr(self, "_folder"):
            self._folder.cleanup()


def compiled(sources: Path, folder: Path) -> Path:
    """Compile the C files of a folder to one module for every Python from 3.11 on, and return its path."""
    from setuptools import Distribution, Extension
    from setuptools.command.build_ext import build_ext

    class Build(build_ext):  # type: ignore[misc]
        def build_extensions(self) -> None:
            flags = _MSVC_FLAGS if self.compiler.compiler_type == "msvc" else _FLAGS
            for extension in self.extensions:
                extension.extra_compile_args = flags
            super().build_extensions()

    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        raise RuntimeError("Python without its global lock has no stable interface for compiled modules")
    extension = Extension(
        "_native",
        sorted(str(path.relative_to(ROOT)) for path in sources.glob("*.c")),
        depends=sorted(map(str, sources.glob("*.h"))),
        define_macros=[("Py_LIMITED_API", "0x030b0000")],
        py_limited_api=True,
    )
    command = Build(Distribution({"name": "findspot", "ext_modules": [extension]}))
    command.build_temp = str(folder / "objects")
    command.build_lib = str(folder)
    command.ensure_finalized()
    command.run()
    return Path(command.get_ext_fullpath("_native"))


_FLAGS = ["-O3", "-g0", "-std=c11", "-fvisibility=hidden", "-ffp-contract=off"]
_MSVC_FLAGS = ["/O2", "/std:c11", "/fp:precise"]
"""Additions and multiplications stay apart, and in their order: sums must equal those of NumPy."""


def released(text: str) -> str:
    """Return the page with the commands that install a released package."""
    return _RELEASED.sub(lambda match: match[1].strip("\n") + "\n", _CLONE.sub("", text))


def with_absolute_links(text: str, source: str, revision: str) -> str:
    """Return the page with links to the files of one revision in the repository."""

    def absolute(link: re.Match[str]) -> str:
        kind = "raw" if link["picture"] else "blob"
        address = f"{source.rstrip('/')}/{kind}/{revision}/{link['target']}"
        return f"{link['picture']}[{link['text']}]({address})"

    return _LINK.sub(absolute, text)


if __name__ == "__main__":
    README.write_text(released(README.read_text("utf-8")), "utf-8")
