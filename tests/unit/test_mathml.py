"""MathML as TeX."""

import pytest
from lxml import etree

from scrapy_pagelets.page.formulas import tex_of_mathml


@pytest.mark.parametrize(
    ("inside", "tex"),
    [
        ("<mi>x</mi><mo>=</mo><mn>1.5</mn>", "x=1.5"),
        ("<mi>sin</mi><mo>\u2061</mo><mi>x</mi>", r"\mathrm{sin}x"),
        ("<mtext>50 % of {a}</mtext>", r"\text{50 \% of \{a\}}"),
        ("<mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mi>c</mi></mfrac>", r"\frac{a+b}{c}"),
        ("<msup><mi>x</mi><mn>2</mn></msup>", "x^{2}"),
        ("<msup><mrow><mi>x</mi><mi>y</mi></mrow><mn>2</mn></msup>", "{xy}^{2}"),
        ("<msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup>", "x_{i}^{2}"),
        ("<msqrt><mi>x</mi><mi>y</mi></msqrt><mroot><mi>x</mi><mn>3</mn></mroot>", r"\sqrt{xy}\sqrt[3]{x}"),
        ("<munderover><mo>∑</mo><mi>i</mi><mi>n</mi></munderover>", "∑_{i}^{n}"),
        ("<munder><mi>lim</mi><mi>n</mi></munder>", r"\mathrm{lim}_{n}"),
        ("<mover><mi>x</mi><mo>¯</mo></mover><mover><mi>a</mi><mo>→</mo></mover>", r"\overline{x}\vec{a}"),
        ("<mover><mo>=</mo><mtext>!</mtext></mover>", r"\overset{\text{!}}{=}"),
        ("<munderover><mi>x</mi><mi>a</mi><mi>b</mi></munderover>", r"\overset{b}{\underset{a}{x}}"),
        ("<mfenced open='['><mi>a</mi><mi>b</mi></mfenced>", "[a,b)"),
        (
            "<mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>2</mn></mtd></mtr><mtr><mtd><mn>3</mn></mtd></mtr></mtable>",
            r"\begin{matrix}1 & 2 \\ 3\end{matrix}",
        ),
        ("<semantics><mi>x</mi><annotation>y</annotation></semantics><mspace/>", "x"),
        ("<msup/><mfrac><mi>a</mi></mfrac>", r"{}\frac{a}"),
        ("<div>x</div>", ""),
        ("", ""),
    ],
)
def test_mathml_as_tex(inside, tex):
    assert tex_of_mathml(etree.fromstring(f"<math>{inside}</math>")) == tex


def test_deep_mathml_takes_little_time():
    deep = "<mrow>" * 200 + "<mi>x</mi>" + "</mrow>" * 200
    assert tex_of_mathml(etree.fromstring(f"<math>{deep}</math>")) == "x"
