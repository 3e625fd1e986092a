"""Looks: what tag, id, class and role say of an element, once for all pages, and how a browser lays it out."""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

from scrapy_pagelets.base.arrays import Bools, Floats
from scrapy_pagelets.base.caches import cached
from scrapy_pagelets.base.characters import lazily, may_have

#: Signs of looks, above those of `scrapy_pagelets.page.looks`: the element is parted from others by a space, as a cell
#: or as a line; it is a block of code, a cell, a line or the number of one; a menu of links, a button at code, or tabs.
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
#: Classes by sign: of Bootstrap, Tailwind and Bulma, of JSDoc, of highlighters, forums, wikis and manuals.
_CLASSES: Final = {
    AS_SPACE: r"signature-attributes",
    AS_CELL: r"(?:(?:d|display)(?:-\w\w)?|is)-table-cell",
    AS_LINE: rf"(?:(?:d|display)(?:-\w\w)?|is)-(?:{BLOCKS})|block",
    CODE: r"syntaxhighlighter|dp-highlighter|mw-geshi|mw-highlight|codehilite|hljs|prettyprint|CodeMirror-code|"
    r"view-lines|code-?(?:box|content|block|listing|snippet|body)|bbc?_?code|programlisting|geshifilter|ltx_lstlisting",
    CODE_CELL: r"(?:\S*[_-])?(?:code|source)(?:[_-]\S*)?",
    CODE_LINE: r"(?:\S*[_-])?line|(?:code|token|view|source|ltx_listing)line",
    NUMBERS: r"(?:\S*[_-])?(?:gutter|linenos?|line-?numbers?(?!-mode)|lines?-num|linenr|lnt|ln-numbers|blob-num|"
    r"crayon-nums?)(?:[_-]\S*)?|ln|pre-numbering|ltx_tag_listingline",
    LINKS: r"(?:\S*[_-])?nav(?:bar|box|igation|menu)",
    CONTROL: r"(?:\S*[_-])?(?:btn|button|copy|clipboard|clipboardjs|copybtn|toolbar-item|expand|collapse|run|tooltip|"
    r"playground)(?:[_-]\S*)?",
    TABS: r"(?:\S*[_-])?tab(?:s|bed|list|nav|content|pane|panel)?(?:[_-]\S*)?|yui-nav",
}
_TOKENS: Final = {sign: lazily(rf"(?:{pattern})\Z", re.IGNORECASE) for sign, pattern in _CLASSES.items()}
#: What one of the classes above has in it; most have none.
_ANY: Final = (
    "block flex grid tab flow-root list-item code highlight geshi hljs pretty view-lines listing source line gutter "
    "numbering lnt blob ln crayon tooltip nav btn button copy clip toolbar expand collapse run playground signature-a"
).split()
_LONGEST: Final = 100
_TOKEN: Final = "token "  # a token of Prism, also one that is called a line: the mark of a change stands beside it


def placing(classes: str, role: str) -> int:
    """The signs of role and classes."""
    found = _ROLES.get(role, 0)
    if may_have(classes, _ANY):
        for token in classes.split():
            if len(token) <= _LONGEST:
                for sign, pattern in _TOKENS.items():
                    found |= sign * (pattern.match(token) is not None)
    return found & ~CODE_LINE if classes.startswith(_TOKEN) else found


Look = tuple[str, str, str, str]  # the look of a node: tag, id, class, role
_VOLATILE: Final = lazily(
    r"\d{3,}|^(?:post|product|node|comment|(?:menu|page|cat)-item)[-_]?\d|(?:^|-)(?:odd|even|alt)$|"
    r"^(?:in)?(?:active|current|selected|open|opened|closed|collapsed|expanded)$|^(?:is|has)-|"
    r"(?:^|[-_])(?:active|current|selected)(?:[-_]|$)",
    re.IGNORECASE,
)
#: Classes of a post of WordPress, and those that tell its type. Beside them it puts what is of this post alone: its
#: number, categories, tags and format, whether it is in stock.
_POST_CLASSES: Final = frozenset(("hentry", "status-publish"))
_TYPE: Final = lazily(r"hentry$|type-")
#: By name, tag and role of the elements that tell the function of what is inside of them.
_LANDMARKS: Final = {
    "nav": ("nav", "navigation"), "header": ("header", "banner"), "footer": ("footer", "contentinfo"),
    "aside": ("aside", "complementary"), "main": ("main", "main"), "article": ("article", "article"),
    "form": ("form", "form"), "table": ("table", "table"), "list": ("ul", "list"), "pre": ("pre", ""),
    "heading": ("", "heading"), "p": ("p", ""), "dl": ("dl", ""), "label": ("label", ""),
    "button": ("button", "button"), "dialog": ("dialog", "dialog"), "figure": ("figure", ""),
    "address": ("address", ""),
}  # fmt: skip
LANDMARKS: Final = {name: 1 << i for i, name in enumerate(_LANDMARKS)}  # the sign of each landmark
#: Other signs: a heading element, the name of a headline or of breadcrumbs, a menu, a formula, what nobody sees.
HEADING, HEADLINE, CRUMBS, MENU, FORMULA, NOTHING = (1 << len(_LANDMARKS) + i for i in range(6))
#: The name of a section of comments, of a comment, of the reviews of a product, or of an author; a list of options to
#: choose from, what only screen readers say, and the name of a section of related posts.
COMMENTS, COMMENT, REVIEWS, AUTHOR, CHOICES, HEARD, RELATED = (1 << len(_LANDMARKS) + i for i in range(6, 13))
#: The name of a byline, of what leads to other posts, of links to further pages, and of a signature.
BYLINE, ELSEWHERE, PAGER, SIGNATURE = (1 << len(_LANDMARKS) + i for i in range(13, 17))
#: A reading of ruby, and what holds an address that a script decodes.
READING, ENCODED = (1 << len(_LANDMARKS) + i for i in range(17, 19))
#: The entry of a page, as in hAtom and h-entry, a post of a thread, and what may be named as a part of an offer.
ENTRY, POST, OFFER = (1 << len(_LANDMARKS) + i for i in range(19, 22))
_HEADINGS: Final = tuple(f"h{level}" for level in range(1, 7))
_BY_TAG: Final = {tag: LANDMARKS[name] for name, (tag, _) in _LANDMARKS.items() if tag} | {
    "ol": LANDMARKS["list"],
    "blockquote": LANDMARKS["p"],
    "select": LANDMARKS["form"],
    **dict.fromkeys(_HEADINGS, LANDMARKS["heading"]),
}
_BY_ROLE: Final = {role: LANDMARKS[name] for name, (_, role) in _LANDMARKS.items() if role}


def _names(pattern: str) -> re.Pattern[str]:
    """Match a name that stands alone, or before or behind a hyphen or underscore."""
    return re.compile(rf"(?:^|[\s_-])(?:{pattern})(?:$|[\s_-])", re.IGNORECASE)


#: Names of classes, ids and properties of a heading that is in no heading element.
_HEADLINE: Final = _names(
    r"headline|(?:(?:entry|post|page|article|product|main|content|doc|thread|topic)[_-]?)?(?:title|heading)"
)
_NO_HEADLINE: Final = ("a", "body", "html")  # elements that are no heading, whatever their names say
#: Classes, ids and labels of elements with breadcrumbs, and of none that only has a part of them.
CRUMBS_NAMED: Final = lazily(
    r"(?:bread-?_?crumb|crumb-?_?trail|(?:topic|nav)-?_?path|pankuzu|(?:^|[\s_-])crumbs?(?:$|[\s_-]))", re.IGNORECASE
)
#: Classes of the elements that hold all forms of a formula: KaTeX, MathJax 2, MediaWiki.
FORMULA_NAMED: Final = lazily(
    r"(?:^|\s)(?:katex(?:-display)?|MathJax(?:_Preview|(?:_SVG|_CHTML)?(?:_Display)?)|mjx-chtml|mwe-math-element)(?:\s|$)"
)
#: Classes and ids of what holds all comments, and of each of them: WordPress, Drupal, Movable Type, Disqus and others.
_COMMENTS: Final = _names(
    r"(?<!has[_-])(?<!no[_-])(?<!with[_-])(?!has|no|with)[a-z]{0,20}comments(?![_-](?:open|closed|enabled))|"
    r"comentarios|commentaires|kommentare|kommentarer|commenti|komentarze|komentare|yorumlar|reacties|commentlist|"
    r"comments?[-_]?(?:list|area|block|section|box|form|thread|wrapper|container)|disqus_thread"
)
_COMMENT: Final = _names("comment|comentario|commentaire|kommentar|commento|komentarz|komentar|yorum|reactie")
#: Elements with a comment or a part of it, if any name in their class says so.
_PARTS: Final = frozenset("div li dl dt dd p table tr td article".split())
#: ... but for what may have comments, and what leads to them.
_PART: Final = lazily(r"comment(?!able|s?[_-]?(?:link|count|number|open|closed))", re.IGNORECASE)
_REVIEWS: Final = _names(r"reviews|(?:customer|product)-?reviews?|reviews?-?(?:list|section)")
_AUTHOR: Final = lazily(
    r"(?:^|\s)(?:\S*[-_])?(?:author|byline|autor|auteur)(?:[-_](?:name|link|vcard|info))?(?:$|\s)|(?:^|\s)(?:fn|ljuser|owner-?name)(?:$|\s)",
    re.IGNORECASE,
)
#: Classes of what only screen readers say, no printer prints, a font shows as icons, or a button says afterwards.
_HEARD: Final = _names(
    r"sr-only|screen-?reader(?:-text)?|visually-?hidden|hidden-visually|element-invisible|noscreen|hideme|"
    r"no-?print|print-no(?:ne)?|(?:hidden|none)-print|material-(?:icons|symbols)|"
    r"copy-(?:popup|tooltip|message|success)|copied"
)
#: Classes and ids of sections of related posts, as blog engines and their plugins name them.
_RELATED: Final = _names(
    r"related[-_]?(?:(?:post|article|event|photo|picture|recipe)s?|stories)|jp-relatedposts|yarpp|wp_rp(?:_\w+)?"
)
#: Classes of other products that a shop offers beside one.
_SELLING: Final = _names(r"(?:cross|up)-?sell(?:s|ing)?")
#: Classes of the line with author, date and section of a post, of how long it takes to read, and of whom it has helped.
_BYLINE: Final = lazily(
    r"(?:^|\s)(?:(?:entry|post|article|node)[-_]{,2}(?:meta(?:data)?|info)|(?:entry|post)-footers?|posted-on|byline|"
    r"(?:\S*[-_])?(?:read(?:ing)?-?_?time|time-to-read)|(?:\S*[-_])?(?:votes?|helpful))(?:$|\s)",
    re.IGNORECASE,
)
#: Classes and ids of links to the posts or chapters before and after this one, and to an editor of a section.
_NEIGHBOURS: Final = _names(
    r"nav-?(?:previous|next|links)|nav(?:header|footer)|posts?-?nav(?:igation)?|prev-?next|post-?nav-?(?:prev|next|item)|mw-editsection"
)
#: Classes of the links from a manual to the source of what it tells of: rustdoc, Sphinx, ExDoc.
_SOURCE: Final = lazily(r"(?:^|\s)(?:src|viewcode-link|view-source|source-link)(?:$|\s)")
#: Classes of the links to further pages of a list, of numbers of pages of print, and of what bbPress says to visitors.
_PAGER: Final = _names(r"pager|pagination|paging|page-?n(?:umbers?|um|o)|pagenavi|bbp-template-notice")
#: Classes, ids and roles of navigation in the page itself.
_CONTENTS: Final = lazily(r"toc|contents|index", re.IGNORECASE)
_SIGNATURE: Final = _names("(?:post)?signatures?")  # classes of what forums put below each contribution of an author
#: Classes and ids of addresses that a script decodes (Cloudflare, Joomla, SpamSpan, others), or to which it counts.
_ENCODED: Final = _names(r"__cf_email__|cloak[0-9a-f]{3,}|spamspan|mail-link|(?:pure)?counter|count-?up|odometer")
_ENTRY: Final = lazily(r"(?:^|\s)(?:h-?entry|type-product)(?:$|\s)", re.IGNORECASE)
#: Classes and ids of posts and comments, as programs for forums and blogs name them. Names of their parts are longer.
_POST: Final = lazily(
    r"(?:^|\s)(?:(?:topic-|forum-?)?(?:post|reply|message|answer|question)|(?:bz_)?comment|review|email|journal|PostStream-item|cPost|"
    r"post(?:-?container|-?bit|[-_]wrapper)|(?:js-|topic-|li-|div-)?(?:p_?|(?:pid|post|msg|message|reply|answer|comment)[-_]?)\d+)"
    r"(?:$|\s)",
    re.IGNORECASE,
)
#: Elements that hold more than a post, or less.
_NO_POST: Final = frozenset("html body main a span p h1 h2 h3 h4 h5 h6 td form input textarea button".split())
#: What one of the names above has in it. Most looks have none, and many are new on each page.
_NAMED: Final = (
    "title head crumb topic pankuzu comment comentario kommentar komentar yorum reactie sell disqus review author "
    "autor auteur byline fn "
    "sr-only screen hidden hideme invisible related yarpp wp_rp meta nav prev editsec signature pager pagin page-n "
    "pagen bbp-t __cf cloak spamspan mail h-entry hentry type-prod post reply message msg answer question src source "
    "viewcode ljuser owner-name ownername e-info t-info y-info print read vote helpful journal count odometer "
    "material- copy- copied post-foot entry-foot"
).split()
#: What the names of prices, of controls to buy and of other products have in them, see `metadata.product_values`.
_OFFERED: Final = (
    "pric pris prix prec pres preic preis prezzo cena cart bag basket buy purchase stock sold sku item art product "
    "model brand vendor manufact relat simil recom sell recent also might old was orig stri cross list regular"
).split()
_OF_POST: Final = lazily(r"\bp(?:id[-_]?|_?)\d", re.IGNORECASE)  # the number of a post; "p-3" is a space
#: Elements that hold more than comments, or less, whatever their names say.
_NO_PAGER: Final = ("html", "body", "main", "article", "td")
_NO_COMMENTS: Final = ("html", "body", "main", "article", "a", "span", "p")
_MENUS: Final = frozenset(("nav", "ol", "ul"))
_LINKS: Final = ("a", "span")
_NOTHING: Final = frozenset("script style template noscript noembed noframes".split())


def signature(look: Look) -> int:
    """Hash what two nodes must share to be equal: tag, id, class tokens and role, without volatile tokens.

    A token is volatile if it has three digits or more, is the number of a post, or marks every other row or the
    current entry of a menu. Of the tokens of a post of WordPress, only its type counts.
    """
    tag, name, classes, role = look
    if tag in ("html", "body"):  # a page has only one, and blog engines put the page's number into its class
        return xxh3_64_intdigest(tag.encode()) >> 1
    parts = (tag, "" if name and _VOLATILE.search(name) else name, role, *_steady(classes))
    return xxh3_64_intdigest("\0".join(parts).encode("utf-8", "replace")) >> 1


@cached
def _steady(classes: str) -> tuple[str, ...]:
    tokens = sorted(t for t in classes.split() if not _VOLATILE.search(t))
    is_post = not _POST_CLASSES.isdisjoint(tokens)
    return tuple(t for t in tokens if not is_post or _TYPE.match(t))


def class_signature(look: Look) -> int:
    """Hash of tag and class tokens alone, as `signature`."""
    return signature((look[0], "", look[2], ""))


def signs(look: Look) -> int:
    """What a look says of the element, as bits: ``LANDMARKS``, ``HEADING`` ... ``POST``, and those of its place."""
    tag, name, classes, role = look
    found, names = _signs_without_id(tag, classes, role), f"{name} {classes}"
    if tag == "nav" or role == "navigation":
        found |= ELSEWHERE * (not _CONTENTS.search(f"{names} {role}"))
    found |= OFFER * (name != "" and may_have(name, _OFFERED))
    if may_have(names, _NAMED) or _OF_POST.search(names):
        found |= _signs_of_names(tag, names, classes)
    return found


@cached
def _signs_without_id(tag: str, classes: str, role: str) -> int:
    """The signs of a look whatever its id: many elements have an id of their own on each page."""
    set_formula = tag in ("span", "div") and bool(classes and FORMULA_NAMED.search(classes))
    return (
        _BY_TAG.get(tag, 0)
        | _BY_ROLE.get(role, 0)
        | HEADING * (tag in _HEADINGS)
        | MENU * (role == "navigation" or tag in _MENUS)
        | FORMULA * (set_formula or tag in ("math", "mjx-container"))
        | NOTHING * (tag in _NOTHING)
        | CHOICES * (tag in ("select", "datalist"))
        | READING * (tag == "rt" or tag == "rtc")
        | ENCODED * (tag == "joomla-hidden-mail")
        | OFFER * (tag in ("del", "s", "strike") or may_have(classes, _OFFERED))
        | (AS_SPACE | TABS) * tag.endswith("-tab")
        | (AS_LINE | TABS) * tag.endswith(("-tab-panel", "-tabpanel"))
        | (placing(classes, role) if classes or role else 0)
    )


def _signs_of_names(tag: str, names: str, classes: str) -> int:
    return (
        HEADLINE * (tag not in _NO_HEADLINE and bool(_HEADLINE.search(names)))
        | CRUMBS * bool(CRUMBS_NAMED.search(names))
        | COMMENTS * (tag not in _NO_COMMENTS and bool(_COMMENTS.search(names)))
        | REVIEWS * (tag not in _NO_COMMENTS[:4] and bool(_REVIEWS.search(names)))
        | COMMENT * (tag not in _NO_COMMENTS[:2] and bool(_COMMENT.search(names)))
        | COMMENT * (tag in _PARTS and bool(_PART.search(classes)))
        | AUTHOR * bool(_AUTHOR.search(classes))
        | HEARD * (tag not in _NO_COMMENTS[:4] and bool(_HEARD.search(classes)))
        | RELATED * (tag not in _NO_COMMENTS[:4] and bool(_RELATED.search(names) or _SELLING.search(classes)))
        | BYLINE * (tag not in _NO_COMMENTS[:4] and bool(_BYLINE.search(names)))
        | ELSEWHERE * (tag not in _NO_COMMENTS[:4] and bool(_NEIGHBOURS.search(names)))
        | ELSEWHERE * (tag in _LINKS and bool(_SOURCE.search(classes)))
        | SIGNATURE * (tag not in _NO_COMMENTS[:4] and bool(_SIGNATURE.search(names)))
        | PAGER * (tag not in _NO_PAGER and bool(_PAGER.search(classes)))
        | ENCODED * bool(_ENCODED.search(names))
        | ENTRY * bool(_ENTRY.search(classes))
        | POST * (tag not in _NO_POST and bool(_POST.search(names) or (tag == "dt" and _PART.search(classes))))
    )


Floats32 = NDArray[np.float32]
Codes = NDArray[np.int8]
#: Values of ``display`` by code; the last one means any other value.
DISPLAYS: Final = (
    "none contents inline inline-block block flow-root list-item flex inline-flex grid inline-grid table inline-table "
    "table-caption table-header-group table-row-group table-footer-group table-row table-cell table-column-group "
    "table-column other"
).split()
DISPLAY: Final = {name: code for code, name in enumerate(DISPLAYS)}
POSITIONS: Final = "static relative absolute fixed sticky".split()  # values of ``position`` by code
POSITION: Final = {name: code for code, name in enumerate(POSITIONS)}


@dataclass(kw_only=True, frozen=True, eq=False, repr=False)
class Layout:
    """The layout of a rendered page, with the same rows as its node table.

    Lengths are in CSS pixels. The origin is the top left corner of the document. A run of text has the box around its
    lines and the font and colours of its parent.
    """

    #: (n,) the border box. A node without a box of its own (``display: contents``, a wrapper of floats) has the box
    #: around its children; zero if nothing is painted
    x: Floats32
    y: Floats32
    width: Floats32
    height: Floats32
    #: (n,) pixels; 100 to 900
    font_size: Floats32
    font_weight: NDArray[np.int16]
    color: NDArray[np.uint32]  # (n,) colour of the text, RGBA as ``0xRRGGBBAA``
    background: NDArray[np.uint32]  # (n,) the background colour blended over the backgrounds behind it, always opaque
    picture: Bools  # (n,) whether the node has a background image or gradient of its own
    #: (n,) whether some part of what is in the node can be seen: neither hidden, transparent, clipped nor off the page
    visible: Bools
    display: Codes  # (n,) index into ``DISPLAYS``; a run of text is ``inline``
    position: Codes  # (n,) index into ``POSITIONS``; a run of text is ``static``
    floating: Bools  # (n,) whether the node floats left or right
    #: width of the viewport and height of the document
    page_width: int
    page_height: int

    @cached_property
    def boxes(self) -> Floats:
        """(n, 4) left, top, right and bottom of the border box."""
        x, y = self.x.astype(np.float64), self.y.astype(np.float64)
        return np.column_stack((x, y, x + self.width, y + self.height))


def around(boxes: Floats) -> Floats:
    """(4,) the box around some boxes, (k, 4); zeros if there are none."""
    if not len(boxes):
        return np.zeros(4)
    return np.concatenate((boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)))
