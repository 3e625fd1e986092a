"""The quality gate: how clean the pages of the bundled site come out of a crawl, against what people kept of them.

The floors stand a little below what is reached. They are raised when it gets better, and lowered only on purpose. The
shipped model has learnt from this site among others: the gate tells when something breaks, not how clean unseen
sites are.
"""

import gzip
import json
import re
from collections import Counter
from statistics import mean

from tests.crawling import ROOT, SITE, crawl
from tests.server import SiteServer

CONTENT_FLOOR = 0.995
TEMPLATE_FLOOR = 0.985


def words(text):
    return Counter(re.findall(r"[^\W_]+", text.casefold()))


def f1(found, gold):
    """Harmonic mean of precision and recall of the words, each as often as it stands there."""
    return 2 * (found & gold).total() / (found.total() + gold.total()) if found or gold else 1.0


def test_content_is_kept_and_template_taken_away(tmp_path):
    with SiteServer(SITE) as server:
        found = crawl(tmp_path, "site", url=server.url("index.html"))
    texts = {line["url"].removeprefix(server.url("")): line["text"] for line in found.lines}
    with gzip.open(ROOT / "tests" / "site.gold.jsonl.gz", "rt", encoding="utf-8") as file:
        gold = [json.loads(line) for line in file]
    assert texts.keys() == {page["path"] for page in gold}
    content, template = [], []
    for page in gold:
        full, wanted, kept = words(page["full"]), words(page["content"]), words(texts[page["path"]])
        content.append(f1(kept, wanted))
        template.append(f1(full - kept, full - wanted))
    print(f"content F1 {mean(content):.4f}, template F1 {mean(template):.4f}")
    assert mean(content) >= CONTENT_FLOOR
    assert mean(template) >= TEMPLATE_FLOOR
