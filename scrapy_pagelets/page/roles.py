"""The decision what is template: the threshold of templateness, and the roles that follow from it."""

from __future__ import annotations

from typing import Final, overload

from scrapy_pagelets.base.arrays import Bools, Floats, Ints
from scrapy_pagelets.page.nodes import NodeTable

#: Roles of pagelets. Navigation is a template of links.
CONTENT, NAVIGATION, TEMPLATE = "content", "navigation", "template"
#: What has at least this templateness is template, on every page: `decision.cut.shifted` moves the cut of each page to
#: this value. To draw the line elsewhere, change the cut and not this.
THRESHOLD: Final = 0.5
#: A template is navigation if more than this share of its words is link text.
_LINKED: Final = 0.5


@overload
def is_template(templateness: float) -> bool: ...
@overload
def is_template(templateness: Floats) -> Bools: ...
def is_template(templateness: float | Floats) -> bool | Bools:
    """Return whether something of this templateness, 0 to 1, is template; for an array, a mask of the same shape.

    >>> is_template(0.5), is_template(0.49)
    (True, False)
    """
    return templateness >= THRESHOLD


def role_of(nodes: NodeTable, leaves: Ints, templateness: float) -> str:
    """Return the role of some leaves of a page: content, navigation or template.

    Parameters
    ----------
    leaves : (k,) indices of the leaves
    templateness : of all of them together, 0 to 1
    """
    words = nodes.words[leaves]
    linked = words[nodes.anchor[nodes.leaves[leaves]]]
    return role_by_words(templateness, int(linked.sum()), int(words.sum()))


def role_by_words(templateness: float, linked: int, words: int) -> str:
    """Return the role of something with so many words in links, of all its words."""
    if not is_template(templateness):
        return CONTENT
    return NAVIGATION if linked > _LINKED * words else TEMPLATE
