"""The program of the benchmarks: its suites are found, described, and named in the documents as they are called."""

import re
import subprocess
import sys
from math import isfinite
from pathlib import Path

import pytest

from benchmarks.__main__ import suites
from benchmarks.subdigraphs import in_document_order
from scrapy_pagelets import Page

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.py")]


def run(*arguments):
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)


def test_all_suites_are_listed_with_what_they_measure():
    listed = dict(line.split(maxsplit=1) for line in run("--list").stdout.splitlines())
    assert {"cost", "quality", "throughput"} <= listed.keys()
    assert "tools" not in listed
    assert listed == {name: about for name, about in suites() if about}


def test_documents_name_suites_that_exist():
    named = {
        name for path in DOCUMENTS for name in re.findall(r"-m\s+benchmarks\s+([a-z]\w*)", path.read_text("utf-8"))
    }
    assert "quality" in named
    assert named <= dict(suites()).keys()


def test_a_suite_gets_its_options():
    done = run("sites", "--help")
    assert done.returncode == 0
    assert done.stdout.startswith("usage: python -m benchmarks sites")


def test_unknown_suites_are_refused_with_the_names_of_all():
    done = run("quolity")
    assert done.returncode == 2
    assert "quality" in done.stderr


def test_missing_data_end_a_suite_with_a_sentence():
    done = run("cost", "--data", "no/such/folder")
    assert done.returncode == 1
    assert "--data" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("of", "largest", "step"), [("nodes", "300", "node table"), ("pages", "30", "learn"), ("sites", "30", "learn")]
)
def test_growth_prints_an_exponent_for_each_step(of, largest, step):
    done = run("growth", of, "--largest", largest)
    assert done.returncode == 0, done.stderr
    row = next(line for line in done.stdout.splitlines() if line.startswith(step))
    assert isfinite(float(row.split()[-2]))  # of so few, it may be anything
    assert "Above 1.1: " in done.stdout


def test_starts_are_compared_with_python_itself():
    done = run("startup", "--repetitions", "1")
    assert done.returncode == 0, done.stderr
    assert next(line for line in done.stdout.splitlines() if line.startswith("Python")).endswith("1.0")


def test_pictures_are_small_and_shown():
    pictures = list((ROOT / "docs" / "images").iterdir())
    shown = "".join(path.read_text("utf-8") for path in DOCUMENTS if path.suffix == ".md")
    assert [path.name for path in pictures if path.name not in shown] == []
    made = [path for path in pictures if path.name.startswith(("view-", "report-"))]
    assert len(made) == 7
    assert [path.name for path in made if path.stat().st_size > 200_000] == []


def test_links_are_also_searched_in_the_orders_of_others():
    html = "<p>See <a href=/x/y/far.html>it</a>, <a href=/a/near.html>that</a>, <a href=/x/y/far.html>it</a>.</p>"
    html += "<ul><li><a href=/b/two.html>Two</a><li><a href=/a/one.html>One</a></ul>"
    page = Page.parse(html.encode(), "http://h.com/a/page.html")

    def names(order):
        return [page.nodes.links.target[i].rpartition("/")[2].removesuffix(".html") for i in order(page)]

    assert names(in_document_order) == ["far", "near", "two", "one"]
    assert in_document_order(Page.parse(b"<p>a", "http://h.com/")) == []
