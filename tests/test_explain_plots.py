"""Pictures and pages: the same numbers give the same bytes, all words are there, nobody's text becomes markup."""

import json
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.text import Text

from tpn2f.errors import DataError
from tpn2f.explain import (
    Agreement,
    Analysis,
    Clustering,
    GroupedWord,
    QuestionMap,
    RelationMap,
    Spread,
    TPRMeasure,
    WordGroup,
    WordGroups,
    colours,
    plots,
)
from tpn2f.explain.colours import colour_all, faded, palette
from tpn2f.explain.labels import differing, overlaps, place_labels
from tpn2f.explain.page import make_page
from tpn2f.program import Program

QUESTION = QuestionMap(
    ("n0", "$", "<b>", "&", "数", "\x07", "$x$", "is"),
    (((3, 0.9), (7, 0.1)), (), ((3, 0.2),), ((31, 1.0),), (), ((3, 0.5),), ((4, 0.4),), ()),
    (((1, 1.0),), ((1, 0.3), (2, 0.2)), (), (), ((2, 0.6),), (), (), ((0, 0.15),)),
    Program.parse("add(n0, n1) | divide(#0, const_2)"),
    ((0.5, 0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05), (0.125,) * 8),
    ((3,),) * 8,
    ((1,),) * 8,
)
PLAIN = replace(QUESTION, fillers=(), roles=(), filler_choices=(), role_choices=())
RELATIONS = RelationMap(
    ("add", "subtract", "<script>alert(1)</script>", "volume_cube", "||"),
    (100, 50, 1, 2, 3),
    ((0.0, 1.0),) * 5,
    ((0.0, 0.0), (0.1, 0.0), (5.0, 5.0), (5.0, 4.9), (-5.0, 3.0)),
    (0.6, 0.3),
    (Clustering(3, (0, 0, 1, 1, 2), 1.5), Clustering(4, (0, 0, 1, 2, 3), 0.5)),
    ((("subtract", 0.9),),) * 5,
)
SPREAD = Spread(0.2, 0.1, 0.19, 0.3)
MEASURE = TPRMeasure(9, 0.8, SPREAD, 0.2, None, SPREAD, SPREAD, SPREAD, None, SPREAD, 0.06)
GROUPS = WordGroups(
    9,
    (WordGroup(3, 5, 0.5, (GroupedWord("<i>", 2, 1.0),)),),
    (WordGroup(1, 4, 0.4, (GroupedWord("of", 4, 0.2),)),),
    9,
    5,
)
CHECK = Agreement("fillers", "word class", "distinct words", 9, 3, 2, 0.9, 0.5, 0.4, 0.6, 0.1, 0.01, 99)
ANALYSIS = Analysis("toy", "dev", 7, GROUPS, RELATIONS, MEASURE, (CHECK,), ("a <note>",))
FIGURES = {
    "roles": lambda: plots.draw_selections([QUESTION, QUESTION], "role"),
    "fillers": lambda: plots.draw_selections([QUESTION], "filler"),
    "attention": lambda: plots.draw_attention(QUESTION, panel=5),
    "relations": lambda: plots.draw_relations(RELATIONS),
    "relations of one k": lambda: plots.draw_relations(RELATIONS, 4),
    "measure": lambda: plots.draw_measure(MEASURE),
}


def texts(figure) -> list[str]:
    return [text.get_text() for text in figure.findobj(Text) if text.get_text() and text.get_visible()]


@pytest.mark.parametrize("name", FIGURES)
def test_the_same_numbers_give_the_same_bytes(name, tmp_path: Path):
    written = [plots.save(FIGURES[name](), tmp_path / place / "picture") for place in ("one", "two")]
    assert [path.name for path in written[0]] == ["picture.png", "picture.svg", "picture.pdf"]
    for one, two in zip(*written):
        assert one.read_bytes() == two.read_bytes()
    assert written[0][0].read_bytes().startswith(b"\x89PNG\r\n")
    assert ElementTree.parse(written[0][1]).getroot().tag == "{http://www.w3.org/2000/svg}svg"
    assert written[0][2].read_bytes().startswith(b"%PDF-")


@pytest.mark.parametrize("name", FIGURES)
def test_a_picture_is_one_column_wide_and_its_type_can_be_read(name):
    figure = FIGURES[name]()
    assert figure.get_size_inches()[0] == pytest.approx(3.3)
    shown = [text for text in figure.findobj(Text) if text.get_text() and text.get_visible()]
    assert min(text.get_fontsize() for text in shown) >= 6


def test_every_word_is_drawn_with_its_numbers():
    found = texts(FIGURES["roles"]())
    # What the font cannot draw is a box; a dollar is no mathematics.
    assert {"n0", "$", "<b>", "&", "□", "$x$"} <= set(found)
    assert found.count("n0") == 2
    assert {"1  1.00", "1 2  .30", "–"} <= set(found)
    assert "add(n0, n1) | divide(#0, const_2)" in found


def test_attention_names_tuples_and_words():
    figure = FIGURES["attention"]()
    assert {"#0  add(n0, n1)", "#1  divide(#0, const_2)", "n0", "is"} <= set(texts(figure))
    assert len([axes for axes in figure.axes if axes.collections]) == 3  # two strips of five words, and the scale


def test_attention_that_is_even_is_called_so():
    assert "hardly attends" not in " ".join(texts(FIGURES["attention"]()))
    even = replace(QUESTION, attention=((0.125,) * 8,) * 2)
    assert "Nearly the same for all words: this model hardly attends." in texts(plots.draw_attention(even))
    assert even.evenness == pytest.approx(1) and QUESTION.evenness < 1


def test_the_first_panel_names_every_relation_and_the_others_those_that_changed():
    found = texts(FIGURES["relations"]())
    for name in RELATIONS.relations:
        assert found.count(name) == (2 if name == "volume_cube" else 1)
    assert {"3 clusters", "4 clusters", "1: 2", "4: 1"} <= set(found), "with a legend"
    same = replace(RELATIONS, clusterings=(RELATIONS.clusterings[0],) * 3)
    assert len(plots.draw_relations(same).axes) == 1, "a panel like the one before it is left out"
    few = replace(RELATIONS, clusterings=())
    assert "too few relations for clusters" in texts(plots.draw_relations(few))


def test_a_very_long_question_is_cut_with_a_note(monkeypatch):
    monkeypatch.setattr(plots, "MOST_WORDS", 30)
    words, roles, attention = ("word",) * 70, (((1, 1.0),),) * 70, ((1 / 70,) * 70,) * 2
    long = replace(QUESTION, words=words, roles=roles, attention=attention, fillers=())
    found = texts(plots.draw_selections([long], "role"))
    assert found.count("word") == 30 and "… and 40 more words" in found
    assert texts(plots.draw_attention(long)).count("word") == 30


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: plots.draw_selections([PLAIN], "role"), "plain LSTM"),
        (lambda: plots.draw_selections([], "filler"), "plain LSTM"),
        (lambda: plots.draw_attention(replace(QUESTION, program=None, attention=())), "no program"),
        (lambda: plots.draw_relations(RELATIONS, 9), "no clustering with k = 9"),
        (lambda: plots.save(FIGURES["measure"](), Path("x"), ["bmp"]), "'bmp'"),
        (lambda: plots.save(FIGURES["measure"](), Path("/dev/null/x"), ["png"]), "cannot write"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_one_line(draw, message):
    with pytest.raises(DataError, match=message) as caught:
        draw()
    assert "\n" not in str(caught.value)


# Labels and colours


def boxes(middles: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    return np.concatenate([middles - sizes / 2, middles + sizes / 2], axis=1)


FRAME = np.array([0.0, 0.0, 1000.0, 1000.0])


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(2, 7), st.integers(2, 7)), min_size=1, max_size=25, unique=True))
def test_labels_cover_neither_one_another_nor_the_points_nor_the_frame(cells):
    """Points on a grid have room for all labels, in whatever order they come."""
    spots, n = np.array(cells, float) * 110, len(cells)
    sizes, radii = np.tile([80.0, 12.0], (n, 1)), np.full(n, 5.0)
    found = place_labels(spots, radii, sizes, FRAME)
    covered = overlaps(boxes(found, sizes), boxes(found, sizes))
    np.fill_diagonal(covered, 0)
    assert not covered.any()
    assert not overlaps(boxes(found, sizes), boxes(spots, np.full((n, 2), 10.0))).any()
    assert (boxes(found, sizes)[:, :2] >= 0).all() and (boxes(found, sizes)[:, 2:] <= 1000).all()
    assert (found == place_labels(spots, radii, sizes, FRAME)).all()


def test_crowded_points_still_have_labels_apart():
    spots = 500 + np.random.default_rng(0).normal(size=(12, 2)) * 8
    sizes = np.tile([60.0, 10.0], (12, 1))
    found = boxes(place_labels(spots, np.full(12, 4.0), sizes, FRAME), sizes)
    covered = overlaps(found, found)
    np.fill_diagonal(covered, 0)
    assert not covered.any()


def test_clusters_keep_their_numbers_from_one_clustering_to_the_next():
    (first, everything), (second, moved) = differing([(0, 0, 0, 1, 1), (1, 1, 0, 2, 2)])
    assert (first, list(everything)) == ((0, 0, 0, 1, 1), [0, 1, 2, 3, 4])
    assert (second, moved) == ((0, 0, 2, 1, 1), [2])
    assert differing([(0, 1), (1, 0)]) == [((0, 1), range(2))], "other numbers for the same clusters are no change"
    assert differing([]) == []


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_colours_differ_and_black_letters_can_be_read_on_them():
    found = colour_all(range(24))
    assert len(set(found.values())) == 24
    for colour in found.values():
        for weight in (0.0, 0.5, 1.0):
            assert (luminance(faded(colour, weight)) + 0.05) / 0.05 > 7  # AAA of the accessibility guidelines
        assert faded(colour, 1.0) == colour
        assert luminance(faded(colour, 0.2)) > luminance(colour)


def test_the_heaviest_number_has_the_first_colour():
    assert list(palette([QUESTION], "role")) == [1, 2, 0]
    assert list(palette([QUESTION], "filler")) == [3, 31, 4, 7]
    assert palette([PLAIN], "role") == {}
    assert colours.tag(()) == "–"
    assert (colours.tag(((3, 0.95),)), colours.tag(((3, 1.0), (2, 0.2)))) == ("3  .95", "3 2  1.00")


# The page


class Tags(HTMLParser):
    """All tags with their attributes, and all text outside the style; complains of what is not closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict]] = []
        self.text = ""
        self.open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text += data


def test_the_page_holds_everything_and_runs_nothing():
    attack = "<script>alert(1)</script> \" onload='x' & what is n0 ?"
    page = make_page("Inside <it>", [(attack, QUESTION), ("plain", PLAIN)], ANALYSIS)
    seen = Tags(page)
    assert seen.open == []
    names = {tag for tag, _ in seen.tags}
    assert not names & {"script", "iframe", "object", "embed", "link", "img", "form", "b>", "i"}
    for tag, attributes in seen.tags:
        assert not [name for name in attributes if name.startswith("on") or name in ("src", "action")]
        # Only references inside the picture itself.
        assert all(attributes[name].startswith("#") for name in attributes if name in ("href", "xlink:href")), tag
    assert "@import" not in page and "url(http" not in page
    policy = next(attributes for tag, attributes in seen.tags if attributes.get("http-equiv"))
    assert policy["content"].startswith("default-src 'none'")
    for text in (attack, "<b>", "<i>", "a <note>", "Inside <it>", "add(n0, n1) | divide(#0, const_2)", "plain LSTM"):
        assert text in seen.text
    assert len([tag for tag, _ in seen.tags if tag == "svg"]) == 2


def test_the_numbers_of_an_analysis_are_json():
    told = json.loads(json.dumps(ANALYSIS.to_dict(), allow_nan=False))
    assert told["relations"]["clusterings"][1]["labels"] == [0, 0, 1, 2, 3]
    assert told["groups"]["fillers"][0]["words"][0] == {"word": "<i>", "count": 2, "share": 1.0}
    assert told["tpr"]["own"]["median"] == 0.19 and told["purity"][0]["p_value"] == 0.01
    assert RelationMap.from_dict(told["relations"]) == RELATIONS and TPRMeasure.from_dict(told["tpr"]) == MEASURE
    assert QuestionMap.from_dict(json.loads(json.dumps(QUESTION.to_dict()))) == QUESTION
