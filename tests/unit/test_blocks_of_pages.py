"""Code, tables, boxes and tabs, in the forms that sites use for them beside the plain ones."""

import time

import pytest

from scrapy_pagelets.decision.asides import asides_of
from scrapy_pagelets.document.builder import document_of
from scrapy_pagelets.document.markdown import markdown_of
from scrapy_pagelets.page.text import plain
from tests.trees import every, page

PROSE = "<p>" + "Twenty words about tea and how it is picked. " * 5


def markdown(html):
    found = page(html)
    return markdown_of(document_of(found, every(found)))


def text(html):
    found = page(html)
    return plain(found.nodes, every(found))


@pytest.mark.parametrize(
    ("html", "code"),
    [
        ("<pre><ol class=linenums><li>tea = 6<li>  pour(tea)</ol></pre>", "tea = 6\n  pour(tea)"),
        ("<pre><ol><li>a<li><li>b</ol></pre>", "a\n\nb"),
        ("<pre><div class=token-line>a</div><div class=token-line><br></div><div>  b</div></pre>", "a\n\n  b"),
        ("<pre><code><table><tr><td class=hljs-ln-numbers><td>a<tr><td class=lineno>2<td> b</table></pre>", "a\n b"),
        ("<pre><span class=line>a</span><span class=line> b</span></pre>", "a\n b"),
        ("<pre><span class=line>a</span>\n<span class=line></span>\n<span class=line> b</span></pre>", "a\n\n b"),
        ("<pre><span class=line>a</span><br><span class=line> b</span><br></pre>", "a\n b"),
        ("<pre><code>a</code><code> b</code></pre>", "a\n b"),
        ("<pre>a&nbsp;= 1</pre>", "a = 1"),
        # the blank behind a number belongs to it
        (
            "<pre><i class=hl-gutter>1</i> a:\n<i class=hl-gutter>2</i>     b\n<i class=hl-gutter>3</i>\n</pre>",
            "a:\n    b",
        ),
        ("<pre><i class=ln>1</i>  a\n<i class=ln>2</i>    b</pre>", "  a\n    b"),
        # no `pre`
        ("<code>a<br>\n&nbsp;b</code>", "a\n b"),
        ("<div style='white-space: pre'>a\n b</div>", "a\n b"),
        ("<p style='font-family: Courier New, monospace'>a<br>&nbsp;b", "a\n b"),
        ("<code style='display: block'>a = 1</code>", "a = 1"),
        (
            "<table><tr><td class=blob-num data-line-number=1><td class=blob-code>a"
            "<tr><td class=blob-num>2<td class=blob-code>  b</table>",
            "a\n  b",
        ),
        (
            "<div class=syntaxhighlighter><table><tr><td class=gutter><div class=line>1</div><div class=line>2</div>"
            "<td class=code><div class=line><code>a</code> <code>b</code></div><div class=line>"
            "<code>&nbsp;</code><code>c</code></div></table></div>",
            "a b\n c",
        ),
    ],
)
def test_the_lines_of_code(html, code):
    assert markdown(html) == f"```\n{code}\n```"


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<pre data-syntaxhighlighter-params='brush: sql; gutter: false'>a</pre>", "```sql\na\n```"),
        (
            "<div class=language-yaml><table><tr><td class=linenos><pre>1</pre>"
            "<td class=code><div><pre><code>a</code></pre></div></table></div>",
            "```yaml\na\n```",
        ),
        ("<pre><pre class=playground><code class=language-rust>a</code></pre></pre>", "```rust\na\n```"),
        (
            "<table><tr><td><span class='mw-geshi cpp source-cpp'>template&lt;<br><p>&nbsp;class K</p>&gt;</span>"
            "<td>(1)<tr><td>a<td>(2)</table>",
            "```cpp\ntemplate<\n class K\n>\n```\n\n(1)\n\na\n\n(2)",
        ),
        (
            "<table><tr><td><span class='mw-geshi cpp'>m&lt;K>_a</span><td>(1)<tr><td>a<td>(2)</table>",
            "|  |  |\n| --- | --- |\n| `m<K>_a` | (1) |\n| a | (2) |",
        ),
        # names of options, one below the other, are no block
        (
            "<table><tr><td><code>-h<br>--help</code><td>Help<tr><td><code>-v</code><td>Version</table>",
            "|  |  |\n| --- | --- |\n| `-h` `--help` | Help |\n| `-v` | Version |",
        ),
        (
            "<pre><code class='makeup elixir'>a</code></pre><pre lang=python3>b</pre>",
            "```elixir\na\n```\n\n```python3\nb\n```",
        ),
        ("<pre lang=en>a</pre>", "```\na\n```"),
        ("<p style='white-space: pre-wrap'>a\nb", "a b"),
        ("<div style='font-family: monospace'><h2>a</h2>b<br>c</div>", "# a\n\nb\\\nc"),
    ],
)
def test_what_is_code_and_its_language(html, expected):
    assert markdown(html) == expected


def test_text_has_the_lines_of_code_and_no_hyphens_before_them():
    assert text("<pre><ol><li>a<li> b</ol></pre><ul><li>c</ul>") == "a\n b\n\n- c"
    assert text("<pre><div>a</div><div> b</div></pre>") == "a\n b"
    assert text("<pre><span class=line>a</span><span class=line> b</span></pre>") == "a\n b"
    assert text("<p>Tea<a class=noteref href=#n>1</a>, hot") == "Tea[1], hot"
    assert text("<p>Tea<sup>[<a class=footnote href=#n>1</a>]</sup>") == "Tea[1]"
    numbered = page("<p>Tea as it is<pre><i class=lineno>1</i> a\n<i class=lineno>2</i>   b</pre>")
    numbers = asides_of(numbered.nodes, every(numbered))
    assert plain(numbered.nodes, ~numbers) == "Tea as it is\n\na\n  b"


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (  # to the end of the row group
            "<tbody><tr><td rowspan=0>N<td>a<td>1<tr><td>b<td>2<tbody><tr><td>S<td>c<td>3",
            "| N | a | 1 |\n|  | b | 2 |\n| S | c | 3 |",
        ),
        (  # and no further
            "<tbody><tr><td rowspan=5>S<td>a<td>1<tr><td>b<td>2<tfoot><tr><td>T<td>c<td>3",
            "| S | a | 1 |\n|  | b | 2 |\n| T | c | 3 |",
        ),
        ("<tbody><tr><td rowspan=65534>S<td>a<td>1<tr><td>b<td>2", "| S | a | 1 |\n|  | b | 2 |"),
        ("<tbody><tr><td rowspan=x>S<td>a<td>1<tr><td colspan=0>T<td>b<td>2", "| S | a | 1 |\n| T | b | 2 |"),
    ],
)
def test_spans_end_with_the_row_group(rows, expected):
    html = f"<table><thead><tr><th>x<th>y<th>z{rows}</table>"
    assert markdown(html) == f"| x | y | z |\n| --- | --- | --- |\n{expected}"


def test_tables_of_roles_and_styles():
    line = "<div role=row><span role={0}>{1}</span><span role={0}>{2}</span></div>"
    table = line.format("columnheader", "Tea", "Year") + line.format("cell", "Oolong", "2004")
    assert markdown(f"<div role=table>{table}</div>") == "| Tea | Year |\n| --- | --- |\n| Oolong | 2004 |"
    assert "Tea\tYear" in text(f"<div role=grid>{table}</div>")
    cell = "<i style='display: table-cell'>"
    assert text(f"<p style='display:table'>{cell}a</i>{cell}b</i></p>") == "a\tb"


@pytest.mark.parametrize("start", ["<span class=d-block>", "<span style='display: block'>", "<i role=listitem>"])
def test_elements_that_are_lines_by_class_style_or_role(start):
    end = f"</{start[1:5].strip().removesuffix(' r')}>"
    assert text(f"<p>{start}One line{end}{start}Another{end}") == "One line\nAnother"
    assert markdown(f"<p>{start}One line{end}{start}Another{end}").replace("*", "") == "One line\n\nAnother"


def test_links_that_are_blocks_are_paragraphs():
    one, other = (f"<a href=/{name} style='display:block'>{name}</a>" for name in "ab")
    assert markdown(f"<p>{one}{other}") == "[a](http://example.com/a)\n\n[b](http://example.com/b)"


def test_the_state_of_boxes():
    assert markdown("<ul><li><input type=checkbox checked> a<li><label><input type=checkbox> b</label></ul>") == (
        "- [x] a\n- [ ] b"
    )
    assert markdown("<ul><li><span role=checkbox aria-checked=true></span> a</ul>") == "- [x] a"
    assert markdown("<ul><li><div><button role=checkbox aria-checked=true></button></div><p>a</ul>") == "- [x] a"
    assert markdown("<p><input type=checkbox> a") == "a"  # of a form
    assert markdown("<ul><li><label><input type=checkbox checked><i></i></label> a</ul>") == "- [x] a"
    assert markdown("<ul class=inline-task-list><li class=checked>a<li>b</ul>") == "- [x] a\n- [ ] b"
    assert markdown("<ul><li><!-- icon --><i></i> a</ul>") == "- a"
    icons = "<ul><li><p><i class='fa fa-check-square-o'></i> a<li><p><i class='fa fa-square-o'></i> b</ul>"
    assert markdown(icons) == "- [x] a\n- [ ] b"
    assert markdown("<ul class=checklist><li class=checked>a</ul>") == "- a"  # drawn with ticks


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("<input type=checkbox checked>", "\\[x]"),
        ("<i class=icon aria-label=yes></i>", "yes"),
        ("<svg><title>no</title><path d=M0/></svg>", "no"),
        ("<i title=maybe></i>", "maybe"),
        ("<a href=/edit title=Edit></a>", ""),
        (f"<i title={'x' * 100}></i>", ""),
    ],
)
def test_the_names_of_icons_that_stand_alone_in_cells(cell, expected):
    html = f"<table><tr><th>Part<th>Safe<tr><td>Lid<td>{cell}<tr><td>Base<td>no</table>"
    assert f"| Lid | {expected} |" in markdown(html)


@pytest.mark.parametrize(
    "html",
    [
        "<ul role=tablist><li role=tab>A<li role=tab>B</ul><div role=tabpanel>one</div><div role=tabpanel>two</div>",
        "<div class=tabbed-set><div class=tabbed-labels><label>A</label><label>B</label></div>"
        "<div><p>one</p><p>two</p></div></div>",
        "<ul class='nav nav-tabs'><li><a href=#b>B</a><li><a href=#a>A</a></ul><div id=a>one</div><div id=b>two</div>",
        "<p role=tab aria-controls=a>A<p role=tab aria-controls=b>B<div id=a>one</div><div id=b>two</div>",
        "<div class=tab><button>A</button><button>B</button></div><div>one</div><div>two</div>",
        "<div><div><ul class=wds-tabs><li><div><a href=#>A</a></div><li><a href=javascript:;>B</a></ul></div>"
        "<div>one</div><div>two</div></div>",
        "<ul class=yui-nav><li><a href=javascript:;><em>A</em></a><li><a href=javascript:;><em>B</em></a></ul>"
        "<div><div>one</div><div>two</div></div>",
        "<div class=tabs><input type=radio><label>A</label><input type=radio><label>B</label><div>one</div>"
        "<div>two</div></div>",
        "<x-tab slot=nav panel=a>A</x-tab><x-tab slot=nav panel=b>B</x-tab><x-tab-panel name=a>one</x-tab-panel>"
        "<x-tab-panel name=b>two</x-tab-panel>",
        "<div class=w-tab-menu><a data-w-tab=1>A</a><a data-w-tab=2>B</a></div><div><div>one</div><div>two</div></div>",
    ],
)
def test_the_label_of_a_tab_stands_at_its_panel(html):
    assert markdown(html) == "**A**\n\none\n\n**B**\n\ntwo"


def test_tabs_that_choose_from_what_is_in_one_panel_are_no_labels_of_it():
    assert markdown("<p role=tab aria-controls=a>A<p role=tab aria-controls=a>B<div id=a>one</div>") == "A\n\nB\n\none"


def test_labels_that_lead_elsewhere_or_have_other_numbers_of_parts_behind_them_are_none():
    tabs = "<ul class=tabs><li><a href={}>A</a><li><a href={}>B</a></ul><div>one</div><div>two</div>"
    assert "**A**" in markdown(tabs.format("#", "#"))
    assert "**A**" not in markdown(tabs.format("/a", "/b"))
    assert "**A**" not in markdown(f"<section>{tabs.format('#', '#')}<div>three</div></section>")


def test_a_label_stands_once_at_a_panel_whatever_the_width_of_the_screen():
    html = (
        "<div role=tab aria-controls=a>A</div><div role=tab aria-controls=b>B</div><div role=tab>A</div>"
        "<p role=tabpanel id=a>one</p><div role=tab>B</div><p role=tabpanel id=b>two</p>"
    )
    assert markdown(html) == "A\n\none\n\nB\n\ntwo"


def test_the_name_of_an_author_heads_no_section():
    assert markdown("<h1>Tea</h1><h4 class=author-name>Ana</h4><p>one") == "# Tea\n\nAna\n\none"
    assert markdown("<h1>Tea</h1><h3 class=fn>pour()</h3><p>one") == "# Tea\n\n## pour()\n\none"


def test_labels_without_panels_and_panels_that_begin_with_them():
    assert markdown("<ul role=tablist><li role=tab>A<li role=tab>B</ul><p>one") == "- A\n- B\n\none"
    tabs = "<p role=tab aria-controls=a>A<p role=tab aria-controls=b>B"
    assert markdown(f"{tabs}<div id=a><h2>A</h2>one</div><div id=b>two</div>") == "# A\n\none\n\n**B**\n\ntwo"


def test_buttons_at_code_are_told_by_where_they_stand():
    html = f"{PROSE}<button>Run it</button><pre><button>Copy</button>a = 1</pre><a class=expand-all>Show all</a>{PROSE}"
    found = page(html)
    kept = ~asides_of(found.nodes, every(found))
    assert [found.nodes.strings[leaf] for leaf in (~kept).nonzero()[0]] == ["Run it", "Copy", "Show all"]


def test_a_named_menu_of_nothing_but_links_is_no_content_where_text_is():
    links = "".join(f"<tr><td><a href=/{name}>{name}</a>" for name in "abcdefghij")
    menu = f"<div class=t-navbar><table>{links}</table></div>"
    for rest, menus in ((PROSE, 10), ("<p>Few words", 0)):
        found = page(menu + rest)
        assert asides_of(found.nodes, every(found)).sum() == menus


@pytest.mark.parametrize(
    "html",
    [
        f"<pre>{'<li><b>a</b> = 1' * 20_000}</pre>",
        f"<pre>{'<div class=gutter>1' * 1500}{'<i>2</i>' * 50_000}a",
        f"<table><tr>{'<td rowspan=65534 colspan=100>a' * 50}{'<tr><td>b<td>c' * 3000}</table>",
        f"{'<ul><li>a' * 10_000}",
        f"{'<code>' * 1500}{'a<br>' * 20_000}<h2>b",
        f"{'<p role=tab aria-controls=a>b' * 20_000}{'<div role=tabpanel id=a>c' * 1000}",
        f"<pre>{'<pre>' * 1500}{'a<br>' * 20_000}",
    ],
    ids=["items", "gutters", "spans", "lists", "code", "tabs", "nested"],
)
def test_monstrous_blocks(html):
    began = time.process_time()
    found = page(html)
    markdown_of(document_of(found, ~asides_of(found.nodes, every(found))))
    plain(found.nodes, every(found))
    assert time.process_time() - began < 30
