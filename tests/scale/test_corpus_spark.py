"""The corpus job, and the guide to it, on a real Spark cluster: a standalone master and two workers on loopback."""

import signal
import subprocess
import sys

import pytest

from tests.corpora import TABLES, run, table, two_sites, warc
from tests.crawling import ROOT, scrapy
from tests.documents import run as run_document
from tests.spark_cluster import HOME, RUNNING, SparkCluster

#: The module of the command, which is an application for spark-submit.
APPLICATION = ROOT / "crawler" / "commands" / "corpus.py"
LIMIT = 900


@pytest.fixture(scope="module")
def cluster():
    with SparkCluster() as running:
        yield running


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Two sites in three files, one of them broken, cleaned by DuckDB; sites have more pages than a task takes."""
    folder = tmp_path_factory.mktemp("corpus")
    for number in range(3):
        warc(folder / f"part-{number}.warc.gz", two_sites()[number::3])
    (folder / "part-3.warc.gz").write_bytes(b"no archive")
    run(folder / "part-*.warc.gz", folder / "out")
    return folder


def tables(out):
    return {name: table(out, name) for name in TABLES}


def started(cluster, *command, stderr=subprocess.PIPE):
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=cluster.environment, stdout=pipe, stderr=stderr, text=True, cwd=ROOT)


def test_a_job_survives_failures_and_both_engines_give_equal_tables(cluster, corpus, tmp_path):
    """An executor dies while pages are read, then the job itself; spark-submit continues, and loses an executor too."""
    files = {path: path.read_bytes() for path in corpus.glob("part-*.warc.gz")}
    arguments = [str(corpus / "part-*.warc.gz"), str(tmp_path / "out")]
    command = [sys.executable, "-m", "scrapy", "pagelets", "corpus", *arguments, "--engine", "spark"]
    killed = started(cluster, *command, "--master", cluster.master)
    said = read_until(killed.stderr, "sources are read")
    cluster.kill_executor()
    said += read_until(killed.stderr, "pages are cleaned")
    killed.kill()
    assert killed.wait(LIMIT) == -signal.SIGKILL, "".join(said)
    killed.stdout.close()
    killed.stderr.close()
    assert cluster.executors() == [2, 1]  # it was started again
    for path, content in files.items():  # would be another corpus, if they were read again
        path.write_bytes(bytes(len(content)))
    try:
        submitted = [str(HOME / "bin" / "spark-submit"), "--master", cluster.master, str(APPLICATION), *arguments]
        process = started(cluster, *submitted, stderr=subprocess.STDOUT)  # it has but one stream for an application
        said = read_until(process.stdout, "pages are cleaned")
        cluster.kill_executor()
        said += process.stdout
    finally:
        for path, content in files.items():
            path.write_bytes(content)
    process.stdout.close()
    err = "".join(said)
    assert process.wait(LIMIT) == 1, err[-3000:]  # one source is broken
    assert "part-3.warc.gz" in err, err[-3000:]
    assert cluster.executors() == [4, 2]
    theirs, ours = tables(tmp_path / "out"), tables(corpus / "out")
    for name in TABLES:
        assert theirs[name] == ours[name], name
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(TABLES)


def test_the_guide_to_spark(cluster, tmp_path, monkeypatch):
    """On one of the executors: each would load Spark and the project for a few pages."""
    one = f'{cluster.environment["SPARK_SUBMIT_OPTS"]} "-Dspark.cores.max=1"'
    for name, value in {**cluster.environment, RUNNING: cluster.master, "SPARK_SUBMIT_OPTS": one}.items():
        monkeypatch.setenv(name, value)
    run_document(ROOT / "docs" / "how-to" / "spark.md", tmp_path)


def read_until(stream, words):
    """Read the lines of a process until it says something, or ends."""
    said = []
    for line in stream:
        said.append(line)
        if words in line:
            break
    return said


def test_a_missing_cluster_is_named(tmp_path):
    path = warc(tmp_path / "crawl.warc", two_sites())
    command = ["pagelets", "corpus", str(path), str(tmp_path / "out"), "--engine", "spark"]
    done = scrapy(*command, "--master", "spark://127.0.0.1:9")
    assert done.returncode == 1
    assert done.stderr.startswith("there is no Spark cluster at spark://127.0.0.1:9: Connection refused; start it")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("told", "sentence"),
    [('openjdk version "11.0.2" 2019-01-15', "Spark needs Java 17, {java} is 11"), (None, "there is none")],
)
def test_wrong_java_is_named(tmp_path, monkeypatch, told, sentence):
    java = tmp_path / "home" / "bin" / "java"
    java.parent.mkdir(parents=True)
    if told is not None:
        java.write_text(f"#!/bin/sh\necho '{told}' >&2\n")
        java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    path = warc(tmp_path / "crawl.warc", two_sites())
    done = scrapy("pagelets", "corpus", str(path), str(tmp_path / "out"), "--engine", "spark")
    assert done.returncode == 1
    assert sentence.format(java=java) in done.stderr
    assert "apt-get install openjdk-17-jre-headless" in done.stderr
    assert not (tmp_path / "out").exists()
