"""The code of the guide to Spark does what it says."""

from tests.crawling import ROOT
from tests.documents import run


def test_the_guide_to_spark(tmp_path):
    run(ROOT / "docs" / "how-to" / "spark.md", tmp_path)
