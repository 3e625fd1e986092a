"""Catalogues that are generated: sites of pages about one thing each, with its facts, and with numbers that are none.

Each site has its own layout, names of classes, language and order of parts. Facts are labelled content, together with
their labels; what a site repeats is template, also where its numbers vary: the cart, visitors, prices of other things.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from html import escape
from typing import Final, NamedTuple

from benchmarks.role_labels import by_roles
from scrapy_pagelets import Page
from scrapy_pagelets.training.training_tables import Example

Random = random.Random
#: Labels of facts by language, in the order of `_VALUES`; the same fact has many names.
_LABELS: Final = {
    "en": "Price|ISBN|SKU|Publisher|Author|Publication date|Weight|Dimensions|Pages|Language|Brand|Model number|Colour"
    "|Material|EAN|Availability|Warranty|Format|Voltage|Capacity|Country of origin|Edition|Series|Catalogue number"
    "|Year|Condition|Translator|Power|Delivery time|Size",
    "de": "Preis|ISBN-13|Artikelnummer|Verlag|Autor|Erscheinungstermin|Gewicht|Abmessungen|Seitenzahl|Sprache|Marke"
    "|Modellnummer|Farbe|Material|EAN|Verfügbarkeit|Garantie|Format|Spannung|Fassungsvermögen|Herkunftsland|Auflage"
    "|Reihe|Bestellnummer|Jahr|Zustand|Übersetzer|Leistung|Lieferzeit|Größe",
    "fr": "Prix|ISBN|Référence|Éditeur|Auteur|Date de parution|Poids|Dimensions|Nombre de pages|Langue|Marque|Modèle"
    "|Couleur|Matière|EAN|Disponibilité|Garantie|Format|Tension|Contenance|Pays d'origine|Édition|Collection"
    "|Numéro de catalogue|Année|État|Traducteur|Puissance|Délai de livraison|Taille",
    "es": "Precio|ISBN|Referencia|Editorial|Autor|Fecha de publicación|Peso|Medidas|Páginas|Idioma|Marca|Modelo|Color"
    "|Material|EAN|Disponibilidad|Garantía|Formato|Voltaje|Capacidad|País de origen|Edición|Serie|Número de catálogo"
    "|Año|Estado|Traductor|Potencia|Plazo de entrega|Talla",
    "ru": "Цена|ISBN|Артикул|Издательство|Автор|Дата выхода|Вес|Размеры|Страниц|Язык|Бренд|Модель|Цвет|Материал"
    "|Штрихкод|Наличие|Гарантия|Формат|Напряжение|Объём|Страна|Издание|Серия|Номер по каталогу|Год|Состояние|Переводчик"
    "|Мощность|Срок доставки|Размер",
}
_NAMES: Final = (
    "Alder Birch Cedar Dale Ember Frost Glen Harbor Iris Juniper Kestrel Larch Maple North Orchard Pine".split()
)
_SYLLABLES: Final = "ka lo mi ta ren dor vel sun par the in ost al mer ges tion ka li bra fen".split()


def _choice(*choices: str) -> Callable[[Random], str]:
    return lambda rng: rng.choice(choices)


def _name(rng: Random) -> str:
    return f"{rng.choice(_NAMES)} {rng.choice(('Press', 'House', 'Books', 'Works', '& Sons', 'Verlag'))}"


def _number(pattern: str) -> Callable[[Random], str]:
    """Values in which each # is a digit."""
    return lambda rng: "".join(str(rng.randint(1, 9)) if c == "#" else c for c in pattern)


_VALUES: Final[tuple[Callable[[Random], str], ...]] = (
    _number("##.##"), _number("978-#-####-####-#"), _number("AB-#####"), _name,
    lambda rng: f"{rng.choice(_NAMES)} {_word(rng).title()}", _number("200#-0#-1#"), _number("##0 g"),
    _number("## x ## x # cm"), _number("3##"), _choice("English", "German", "French"), _name, _number("X###/#"),
    _choice("red", "green", "blue", "black", "white"), _choice("cotton", "steel", "oak", "glass"),
    _number("40#########"), _choice("In stock", "In stock", "Sold out"), _choice("2 years", "3 years"),
    _choice("Paperback", "Hardcover", "E-book"), _choice("230 V", "12 V"), _number("#,# l"),
    _choice("Italy", "Japan", "Poland"), _choice("1", "2", "3"), lambda rng: _word(rng).title(), _number("CAT ####"),
    _number("19##"), _choice("New", "New", "Used"), lambda rng: f"{rng.choice(_NAMES)} {_word(rng).title()}",
    _number("### W"), _number("# days"), _choice("S", "M", "L", "XL"),
)  # fmt: skip
_CURRENCIES: Final = ("€ {}", "{} €", "${}", "£{}", "{} USD", "{} zł")


def _word(rng: Random) -> str:
    return "".join(rng.choices(_SYLLABLES, k=rng.randint(2, 3)))


def _sentence(rng: Random) -> str:
    return " ".join(_word(rng) for _ in range(rng.randint(6, 18))).capitalize() + "."


class _Run(NamedTuple):
    """Markup with one run of text for each role; "" is markup alone."""

    markup: str
    role: str = ""
    text: str = ""


class _Layout:
    """How a site writes its pages."""

    def __init__(self, rng: Random) -> None:
        labels = _LABELS[rng.choice(list(_LABELS))].split("|")
        kinds = rng.sample(range(1, len(_VALUES)), rng.randint(3, 9))
        self.labels = [(labels[kind], _VALUES[kind]) for kind in kinds]
        self.price, self.currency = labels[0], rng.choice(_CURRENCIES)
        self.rows = rng.choice(list(_ROWS))
        self.colon = rng.choice(("", ":", ":", " :"))
        self.main = rng.choice(("product", "detail", "item-page", "content", "record", "col-9"))
        self.box = rng.choice(("specs", "facts", "attributes", "info", "meta", "data", "c1"))
        self.menu = [_word(rng).title() for _ in range(rng.randint(4, 12))]
        self.actions = [_word(rng) for _ in range(rng.choice((0, 0, 3, 4)))]
        self.footer = [_sentence(rng) for _ in range(2)]
        self.notices = [
            " ".join(_sentence(rng) for _ in range(rng.randint(1, 4))) for _ in range(rng.choice((0, 1, 2)))
        ]
        self.parts = rng.sample(
            ["price", "actions", "facts", "text", *map(str, range(len(self.notices)))], 4 + len(self.notices)
        )
        self.related = rng.randint(0, 5)
        self.counters = rng.sample(["Cart (#)", "## visitors online", "1#.0#.202#, 1#:## h", "# items, ##.## €"], 2)
        self.head = f"{rng.choice(_NAMES)} {_word(rng).title()}"


def _rows_of_table(facts: list[tuple[str, str]]) -> Iterator[_Run]:
    yield _Run("<table>")
    for label, value in facts:
        yield from (_Run("<tr><th>", "content", label), _Run("</th><td>", "content", value), _Run("</td></tr>"))
    yield _Run("</table>")


def _definitions(facts: list[tuple[str, str]]) -> Iterator[_Run]:
    yield _Run("<dl>")
    for label, value in facts:
        yield from (_Run("<dt>", "content", label), _Run("</dt><dd>", "content", value), _Run("</dd>"))
    yield _Run("</dl>")


def _items(facts: list[tuple[str, str]]) -> Iterator[_Run]:
    yield _Run("<ul>")
    for label, value in facts:
        yield from (_Run("<li><b>", "content", label), _Run("</b> <span>", "content", value), _Run("</span></li>"))
    yield _Run("</ul>")


def _lines(facts: list[tuple[str, str]]) -> Iterator[_Run]:
    for label, value in facts:
        yield from (_Run("<div>", "content", f"{label} {value}"), _Run("</div>"))


def _breaks(facts: list[tuple[str, str]]) -> Iterator[_Run]:
    yield _Run("<p>")
    for label, value in facts:
        yield from (_Run("<strong>", "content", label), _Run("</strong> ", "content", value), _Run("<br>"))
    yield _Run("</p>")


_ROWS: Final = {rows.__name__: rows for rows in (_rows_of_table, _definitions, _items, _lines, _breaks)}


def _page(layout: _Layout, rng: Random) -> Iterator[_Run]:
    yield from (_Run(f"<title>{layout.head}</title><header><h2>", "template", layout.head), _Run("</h2>"))
    yield from (_Run("<p>", "template", _number(layout.counters[0])(rng)), _Run("</p>"))
    for entry in layout.menu:
        yield from (_Run(f"<nav><a href='/{entry}'>", "navigation", entry), _Run("</a></nav>"))
    yield from (_Run(f"</header><div class='{layout.main}'><h1>", "content", _sentence(rng)[:-1]), _Run("</h1>"))
    for part in layout.parts:
        yield from _part(part, layout, rng)
    yield _Run("</div><aside><ul>")
    for _ in range(layout.related):
        name, price = _sentence(rng)[:20], layout.currency.format(_number("##.##")(rng))
        yield from (_Run(f"<li><a href='/{_word(rng)}'>", "navigation", name), _Run("</a> ", "navigation", price))
    yield _Run("</ul></aside><footer>")
    for text in (*layout.footer, _number(layout.counters[1])(rng)):
        yield from (_Run("<p>", "template", text), _Run("</p>"))
    yield _Run("</footer>")


def _part(part: str, layout: _Layout, rng: Random) -> Iterator[_Run]:
    yield _Run(f"<div class='{layout.box if part == 'facts' else part[0] + layout.main[:2]}'>")
    if part == "price":
        yield from (_Run("<p>", "content", layout.price + layout.colon), _Run(" <b>"))
        yield from (_Run("", "content", layout.currency.format(_number("##.##")(rng))), _Run("</b></p>"))
    elif part == "text":
        for _ in range(rng.randint(0, 3)):
            text = " ".join(_sentence(rng) for _ in range(rng.randint(1, 5)))
            yield from (_Run("<p>", "content", text), _Run("</p>"))
    elif part.isdecimal():
        yield from (_Run("<p>", "template", layout.notices[int(part)]), _Run("</p>"))
    elif part == "actions":
        for action in layout.actions:
            yield from (_Run(f"<li><a href='/do/{action}?{rng.random()}'>", "forms", action), _Run("</a></li>"))
    else:
        facts = [(label + layout.colon, value(rng)) for label, value in layout.labels if rng.random() < 0.9]
        yield from _ROWS[layout.rows](facts)
    yield _Run("</div>")


def pages_of(number: int, pages: int) -> Iterator[tuple[str, bytes, list[tuple[str, str]]]]:
    """Yield the URL, the HTML, and the runs of text with their roles, of the pages of a catalogue."""
    rng = Random(number)
    layout = _Layout(rng)
    for page in range(pages):
        runs = list(_page(layout, rng))
        html = "".join(run.markup + escape(run.text) for run in runs)
        roles = [(run.role, run.text) for run in runs if run.text]
        yield f"http://catalogue-{number}.example/thing/{page}", f"<!doctype html>{html}".encode(), roles


def examples(sites: int, pages: int) -> Iterator[Example]:
    """Yield labelled pages of some catalogues."""
    for number in range(sites):
        for url, body, roles in pages_of(number, pages):
            page = Page.parse(body, url, "text/html; charset=utf-8")
            yield Example(page, by_roles(page, roles), f"catalogue-{number % 6}")
