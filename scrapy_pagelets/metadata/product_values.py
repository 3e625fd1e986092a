"""The values of a product, as shops write them: amounts, currencies, availability, and numbers of articles."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from decimal import Decimal
from html import unescape
from typing import TYPE_CHECKING, Any, Final
from unicodedata import category
from urllib.parse import urlsplit

from scrapy_pagelets.base.characters import readable
from scrapy_pagelets.base.patterns import lazily

if TYPE_CHECKING:
    from price_parser import Price

#: Characters of a value that are read: prices, and names.
_LONGEST_PRICE: Final = 100
_LONGEST: Final = 500
#: Characters of the number of an article.
_LONGEST_NUMBER: Final = 60
#: No article costs as much, or has more decimals that mean something.
_MOST: Final = 10**12
_DECIMALS: Final = 4
_PLAIN: Final = re.compile(r"\d+(?:\.\d+)?")
_AMOUNT: Final = lazily(r"(?<![\w.,])\d{1,3}(?:[.,'’\s]\d{3})+(?:[.,]\d{1,2})?(?!\d)|(?<!\d)\d+(?:[.,]\d{1,2})?(?!\d)")
#: The name of availability in schema.org, by how it is written without anything but letters.
_AVAILABILITY: Final = {
    name.lower(): name
    for name in (
        "InStock OutOfStock PreOrder PreSale BackOrder Discontinued InStoreOnly OnlineOnly LimitedAvailability SoldOut "
        "MadeToOrder Reserved"
    ).split()
} | {"available": "InStock", "oos": "OutOfStock", "unavailable": "OutOfStock", "notinstock": "OutOfStock"}
_SYMBOLS: Final = {
    "€": "EUR", "euro": "EUR", "£": "GBP", "zł": "PLN", "kč": "CZK", "₽": "RUB", "руб": "RUB", "р": "RUB", "₴": "UAH",
    "грн": "UAH", "₹": "INR", "₩": "KRW", "원": "KRW", "₺": "TRY", "tl": "TRY", "₪": "ILS", "₫": "VND", "đ": "VND",
    "฿": "THB", "r$": "BRL", "us$": "USD", "ca$": "CAD", "c$": "CAD", "au$": "AUD", "a$": "AUD", "nz$": "NZD",
    "hk$": "HKD", "nt$": "TWD", "s$": "SGD", "mx$": "MXN", "ft": "HUF", "lei": "RON", "лв": "BGN", "₦": "NGN",
    "₱": "PHP", "rp": "IDR", "円": "JPY", "元": "CNY", "₸": "KZT", "₾": "GEL", "тг": "KZT",
}  # fmt: skip
#: Symbols of several currencies: the language of the page decides, or the country of its host.
_BY_LANGUAGE: Final = {
    ("¥", "ja"): "JPY", ("￥", "ja"): "JPY", ("¥", "zh"): "CNY", ("￥", "zh"): "CNY", ("kr", "sv"): "SEK",
    ("kr", "no"): "NOK", ("kr", "nb"): "NOK", ("kr", "da"): "DKK", ("kr", "is"): "ISK",
}  # fmt: skip
_BY_COUNTRY: Final = {
    ("$", "au"): "AUD", ("$", "ca"): "CAD", ("$", "nz"): "NZD", ("$", "sg"): "SGD", ("$", "hk"): "HKD",
    ("$", "mx"): "MXN", ("$", "cl"): "CLP", ("$", "us"): "USD", ("$", "ar"): "ARS", ("$", "tw"): "TWD",
}  # fmt: skip
_ABBREVIATED: Final = lazily(
    r"(?<![^\W\d])(?:EUR|USD|GBP|CHF|AUD|CAD|SEK|NOK|DKK|PLN|CZK|HUF|RON|RUB|UAH|INR|AED|SAR|JPY|CNY|BRL|TRY|BYN|KZT|"
    r"zł|Kč|kr|руб|р|грн|лв|Ft|lei|TL|Rs|Rp|円|元|원|تومان|ريال|جنيه|درهم|د\.إ|ر\.س)(?![^\W\d])"
)
_CODE: Final = re.compile(r"[A-Za-z]{3}")
#: Digits of a GTIN: GTIN-8, UPC, EAN or ISBN-13, GTIN-14.
_GTIN_LENGTHS: Final = (8, 12, 13, 14)
_TAG: Final = re.compile(r"</?[A-Za-z][^<>]*>")
_NO_VALUE: Final = frozenset("null none undefined n/a na nan - false true unknown not default".split())
#: What a shop's software should have replaced ("$brand", "{{ product.brand }}").
_UNFILLED: Final = re.compile(r"\$\{?[a-z][\w.]*\}?|\{\{[^{}]*\}\}", re.IGNORECASE)


def text_of(value: Any) -> str | None:
    r"""Return a text or whole number without markup, white space folded; None for other values and marks of none.

    >>> text_of(" Tea \n pot "), text_of(17), text_of("N/A"), text_of("$brand"), text_of({"@type": "Thing"})
    ('Tea pot', '17', None, None, None)
    """
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**_LONGEST_NUMBER:
        value = str(value)
    if not isinstance(value, str):
        return None
    text = " ".join(_TAG.sub("", unescape(readable(value[:_LONGEST]))).split())
    return text if text and text.lower() not in _NO_VALUE and not _UNFILLED.fullmatch(text) else None


def amount_of(value: Any) -> float | None:
    """Return what a declared price says; None if it is no number above zero.

    >>> amount_of("1299.50"), amount_of("1.299,50 €"), amount_of(7), amount_of("on request"), amount_of("0.00")
    (1299.5, 1299.5, 7.0, None, None)
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _checked(value)
    text = value.strip()[:_LONGEST_PRICE] if isinstance(value, str) else ""
    return _checked(Decimal(text)) if _PLAIN.fullmatch(text) else next((each for each, *_ in amounts_in(text)), None)


def price_of(text: str) -> Price:
    """Return what ``price_parser`` reads in a text; it is imported here, because that takes a while."""
    from price_parser import Price

    return Price.fromstring(text)


def _checked(amount: int | float | Decimal) -> float | None:
    good = 0 < amount < _MOST and math.isfinite(amount)
    return round(float(amount), _DECIMALS) if good else None


def amounts_in(text: str) -> Iterator[tuple[float, int, int]]:
    """Yield the amounts in a text, each with its start and end; percentages are none.

    >>> list(amounts_in("5 % off: 1 299,50 €"))
    [(1299.5, 9, 17)]
    """
    for match in _AMOUNT.finditer(text[:_LONGEST]):
        if text[match.end() : match.end() + 2].lstrip()[:1] != "%":
            amount = price_of(match[0]).amount
            if amount is not None and (checked := _checked(amount)) is not None:
                yield checked, match.start(), match.end()


def has_currency(text: str) -> bool:
    """Whether a short text has the symbol or a common abbreviation of a currency.

    >>> has_currency("12 EUR"), has_currency("3 €"), has_currency("AX27 Top")
    (True, True, False)
    """
    return any(category(each) == "Sc" for each in text) or _ABBREVIATED.search(text) is not None


def currency_of(value: Any, language: str | None = None, url: str = "") -> str | None:
    """Return the code (ISO 4217) of a currency, given as a code or as the symbol beside an amount.

    A symbol of several currencies counts only if the language of the page or the country of its host decides.

    >>> currency_of("eur"), currency_of("$ 12"), currency_of("$ 12", url="http://shop.com.au/"), currency_of("12 zł")
    ('EUR', None, 'AUD', 'PLN')
    """
    text = value.strip()[:_LONGEST_PRICE] if isinstance(value, str) else ""
    if _CODE.fullmatch(text) and text.lower() not in _SYMBOLS:
        return text.upper()
    if not text:
        return None
    symbol = (price_of(text).currency or "").strip().rstrip(".").lower()
    if re.fullmatch("[a-z]{3}", symbol) and symbol not in _SYMBOLS:
        return symbol.upper()
    country = (urlsplit(url).hostname or "").rpartition(".")[2]
    told = _SYMBOLS.get(symbol) or _BY_LANGUAGE.get((symbol, language or ""))
    return told or _BY_COUNTRY.get((symbol, country))


def availability_of(value: Any) -> str | None:
    """Return the name of an availability in schema.org.

    >>> availability_of("https://schema.org/InStock"), availability_of("out of stock"), availability_of("soon")
    ('InStock', 'OutOfStock', None)
    """
    text = value[:_LONGEST].rpartition("/")[2] if isinstance(value, str) else ""
    return _AVAILABILITY.get(re.sub(r"[^a-z]", "", text.lower()))


def number_of(value: Any) -> str | None:
    """Return the number of an article: one word or two with a letter or digit, without a prefix such as ``sku:``.

    >>> number_of("sku:A-17"), number_of(4711), number_of("the number of an article is long")
    ('A-17', '4711', None)
    """
    text = re.sub(r"^(?:sku|mpn|id|asin)\s*[:#]\s*", "", text_of(value) or "", flags=re.IGNORECASE)
    good = len(text) <= _LONGEST_NUMBER and text.count(" ") < 3 and any(map(str.isalnum, text))
    return text if good else None


def gtin_of(value: Any) -> str | None:
    """Return a GTIN (EAN, UPC, ISBN-13) whose check digit is right.

    >>> gtin_of("4-006381-333931"), gtin_of("4006381333932"), gtin_of("ean 4006381333931")
    ('4006381333931', None, '4006381333931')
    """
    digits = re.sub(r"[\s-]|^(?:gtin|ean|upc|isbn)\D*", "", text_of(value) or "", flags=re.IGNORECASE)
    if len(digits) not in _GTIN_LENGTHS or not (digits.isascii() and digits.isdigit()) or not int(digits):
        return None
    weighted = sum(int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(reversed(digits)))
    return digits if weighted % 10 == 0 else None
