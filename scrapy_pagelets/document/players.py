"""Players: frames, videos and sounds that stand in the content, and the page or file that each of them plays."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from lxml import etree

from scrapy_pagelets.base.characters import readable
from scrapy_pagelets.base.patterns import lazily
from scrapy_pagelets.document.sources import late_of

#: Tags of players, and the attributes that have their address; those of AMP and of light players have only an id.
_ADDRESSES: Final = {
    "iframe": ("src",),
    "amp-iframe": ("src",),
    "video": ("src",),
    "amp-video": ("src",),
    "audio": ("src",),
    "amp-audio": ("src",),
    "embed": ("src",),
    "object": ("data",),
}
_IDS: Final = {
    "amp-youtube": ("data-videoid", "https://www.youtube.com/watch?v="),
    "lite-youtube": ("videoid", "https://www.youtube.com/watch?v="),
    "amp-vimeo": ("data-videoid", "https://vimeo.com/"),
    "lite-vimeo": ("videoid", "https://vimeo.com/"),
    "amp-dailymotion": ("data-videoid", "https://www.dailymotion.com/video/"),
}
PLAYERS: Final = frozenset((*_ADDRESSES, *_IDS))
_ID: Final = re.compile(r"[\w-]{1,40}", re.ASCII)
#: Frames that show advertising, buttons, forms and counters.
_OTHERS: Final = lazily(
    r"googletagmanager|doubleclick|googlesyndication|googleads|adservice|adsystem|//ads?\.|/ads?/|captcha|addthis|sharethis|"
    r"facebook\.com/(?:v[\d.]+/)?plugins/(?!video|post)|platform\.twitter\.com/widgets|disqus|cookie|consent|"
    r"newsletter|subscribe|log-?in|accounts\.|/comments?\b|^(?:about|javascript|data|blob):",
    re.IGNORECASE,
)
#: Addresses of players, and those of the pages with the same video.
_PAGES: Final = (
    (re.compile(r"(?:https?:)?//(?:www\.)?youtube(?:-nocookie)?\.com/(?:embed|v)/(?!videoseries)([\w-]{6,20}).*"),
     r"https://www.youtube.com/watch?v=\1"),
    (re.compile(r"(?:https?:)?//player\.vimeo\.com/video/(\d+).*"), r"https://vimeo.com/\1"),
    (re.compile(r"(?:https?:)?//(?:www\.)?dailymotion\.com/embed/video/(\w+).*"), r"https://www.dailymotion.com/video/\1"),
)  # fmt: skip
_LONGEST: Final = 2000
#: Sources and parameters of one player.
_MANY: Final = 20


def address_of(player: etree._Element) -> str:
    """The address of what is played, as written or of the page that shows the same; "" if it is no player."""
    tag = str(player.tag)
    if tag in _IDS:
        name, site = _IDS[tag]
        number = player.get(name) or ""
        return site + number if _ID.fullmatch(number) else ""
    address = next(filter(None, _addresses(player, _ADDRESSES[tag])), "")
    if not address or len(address) > _LONGEST or _OTHERS.search(address):
        return ""
    for pattern, page in _PAGES:
        if match := pattern.fullmatch(address):
            return match.expand(page)
    return address


def title_of(player: etree._Element) -> str:
    """What the page calls a player; "" if it does not."""
    return next((readable(found).strip() for name in ("title", "aria-label") if (found := player.get(name))), "")


def _addresses(player: etree._Element, names: tuple[str, ...]) -> Iterator[str]:
    yield late_of(player)
    for name in names:
        yield (player.get(name) or "").strip()
    parts = player.iterdescendants("source", "param", "embed") if player.tag != "embed" else ()
    for part in islice(parts, _MANY):  # the parser nests them
        if part.tag != "param" or (part.get("name") or "").lower() in ("movie", "src"):
            yield (part.get("src") or part.get("value") or late_of(part)).strip()
