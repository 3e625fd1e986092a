"""What role and class say of the place of an element: apart from its neighbours, in code, a menu, a button or tabs."""

from __future__ import annotations

import re
from typing import Final

#: Signs of looks, above those of `scrapy_pagelets.page.looks`: the element is parted from others by a space, as a cell
#: or as a line; it is a block of code, a cell of one, a line of one, or the numbers of lines; a menu of links, a button
#: at code, or tabs.
AS_SPACE, AS_CELL, AS_LINE, CODE, CODE_CELL, CODE_LINE, NUMBERS, LINKS, CONTROL, TABS = (1 << 48 + i for i in range(10))

_ROLES: Final = {
    **dict.fromkeys("row rowgroup listitem option menuitem treeitem heading table grid treegrid".split(), AS_LINE),
    **dict.fromkeys("cell gridcell columnheader rowheader".split(), AS_CELL),
    "tab": AS_SPACE | TABS,
    "tabpanel": AS_LINE | TABS,
    "button": AS_SPACE | CONTROL,
}
#: Values of ``display`` that put an element into lines of its own.
BLOCKS: Final = "block|flex|grid|list-item|flow-root|table(?:-row(?:-group)?|-caption|-header-group|-footer-group)?"
_CODE_LINE: Final = r"(?:(?:code|token|view|cm|CodeMirror|source|react-code|ec)-?line|line|ace_line)"
_NUMBERS: Final = (
    r"(?:\S*[_-])?(?:gutter|linenos?|line-?numbers?(?!-mode)|lines?-num|lineno|lnt|ln-numbers|blob-num)(?:[_-]\S*)?|ln|"
    r"pre-numbering"
)
#: Classes by sign: of Bootstrap, Tailwind and Bulma, of highlighters and engines of forums, of wikis and manuals.
_CLASSES: Final = {
    AS_CELL: r"(?:(?:d|display)(?:-\w\w)?|is)-table-cell",
    AS_LINE: rf"(?:(?:d|display)(?:-\w\w)?|is)-(?:{BLOCKS})|block",
    CODE: r"syntaxhighlighter|dp-highlighter|mw-geshi|mw-highlight|codehilite|hljs|prettyprint|CodeMirror-code|"
    r"view-lines|code-?(?:box|content|block|listing|snippet|body)|bbc?_?code|programlisting|geshifilter",
    CODE_CELL: r"(?:\S*[_-])?(?:code|source)(?:[_-]\S*)?",
    CODE_LINE: _CODE_LINE,
    NUMBERS: _NUMBERS,
    LINKS: r"(?:\S*[_-])?nav(?:bar|box|igation|menu)",
    CONTROL: r"(?:\S*[_-])?(?:btn|button|copy|clipboard|clipboardjs|copybtn|toolbar-item|expand|collapse|run|"
    r"playground)(?:[_-]\S*)?",
    TABS: r"(?:\S*[_-])?tab(?:s|bed|list|nav|content|pane|panel)?(?:[_-]\S*)?",
}
_TOKENS: Final = {sign: re.compile(rf"(?:{pattern})\Z", re.IGNORECASE) for sign, pattern in _CLASSES.items()}
#: What one of the classes above has in it; most have none.
_ANY: Final = re.compile(
    r"block|flex|grid|table|flow-root|list-item|code|highlight|geshi|hljs|pretty|view-lines|listing|source|line|gutter|numbering|lnt|blob|"
    r"\bln\b|nav|btn|button|copy|clip|toolbar|expand|collapse|run|playground|tab",
    re.IGNORECASE,
)
_LONGEST: Final = 100


def placing(classes: str, role: str) -> int:
    """The signs of role and classes.

    >>> placing("navbar d-block", "cell") == AS_CELL | AS_LINE | LINKS
    True
    """
    found = _ROLES.get(role, 0)
    if _ANY.search(classes):
        for token in classes.split():
            if len(token) <= _LONGEST:
                for sign, pattern in _TOKENS.items():
                    found |= sign * (pattern.match(token) is not None)
    return found
