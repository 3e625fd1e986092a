"""The values of a product, as shops write them: amounts, currencies, availability, numbers, names."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from decimal import Decimal
from html import unescape
from typing import TYPE_CHECKING, Any, Final
from unicodedata import category
from urllib.parse import urlsplit

from scrapy_pagelets.base.caches import cached
from scrapy_pagelets.base.characters import lazily, readable
from scrapy_pagelets.page.looks import Look

if TYPE_CHECKING:
    from price_parser import Price

_LONGEST_PRICE: Final = 100  # characters of a price that are read
_LONGEST: Final = 500  # characters of a name
_LONGEST_NUMBER: Final = 60  # characters of the number of an article
_MOST: Final = 10**12  # no article costs as much
_DECIMALS: Final = 4  # none has more decimals that mean something
_PLAIN: Final = lazily(r"\d+(?:\.\d+)?")
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
_DOLLAR: Final = lazily(r"(?<![A-Za-z])(US|CA|AU|NZ|HK)\s(?=\$)")  # "US $" is "US$"
_CODE: Final = lazily(r"[A-Za-z]{3}")
_GTIN_LENGTHS: Final = (8, 12, 13, 14)  # digits of a GTIN: GTIN-8, UPC, EAN or ISBN-13, GTIN-14
_TAG: Final = lazily(r"</?[A-Za-z][^<>]*>")
_NO_VALUE: Final = frozenset("null none undefined n/a na nan - false true unknown not default".split())
#: What a shop's software should have replaced ("$brand", "{{ product.brand }}").
_UNFILLED: Final = lazily(r"\$\{?[a-z][\w.]*\}?|\{\{[^{}]*\}\}", re.IGNORECASE)


def text_of(value: Any) -> str | None:
    """Return a text or whole number without markup, white space folded; None for other values and marks of none."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**_LONGEST_NUMBER:
        value = str(value)
    if not isinstance(value, str):
        return None
    text = " ".join(_TAG.sub("", unescape(readable(value[:_LONGEST]))).split())
    return text if text and text.lower() not in _NO_VALUE and not _UNFILLED.fullmatch(text) else None


def amount_of(value: Any) -> float | None:
    """Return what a declared price says; None if it is no number above zero."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _checked(value)
    text = value.strip()[:_LONGEST_PRICE] if isinstance(value, str) else ""
    return _checked(Decimal(text)) if _PLAIN.fullmatch(text) else next((each for each, *_ in amounts_in(text)), None)


def _price(text: str) -> Price:
    from price_parser import Price  # which takes a while

    return Price.fromstring(text)


def _checked(amount: int | float | Decimal) -> float | None:
    good = 0 < amount < _MOST and math.isfinite(amount)
    return round(float(amount), _DECIMALS) if good else None


def amounts_in(text: str) -> Iterator[tuple[float, int, int]]:
    """Yield the amounts in a text, each with its start and end; percentages are none."""
    for match in _AMOUNT.finditer(text[:_LONGEST]):
        is_share = text[match.end() : match.end() + 2].lstrip()[:1] == "%"
        if not is_share and (checked := _checked(_price(match[0]).amount or 0)) is not None:
            yield checked, match.start(), match.end()


def has_currency(text: str) -> bool:
    """Whether a short text has the symbol or a common abbreviation of a currency."""
    return any(category(each) == "Sc" for each in text) or _ABBREVIATED.search(text) is not None


def currency_of(value: Any, language: str | None = None, url: str = "") -> str | None:
    """Return the code (ISO 4217) of a currency, given as a code or as the symbol beside an amount.

    A symbol of several currencies counts only if the language of the page or the country of its host decides.
    """
    text = _DOLLAR.sub(r"\1", value.strip()[:_LONGEST_PRICE]) if isinstance(value, str) else ""
    if _CODE.fullmatch(text) and text.lower() not in _SYMBOLS:
        return text.upper()
    if not text:
        return None
    symbol = (_price(text).currency or "").strip().rstrip(".").lower()
    if re.fullmatch("[a-z]{3}", symbol) and symbol not in _SYMBOLS:
        return symbol.upper()
    country = (urlsplit(url).hostname or "").rpartition(".")[2]
    return _SYMBOLS.get(symbol) or _BY_LANGUAGE.get((symbol, language or "")) or _BY_COUNTRY.get((symbol, country))


def availability_of(value: Any) -> str | None:
    """Return the name of an availability in schema.org."""
    text = value[:_LONGEST].rpartition("/")[2] if isinstance(value, str) else ""
    return _AVAILABILITY.get(re.sub(r"[^a-z]", "", text.lower()))


def number_of(value: Any) -> str | None:
    """Return the number of an article: one word or two with a letter or digit, without a prefix such as ``sku:``."""
    text = re.sub(r"^(?:sku|mpn|id|asin)\s*[:#]\s*", "", text_of(value) or "", flags=re.IGNORECASE)
    good = len(text) <= _LONGEST_NUMBER and text.count(" ") < 3 and any(map(str.isalnum, text))
    return text if good else None


def gtin_of(value: Any) -> str | None:
    """Return a GTIN (EAN, UPC, ISBN-13) whose check digit is right."""
    digits = re.sub(r"[\s-]|^(?:gtin|ean|upc|isbn)\D*", "", text_of(value) or "", flags=re.IGNORECASE)
    if len(digits) not in _GTIN_LENGTHS or not (digits.isascii() and digits.isdigit()) or not int(digits):
        return None
    weighted = sum(int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(reversed(digits)))
    return digits if weighted % 10 == 0 else None


#: What the names of an element say it has: a price; a former one, or another amount; one that is the former price if
#: there is another beside it; a control to buy; other products; the number, the brand; whether it is in stock.
PRICE, FORMER, OTHER, REGULAR, CART, RELATED, NUMBER, BRAND, IN_STOCK, OUT_OF_STOCK = (1 << i for i in range(10))
_NAMED: Final = lazily(
    r"pri[cxs]|prei?[cs]|prezzo|cena|cart|bag|basket|buy|purchase|stock|sold|sku|(?:item|article|product|art|part|model).?"
    r"(?:code|n|id)|brand|vendor|manufact|relat|simil|recom|sell|recent|also|might|old|was|orig|stri|cross|list|regular",
    re.IGNORECASE,
)
_HUMPS: Final = lazily(r"(?<=[a-z])(?=[A-Z])")
#: What says that a price has its tax or has none, not that it is one: a class of its own, or "including-tax".
_TAXED: Final = lazily(r"(?<!\S)tax(?!\S)|(?:incl[a-z]*|with(?:out)?)[-_]?(?:tax|vat)", re.IGNORECASE)
_LETTERS: Final = lazily(r"[a-z]+")
_STRUCK: Final = ("del", "s", "strike")
_WHOLE: Final = ("html", "body", "main")
_FORMER: Final = frozenset(
    "old was original orig compare compared before strike striked strikethrough crossed rrp msrp uvp srp former "
    "previous prev retail list oldprice listprice wasprice compareprice".split()
)
_OTHER: Final = frozenset(
    "unit per save saving savings saved shipping delivery installment installments instalment instalments monthly "
    "month filter slider total subtotal minicart mini points label alert match guarantee history tax vat "
    "unitprice".split()
)
#: What the letters of their names have in them, and, beside the name of a price, their words.
_BY_LETTERS: Final = {
    PRICE: lazily(r"price|prix|preis|precio|prezzo|preco|\bcena\b"),
    CART: lazily(
        r"addto(?:cart|bag|basket|trolley)|add2cart|buynow|buybox|buybutton|btnbuy|cartbutton|cartbtn|btncart|buttoncart|"
        r"\btocart|addcart|cartadd|productform\b|\bpurchasebutton"
    ),
    RELATED: lazily(r"related|similar|recommend|upsell|crosssell|recently|also(?:bought|like|viewed)|mightlike"),
    NUMBER: lazily(r"\bsku\b|(?:product|item|article|art|part|model)(?:sku|code|number|no|nr)\b"),
    BRAND: lazily(r"\b(?:(?:product|item)\w{0,8})?(?:brand|vendor|manufacturer)(?:name)?\b"),
    IN_STOCK: lazily(r"\binstock\b|\bstock available\b"),
    OUT_OF_STOCK: lazily(r"\b(?:outofstock|soldout|stock unavailable)\b"),
}
_BY_TOKENS: Final = {FORMER: _FORMER, OTHER: _OTHER, REGULAR: frozenset(("regular",))}


@cached
def kinds_of(look: Look) -> int:
    """What the tag, id and class of an element say it has, as bits: ``PRICE`` ... ``OUT_OF_STOCK``."""
    tag, name, classes, _ = look
    names, struck = f"{name} {classes}"[:500], FORMER * (tag in _STRUCK)
    if tag in _WHOLE or not _NAMED.search(names):
        return struck
    tokens = frozenset(_LETTERS.findall(_HUMPS.sub("-", _TAXED.sub("", names)).lower()))
    runs = " ".join("".join(_LETTERS.findall(each)) for each in names.lower().split())
    found = struck | sum(kind for kind, form in _BY_LETTERS.items() if form.search(runs))
    return found | sum(kind for kind, some in _BY_TOKENS.items() if found & PRICE and not some.isdisjoint(tokens))


def _labels(names: str) -> re.Pattern[str]:
    """Match one of some labels at the beginning of a text, and what stands behind it."""
    return lazily(rf"(?:{names})(?:\s*[:：#]\s*|\s+[-–]\s*|\s+(?=\S*\d)|\s*$)(?P<value>.*)", re.IGNORECASE | re.DOTALL)


NUMBER_LABELS: Final = _labels(
    r"sku|asin|(?:item|product|article|art|catalog(?:ue)?|stock|order|post|ad|listing|deal|lot)\.?\s?"
    r"(?:number|code|num|no|nr|id|#|№)\b\.?|item\s?#|artikel(?:nummer|-?nr)?\.?|art\.?[- ]?nr\.?|"
    r"id (?:do )?produto|id (?:del )?producto|anzeige(?:n(?:nummer|-?nr|-?id))?\.?|šifra(?: \w+)?|상품번호|"
    r"bestell(?:nummer|-?nr\.?)|produkt(?:nummer|kod|id)|artikkelnummer|varenummer|tuotenumero|r[eé]f[eé]rence|r[eé]f\.?|"
    r"referencia|referência|código|codice(?: articolo| prodotto)?|c[oó]d\.|артикул|код товара|品番|商品番号|"
    r"k[oó]d(?: produktu| zboží| výrobku)?|cikkszám|ürün kodu|stok kodu|商品コード|(?:商品)?[编編货貨][号號]"
)
MAKERS_NUMBER_LABELS: Final = _labels(
    r"mpn|(?:manufacturer(?:'s)?\s)?(?:part|model|style)\.?\s?(?:number|code|num|no|nr|id|#|№)\b\.?|herstellernummer|model"
)
_GTIN: Final = r"(?:ean|gtin|upc|isbn)(?:[- ]?(?:13|12|14|8|code|nummer))?"
GTIN_LABELS: Final = _labels(rf"{_GTIN}(?:\s?/\s?{_GTIN})?|barcode|штрих-?код|strichcode|jan")
BRAND_LABELS: Final = _labels(
    r"brand|marke|hersteller|(?:manufactured|made) by|marque|fabricant|marca|merk|manufacturer|vendor|producent|značka|"
    r"výrobce|proizvajalec|proizvođač|бренд|производитель|(?:varu)?märke|mærke|merke|márka|gyártó|marka|(?:商品)?品牌|ブランド|"
    r"メーカー|브랜드"
)
_IN_STOCK: Final = (
    r"(?:only )?(?:\d+ )?(?:currently )?(?:in[- ]stock|left in stock)|available now|auf lager|(?:sofort )?lieferbar|"
    r"(?:\d+ )?vorrätig|(?:sofort )?verfügbar|"
    r"en stock|disponible|disponibile|em estoque|disponível|op voorraad|i lager|på lager|"
    r"(?:есть )?в наличии|na stanie|dostępny|skladem|na sklade|raktáron|stokta|在庫(?:あり|有り)|有货|有貨|現貨"
)
_OUT_OF_STOCK: Final = (
    r"(?:currently |temporarily )?(?:out[- ]of[- ]stock|sold[- ]out|unavailable|not available)|ausverkauft|vergriffen|"
    r"nicht vorrätig|(?:derzeit )?nicht (?:auf lager|verfügbar|lieferbar)|"
    r"(?:en )?rupture|épuisé|indisponible|agotado|sin existencias|"
    r"no disponible|non disponibile|esaurito|esgotado|indisponível|uitverkocht|niet (?:op voorraad|leverbaar)|slutsåld|"
    r"udsolgt|utsolgt|нет в наличии|распродано|niedostępny|vyprodáno|není skladem|elfogyott|tükendi|"
    r"在庫(?:切れ|なし|無し)|売り切れ|缺货|缺貨|품절"
)
_STOCK: Final = lazily(
    rf"(?:[^\W\d]{{4,16}}\s*[:：]\s*)?(?:(?P<yes>{_IN_STOCK})|(?P<no>{_OUT_OF_STOCK}))\b.{{0,40}}",
    re.IGNORECASE | re.DOTALL,
)
#: Words of controls that put a product into the cart.
_BUYING: Final = lazily(
    r"add to (?:shopping )?(?:cart|bag|basket|trolley)|buy (?:it )?now|in den (?:waren|einkaufs)korb|ajouter au panier|"
    r"a[ñn]adir (?:al carrito|a la cesta)|agregar al carrito|adicionar ao carrinho|aggiungi al carrello|"
    r"in (?:mijn )?winkel(?:wagen|mand)|do koszyka|dodaj do koszyka|do košíku|(?:vložit|přidat) do košíku|kosárba|"
    r"l[äa]gg i (?:varukorg(?:en)?|kundvagn)|læg i kurv(?:en)?|legg i handlekurv(?:en)?|lisää (?:ostos)?koriin|"
    r"(?:добавить )?в корзину|купить|до кошика|sepete ekle|"
    r"カートに入れる|加入购物车|加入購物車|장바구니(?: 담기)?|أضف إلى السلة",
    re.IGNORECASE,
)


def stock_of(text: str) -> str | None:
    """Return the availability that a short text tells."""
    match = _STOCK.fullmatch(text.strip())
    return None if match is None else "InStock" if match["yes"] else "OutOfStock"


def is_buying(text: str) -> bool:
    """Whether a text is that of a control which puts a product into the cart."""
    return bool(_BUYING.fullmatch(text.strip(" \n!+»›")))
