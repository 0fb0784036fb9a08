"""Decide from a file's bytes whether they are text worth indexing, and decode it."""

from __future__ import annotations

import codecs

from findspot.core.model import Skip, SkipReason
from findspot.text.snippet import listed

SNIFF_BYTES = 8 * 1024
"""How far to look for a NUL, as git does."""

# fmt: off
BINARY_EXTENSIONS = frozenset({
    # images, sound, film
    "png", "jpg", "jpeg", "jpe", "gif", "bmp", "ico", "icns", "cur", "webp", "tif", "tiff", "avif", "heic",
    "heif", "jxl", "jp2", "psd", "psb", "ai", "eps", "xcf", "sketch", "fig", "cr2", "nef", "dds", "tga",
    "ktx", "ktx2", "exr", "hdr", "mp3", "wav", "ogg", "oga", "opus", "flac", "aac", "m4a", "wma", "mid",
    "midi", "aiff", "aif", "mp4", "m4v", "mkv", "mov", "avi", "wmv", "flv", "webm", "mpg", "mpeg", "3gp",
    # fonts, documents
    "ttf", "otf", "woff", "woff2", "eot", "ttc", "pfb", "pdf", "doc", "docx", "docm", "dotx", "xls",
    "xlsx", "xlsm", "xlsb", "ppt", "pptx", "pptm", "odt", "ods", "odp", "odg", "rtf", "epub", "mobi", "djvu",
    "pages", "numbers", "vsd", "vsdx", "chm",
    # archives and images of disks
    "zip", "tar", "gz", "tgz", "bz2", "tbz", "tbz2", "xz", "txz", "lz", "lz4", "lzma", "lzo", "zst", "br",
    "7z", "rar", "cab", "arj", "cpio", "jar", "war", "ear", "aar", "apk", "aab", "ipa", "xpi", "crx", "vsix",
    "whl", "egg", "gem", "nupkg", "deb", "rpm", "flatpak", "msi", "msix", "dmg", "pkg", "iso", "img",
    "vhd", "vhdx", "vmdk", "qcow2",
    # what compilers and linkers write
    "exe", "dll", "so", "dylib", "a", "o", "lib", "pdb", "ilk", "ko", "elf", "bin",
    "class", "dex", "pyc", "pyo", "pyd", "wasm", "rlib", "rmeta", "beam", "hi", "elc", "node", "gch",
    "pch", "idb", "ncb", "suo", "resources", "swf", "nib", "gmo", "snk",
    # databases, models, arrays
    "db", "db3", "sqlite", "sqlite3", "mdb", "accdb", "dbf", "ldb", "sst", "mdf", "ldf", "parquet", "orc",
    "avro", "arrow", "feather", "npy", "npz", "h5", "hdf5", "pickle", "joblib", "rds", "rda",
    "rdata", "pth", "ckpt", "safetensors", "onnx", "tflite", "mlmodel", "gguf", "ggml", "tfrecord",
    "lance", "faiss",
    # game and 3-D assets, keys, the rest
    "blend", "fbx", "glb", "3ds", "uasset", "umap", "pak", "unity3d", "assetbundle", "blp", "der",
    "jks", "keystore", "kdbx", "gpg", "pcap", "pcapng", "dmp", "crdownload",
})
"""Extensions that are never text. Those that a language also uses (`.pt`, `.mo`, `.res`, `.dot`)
are missing: the content decides."""
# fmt: on

_MINIFIED_ENDINGS = (
    *(f"{mark}min.{kind}" for mark in ".-" for kind in ("js", "mjs", "cjs", "css", "html", "json", "svg")),
    *(f".{kind}.map" for kind in ("js", "mjs", "cjs", "css")),
)

_WEB = frozenset({"js", "mjs", "cjs", "jsx", "css", "ts", "html", "htm", "vue", "svelte"})
_LONG_LINES_ARE_FINE = frozenset({"md", "markdown", "mdx", "rst", "adoc", "txt", "ipynb", "tex", "org"})
_WEB_LIMITS = 400, 2_000
"""The bytes of a long line, and of the smallest minified file. Minifiers that break lines do so at 500."""
_LIMITS = 5_000, 10_000
"""In other languages only data in one line counts as minified, such as a table in base64."""
WRITTEN_LINES = 100
"""A file with so many shorter lines is written by people, whatever data or library lies in its long ones."""

_MOST_LINES = 5

_LFS_HEAD = b"version https://git-lfs.github.com/spec/v1\n"
_LFS_BYTES = 1_024
_UTF16_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_UTF32_BOMS = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)


def extension(name: str) -> str:
    """Return what follows the last dot, lower-cased; empty for `Makefile` and for `.profile`."""
    dot = name.rfind(".")
    return name[dot + 1 :].lower() if dot > 0 else ""


def is_minified(path: str, data: bytes) -> bool:
    """Return whether nobody reads a file, by its name, or because most of it is in very long lines."""
    if path.endswith(_MINIFIED_ENDINGS):
        return True
    kind = path.rpartition(".")[2].lower()
    limit, least = _WEB_LIMITS if kind in _WEB else _LIMITS
    if kind in _LONG_LINES_ARE_FINE or len(data) < least:
        return False
    lines = [len(line) for line in data.splitlines() if line.strip()]
    long_lines = [length for length in lines if length > limit]
    return sum(long_lines) * 2 > len(data) and len(lines) - len(long_lines) < WRITTEN_LINES


def content_skip(path: str, data: bytes) -> Skip | None:
    if len(data) < _LFS_BYTES and data.startswith(_LFS_HEAD):
        return Skip(path, SkipReason.LFS_POINTER, "the content is in Git LFS; run 'git lfs pull'")
    return _no_text(path, data)


def _no_text(path: str, data: bytes) -> Skip | None:
    if not data.removeprefix(codecs.BOM_UTF8).strip():
        return Skip(path, SkipReason.EMPTY, "only white space" if data else "")
    return Skip(path, SkipReason.BINARY, "by content") if _is_binary(data) else None


def decode(data: bytes) -> str:
    """Return the text of a file: UTF-8, or what its byte order mark says, else Latin-1, which never fails."""
    try:
        return data.decode(_encoding_of(data))
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _encoding_of(data: bytes) -> str:
    if data.startswith(_UTF32_BOMS):
        return "utf-32"
    return "utf-16" if data.startswith(_UTF16_BOMS) else "utf-8-sig"


def readable_text(path: str, data: bytes, secret_scan: str) -> str | Skip:
    """Return the text of a project's file as it may be indexed and shown, or why it may not."""
    return content_skip(path, data) or _scanned(path, data, secret_scan)


def document_text(path: str, data: bytes, secret_scan: str) -> str | Skip:
    """Return the text of a document: whatever its lines are like, but never a secret."""
    return _no_text(path, data) or _scanned(path, data, secret_scan)


def _scanned(path: str, data: bytes, secret_scan: str) -> str | Skip:
    text = decode(data)
    if secret_scan == "off":
        return text
    from findspot.discover.secrets import find_secrets, masked  # a server starts without it

    if secret_scan == "mask":
        return masked(text)
    found = find_secrets(text)
    return Skip(path, SkipReason.SECRET, f"it holds {found[0].kind}") if found else text


def masked_part(path: str, data: bytes, text: str) -> Skip | None:
    """Return which lines of a file hold secrets that its readable text does not; None if there are none."""
    whole = decode(data)
    if text == whole:
        return None
    pairs = enumerate(zip(whole.split("\n"), text.split("\n"), strict=True), 1)
    lines = [str(number) for number, (before, after) in pairs if before != after]
    where = f"line{'s' if len(lines) > 1 else ''} {listed(lines, _MOST_LINES)}"
    return Skip(path, SkipReason.MASKED, f"secrets in {where}")


def _is_binary(data: bytes) -> bool:
    if (encoding := _encoding_of(data)) == "utf-8-sig":
        return b"\0" in data[:SNIFF_BYTES]
    try:  # a wrong guess would fill the index with noise: it must decode, and hold no NUL
        return "\0" in data.decode(encoding)
    except UnicodeDecodeError:
        return True
