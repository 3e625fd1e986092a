"""Pictures and players of a page: which of them are content, and the files that they show."""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise, takewhile
from typing import Final
from urllib.parse import unquote

import numpy as np
from lxml import etree

from scrapy_pagelets.base.arrays import Bools, Ints
from scrapy_pagelets.base.caches import once
from scrapy_pagelets.base.characters import lazily, readable
from scrapy_pagelets.decision.asides import hints_of
from scrapy_pagelets.decision.content import permalinks
from scrapy_pagelets.metadata.headline import Headline
from scrapy_pagelets.page.looks import HEADING, LANDMARKS
from scrapy_pagelets.page.nodes import TAG, TEXT, NodeTable, rows_named, rows_tagged, rows_with
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.structured_data import is_work, properties_of, types_of, value_of, values_of
from scrapy_pagelets.page.urls import PLACEHOLDER, files_among

PICTURES: Final = frozenset(("img", "amp-img", "amp-anim"))  # tags of pictures
#: Attributes where scripts that load pictures late find their address, to replace another one.
_LATE: Final = (
    "data-src data-lazy-src data-original data-lazy data-lazyload data-actualsrc data-native-src data-hi-res-src "
    "nitro-lazy-src data-pagespeed-lazy-src data-cfsrc data-ezsrc data-lzy_src data-echo data-delayed-url "
    "data-src-cmplz data-cookieblock-src data-cmp-src data-uc-src data-consent-src data-suppressedsrc"
).split()
#: Names of other attributes with the address of a picture that has no other.
_NAMED_SO: Final = lazily(r"src|lazy|load|orig|image|img|url|file|srv|retina|hi-?res|full|large")
_SETS: Final = ("srcset", "data-srcset", "data-lazy-srcset", "nitro-lazy-srcset", "data-ezsrcset", "data-cfsrcset")
_CANDIDATE: Final = lazily(r"\s*(\S*[^\s,])(?:\s+([\d.]+)([wx]))?\s*(?:,|$)")
#: Characters that no address has: others are lists, objects and templates.
_NO_ADDRESS: Final = lazily(r"[{}<>\"'|\[\]]")
OF_PICTURE: Final = lazily(r"\S+\.(?:jpe?g|png|gif|webp|avif|svg|bmp)(?:$|[?#])", re.IGNORECASE)
#: A tag in an alternative text: of the elements that text has, since "List<String>" is none.
_MARKUP: Final = lazily(r"</?(?:a|b|br|div|em|font|h[1-6]|i|p|small|span|strong|u)\b[^<>]*>", re.IGNORECASE)
_LONGEST_VALUE: Final = 20_000
_WIDTH: Final = "{width}"  # a width that a script sets for the window
_WIDTHS: Final = lazily(r"\d{2,4}")  # those that it chooses from
_USUAL_WIDTH: Final = "1080"
#: Elements of one picture or player that are looked at, and those around a picture.
_MANY: Final = 20


def source_of(image: etree._Element) -> str:
    """The address of a picture as written; "" if it has none, or only inline data."""
    own = (image.get("src") or "").strip()
    if (late := late_of(image)) or _shows(own):
        return late or own
    sets = (_largest(node.get(name) or "") for node in (image, *_sources(image)) for name in _SETS)
    names = (name for name in map(str, image.attrib) if name not in ("src", "alt", "title") and _NAMED_SO.search(name))
    others = (value for name in names if (value := _late(image, name)) and OF_PICTURE.match(value))
    if found := next(filter(None, sets), "") or next(others, ""):
        return found
    copy = copy_of(image)
    return (copy.get("src") or "").strip() if copy is not None and _shows(copy.get("src") or "") else ""


def late_of(element: etree._Element) -> str:
    """The address by which a script replaces that of a picture or a frame; "" if there is none."""
    return next((value for name in _LATE if name in element.attrib and (value := _late(element, name))), "")


def copy_of(image: etree._Element) -> etree._Element | None:
    """The copy of a picture for browsers without scripts, which stands in or behind it; None if there is none."""
    for near in (image.getnext(), *image.iterchildren("noscript")):
        if near is not None and near.tag == "noscript":
            return near.find(".//img")
    return None


def text_of(image: etree._Element) -> str:
    """The alternative text of a picture, or that of its copy, without the markup that sliders write into it."""
    alt = image.get("alt") or ""
    if not alt and (copy := copy_of(image)) is not None:
        alt = copy.get("alt") or ""
    return " ".join(_MARKUP.sub(" ", alt).split()) if "<" in alt else alt


def _shows(url: str) -> bool:
    """Whether an address leads to more than inline data and a picture that keeps the place of another."""
    return not _is_inline(url) and not PLACEHOLDER.search(url)


def _is_inline(url: str) -> bool:
    return url[:5].lower() in ("data:", "blob:") or not url


def _late(image: etree._Element, name: str) -> str:
    """The address in an attribute; "" if it has something else."""
    value = (image.get(name) or "")[:_LONGEST_VALUE].strip()
    if _WIDTH in value:
        widths = _WIDTHS.findall((image.get("data-widths") or "")[:_LONGEST_VALUE])
        value = value.replace(_WIDTH, max(widths, key=int, default=_USUAL_WIDTH))
    is_address = ("/" in value or "." in value) and not _NO_ADDRESS.search(value)
    return value if is_address and _shows(value) else ""


def _sources(image: etree._Element) -> list[etree._Element]:
    """The elements ``source`` of a picture, in document order; the parser nests them."""
    picture = next((above for above in islice(image.iterancestors(), _MANY) if above.tag == "picture"), None)
    return [] if picture is None else [each for each in islice(picture.iter(), _MANY) if each.tag == "source"]


def _largest(candidates: str) -> str:
    if len(candidates) > _LONGEST_VALUE:  # inline data
        return ""
    found = [(float(m[2] or 1), m[1]) for m in _CANDIDATE.finditer(candidates) if not _is_inline(m[1])]
    return max(found, default=(0.0, ""), key=lambda one: one[0])[1]


#: Tags of players, and the attribute that has their address; those of AMP and of light players have only an id.
_ADDRESSES: Final = {
    **dict.fromkeys("iframe amp-iframe video amp-video audio amp-audio embed".split(), "src"),
    "object": "data",
}
_IDS: Final = {
    "amp-youtube": ("data-videoid", "https://www.youtube.com/watch?v="),
    "lite-youtube": ("videoid", "https://www.youtube.com/watch?v="),
    "amp-vimeo": ("data-videoid", "https://vimeo.com/"),
    "lite-vimeo": ("videoid", "https://vimeo.com/"),
    "amp-dailymotion": ("data-videoid", "https://www.dailymotion.com/video/"),
}
PLAYERS: Final = frozenset((*_ADDRESSES, *_IDS))
_ID: Final = lazily(r"[\w-]{1,40}", re.ASCII)
#: Frames that show advertising, buttons, forms and counters.
_OTHERS: Final = lazily(
    r"googletagmanager|doubleclick|googlesyndication|googleads|adservice|adsystem|//ads?\.|/ads?/|captcha|addthis|sharethis|"
    r"facebook\.com/(?:v[\d.]+/)?plugins/(?!video|post)|platform\.twitter\.com/widgets|disqus|cookie|consent|"
    r"newsletter|subscribe|log-?in|accounts\.|/comments?\b|^(?:about|javascript|data|blob):",
    re.IGNORECASE,
)
#: Addresses of players, and those of the pages with the same video.
_PAGES: Final = (
    (lazily(r"(?:https?:)?//(?:www\.)?youtube(?:-nocookie)?\.com/(?:embed|v)/(?!videoseries)([\w-]{6,20}).*"),
     r"https://www.youtube.com/watch?v=\1"),
    (lazily(r"(?:https?:)?//player\.vimeo\.com/video/(\d+).*"), r"https://vimeo.com/\1"),
    (lazily(r"(?:https?:)?//(?:www\.)?dailymotion\.com/embed/video/(\w+).*"), r"https://www.dailymotion.com/video/\1"),
)  # fmt: skip
_LONGEST: Final = 2000


def address_of(player: etree._Element) -> str:
    """The address of what is played, as written or of the page that shows the same; "" if it is no player."""
    tag = str(player.tag)
    if tag in _IDS:
        name, site = _IDS[tag]
        number = player.get(name) or ""
        return site + number if _ID.fullmatch(number) else ""
    address = next(filter(None, _addresses(player, _ADDRESSES[tag])), "")
    for pattern, page in _PAGES if len(address) <= _LONGEST else ():
        if match := pattern.fullmatch(address):
            return match.expand(page)
    return "" if len(address) > _LONGEST or _OTHERS.search(address) else address


def title_of(player: etree._Element) -> str:
    """What the page calls a player; "" if it does not."""
    said = (player.get(name) for name in ("title", "aria-label"))
    inside = (image.get("alt") for image in islice(player.iterdescendants("img"), 1))
    return next((readable(found).strip() for found in (*said, *inside) if found), "")


def _addresses(player: etree._Element, name: str) -> Iterator[str]:
    yield late_of(player)
    yield (player.get(name) or "").strip()
    parts = player.iterdescendants("source", "param", "embed") if player.tag != "embed" else ()
    for part in islice(parts, _MANY):  # the parser nests them
        if part.tag != "param" or (part.get("name") or "").lower() in ("movie", "src"):
            yield (part.get("src") or part.get("value") or late_of(part)).strip()


#: File names of pictures on buttons.
_BUTTON: Final = lazily(
    r"(?:prev|previous|next|up|home|index|contents|toc|back|forward|top|print|e?mail|search|menu|sitemap|rss|feed|spinner|loading)"
    r"[-_]?\d*\.(?:png|gif|svg|jpe?g|webp)",
    re.IGNORECASE,
)
#: Classes of pictures that stand for a character, and the most characters of their alternative text.
_EMOJI: Final = lazily(r"(?:^|[\s_-])(?:emoji|smil(?:ey|ie)s?|emoticon)(?:$|[\s_-])", re.IGNORECASE)
_LONGEST_EMOJI: Final = 30
#: The size that WordPress, Shopify, Amazon, MediaWiki and others write into the name of a file.
_SIZE: Final = lazily(
    r"^\d{2,4}px-|(?:[-_](?:\d{1,5}x\d{0,5}|x\d{2,5}|\d{2,5}(?:px|w)|scaled|thumb(?:nail)?|small|medium|large|grande|compact|"
    r"master|original|full|zoom)(?:_crop_\w{1,10})?|@[23]x|\._[a-z0-9,_-]{1,60}_)+(?=\.\w{1,5}$)"
)
#: Names of the files of IIIF, which say no more than the quality, and parts before it: name, region, size, rotation.
_QUALITIES, _IN_IIIF = ("default.", "native.", "color.", "gray.", "bitonal."), 5
#: The file that a script makes smaller: "image?url=/tea.jpg&w=640".
_IN_QUERY: Final = lazily(r"=([^&=]+\.(?:jpe?g|png|gif|webp|avif))(?:$|&)")
_DECLARING: Final = frozenset(("og:image", "og:image:url", "og:image:secure_url", "twitter:image", "twitter:image:src"))
_OF_SITE: Final = lazily(r"logo|icon|default|placeholder", re.IGNORECASE)  # names of pictures of a site, not of a page
_AROUND: Final = LANDMARKS["header"] | LANDMARKS["nav"] | LANDMARKS["footer"] | LANDMARKS["aside"]
#: Addresses and classes of pictures of persons beside what they say.
_AVATAR: Final = lazily(
    r"(?:^|[\s_-])(?:avatar|gravatar|user-?_?(?:pic|photo)|profile-?_?(?:pic(?:ture)?|photo))s?(?:$|[\s_-])|gravatar\.com/|/(?:avatars?|userpics?|profile_images)/",
    re.IGNORECASE,
)
#: Classes of the copies of slides by which sliders go round.
_CLONE: Final = lazily(r"(?:^|[\s-])(?:cloned|slide-duplicate)(?:$|\s)")
#: Classes of pictures that are shown until a larger one is loaded.
_PREVIEW: Final = lazily(r"thumb|placeholder|preview|blur|lqip|small|low", re.IGNORECASE)
#: Words of a heading that no other picture has by chance, and pictures that are looked at.
_WORDS, _MOST_PICTURES = 2, 200
_NEAR: Final = 4
_OFTEN: Final = 3  # places of a picture without alternative text from which on it is an icon
_TO_HEADING: Final = 8  # runs of text from a picture to the heading that leads to the same page
_LEVELS: Final = 6  # levels of the elements of an item of a gallery
_SHOWING: Final = PICTURES | PLAYERS
_SMALL: Final = 64  # pixels of a portrait or an icon
_CONTROLS: Final = 20  # words of the controls of a player
_TINY: Final = 2  # pictures of at most so many pixels count visits or fill space


def is_tiny(image: etree._Element, most: int = _TINY) -> bool:
    """Whether the attributes of a picture say that it has at most some pixels: without, that nobody can see it."""
    sides = ((image.get(side) or "").strip().removesuffix("px") for side in ("width", "height"))
    return any(side.isascii() and side.isdecimal() and int(side[:9]) <= most for side in sides)


def is_emoji(image: etree._Element) -> bool:
    """Whether a picture stands for a character: an emoji or a smiley, which its alternative text names."""
    return bool(_EMOJI.search(image.get("class", "")) and 0 < len(image.get("alt", "")) <= _LONGEST_EMOJI)


def is_shown_as_written(image: etree._Element) -> bool:
    """Whether no script replaces the address in ``src``: the one that keeps its place is the same for many pictures."""
    return source_of(image) == (image.get("src") or "").strip() and not is_emoji(image)


def shown_with(nodes: NodeTable, keep: Bools) -> Bools:
    """(n,) the pictures that stand in the content: beside the run of text that they share the smallest element with.

    Permalinks of headings and hints for screen readers, such as "Next slide", do not count: they are template in the
    midst of the content. A picture whose caption is template is judged by the text around its figure. A picture that
    leads to the same page as a heading of content right behind it belongs to that, whatever stands between.

    ``keep``: (m,) a mask of the leaves that are content.
    """
    found = np.zeros(len(nodes), np.bool_)
    rows = picture_rows(nodes)
    for slide in nodes.outermost(rows_named(nodes, _CLONE)) if len(rows) else ():
        rows = rows[(rows < slide) | (rows >= nodes.end[slide])]
    if not len(rows) or not keep.any():
        return found
    texts = np.flatnonzero(keep | ~(permalinks(nodes) | hints_of(nodes)))
    start, end = _without_captions(nodes, rows, keep)
    before = texts[np.maximum(np.searchsorted(texts, start) - 1, 0)]
    after = texts[np.minimum(np.searchsorted(texts, end), len(texts) - 1)]
    icons, teasers = _icons(nodes, rows), _teasers(nodes, rows, keep)
    for row, left, right in zip(rows.tolist(), before.tolist(), after.tolist(), strict=True):
        image = nodes.elements[row]
        if is_tiny(image) or row in icons or (image.tag not in PLAYERS and _is_no_content(image)):
            continue
        if image.get("alt", "").strip() == nodes.strings[right].strip() and is_tiny(image, _SMALL):
            continue  # beside a name
        found[row] = row in teasers or (
            keep[left] if keep[left] == keep[right] else _is_nearer(nodes, row, left, right, keep)
        )
    return found


def _icons(nodes: NodeTable, rows: Ints) -> set[int]:
    """Rows of the pictures without alternative text that the page shows beside one text after the other."""
    same: dict[str, list[int]] = defaultdict(list)
    for row in rows.tolist():
        image = image_of(nodes.elements[row])
        if image.tag not in PLAYERS and (source := source_of(image)) and not text_of(image).strip():
            same[source].append(row)
    often = (places for places in same.values() if len(set(nodes.first_leaf[places].tolist())) >= _OFTEN)
    return {row for places in often for row in places}


def _teasers(nodes: NodeTable, rows: Ints, keep: Bools) -> set[int]:
    """Rows of the pictures in links to the page to which a heading of content leads that follows soon."""
    links = nodes.links
    first, end = np.searchsorted(rows, links.row), np.searchsorted(rows, nodes.end[links.row])
    around = np.flatnonzero((first < end) & (links.key != 0)).tolist()
    headings = nodes.leaves_below(rows_with(nodes, HEADING)) & keep if around else keep
    titles = [link for link, row in enumerate(links.row.tolist()) if around and headings[nodes.leaves_of(row)].any()]
    places = nodes.first_leaf[links.row[titles]].tolist()
    found: set[int] = set()
    for link in around if titles else ():
        place = nodes.first_leaf.item(links.row.item(link))
        near = titles[bisect_left(places, place) : bisect_right(places, place + _TO_HEADING)]
        if any(links.key[title] == links.key[link] for title in near):
            found.update(rows[first[link] : end[link]].tolist())
    return found


@once
def picture_rows(nodes: NodeTable) -> Ints:
    """Rows of the pictures and players, and of each ``noscript`` with one of its own."""
    shows = np.array([look[0] in _SHOWING for look in nodes.looks])
    copies = [number for number, look in enumerate(nodes.looks) if look[0] == "noscript"]
    rows = np.flatnonzero(shows[nodes.look] & (nodes.tag != TEXT))
    if not copies:
        return rows
    alone = np.flatnonzero(np.isin(nodes.look, copies) & (nodes.tag != TEXT)).tolist()
    found = [row for row in alone if _is_only_picture(nodes.elements[row])]
    return np.sort(np.concatenate((rows, np.array(found, np.int64))))


def _is_only_picture(noscript: etree._Element) -> bool:
    """Whether a ``noscript`` has a picture or a player that no script loads beside it."""
    image = image_of(noscript)
    if image is noscript or is_tiny(image) or "display" in (image.get("style") or ""):
        return False
    around = (noscript.getprevious(), noscript.getnext(), noscript.getparent())
    tag = "iframe" if image.tag == "iframe" else "img"
    return not any(one is not None and one.tag in (*PICTURES, "iframe") for one in around) and not any(
        one is not None and one.tag != "noscript" and (one.find(tag) is not None or one.find(f"*/{tag}") is not None)
        for one in around[:2]
    )


def image_of(element: etree._Element) -> etree._Element:
    """The picture of a row: the element itself, or what is in a ``noscript``, which may be a player."""
    inside = (element.find(f".//{tag}") for tag in ("img", "iframe")) if element.tag == "noscript" else ()
    return next((each for each in inside if each is not None), element)


def _is_no_content(element: etree._Element) -> bool:
    """Whether a picture is one of a button or of a person, or a small copy of the next one."""
    image = image_of(element)
    source, above = source_of(image), image.getparent()
    classes = f"{image.get('class', '')} {above.get('class', '') if above is not None else ''}"
    if _BUTTON.fullmatch(source.rpartition("/")[2]) or _AVATAR.search(f"{classes} {source[:_LONGEST]}"):
        return True
    return bool(_PREVIEW.search(image.get("class", ""))) and any(
        behind.tag in PICTURES and name_of(source_of(behind)) == name_of(source)
        for behind in islice(image.itersiblings(), _NEAR)
    )


def add_own(page: Page, headline: Headline | None, shown: Bools, keep: Bools, repeated: Sequence[int]) -> None:
    """Add the pictures of what the page is about to those that stand in the content, (n,), and their galleries.

    They are content wherever they stand, but for headers, menus, footers and links to other pages; captions may be
    template. ``keep``: see `builder.document_of`. ``repeated``: rows of the pictures that most pages show.
    """
    nodes = page.nodes
    if not len(picture_rows(nodes)):
        return
    around = _elsewhere(page, headline.row if headline is not None else 0)
    around[repeated] = True
    own = _first_apart(_declared(page), shown, around)
    if headline is not None:
        shown[own] = True
        name = " ".join(headline.text.split()).casefold()
        rows = picture_rows(nodes)[:_MOST_PICTURES].tolist() if len(name.split()) >= _WORDS else []
        same = [row for row in rows if name in " ".join(_said_of(nodes.elements[row]).split()).casefold()]
        for kind in (PICTURES, PLAYERS):
            own += _first_apart([row for row in same if nodes.elements[row].tag in kind], shown, around)
        shown[own] = True
        own += _above_heading(page, headline, shown, around)
    shown[own] = True
    shown[_gallery_of(nodes, own, shown, keep, around)] = True


def _elsewhere(page: Page, but: int) -> Bools:
    """(n,) what is in heads, menus and asides, but for those around a row, or in links to other pages, not to files."""
    nodes, links = page.nodes, page.nodes.links
    around = [row for row in rows_with(nodes, _AROUND) if not row < but < nodes.end[row]]
    is_other = (links.key != 0) & (links.key != page.key) & ~files_among(links.href)
    rows = np.concatenate((np.array(around, np.int64), links.row[is_other]))
    begins, ends = (np.bincount(edge, minlength=len(nodes) + 1) for edge in (rows + 1, nodes.end[rows]))
    return np.asarray(np.cumsum(begins - ends)[: len(nodes)] > 0)


def _first_apart(rows: list[int], shown: Bools, around: Bools) -> list[int]:
    """The first of some pictures that is not elsewhere; none if one of them is shown."""
    return [] if shown[rows].any() else [row for row in rows if not around[row]][:1]


def _declared(page: Page) -> list[int]:
    """The pictures that a page declares as its own: Open Graph, JSON-LD and microdata."""
    metas = (meta.content for meta in page.metas if {meta.property, meta.name} & _DECLARING)
    works = (one for one in page.objects if any(map(is_work, types_of(one))))
    of_works = (value for one in islice(works, _NEAR) for value in values_of(one.get("image"))[:_NEAR])
    marked = map(value_of, properties_of(page.microdata).get("image", [])[:_NEAR])
    declared = [*islice(metas, _NEAR), *of_works, *marked]
    urls = (one.get("url") or one.get("contentUrl") if isinstance(one, dict) else one for one in declared)
    names = {name for url in urls if isinstance(url, str) and (name := name_of(url)) and not _OF_SITE.search(name)}
    rows = rows_tagged(page.nodes, TAG["img"]) if names else []
    return [row for row in rows if not names.isdisjoint(_files_of(page.nodes.elements[row]))]


def _files_of(image: etree._Element) -> Iterator[str]:
    """The names of the files of a picture in all its sizes: mirrors and networks may rename that in ``src``."""
    yield name_of(source_of(image))
    for name, value in image.items():
        if _NAMED_SO.search(name):
            yield name_of(_largest(value) if name in _SETS else value)


def _said_of(element: etree._Element) -> str:
    """The title of a player, or the alternative text of a picture."""
    return title_of(element) if element.tag in PLAYERS else text_of(image_of(element))


def _above_heading(page: Page, headline: Headline, shown: Bools, around: Bools) -> list[int]:
    """The pictures right above the own heading, but for controls, that are not shown and have most of its words.

    These are the gallery of a shop, the cover of a book, the object of a museum.
    """
    nodes, place = page.nodes, page.nodes.first_leaf.item(headline.row)
    rows = picture_rows(nodes)
    near = rows[(nodes.first_leaf[rows] >= place - _TO_HEADING) & (nodes.first_leaf[rows] <= place) & ~shown[rows]]
    words = set(headline.text.casefold().split())
    known: set[str] | None = None
    found = list[int]()
    for row in near[(near < headline.row) & ~around[near]].tolist():
        image = nodes.elements[row]
        text = text_of(image).casefold().split() if image.tag in PICTURES else []
        if len(text) < _WORDS or 2 * len(words.intersection(text)) <= len(words):
            continue
        if known is None:
            known = {name for other in rows[shown[rows]].tolist() for name in _names(nodes.elements[other])}
        if not is_tiny(image) and not _is_no_content(image) and known.isdisjoint(_names(image)):
            known.update(_names(image))
            found.append(row)
    return found


def _gallery_of(nodes: NodeTable, own: list[int], shown: Bools, keep: Bools, around: Bools) -> list[int]:
    """The pictures beside some of the page's own in the items of a gallery, none with content; each file once."""
    found = list[int]()
    rows = picture_rows(nodes)[:_MOST_PICTURES].tolist() if own else []
    names = {row: name_of(source_of(image_of(nodes.elements[row]))) for row in rows}
    known = {name for row, name in names.items() if shown[row]}
    for picture in own:
        # Pictures in the same element may be one, in other sizes.
        for row, item in islice(pairwise(nodes.above(picture)), _LEVELS):
            if keep[nodes.leaves_of(item)].any():
                break
            items = [one for one in nodes.children_of(item) if nodes.tag[one] == nodes.tag[row]]
            firsts = [rows[at] if (at := bisect_left(rows, one)) < len(rows) else len(nodes) for one in items]
            if len(items) > 1 and all(at < nodes.end[one] for at, one in zip(firsts, items, strict=True)):
                by_name = {names[at]: at for at in reversed(firsts) if names[at] not in known and not around[at]}
                found += by_name.values()
                known |= by_name.keys()
                break
    return found


def _names(element: etree._Element) -> set[str]:
    """The name of the file of a picture and its text: copies in another size share one or both."""
    image = image_of(element)
    return {name_of(source_of(image)), text_of(image)} - {""}


def name_of(url: str) -> str:
    """The name of the file of a picture, without its size."""
    path, _, query = url[:_LONGEST].partition("#")[0].lower().partition("?")
    if query and not OF_PICTURE.match(path) and (within := _IN_QUERY.search(unquote(query))):
        path = within[1]
    *parts, name = path.rsplit("/", _IN_IIIF)
    is_quality = name.startswith(_QUALITIES) and len(parts) == _IN_IIIF and parts[-1].strip("!").isdecimal()
    return parts[1] if is_quality else _SIZE.sub("", name)


def _without_captions(nodes: NodeTable, rows: Ints, keep: Bools) -> tuple[Ints, Ints]:
    """The leaves before and after which the text around each picture stands: its own place, or that of its figure."""
    start, end = nodes.first_leaf[rows], nodes.last_leaf[rows]
    for figure in (*rows_with(nodes, LANDMARKS["figure"]), *_controlled(nodes, keep)):
        first, last = nodes.first_leaf[figure], nodes.last_leaf[figure]
        if first < last and not keep[first:last].any():
            inside = (rows > figure) & (rows < nodes.end[figure])
            start, end = np.where(inside, first, start), np.where(inside, last, end)
    return start, end


def _controlled(nodes: NodeTable, keep: Bools) -> Iterator[int]:
    """The elements with a player and the words of its controls, and no content."""
    for boxes in map(nodes.above, (*rows_tagged(nodes, TAG["audio"]), *rows_tagged(nodes, TAG["video"]))):
        idle = takewhile(lambda box: nodes.words_of(box) <= _CONTROLS and not keep[nodes.leaves_of(box)].any(), boxes)
        yield from [*idle][-1:]


def _is_nearer(nodes: NodeTable, row: int, left: int, right: int, keep: Bools) -> bool:
    """Whether the smallest element with a picture and one text beside it has content there, or more than template.

    Words of both do not count if the text is the only one of the two in it: a short post may hold its related posts.
    """
    for leaves in map(nodes.leaves_of, nodes.above(row)):
        beside = [leaf for leaf in (left, right) if leaves.start <= leaf < leaves.stop]
        if len(beside) == 1 and keep[beside[0]]:
            return True
        if beside:
            return bool(2 * nodes.words[leaves][keep[leaves]].sum() >= nodes.words[leaves].sum())
    return False
