"""Read files and folders of HTML as archives, and list the sources of a path."""

import glob
import os
import re
from pathlib import Path
from typing import Final
from urllib.parse import quote

from scrapy_pagelets.archives.record import MAX_BODY, Record, SkipRecord, checked_page, opened
from scrapy_pagelets.archives.unpacking import SNIFFED, WARC, holds_warc, looks_like_html

_WARC_NAME: Final = re.compile(r"\.warc(\.(gz|zst|zstd))?$", re.IGNORECASE)
_HTML_SUFFIXES: Final = frozenset({".html", ".htm", ".xhtml", ".shtml", ".php", ".aspx"})
ROOT: Final = "/./"  # separates the folder from the path that becomes part of the URL, as in ``rsync --relative``


def sources(path: str) -> list[str]:
    """List the sources of an existing path or a glob: WARC and HTML files, folders; its ``**`` follows no links."""
    if os.path.exists(path):
        return _sources(path, os.path.dirname(path))
    parts = Path(path).parts
    fixed = next((number for number, part in enumerate(parts) if glob.has_magic(part)), 0)
    root, pattern = Path(*parts[:fixed]), os.path.join(*parts[fixed:])
    # As in a shell, only a name that begins with a dot stands for hidden files.
    all_found = "/." in f"/{pattern}"
    found = (one for one in root.glob(pattern) if all_found or not any(p.startswith(".") for p in one.parts[fixed:]))
    listed: list[str] = []
    matches = sorted(set(map(os.path.normpath, found)))
    folders = set(filter(os.path.isdir, matches))
    for match in matches:
        if folders.isdisjoint(map(str, Path(match).parents)):  # else it is inside a folder that matches as well
            listed += _sources(match, str(root))
    return list(dict.fromkeys(listed))


def files(source: str) -> list[str]:
    """List the files of a folder in order, without WARC files; or the one file that a source is."""
    if not os.path.isdir(source):
        return [source]
    folder = os.path.normpath(source)
    return [_rooted(folder, name) for name in _below(folder) if not _WARC_NAME.search(name)]


def page(path: str, base: str) -> Record:
    """Read one HTML file. Raise SkipRecord if it is not HTML, empty or too large; OSError if it cannot be read."""
    if not _is_html_file(path) and os.path.exists(path):
        raise SkipRecord("not_html")
    with opened(path) as file:
        body = checked_page(file.read(MAX_BODY + 1))
    return Record(_url(path, base), {"Content-Type": ["text/html"]}, body, None, path, 0)


def is_warc(path: str) -> bool:
    """Return True for a file that has the name of a WARC file or begins like one."""
    if _WARC_NAME.search(path) or _suffix(path) in _HTML_SUFFIXES:
        return _WARC_NAME.search(path) is not None
    return (start := _start(path)).startswith(WARC) or holds_warc(start)


def _sources(path: str, root: str) -> list[str]:
    if os.path.isdir(path):
        paths = [os.path.join(path, name) for name in _below(path)]
        warcs = [name for name in paths if _WARC_NAME.search(name)]
        return [*warcs, path] if any(map(_is_html_file, paths)) else warcs
    if is_warc(path):
        return [path]
    return [_rooted(root, os.path.relpath(path, root or "."))] if _is_html_file(path) else []


def _below(folder: str) -> list[str]:
    """All files below a folder, as sorted relative paths."""
    start = len(os.path.join(folder, ""))
    return sorted(os.path.join(parent, name)[start:] for parent, _, names in os.walk(folder) for name in names)


def _rooted(root: str, relative: str) -> str:
    return f"{(root or '.').rstrip('/')}{ROOT}{relative}"


def _is_html_file(path: str) -> bool:
    suffix = _suffix(path)
    return suffix in _HTML_SUFFIXES or (not suffix and looks_like_html(_start(path)))


def _suffix(path: str) -> str:
    """File name extension in lower case, without the query that wget keeps in names (``index.php?id=3``)."""
    return os.path.splitext(os.path.basename(path).partition("?")[0])[1].lower()


def _start(path: str) -> bytes:
    try:
        with opened(path) as file:
            return file.read(SNIFFED)
    except OSError:
        return b""


def _url(path: str, base: str) -> str:
    if not base:
        return Path(path).absolute().as_uri()
    relative = (path.partition(ROOT)[2] or os.path.basename(path)).replace(os.sep, "/")
    return base + ("" if base.endswith("/") else "/") + quote(os.fsencode(relative), safe="/~")
