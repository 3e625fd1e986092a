"""The posts of threads and the comments of readers: who wrote each, and when."""

import pytest

from scrapy_pagelets.decision.decision import decided
from scrapy_pagelets.decision.site import Site
from scrapy_pagelets.feed.page_record import PageRecord
from scrapy_pagelets.metadata.dates import Habits
from scrapy_pagelets.metadata.posts import thread_of
from scrapy_pagelets.page.page import Page

BODY = "<p>" + "Here somebody says what he thinks of green tea, and he goes on and on. " * 4
OTHER = "<p>" + "Another one answers that he likes coffee better, which nobody here had asked him at all. " * 4
FORUM, ARTICLE = "http://a.example/forum/tea", "http://a.example/tea"


def told(html: str, url: str = FORUM) -> list[tuple[str | None, str | None]]:
    page = Page.parse(html.encode(), url)
    return [(post.author, post.published) for post in thread_of(page, Habits()).posts]


PHPBB = (
    "<div id=p{0} class='post has-profile'><dl class=postprofile><dt><a class=username href=m{0}>user{0}</a>"
    "<dd>Expert<dd><b>Joined:</b> 0{1} Oct 2010</dl><div class=postbody><p class=author>by <b>"
    "<a class=username href=m{0}>user{0}</a></b> » 1{0} Nov 2018 09:10</p>{2}</div></div>"
)
FLUXBB = (
    "<div id=p{0} class=blockpost><h2><a href=#p{0}>2018-11-1{0} 09:10</a></h2><div class=postleft><dl>"
    "<dt><b>user{0}</b><dd>Registered: 2010-10-0{1}</dl></div><div class=postright>{2}</div></div>"
)
XENFORO = (
    "<article id=js-post-{0} class='message message--post'><div class=message-user><b>U</b>"
    "<a class=username>user{0}</a><dl><dd>8070<dd>3040</dl></div>"
    "<div class=message-main><time datetime=2018-11-1{0}>then</time>"
    "<div class=message-userContent>{2}</div></div></article>"
)
BBPRESS = (
    "<div id=post-{0}00 class=bbp-reply-header><span>November 1{0}, 2018 at 9:10 am</span></div>"
    "<div class='post-{0}00'><div class=bbp-reply-author><a class=bbp-author-name>user{0}</a></div><div>{2}</div></div>"
)
DISCUZ = (
    "<div id=post_{0}><table><tr><td class=pls><div class=favatar><div class=authi><a href=space-uid-{0}.html>user{0}"
    "</a></div><p>Points<p>8{1}</div><td><em>2018-11-1{0}</em>{2}</table></div>"
)
MICRODATA = (
    "<div itemscope itemtype='http://schema.org/Answer'>{2}<div itemprop=author itemscope>"
    "<span itemprop=name>user{0}</span></div><time itemprop=dateCreated datetime=2018-11-1{0}>then</time></div>"
)
BUGZILLA = (
    "<div id=c{0} class=bz_comment><div class=bz_comment_head><a class=email href='mailto:u@t.test'><b class=fn>user{0}"
    "</b></a><span class=bz_comment_time>2018-11-1{0}</span></div><pre>{2}</pre></div>"
)
MAILS = (
    "<div class=email id=m{0}><div class=email-author><h2 class=name><a href=/users/{0}/>user{0}</a></h2></div>"
    "<div class=email-date>1{0} Nov 2018</div><div class=email-body>{2}</div></div>"
)
UBB = (
    "<table><tr><td><font><b>user{0}</b></font><br>Member<br>Posts: 7<br>Registered: Mar 2000<td>"
    "posted 2018-11-1{0} 09:15 PM<hr><font>{2}</font></table>"
)
IPB = (
    "<div id=row_{0}><h3><a href=#{0}>#{0}</a> <span class='author vcard'><a class=fn href=/m/{0}>user{0}</a></span>"
    "</h3>"
    "<div><p>Posted <abbr class=published title=2018-11-1{0}>then</abbr><div class=post>{2}</div></div></div>"
)
MYBB = (
    "<div id=post_{0} class='post '><div class=post_author><div class=author_information><b><a href=/u-{0}>user{0}</a>"
    "</b><br>Junior</div><div class=author_statistics>Posts: 8{1}<br>Joined: May 2010</div></div>"
    "<div class=post_head><i class=date>2018-11-1{0} 19:40</i></div><div id=pid_{0} class=post_body>{2}</div></div>"
)
TWO = [("user1", "2018-11-11"), ("user2", "2018-11-12")]


@pytest.mark.parametrize("form", [PHPBB, FLUXBB, XENFORO, BBPRESS, DISCUZ, BUGZILLA, MAILS, UBB, IPB, MYBB, MICRODATA])
def test_each_post_tells_its_author_and_its_date(form):
    assert told(form.format(1, 9, BODY) + form.format(2, 8, BODY)) == TWO


def test_the_text_in_an_element_named_a_post_is_of_the_one_around_it():
    post = "<div itemscope itemtype='http://schema.org/Comment'><b itemprop=author>user{0}</b>"
    post += "<time datetime=2018-11-1{0}>then</time><div class=post>{1}</div><i>2 Likes</i></div>"
    page = Page.parse((post.format(1, BODY) + post.format(2, OTHER)).encode(), FORUM)
    first, second = thread_of(page, Habits()).posts
    assert [first.author, second.author] == ["user1", "user2"]
    assert all(any(len(page.nodes.strings[leaf]) > 99 for leaf in post.leaves) for post in (first, second))


def test_profiles_tell_a_thread_whatever_its_address():
    for form in (PHPBB, MYBB):
        assert told(form.format(1, 9, BODY) + form.format(2, 8, BODY), ARTICLE) == TWO
    assert told(PHPBB.format(1, 9, BODY).replace("profile", "body"), ARTICLE) == []


def test_replies_are_comments_of_their_own():
    inner = "<ol><li id=li-comment-2 class=comment><cite class=fn>Cy</cite> <i>3 May 2024</i>{0}</ol>"
    outer = "<li id=li-comment-1 class=comment><div id=comment-1><cite class=fn>Bo</cite> <i>2 May 2024</i>{0}</div>{1}"
    html = f"<h1>Tea</h1>{BODY}<ol class=commentlist>{outer.format(BODY, inner.format(BODY))}</ol>"
    assert told(html, ARTICLE) == [("Bo", "2024-05-02"), ("Cy", "2024-05-03")]


def test_a_frame_of_posts_in_two_parts_is_no_post():
    frame = "<div class=post><p>Last updated by <b class=author>user2</b>{}{}</div>"
    assert told(frame.format(BBPRESS.format(1, 9, BODY), BBPRESS.format(2, 8, OTHER))) == TWO


def test_dates_in_no_order_are_not_those_of_posts():
    post = "<div class=post><b class=username>Ana</b> <i>{} May 2024</i>{}</div>"
    assert told("".join(post.format(day, BODY) for day in (5, 2, 9))) == [("Ana", None)] * 3
    assert told("".join(post.format(day, BODY) for day in (9, 5, 2)))[0] == ("Ana", "2024-05-09")
    # answers to the first post go on for days before the next one
    answered = (1, 2, 3, 9, 4, 5, 6, 12, 7, 8, 9, 10)
    assert told("".join(post.format(day, BODY) for day in answered))[3] == ("Ana", "2024-05-09")
    joined = (7, 2, 9, 4, 12, 1, 8, 3, 11, 5, 10, 6)
    assert told("".join(post.format(day, BODY) for day in joined)) == [("Ana", None)] * 12


def test_the_posts_of_a_blog_are_no_thread():
    assert told(f"<div class=post><h2>Tea</h2><b class=author>Ana</b> 2 May 2024{BODY}</div>" * 3, ARTICLE) == []


def test_numbers_in_a_profile_are_not_in_the_line_of_author_and_date():
    page = Page.parse((XENFORO.format(1, 9, BODY) + XENFORO.format(2, 8, OTHER)).encode(), FORUM)
    first = thread_of(page, Habits()).posts[0]
    assert [page.nodes.strings[leaf] for leaf in first.line] == ["user1", "then"]
    assert [page.nodes.strings[leaf] for leaf in first.profile] == ["U", "8070", "3040"]


def record(html: str, url: str) -> PageRecord:
    page, site = Page.parse(html.encode(), url), Site("a.example")
    site.learn(page)
    return PageRecord(page, decided(page, site))


def test_a_thread_keeps_author_and_date_of_each_post_and_no_profile():
    html = "<title>Tea</title><h1>Tea</h1>" + PHPBB.format(1, 9, BODY) + PHPBB.format(2, 8, OTHER)
    found = record(html, FORUM)
    fields = found.decision.metadata.fields
    assert (fields["author"], fields["published"]) == TWO[0]
    assert [(post["author"], post["published"], post["role"]) for post in found.posts] == [
        (*one, "content") for one in TWO
    ]
    assert found.posts[0]["xpaths"] == ["/html/body/div[1]"]
    assert "2010" not in found.text
    assert "Expert" not in found.text
    assert [word in found.text for word in ("user1", "11 Nov 2018", "user2", "12 Nov 2018")] == [True] * 4


def test_a_reply_opens_a_thread_if_it_has_the_heading_of_the_page():
    heading, reply = "<h1>Tea</h1>", "<div class=comment>{}<p>by <b class=author>{}</b> 1{} Nov 2018{}</div>"
    other = reply.format("", "user2", 2, OTHER)
    inside = record("<title>Tea</title>" + reply.format(heading, "user1", 1, BODY) + other, FORUM)
    before = record("<title>Tea</title>" + heading + reply.format("", "user1", 1, BODY) + other, FORUM)
    fields = [found.decision.metadata.fields for found in (inside, before)]
    assert [(told["author"], told["published"]) for told in fields] == [TWO[0], (None, None)]


def test_a_reply_of_the_moment_at_which_the_page_was_published_opens_a_thread():
    """NodeBB types all posts as comments in one of a discussion, and Bootstrap calls spaces `p-0`."""
    post = (
        "<li itemscope itemtype='http://schema.org/Comment'><meta itemprop=datePublished content=2018-11-1{0}T09:10Z>"
    )
    post += "<div class=post-container><b itemprop=author><i itemprop=name>user{0}</i></b>{1}</div>"
    posts = f"<ul class='posts p-0'>{post.format(1, BODY)}{post.format(2, OTHER)}</ul>"
    html = f"<title>Tea</title><div itemscope itemtype='http://schema.org/DiscussionForumPosting'><h1>Tea</h1>{posts}</div>"
    for moment, author in (("2018-11-11T09:10Z", "user1"), ("2018-11-11T09:00Z", None), ("2018-11-11", None)):
        meta = f"<meta property=article:published_time content={moment}>"
        assert record(meta + html, ARTICLE).decision.metadata.fields["author"] == author


def test_words_before_other_links_are_not_in_the_line_of_author_and_date():
    line = "<time datetime=2018-11-1{0}>then</time> in <a href=/c>Teas</a> by <b class=username>user{0}</b>"
    post = f"<div class=post><p>{line}</p>{{1}}</div>"
    page = Page.parse((post.format(1, BODY) + post.format(2, OTHER)).encode(), FORUM)
    first = thread_of(page, Habits()).posts[0]
    assert [page.nodes.strings[leaf].strip() for leaf in sorted(first.line)] == ["then", "by", "user1"]


def test_the_post_that_is_called_the_topic_opens_a_thread():
    first, second = BBPRESS.format(1, 9, BODY), BBPRESS.format(2, 8, OTHER).replace("'post-200'", "'post-200 reply'")
    pages = (first.replace("'post-100'", "'post-100 topic'") + second, first.replace("'post-100'", "'post-100 reply'"))
    fields = [record(f"<title>Tea</title><h1>Tea</h1>{html}", FORUM).decision.metadata.fields for html in pages]
    assert [(told["author"], told["published"]) for told in fields] == [TWO[0], (None, None)]


def test_the_cell_with_the_author_of_a_post_is_a_profile():
    rows = UBB.format(1, 9, BODY) + UBB.format(2, 8, OTHER)
    page = Page.parse(rows.replace("</table><table>", "").encode(), FORUM)
    found = [[page.nodes.strings[leaf] for leaf in post.profile] for post in thread_of(page, Habits()).posts]
    assert found == [["Member", "Posts: 7", "Registered: Mar 2000"]] * 2
    assert told(rows, ARTICLE) == []


def test_roles_of_authors_numbers_of_posts_and_heads_of_their_list_are_no_content():
    form = BBPRESS.replace("am</span>", "am</span> <a href=#post-{0}00>#{0}00</a>")
    form = form.replace("user{0}</a></div>", "user{0}</a><div>Guest</div></div>")
    head = "<li class=bbp-{}><div>Author</div><div>Posts</div>"
    pages = []
    for number, name in enumerate("Sencha Bancha Matcha Hojicha Genmaicha Kukicha Gyokuro Tencha".split()):
        issues = [f"<p><a class=issue href=/{name}/{i}>Issue #{number}{i}</a>" for i in range(3)]
        said = [
            f"<p>{name} says {word}. {OTHER.replace('coffee', name)}{issue}"
            for word, issue in zip(("yes", "no", "well"), issues, strict=True)
        ]
        posts = "".join(form.format(3 * number + i, 9, text) for i, text in enumerate(said, 1))
        listed = f"<ul>{head.format('header')}<li class=bbp-body>{posts}{head.format('footer')}</ul>"
        pages.append(Page.parse(f"<title>{name}</title><h1>{name}</h1>{listed}".encode(), f"{FORUM}/{name}"))
    site = Site("a.example")
    for page in pages:
        site.learn(page)
    text = PageRecord(pages[0], decided(pages[0], site)).text
    assert [word in text for word in ("Guest", "#100", "Author")] == [False] * 3
    assert [word in text for word in ("user1", "November 11, 2018", "says yes", "Issue #02")] == [True] * 4


def test_a_line_below_each_post_says_when_its_author_joined():
    row = UBB.replace("<br>Posts: 7<br>Registered: Mar 2000", "").replace(
        "</table>", "<p>Posts: 7 | Joined: May 2000</table>"
    )
    page = Page.parse((row.format(1, 9, BODY) + row.format(2, 8, OTHER)).encode(), "http://a.example/ultimatebb.cgi")
    found = [[page.nodes.strings[leaf] for leaf in post.profile] for post in thread_of(page, Habits()).posts]
    assert found == [["Member", "Posts: 7 | Joined: May 2000"]] * 2


def test_what_a_link_in_it_cites_is_a_comment_if_it_tells_author_and_date():
    note = (
        "<div id=n{0} class=note><a class=name href='#n{0}'><b class=user>user{0}</b></a>"
        "<i class=date title='2018-11-1{0} 03:10'>9 years ago</i>{2}</div>"
    )
    notes = note.format(1, 9, BODY) + note.format(2, 8, OTHER)
    assert told(notes, ARTICLE) == [(name, f"{day}T03:10:00") for name, day in TWO]
    assert told(notes.replace("<b class=user>user2", "<b>user2"), ARTICLE) == [(TWO[0][0], f"{TWO[0][1]}T03:10:00")]
    assert told(notes.replace("href='#n", "href='#m"), ARTICLE) == []
    assert told(notes.replace("class=note>", "class=note><nav>Tea</nav>"), ARTICLE) == []  # a link to the top


def test_a_post_whose_quotation_is_longer_than_its_answer_is_content():
    html = "<title>Tea</title><h1>Tea</h1>" + PHPBB.format(1, 9, BODY)
    html += PHPBB.format(2, 8, f"<blockquote>{BODY}</blockquote><p>" + OTHER[:140])
    assert [post["role"] for post in record(html, FORUM).posts] == ["content"] * 2


def test_a_report_tells_who_opened_it_before_its_comments():
    opened = "<title>Tea</title><h1>Tea</h1><p>opened 10 Nov 2018 by <a href=/bo>Bo</a></p>"
    found = record(
        opened + BUGZILLA.format(1, 9, BODY) + BUGZILLA.format(2, 8, OTHER), "http://a.example/show_bug.cgi?id=7"
    )
    fields = found.decision.metadata.fields
    assert (fields["author"], fields["published"]) == ("Bo", "2018-11-10")
    assert {post["role"] for post in found.posts} == {"content"}


def test_the_first_comment_of_bugzilla_is_the_report():
    other = BUGZILLA.format(1, 9, BODY)
    first = other.replace("class=bz_comment>", "class='bz_comment bz_first_comment'>")
    html = "<title>Tea</title><h1>Tea</h1>{}" + BUGZILLA.format(2, 8, OTHER)
    address = "http://a.example/show_bug.cgi?id=7"
    fields = [record(html.format(each), address).decision.metadata.fields for each in (first, other)]
    assert [(told["author"], told["published"]) for told in fields] == [TWO[0], (None, None)]


def test_journals_of_a_report_are_replies():
    note = (
        "<div id=change-{0} class='journal has-notes'><h4>Updated by <a class=user href=/users/{0}>user{0}</a> "
        "<a title='2018-11-1{0} 09:10' href=/activity>over 4 years</a> ago</h4><div class=wiki>{2}</div></div>"
    )
    opened = "<title>Tea</title><h1>Tea</h1><p>Added by <a href=/users/3>Bo</a> on 10 Nov 2018</p>"
    found = record(opened + note.format(1, 9, BODY) + note.format(2, 8, OTHER), "http://a.example/issues/7")
    assert [(post["author"], post["published"][:10]) for post in found.posts] == TWO
    assert found.decision.metadata.fields["author"] == "Bo"


def test_users_are_told_by_their_links_and_moments_in_words_by_titles():
    post = (
        "<div class=comment><a {}>Ana Bo</a> <b class=comment-date title='November 1{}, 2018 6:41 pm'>ago</b>{}</div>"
    )
    for link in (
        "href=/~ana",
        "class=user-hover href=/secure",
        "href=/ViewProfile.jspa?name=ana",
        "class=comment-name",
    ):
        assert told(post.format(link, 1, BODY)) == [("Ana Bo", "2018-11-11")]
    assert told(post.format("href=/~ana/teas", 1, BODY)) == [(None, "2018-11-11")]
    at_home = Page.parse(post.format("href=/~ana/", 1, BODY).encode(), "http://a.example/~ana/forum/tea")
    assert thread_of(at_home, Habits()).posts[0].author is None


def test_the_post_that_is_called_the_first_opens_a_thread():
    post = "<div class='comment js-post {}'><b class=username>user{}</b> <i>1{} Nov 2018</i>{}</div>"
    for name, expected in (("b-post--first", TWO[0]), ("firstpost", TWO[0]), ("post-first-of-all", (None, None))):
        html = post.format(name, 1, 1, BODY) + post.format("", 2, 2, OTHER)
        fields = record(f"<title>Tea</title><h1>Tea</h1>{html}", FORUM).decision.metadata.fields
        assert (fields["author"], fields["published"]) == expected


def test_what_links_cite_below_a_heading_of_comments_needs_no_names():
    note = "<dt id=c{0}><a href='#c{0}'>{0}.</a> On <i>1{0} Nov 2018</i> by <a href=//b.test>user{0}</a><dd>{1}"
    notes = f"<div class={{}}><dl>{note.format(1, BODY)}{note.format(2, OTHER)}</dl></div>"
    assert told(notes.format("comments"), ARTICLE) == TWO
    assert told(notes.format("sayings"), ARTICLE) == []


def test_a_comment_in_a_list_of_definitions_ends_before_the_next_term():
    comment = (
        "<dt class=comment-author><a href=/{0} rel=nofollow>user{0}</a> said...<dd class=comment-body>{2}</dd>"
        "<dd class=comment-footer><span class=comment-timestamp>November 1{0}, 2018 at 6:00 PM</span></dd>"
    )
    two = f"<dl>{comment.format(1, 9, BODY)}{comment.format(2, 8, OTHER)}</dl>"
    assert told(two, ARTICLE) == TWO
    assert told(two.replace("comment-", ""), ARTICLE) == []


def test_microdata_without_text_tells_of_posts():
    author = "<meta itemprop=author content=user{0}>"
    post = "<li itemscope itemtype='http://schema.org/Comment'><meta itemprop=datePublished content=2018-11-1{0}>{1}{2}"
    assert told(post.format(1, author.format(1), BODY) + post.format(2, author.format(2), OTHER)) == TWO
    assert told(post.format(1, "<b class=username>user1</b>", BODY) + post.format(2, "", OTHER))[0] == TWO[0]


def test_a_date_in_a_quotation_is_not_that_of_the_post():
    quotation = "<blockquote>(1 May 2017, 10:00) Bo wrote: all of tea</blockquote>"
    post = "<div class=post><b class=username>user{0}</b><i>1{0} Nov 2018</i><div id=pid_{0}>{1}{2}</div></div>"
    assert told(post.format(1, "", BODY) + post.format(2, quotation, OTHER)) == TWO


def test_hostile_posts_take_no_time():
    assert told("<div class=post>" * 1500 + "<b class=username>Ana</b> 2 May 2024") == [("Ana", "2024-05-02")]
    assert len(told(f"<div class=post><b class=username>Ana</b>{'x ' * 9}</div>" * 5000)) == 2000
    assert told("<div class=post>" + "<b>x</b> " * 50_000) == []


@pytest.mark.parametrize(("kind", "expected"), [("Review", [("Ana", "2019-03-10")]), ("Offer", [])])
def test_the_type_of_a_review_without_a_name_tells_that_it_is_one(kind, expected):
    html = (
        f"<h1>Tea</h1>{BODY}<div itemscope itemtype=http://schema.org/{kind}><span itemprop=author>Ana</span>"
        f"<time itemprop=datePublished datetime=2019-03-10>10 March</time>{OTHER}</div>"
    )
    assert told(html, ARTICLE) == expected


def test_the_label_of_a_byline_is_no_author():
    head = "<h3 class=post-byline><span>Reply by </span><a href=/profile?id={0}>user{0}</a></h3>"
    post = f"<div class=post id=p{{0}}>{head}{{1}}</div>"
    assert [author for author, _ in told("".join(post.format(i, BODY) for i in (1, 2)))] == ["user1", "user2"]
    named = "<div class=post id=p{0}><b class=username>Kirby</b>{1}</div>"
    assert [author for author, _ in told("".join(named.format(i, BODY) for i in (1, 2)))] == ["Kirby", "Kirby"]


@pytest.mark.parametrize(
    ("head", "published"),
    [
        ("<cite class=fn>Ana Bo</cite> пишет: <p>2 декабря 2011 в 13:26</p>", "2011-12-02"),
        ("<cite class=fn>Ana Bo</cite> <p>2 de diciembre de 2011 a las 13:26</p>", "2011-12-02"),
        ("<p>Napsal <b class=username>Ana Bo</b> dne 2 Prosinec, 2011 - 13:26.</p>", "2011-12-02"),
        (
            "<time><a href=#c1>December 2, 2011 - 1:26 pm</a></time> <cite><a href=//bo.test>Ana Bo</a></cite>",
            "2011-12-02",
        ),
    ],
)
def test_short_words_stand_between_a_day_and_a_time_and_who_is_cited_beside_it_is_the_author(head, published):
    html = f"<div id=comments><div class=comment>{head}{BODY}</p><p>As <cite>Of Tea</cite> says.</div></div>"
    assert told(f"<h1>Tea</h1>{BODY}{html}", "http://tea.test/of-tea") == [("Ana Bo", published)]
