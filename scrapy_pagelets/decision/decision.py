"""The decision what of a page is template: one function for crawls, archives, commands, benchmarks and notebooks."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from scrapy_pagelets.base.arrays import Bools, Floats, Ints
from scrapy_pagelets.decision import asides, corrections
from scrapy_pagelets.decision.content import corrected, facts_of, marks_in_cells, permalinks, said_of_itself
from scrapy_pagelets.decision.cut import OF_ARTICLE
from scrapy_pagelets.decision.half_lines import companions, opening_alone, signs_with_words
from scrapy_pagelets.decision.own_texts import Seen, data_tables, labelled, own_texts
from scrapy_pagelets.decision.page_features import declared
from scrapy_pagelets.decision.site import Site
from scrapy_pagelets.metadata.headline import Headline, headline_of
from scrapy_pagelets.metadata.metadata import Metadata, metadata_of
from scrapy_pagelets.metadata.posts import is_discussion
from scrapy_pagelets.page.page import Page
from scrapy_pagelets.page.roles import COMMENTS, CONTENT, FORMS, METADATA, NAVIGATION, ROLES, is_template


@dataclass(frozen=True, eq=False)
class Decision:
    """What of a page is template, and what the page tells of itself."""

    templateness: Floats  # (m,) of each leaf, 0 to 1
    headline: Headline | None  # the page's own heading
    metadata: Metadata  # what the page tells of itself
    effect: dict[str, int]  # by the name of the stat, what each rule of the user has done to the page
    roles: Ints  # (m,) index in ``ROLES`` of the role of each leaf; 0 also for template of which the model tells none
    repeated: Sequence[int] = ()  # rows of the pictures that most pages of the site show

    @property
    def content(self) -> Bools:
        """(m,) the leaves that are content."""
        return ~is_template(self.templateness)


def decided(page: Page, site: Site, by_method: Floats | None = None, keep: Collection[str] = (CONTENT,)) -> Decision:
    """Decide what of a page is template, as its site, the page itself and the rules of the user know it.

    What the page says of itself is content, author and date of each post of a thread among it, in whole lines;
    breadcrumbs and tags that the page calls so, the comments of readers below an article, the reviews of a product,
    signatures and profiles of authors on forums, what the page says twice, and what `asides_of`, `link_sections_of` and
    `lone_headings_of` find are template. ``benchmarks corrections`` tells what each is worth. Rules decide last.

    ``site``: has learnt the page. ``by_method``: (m,) what another method than the default one says: only rules
    overrule it. ``keep``: the roles that count as content.

    >>> site = Site("example.com")
    >>> page = Page.parse(b"<title>Tea</title><h1>Tea</h1><p>All about green tea.", "http://example.com/")
    >>> decision = decided(page, site)
    >>> decision.headline.text, decision.content.tolist()
    ('Tea', [True, True])
    """
    alike, others = site.pages_alike(page), site.pages - 1
    headline = headline_of(page, alike, others, named=page.marks.headline)
    told = metadata_of(page, headline, site.habits(page))
    found, named = by_method, np.zeros(len(page.nodes.leaves), np.int64)
    if found is None:
        kinds = declared(page)
        sells = kinds["product"] or told.fields["product"] is not None
        may_be = (kinds["article"] or told.fields["published"]) and not sells
        is_article = may_be and not (told.thread.is_thread or is_discussion(page))
        seen = site.templateness(page, OF_ARTICLE if is_article and others else 0.0)
        own = own_texts(page, headline, seen, alike, others) | data_tables(page.nodes, headline, seen, alike, others)
        found = corrected(page.nodes, corrections.decided_together(page.nodes, np.where(own, 0, seen)), headline)
        texts = Seen(
            alike,
            others,
            elsewhere=lambda: (site.pages_with_text(page), site.pages_with_place(page)),
            differing=lambda: site.differing(page),
        )
        found[labelled(page.nodes, headline, ~is_template(found), texts, is_article=bool(is_article))] = 0
        found[told.trail] = 1
        kept = ~is_template(found)
        is_reviewed = kinds["product"] or (sells and bool(told.thread.posts))
        comments = asides.comments_of(page, kept, is_product=is_reviewed, is_discussion=kinds["discussion"])
        sections = corrections.link_sections_of(page, seen, alike, others, cards=sells)
        tags = asides.own_tags(page.nodes, kept)
        signatures = asides.signatures_of(page, kept, is_discussion=kinds["discussion"])
        profiles, lines = asides.signed_posts(page, told.thread, kept & ~comments)
        for role, leaves in ((COMMENTS, comments), (NAVIGATION, sections), (METADATA, told.trail | tags | profiles)):
            named[leaves] = ROLES.index(role)
        for post in told.thread.posts if not told.thread.is_thread else ():
            named[[*post.leaves]] = ROLES.index(COMMENTS)
        stripped = comments | sections | tags | signatures | marks_in_cells(page.nodes)
        stripped |= asides.asides_of(page.nodes, kept)
        stripped |= corrections.repeats_of(page.nodes, kept, is_thread=told.thread.is_thread)
        stripped[asides.controls_of_posts(page.nodes, told.thread)] = True
        found[stripped] = 1
        found[page.nodes.leaves_below(headline.banners if headline else ())] = 1
        found[profiles] = 1
        found[lines] = 0
        of_page = () if told.thread.is_thread else told.names  # each post of a thread has its author in its line
        found[said_of_itself(page, headline, of_page, told.prices) & ~told.trail] = 0
        found[facts_of(page, headline, told.facts, ~is_template(found))] = 0
        marks = permalinks(page.nodes)
        found[companions(page.nodes, ~is_template(found)) & ~(stripped | profiles | told.trail | marks)] = 0
        found = np.where(marks | stripped, found, signs_with_words(page.nodes, found))
        if told.thread.posts:  # "(" before the number of a post
            found[opening_alone(page.nodes, is_template(found))] = 1
        kept = ~is_template(found)
        if corrections.has_lone_heading(page.nodes, kept):
            own = page.nodes.leaves_below((headline.row,) if headline else ())
            found[corrections.lone_headings_of(page.nodes, kept, alike, site.pages_with_text(page), others) & ~own] = 1
    likely = site.roles(page, found)
    if (comments := named == ROLES.index(COMMENTS)).any():
        named[asides.unsaid(page.nodes, comments, likely == ROLES.index(FORMS))] = 0
    roles = np.where(is_template(found), np.where(named > 0, named, likely), 0)
    if also := [ROLES.index(role) for role in keep if role != CONTENT]:
        found = np.where(np.isin(roles, also), 0, found)
    templateness, effect = page.marks.applied(page.nodes, found)
    repeated = site.repeated_pictures(page).tolist()
    return Decision(templateness, headline, told, effect, roles * is_template(templateness), repeated)
