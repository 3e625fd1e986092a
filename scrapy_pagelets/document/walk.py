"""Walk over the content of a page, row by row, and write it into a draft."""

import re
from collections.abc import Iterator
from copy import copy
from itertools import islice, takewhile, zip_longest
from typing import Final

import numpy as np
from lxml import etree

from scrapy_pagelets.base.arrays import Bools, Ints
from scrapy_pagelets.base.characters import lazily, quoted, readable
from scrapy_pagelets.decision.asides import STRUCK
from scrapy_pagelets.decision.content import permalinks
from scrapy_pagelets.document import pictures
from scrapy_pagelets.document.blocks import PLAIN, Block, Run, Style, Switches, tidy
from scrapy_pagelets.document.draft import Draft, End, inside_entries, is_item_number, is_left_over, number_of
from scrapy_pagelets.document.pictures import PICTURES, source_of, text_of
from scrapy_pagelets.page import code, data_tables, formulas
from scrapy_pagelets.page.code import CodeBlocks, code_of, is_gutter
from scrapy_pagelets.page.gaps import begins_with, cells_of, gap_of, is_table, panels_of
from scrapy_pagelets.page.looks import AUTHOR
from scrapy_pagelets.page.nodes import CELL, GAPS, GLUED, LINE, SPACE, TAG, TEXT
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.text import link_of, marks_of_notes, without_invisible

_LEVELS: Final = 6  # levels of headings
_HEADING: Final = lazily(r"h[1-6]")
_OF_TAG: Final = {f"h{level}": level for level in range(1, _LEVELS + 1)}
_LISTS: Final = frozenset("ul ol menu dir".split())
_STRONG: Final = frozenset("b strong".split())
_EMPHASISED: Final = frozenset("i em cite dfn var".split())
_CODE: Final = frozenset("code tt kbd samp d-code".split())
_VERBATIM: Final = frozenset("pre listing xmp plaintext textarea".split())
_ICONS: Final = 10  # elements of a cell without text that may name an icon
_LONGEST_NAME: Final = 60  # characters of its name
_BOXES: Final = frozenset("input span div i button label".split())  # elements that may be a box to check
_WRAPPERS: Final = 3  # elements around it
#: Classes of lists of tasks, as wikis name them, and of items that are done.
_TASKS: Final = lazily(r"(?:^|[\s_-])(?:tasks?-?list|to-?do-?list)(?:$|\s)", re.IGNORECASE)
_DONE: Final = frozenset("checked is-checked done completed checkbox-on checkbox-checked".split())
#: Classes of icons that are a box, and whether it is checked.
_DRAWN: Final = {"fa-check-square": True, "fa-check-square-o": True, "fa-square": False, "fa-square-o": False}
#: Classes of the lists of Google Docs, which stand beside each other whatever their level; the first one of each has
#: another class, ``start``.
_LEVEL: Final = lazily(r"(?:^|\s)lst-kix_\S+-(\d)(?:$|\s)")
#: Inline styles that take away the numbers of the items, or give them.
_MARKED: Final = lazily(r"list-style(?:-type)?\s*:\s*(?:(none|disc|circle|square)|decimal|lower-|upper-)", re.I)
_CONTROLS: Final = frozenset("a button input select textarea form".split())
_MARK: Final = '"'  # around words in ``q``
_BULLET: Final = "\N{BULLET} "
#: What joins the letters or pictures around it: alone, editors keep an empty paragraph open with it.
_JOINERS: Final = "\N{ZERO WIDTH JOINER}\N{ZERO WIDTH NON-JOINER}"
#: A definition list with these in it is not a list of short entries.
_IN_ENTRIES: Final = frozenset("pre table ul ol dl h1 h2 h3 h4 h5 h6 blockquote figure".split())
_FALLBACK: Final = 20  # words of a text for browsers that cannot show an object; a longer one is content
_AROUND: Final = 4  # elements around a block of code that may name it the gutter of another, or around a note
#: Classes of boxes of notes, in which an icon alone may say of what kind they are.
_NOTE: Final = lazily(r"admonition|callout|alert|(?:^|[\s_-])(?:hint|note|tip|warning|caution)", re.IGNORECASE)
_Table = list[list[list[Run]]]


class Walk:
    """Write the rows of a page into a draft.

    ``keep``: (m,) the leaves that are content. ``images``: (n,) the pictures that are. ``switches``: what is left out.
    """

    def __init__(self, page: Page, keep: Bools, images: Bools, switches: Switches) -> None:
        nodes = page.nodes
        self.page, self.nodes, self.images, self.switches = page, nodes, images, switches
        self.keep = keep & ~permalinks(nodes)
        self.shown = nodes.total(nodes.spread(self.keep.astype(np.int64)) + images) > 0
        self.inside_entries = inside_entries(page, self.shown)
        self.tags = [look[0] for look in nodes.looks]
        # of headings, by look; -1 if the role tells one
        self.levels = [_OF_TAG.get(tag, -(role == "heading")) for tag, *_, role in nodes.looks]
        self.code, self.cells = CodeBlocks(nodes), cells_of(nodes)
        of_signs = [gap_of(signs, "") for signs in nodes.signs.tolist()]
        self.gaps = [max(GAPS.get(tag, GLUED), gap) for tag, gap in zip(self.tags, of_signs, strict=True)]
        self.tabs = {panel: tab for panel, tab in panels_of(nodes).items() if self.shown[panel]}
        self.elsewhere = set(self.tabs.values())
        self.source = formulas.delimiters(page.declared["script"])
        named = [number for number, look in enumerate(nodes.looks) if look[0] == "input" or look[3] == "checkbox"]
        rows = np.flatnonzero(np.isin(nodes.look, named)).tolist() if named else []
        around = (islice(nodes.above(row), _WRAPPERS) for row in rows if _is_checkbox(nodes.elements[row]))
        # elements without text that have a box to check in them
        self.around_boxes = {row for rows in around for row in takewhile(lambda row: not self.shown[row], rows)}
        self.has_sections = "section" in self.tags
        self.arranging: set[etree._Element] = set()  # lists of sections
        self._begin_draft(Draft())

    def _begin_draft(self, draft: Draft) -> None:
        self.draft = draft
        self.last_leaf = -1
        self.quote = ""  # the mark before the next text
        self.played = 0  # up to this row, players are forms of one that is written
        self.tried = 0  # up to this row, no formula has a source

    def document(self, row: int, end: int) -> Block:
        """The document of a range of rows: each opens its element, which is closed at the end of its subtree."""
        closing: list[tuple[int, End]] = []
        while row < end:
            while closing and closing[-1][0] <= row:
                closing.pop()[1]()
            if self.nodes.tag[row] == TEXT:
                self.text(row)
                row += 1
            elif self.is_written(row) and (close := self.open(row)) is not None:
                closing.append((int(self.nodes.end[row]), close))
                row += 1
            else:
                row = int(self.nodes.end[row])
        while closing:
            closing.pop()[1]()
        self.draft.end_paragraph()
        return self.draft.root

    def is_written(self, row: int) -> bool:
        """Whether an element is written where it stands; labels of tabs are not, as they head their panels."""
        if row in self.tabs:
            self.write_label(row)
        is_shown = bool(self.shown[row])
        if not is_shown and self.nodes.tag[row] == TAG["td"] and self.is_in_note(row):
            self.draft.write(next(self.names_in(row), ""), Style(strong=True))
            self.draft.end_paragraph()
        return (is_shown and row not in self.elsewhere) or row in self.around_boxes or self.parts_texts(row)

    def is_in_note(self, cell: int) -> bool:
        """Whether a cell without text stands beside the text of a note, as the classes around say."""
        around = [*islice(self.nodes.above(cell), _AROUND)]
        names = (self.nodes.looks[self.nodes.look.item(row)][2] for row in around)
        return bool(self.shown[around[0]]) and any(map(_NOTE.search, names))

    def write_label(self, panel: int) -> None:
        """Write the label of a panel, unless the panel begins with it."""
        leaves = self.leaves_of(self.tabs[panel])
        text = " ".join(self.nodes.strings[leaf] for leaf in leaves)
        if text and not begins_with(self.nodes, panel, self.tabs[panel]):
            runs = tidy([Run(text, Style(strong=True), leaf=leaves[0])])
            self.draft.add(Block("paragraph", runs=runs, leaves=leaves))

    def part(self, row: int) -> Block:
        """The document of a subtree by itself."""
        walk = copy(self)
        walk._begin_draft(Draft(in_cell=True))
        return walk.document(row + 1, int(self.nodes.end[row]))

    def leaves_of(self, row: int) -> list[int]:
        """Indices of the leaves of a row that are shown."""
        return [leaf for leaf in range(self.nodes.first_leaf[row], self.nodes.last_leaf[row]) if self.keep[leaf]]

    def parts_texts(self, row: int) -> bool:
        """Whether an element without text matters between texts that are shown."""
        tag = self.tags[self.nodes.look[row]]
        if tag in ("br", "hr") or self.is_box(row, tag):
            return True
        leaf = int(self.nodes.first_leaf[row])
        is_beside = tag == "script" and self.keep[max(0, leaf - 1) : leaf + 1].any()
        return bool(is_beside) and formulas.is_formula(self.nodes.elements[row])

    def is_box(self, row: int, tag: str) -> bool:
        """Whether an element is a box to check, without text in it, or the label of one."""
        if self.shown[row] or tag not in _BOXES:
            return False
        element = self.nodes.elements[row]
        return _is_checkbox(element) or (tag == "label" and len(element) > 0 and _is_checkbox(element[0]))

    def text(self, row: int) -> None:
        """Write a run of text."""
        nodes, draft, leaf = self.nodes, self.draft, int(self.nodes.first_leaf[row])
        if not self.keep[leaf]:
            return
        if nodes.gap[leaf] >= SPACE or leaf != self.last_leaf + 1:
            draft.space()
        text = without_invisible(nodes.strings[leaf])
        if not text.isascii() and not text.strip(_JOINERS):
            return
        if leaf in nodes.spaces:
            text = " ".join(text.split())
        text, self.quote = self.quote + text, ""
        if self.source is None or draft.style.code:
            draft.write(text, leaf=leaf)
            draft.leaves.append(leaf)
        else:
            self.text_with_formulas(row, text, leaf)
        self.last_leaf = leaf

    def text_with_formulas(self, row: int, text: str, leaf: int) -> None:
        """Write a text in which a script of the page sets formulas."""
        for part, kind in formulas.split(text, self.source):
            if kind == formulas.DISPLAY and self.draft.heading is None:
                self.draft.add(Block("math", text=part, leaves=[leaf]))
            elif part:
                part, style = (f"${part}$", Style(code=row)) if kind else (part, None)
                self.draft.write(part, style, leaf)
                self.draft.leaves += [leaf] * (self.draft.leaves[-1:] != [leaf])

    def open(self, row: int) -> End | None:
        """Open the element of a row, and return what ends it; None if all of its subtree is written already."""
        element = self.nodes.elements[row]
        tag = self.tags[self.nodes.look[row]]
        if tag in pictures.PLAYERS and self.images[row]:
            self.write_player(row, element)
            is_fallback = tag == "object" and row < self.played and self.nodes.words_of(row) <= _FALLBACK
            own = pictures.OF_PICTURE.match(element.get("data") or "") if is_fallback else None
            if is_fallback and (own or not self.images[row + 1 : self.nodes.end[row]].any()):
                return None
        if self.write_whole(row, tag, element):
            return None
        if (style := self.styled(row, tag, element)) is not None:
            restore, end = self.draft.set_style(style), self.separate(row, tag)
            return restore if end is _nothing else lambda: (end(), restore())[0]
        if tag == "q":  # style sheets of browsers set the marks
            self.quote = _MARK
            return lambda: self.draft.write(_MARK)
        return self.begin_block(row, tag, element) or self.separate(row, tag)

    def write_whole(self, row: int, tag: str, element: etree._Element) -> bool:
        """Write an element that is one thing with all that is in it; False if it is not."""
        if row >= self.tried and formulas.is_formula(element):
            self.tried = int(self.nodes.end[row])
            if self.write_formula(row, element):
                return True
        is_line = tag == "textarea" and "\n" not in (element.text or "").strip()  # of a form
        if (tag in _VERBATIM and not is_line) or self.is_code(row):
            self.write_code(row, element)
        elif self.switches.tables and (cells := self.cells_of(row, tag)) is not None:
            self.write_table(row, cells)
        elif tag == "br":
            self.draft.line_break()
        elif tag == "hr":
            self.draft.rule()
        elif tag in PICTURES or (tag == "noscript" and self.images[row]):
            image = pictures.image_of(element)
            (self.write_player if image.tag in pictures.PLAYERS else self.write_picture)(row, image)
        elif tag in _BOXES and self.is_box(row, tag):
            box = element[0] if element.tag == "label" else element
            self.draft.check(box.get("checked") is not None or box.get("aria-checked") == "true")
        else:
            return False
        return True

    def cells_of(self, row: int, tag: str) -> Ints | None:
        """The cells of an element that is a table of data, None if it is none."""
        nodes = self.nodes
        if tag == "table":
            is_data = data_tables.is_data(nodes, row) and not self.code.in_table(row)
            return data_tables.cells_of(nodes, row) if is_data else None
        if row in data_tables.flat_grids(nodes):
            return np.array(nodes.children_of(row), np.int64)
        if not len(self.cells) or not is_table(nodes.looks[nodes.look[row]], nodes.styles.get(row, "")):
            return None
        cells = self.cells[slice(*np.searchsorted(self.cells, (row, nodes.end[row])))]
        nested = (nodes.end[cells[:-1]] > cells[1:]).any()
        return None if nested or not data_tables.holds_data(nodes, row, cells) else cells

    def begin_block(self, row: int, tag: str, element: etree._Element) -> End | None:
        """Begin the block of an element; None if it has no block of its own."""
        if (level := self.levels[self.nodes.look.item(row)]) < 0:
            level = self.level_by_role(row, element)
        if level and (tag == "h1" or not self.names_author(row)):
            return self.draft.begin_heading(level + _LEVELS * (row in self.inside_entries))
        if tag in _LISTS:
            if self.has_sections and _holds_sections(element):
                self.arranging.add(element)
                return None
            nested = _LEVEL.search(element.get("class") or "")
            goes_on = " start" not in nested.string if nested else _goes_on(element)
            return self.draft.begin_group(_list_of(element), goes_on=goes_on, level=int(nested[1]) if nested else 0)
        match tag:
            case "li" if (not self.arranging or element.getparent() not in self.arranging) and not _is_of_one(element):
                return self.draft.begin_item(element.get("value"), _state_of(element))
            case "tr" if self.is_number(row + 1):  # a line of a table that sets a law or a list
                return self.draft.begin_item(None)
            case "blockquote":
                return self.draft.begin_group(Block("quote"))
            case "dl" if self.has_short_entries(row) or self.is_number(row + 1):  # in laws
                return self.draft.begin_entries()
            case "dt":  # a term is strong, unless all of it is a link
                linked = all(self.nodes.anchor[self.nodes.leaves[leaf]] for leaf in self.leaves_of(row))
                return self.draft.begin_term(strong=not (linked or self.is_number(row)))
            case "dd":
                return self.draft.begin_definition()
        return None

    def level_by_role(self, row: int, element: etree._Element) -> int:
        """The level of a heading that only its role tells, if all of it is a line; else 0."""
        inner = self.nodes.gap[slice(self.nodes.first_leaf.item(row) + 1, self.nodes.last_leaf.item(row))]
        level = number_of(element.get("aria-level"), 2)
        return level if 0 < level <= _LEVELS and not (inner >= LINE).any() else 0

    def names_author(self, row: int) -> bool:
        """Whether the class of an element says author; in manuals, ``fn`` is a function."""
        look = self.nodes.look.item(row)
        classes = self.nodes.looks[look][2].lower()
        return bool(self.nodes.signs.item(look) & AUTHOR) and ("aut" in classes or "byline" in classes)

    def is_number(self, row: int) -> bool:
        """Whether all the text of an element is the number of an item."""
        leaves = self.nodes.leaves_of(row)
        return leaves.stop == leaves.start + 1 and is_item_number([Run(self.nodes.strings[leaves.start])])

    def has_short_entries(self, row: int) -> bool:
        """Whether a definition list has nothing but terms and short definitions."""
        within = range(row + 1, int(self.nodes.end[row]))
        return not any(self.tags[self.nodes.look[i]] in _IN_ENTRIES for i in within)

    def separate(self, row: int, tag: str) -> End:
        """Part the text of an element from that around it, as far as its tag, role, class or style does."""
        gap = max(self.gaps[self.nodes.look.item(row)], gap_of(0, self.nodes.styles.get(row, "")))
        if gap == GLUED:
            return _nothing
        if gap >= SPACE and self.draft.heading is not None:
            self.draft.write(" ")
            return lambda: self.draft.write(" ", PLAIN)
        if gap >= CELL and tag != "mtd":
            self.draft.end_paragraph()
            return self.draft.end_paragraph
        return _nothing

    def styled(self, row: int, tag: str, element: etree._Element) -> Style | None:
        """The style inside an element that changes it."""
        style = self.draft.style
        if tag == "a":
            is_mark = row in marks_of_notes(self.nodes)
            return self.linked(element) or (style._replace(script="sup") if is_mark else None)
        if tag in _STRONG:
            return style._replace(strong=self.draft.heading is None)
        if tag in _EMPHASISED:
            return style._replace(emphasised=True)
        if tag in _CODE or (tag == "span" and self.code.is_named(row)):
            return style._replace(code=style.code or row)
        if tag in ("sup", "sub"):
            return style._replace(script=tag)
        return style._replace(struck=True) if tag in STRUCK else None

    def linked(self, element: etree._Element) -> Style | None:
        """The style inside a link; None if it is written as text."""
        href = (element.get("href") or "").strip()
        if not self.switches.links or not href or href.startswith("#"):  # the document has no place to jump to
            return None
        url = quoted(link_of(self.page.base, href))
        scheme, _, address = url.partition(":")
        is_shown = scheme.lower() == "mailto" and address.partition("?")[0] in "".join(map(str, element.itertext()))
        if not url or is_shown:  # the text is the address
            return None
        is_same = self.draft.in_cell and "?" in url and url.partition("?")[0] == self.page.url.partition("?")[0]
        if is_same and any(above.tag == "th" for above in islice(element.iterancestors(), _WRAPPERS)):
            return None  # it sorts a column
        title = readable(element.get("title") or "") if self.switches.titles else ""
        return self.draft.style._replace(href=url, title=title)

    def write_picture(self, row: int, element: etree._Element) -> None:
        """Write a picture that is content."""
        if not self.images[row]:
            return
        alt, title = readable(text_of(element)), readable(element.get("title") or "")
        if pictures.is_emoji(element):
            self.draft.space()
            self.draft.write(alt)
            return
        address = source_of(element) if self.switches.images else ""
        if source := quoted(link_of(self.page.base, address)) if address else "":
            self.draft.space()
            # A link around a picture leads most often to the same picture, or to the target of the text beside it.
            self.draft.runs.append(Run(alt, PLAIN, source, title if title != alt else ""))
            self.draft.write(" ")

    def write_player(self, row: int, element: etree._Element) -> None:
        """Write a link to what a player plays, with its title, or else with its address."""
        within = row < self.played  # a part of one object, in another form
        address = "" if within or not self.switches.links else pictures.address_of(element)
        if url := quoted(link_of(self.page.base, address)) if address else "":
            if element.tag == "object":
                self.played = int(self.nodes.end[row])
            self.draft.space()
            if element.tag == "object" and pictures.OF_PICTURE.match(address):
                self.draft.runs.append(Run(pictures.title_of(element), PLAIN, url))
            else:
                self.draft.write(pictures.title_of(element) or url, self.draft.style._replace(href=url))
            self.draft.write(" ", PLAIN)

    def write_formula(self, row: int, element: etree._Element) -> bool:
        """Write a formula as TeX; False if the page does not give it."""
        tex = formulas.tex_of(element)
        if not tex:
            return False
        first, last = int(self.nodes.first_leaf[row]), int(self.nodes.last_leaf[row])
        leaves = range(first, last)
        if formulas.is_display(element) and self.draft.heading is None:
            self.draft.add(Block("math", text=tex, leaves=list(leaves)))
        else:
            if self.draft.runs and (first >= len(self.nodes.gap) or self.nodes.gap[first] >= SPACE):
                self.draft.write(" ", PLAIN)
            self.draft.write(f"${tex}$", Style(code=row), leaf=first if leaves else -1)
            self.draft.leaves += leaves
        self.last_leaf = last - 1
        return True

    def write_code(self, row: int, element: etree._Element) -> None:
        """Write a block of code, unless it has the numbers of its lines."""
        self.draft.end_paragraph()
        around = (element, *islice(element.iterancestors(), _AROUND - 1))
        is_verbatim = element.tag in _VERBATIM or self.code.is_verbatim(row)
        if not any(map(is_gutter, around)) and (text := code_of(element, verbatim=is_verbatim)):
            leaves = list(range(self.nodes.first_leaf[row], self.nodes.last_leaf[row]))
            links, language = list(self.links_of_code(row)), code.language_of(element)
            self.draft.add(Block("code", text=text, runs=links, language=language, leaves=leaves))
        for picture in np.flatnonzero(self.images[row : self.nodes.end[row]]).tolist():
            self.write_picture(row + picture, pictures.image_of(self.nodes.elements[row + picture]))

    def is_code(self, row: int) -> bool:
        """Whether an element is a block of code, which neither headings nor cells have."""
        if not self.code.may_be[self.nodes.look.item(row)] and row not in self.nodes.styles:
            return False
        return self.draft.heading is None and not self.draft.in_cell and self.code.has(row)

    def links_of_code(self, row: int) -> Iterator[Run]:
        """The names in a block of code that lead to other pages, as no fence has links; addresses in it need none."""
        links = self.nodes.links
        for at in range(len(links.row))[self.nodes.links_in(row)]:
            link = links.row.item(at)
            name = " ".join(" ".join(self.nodes.strings[self.nodes.leaves_of(link)]).split())
            if links.key[at] == self.page.key or "://" in name or not any(map(str.isalnum, name)):
                continue
            if (style := self.linked(self.nodes.elements[link])) is not None:
                yield Run(name, style._replace(strong=False, emphasised=False, script="", code=link))

    def write_table(self, row: int, cells: Ints) -> None:
        """Write a table; a heading in a line of its own divides it."""
        self.draft.end_paragraph()
        for child in np.flatnonzero(self.nodes.parent[row : self.nodes.end[row]] == row).tolist():
            if self.tags[self.nodes.look[row + child]] == "caption":
                self.add_part(row + child)
        lines: _Table = []
        written: list[int] = []
        columns = data_tables.flat_grids(self.nodes).get(row, 0)
        for line in data_tables.grid(self.nodes, cells, columns):
            filled = [cell for cell in line if cell >= 0 and self.shown[cell]]
            if len(filled) == 1 and data_tables.has_heading(self.nodes, filled[0]):
                self.add_table(lines, written)
                lines, written = [[[] for _ in line]], []
                self.add_part(filled[0])
            elif filled or not lines:
                lines.append([self.cell(cell) if cell >= 0 else [] for cell in line])
                written += filled
        self.add_table(lines, written)

    def add_part(self, row: int) -> None:
        """Add the blocks of a caption, or of a cell with a heading."""
        for block in self.part(row).children:
            self.draft.add(block)

    def add_table(self, lines: _Table, cells: list[int]) -> None:
        """Add a table; a single cell with text is a paragraph: its table has been removed, but for this cell."""
        used = [any(column) for column in zip_longest(*lines, fillvalue=[])]  # icons may have stood in the others
        lines = [[cell for cell, is_used in zip(line, used, strict=False) if is_used] for line in lines]
        filled = [cell for line in lines for cell in line if cell]
        leaves = [leaf for cell in cells for leaf in self.leaves_of(cell)]
        if len(filled) == 1 and not is_left_over(filled[0]):
            self.draft.add(Block("paragraph", runs=filled[0], leaves=leaves))
        elif len(used) > 1 == sum(used):  # a box of a note, with its sign
            for cell in (cell for cell in filled if not is_left_over(cell)):
                self.draft.add(Block("paragraph", runs=cell, leaves=leaves))
        elif len(filled) > 1:
            self.draft.add(Block("table", rows=lines, leaves=leaves))

    def cell(self, row: int) -> list[Run]:
        """The text of a cell; its paragraphs become one, and a bullet begins each item of a list.

        Of one without text, the name of its icon.
        """
        runs: list[Run] = []
        for block in self.part(row).walk():
            verbatim = f"${block.text}$" if block.kind == "math" else block.text
            own = [Run(verbatim, Style(code=row))] if verbatim else block.runs
            runs += [Run(_BULLET)] if block.kind == "item" else [*own, Run(" ")]
        return tidy(runs) or [Run(name) for name in islice(self.names_in(row), 1)]

    def names_in(self, cell: int) -> Iterator[str]:
        """The names of the icons in a cell without text; those of buttons and links are none."""
        nodes = self.nodes
        if nodes.first_leaf[cell] < nodes.last_leaf[cell]:
            return
        for row in range(cell + 1, min(cell + _ICONS, int(nodes.end[cell]))):
            if self.tags[nodes.look[row]] in _CONTROLS:
                return
            element = nodes.elements[row]
            named = element.get("aria-label") or element.get("title") or element.findtext("title")
            name = named or (element.get("alt") or "").partition("[")[0]  # brackets name signs, as text browsers do
            if 0 < len(name := " ".join(readable(name).split())) <= _LONGEST_NAME:
                yield name


def _nothing() -> None:
    """End an element that has opened nothing."""


def _is_checkbox(element: etree._Element) -> bool:
    return "checkbox" in (element.get("type"), element.get("role"))


def _state_of(item: etree._Element) -> bool | None:
    """The state of an item of a list of tasks that classes draw; None in other lists, and where a box says it."""
    above = item.getparent()
    icon = item
    while len(icon) and not (icon.text or "").strip():
        icon = icon[0]
    drawn = [_DRAWN[name] for name in (icon.get("class") or "").split() if name in _DRAWN]
    if drawn and not icon.text:
        return drawn[0]
    if above is None or not _TASKS.search(above.get("class", "")) or item.find(".//input") is not None:
        return None
    boxes = (child for child in item[:1] if not child.text and not len(child))  # a box without text, as Notion has it
    classes = " ".join(each.get("class", "") for each in (item, *boxes))
    return not _DONE.isdisjoint(classes.lower().split())


def _holds_sections(element: etree._Element) -> bool:
    """Whether a list is there to arrange sections with headings, as in Javadoc: each of its items begins with one."""
    items = [each for each in element if each.tag == "li"]
    firsts = [next((child for child in item if len(child)), item) for item in items]
    return bool(items) and all(one.tag == "section" and _HEADING.fullmatch(str(one[0].tag)) for one in firsts)


def _is_of_one(item: etree._Element) -> bool:
    """Whether an item is only around a list in the item before, as editors write it: its style hides its number."""
    marked = _MARKED.search(item.get("style") or "")
    return bool(marked and marked[1] and len(item) == 1 and item[0].tag in _LISTS) and not (item.text or "").strip()


def _list_of(element: etree._Element) -> Block:
    told = _MARKED.search(next(filter(None, (each.get("style") for each in (element, *element[:1]))), ""))
    ordered, first, step = not told[1] if told else element.tag == "ol", 1, 1
    if ordered and element.get("reversed") is not None:
        first, step = sum(child.tag == "li" for child in element), -1
    return Block("list", ordered=ordered, number=number_of(element.get("start"), first), step=step)


def _goes_on(element: etree._Element) -> bool:
    """Whether a list goes on with the one before: editors and exports write each item into a list of its own."""
    before = element.getprevious()
    if before is None or before.tag != element.tag or (before.tail or "").strip():
        return False
    if element.tag == "ol":
        return number_of(element.get("start"), 1) == number_of(before.get("start"), 1) + len(before)
    return len(before) == len(element) == 1 and before.get("class") == element.get("class") is not None
