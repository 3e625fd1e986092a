"""A command that runs in a fork is a process like one that is started as usual."""

import json
import os
import signal
import subprocess
import sys

import pytest

from tests import prefork
from tests.crawling import scrapy, start

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks are for Linux")

#: A command of a project that tells about its process; its exit code is 3.
TELLS = """
import json, os, sys, tempfile, warnings
from scrapy.commands import ScrapyCommand

class Command(ScrapyCommand):
    def short_desc(self):
        return "Tell about this process"
    def run(self, args, opts):
        told = {name: getattr(sys, name) for name in ("argv", "path", "warnoptions", "executable", "orig_argv")}
        told |= {"folder": os.getcwd(), "parent": os.getppid(), "group": os.getpgrp()}
        told |= {"environment": dict(os.environ), "temporary": tempfile.gettempdir(), "process": os.getpid()}
        told |= {"main": sys.modules["__main__"].__spec__.name, "files": sorted(os.listdir("/proc/self/fd"))}
        told |= {"streams": [[s.encoding, s.errors, s.line_buffering] for s in (sys.stdout, sys.stderr)]}
        told |= {"hash": hash("seeded"), "errors": [str(one) for one in warnings.filters if one[0] == "error"]}
        print(json.dumps(told), flush=True)
        print("said", file=sys.stderr)
        self.exitcode = 3
"""
#: A command that leaves a file open in a cycle, where only the garbage collection finds it.
LEAVES = """
import os
from scrapy.commands import ScrapyCommand

class Command(ScrapyCommand):
    def short_desc(self):
        return "Leave a file open"
    def run(self, args, opts):
        self.left = [self, open(os.devnull)]
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = told_settings\n")
    (tmp_path / "told_settings.py").write_text('COMMANDS_MODULE = "told_commands"\n')
    (tmp_path / "told_commands").mkdir()
    (tmp_path / "told_commands" / "__init__.py").touch()
    (tmp_path / "told_commands" / "tell.py").write_text(TELLS)
    (tmp_path / "told_commands" / "leave.py").write_text(LEAVES)
    return tmp_path


def told(project):
    done = scrapy("tell", "an argument", cwd=project)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (3, "said"), done.stderr
    return json.loads(done.stdout)


def test_a_fork_is_like_a_process_that_was_started(project, monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setenv("NEW", "1")
    forks = [told(project) for _ in range(2)]
    monkeypatch.setattr(prefork, "ForkedScrapy", subprocess.Popen)
    usual = told(project)
    for fork in forks:
        assert fork.pop("process") != usual["process"]
        assert fork.pop("hash") != usual["hash"]
        assert fork == {name: value for name, value in usual.items() if name not in ("process", "hash")}
    assert usual["parent"] == os.getpid()


def test_forks_have_different_hash_seeds(project):
    one, other = told(project), told(project)
    assert one["hash"] != other["hash"]


def test_a_fork_tells_what_it_has_left_open(project, monkeypatch):
    fork = scrapy("leave", cwd=project)
    monkeypatch.setattr(prefork, "ForkedScrapy", subprocess.Popen)
    for done in (fork, scrapy("leave", cwd=project)):
        assert done.returncode == 0
        assert "ResourceWarning: unclosed file" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_fork_can_be_killed(number):
    process = start("shell", "-c", "print('here', flush=True) or input()")
    assert isinstance(process, prefork.ForkedScrapy)
    with process:
        assert process.stdout
        assert process.stdout.readline() == "here\n"
        process.send_signal(number)
        assert process.wait() != 0


def test_no_process_is_forked_where_its_environment_would_be_late(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    with start("version") as process:
        assert not isinstance(process, prefork.ForkedScrapy)
