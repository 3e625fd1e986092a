"""How shops name things: in classes and ids of elements, and in the labels that a reader sees."""

from __future__ import annotations

import re
from typing import Final

from scrapy_pagelets.base.caches import cached
from scrapy_pagelets.base.patterns import lazily
from scrapy_pagelets.page.looks import Look

#: What the names of an element say it has: a price; a former one, or another amount; one that is the former price if
#: there is another beside it; a control to buy; other products; the number, the brand; whether it is in stock.
PRICE, FORMER, OTHER, REGULAR, CART, RELATED, NUMBER, BRAND, IN_STOCK, OUT_OF_STOCK = (1 << i for i in range(10))
_NAMED: Final = re.compile(
    r"pri[cxs]|prei?[cs]|prezzo|cena|cart|bag|basket|buy|purchase|stock|sold|sku|(?:item|article|product|art|part|model).?"
    r"(?:code|n|id)|brand|vendor|manufact|relat|simil|recom|sell|recent|also|might|old|was|orig|stri|cross|list|regular",
    re.IGNORECASE,
)
_HUMPS: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_LETTERS: Final = re.compile(r"[a-z]+")
_STRUCK: Final = ("del", "s", "strike")
_WHOLE: Final = ("html", "body", "main")
_FORMER: Final = frozenset(
    "old was original orig compare compared before strike striked strikethrough crossed rrp msrp uvp srp former "
    "previous prev retail list oldprice listprice wasprice compareprice".split()
)
_OTHER: Final = frozenset(
    "unit per save saving savings saved shipping delivery installment installments instalment instalments monthly "
    "month filter slider total subtotal minicart mini points label alert match guarantee history tax vat"
    " unitprice".split()
)
_PRICE: Final = re.compile(r"price|prix|preis|precio|prezzo|preco|\bcena\b")
_CART: Final = re.compile(
    r"addto(?:cart|bag|basket|trolley)|add2cart|buynow|buybox|buybutton|btnbuy|cartbutton|cartbtn|btncart|buttoncart|"
    r"\btocart|addcart|cartadd|productform\b|\bpurchasebutton"
)
_RELATED: Final = re.compile(
    r"related|similar|recommend|upsell|crosssell|recently|also(?:bought|like|viewed)|mightlike"
)
_NUMBER: Final = re.compile(r"\bsku\b|(?:product|item|article|art|part|model)(?:sku|code|number|no|nr)\b")
_BRAND: Final = re.compile(r"\b(?:product|item)?(?:brand|vendor|manufacturer)(?:name)?\b")


@cached
def kinds_of(look: Look) -> int:
    """What the tag, id and class of an element say it has, as bits: ``PRICE`` ... ``OUT_OF_STOCK``.

    >>> kinds_of(("div", "", "product-price", "")) == PRICE, kinds_of(("s", "", "price", "")) == PRICE | FORMER
    (True, True)
    """
    tag, name, classes, _ = look
    names, struck = f"{name} {classes}"[:500], FORMER * (tag in _STRUCK)
    if tag in _WHOLE or not _NAMED.search(names):
        return struck
    tokens = frozenset(_LETTERS.findall(_HUMPS.sub("-", names).lower()))
    runs = " ".join("".join(_LETTERS.findall(each)) for each in names.lower().split())
    price = bool(_PRICE.search(runs))
    return (
        struck
        | PRICE * price
        | FORMER * bool(price and tokens & _FORMER)
        | OTHER * bool(price and tokens & _OTHER)
        | REGULAR * (price and "regular" in tokens)
        | CART * bool(_CART.search(runs))
        | RELATED * bool(_RELATED.search(runs))
        | NUMBER * bool(_NUMBER.search(runs))
        | BRAND * bool(_BRAND.search(runs))
        | IN_STOCK * bool(re.search(r"\binstock\b", runs))
        | OUT_OF_STOCK * bool(re.search(r"\b(?:outofstock|soldout)\b", runs))
    )


def _labels(names: str) -> re.Pattern[str]:
    """Match one of some labels at the beginning of a text, and what stands behind it."""
    return lazily(rf"(?:{names})(?:\s*[:：#]\s*|\s+(?=\S*\d)|\s*$)(?P<value>.*)", re.IGNORECASE | re.DOTALL)


NUMBER_LABELS: Final = _labels(
    r"sku|asin|(?:item|product|article|art|catalog(?:ue)?|stock|order|post|ad|listing|deal|lot)\.?\s?"
    r"(?:number|code|num|no|nr|id|#|№)\b\.?|item\s?#|artikel(?:nummer|-?nr)?\.?|art\.?[- ]?nr\.?|"
    r"bestell(?:nummer|-?nr\.?)|produkt(?:nummer|kod|id)|artikkelnummer|varenummer|tuotenumero|r[eé]f[eé]rence|r[eé]f\.?|"
    r"referencia|referência|código|codice(?: articolo| prodotto)?|c[oó]d\.|артикул|код товара|"
    r"k[oó]d(?: produktu| zboží| výrobku)?|cikkszám|ürün kodu|stok kodu|品番|商品番号|商品コード|商品编号|货号|상품번호"
)
MAKERS_NUMBER_LABELS: Final = _labels(
    r"mpn|(?:manufacturer(?:'s)?\s)?(?:part|model|style)\.?\s?(?:number|code|num|no|nr|id|#|№)\b\.?|herstellernummer|model"
)
GTIN_LABELS: Final = _labels(
    r"(?:ean|gtin|upc|isbn)(?:[- ]?(?:13|12|14|8|code|nummer))?|barcode|штрих-?код|strichcode|jan"
)
BRAND_LABELS: Final = _labels(
    r"brand|marke|hersteller|marque|fabricant|marca|merk|manufacturer|vendor|producent|značka|výrobce|бренд|"
    r"производитель|(?:varu)?märke|mærke|merke|márka|gyártó|marka|品牌|ブランド|メーカー|브랜드"
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
    r"no disponible|non disponibile|esaurito|esgotado|indisponível|uitverkocht|slutsåld|udsolgt|utsolgt|"
    r"нет в наличии|распродано|niedostępny|vyprodáno|není skladem|elfogyott|tükendi|"
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
    """Return the availability that a short text tells.

    >>> stock_of("Availability: In stock"), stock_of("Sold out"), stock_of("In stockings")
    ('InStock', 'OutOfStock', None)
    """
    match = _STOCK.fullmatch(text.strip())
    return None if match is None else "InStock" if match["yes"] else "OutOfStock"


def is_buying(text: str) -> bool:
    """Whether a text is that of a control which puts a product into the cart.

    >>> is_buying("Add to cart"), is_buying("In den Warenkorb"), is_buying("How to add to cart")
    (True, True, False)
    """
    return bool(_BUYING.fullmatch(text.strip(" \n!+»›")))
