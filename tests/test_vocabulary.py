"""Vocabularies: ids are line numbers, on disk as in memory."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpn2f.errors import DataError
from tpn2f.vocabulary import SPECIALS, UNKNOWN, Vocabulary

TOKENS = st.lists(st.text(st.characters(exclude_characters="\n\r", exclude_categories=("Cs",))), unique=True).filter(
    lambda tokens: not set(tokens) & set(SPECIALS)
)


@given(TOKENS)
def test_ids_and_tokens_are_each_others_inverse(tokens):
    vocabulary = Vocabulary(tokens)
    assert [vocabulary[vocabulary.id(token)] for token in tokens] == tokens
    assert list(vocabulary) == tokens
    assert len(vocabulary) == len(tokens) + 4


@given(TOKENS)
def test_written_and_read_it_is_the_same(tokens):
    assert Vocabulary.parse(Vocabulary(tokens).text(), "words.txt") == Vocabulary(tokens)


def test_count_orders_by_frequency_and_drops_the_rare():
    assert list(Vocabulary.count(list("bacabd"), at_least=1)) == ["a", "b", "c", "d"]
    assert list(Vocabulary.count(list("bacabd"), at_least=2)) == ["a", "b"]


def test_an_unknown_token_has_the_fourth_id():
    vocabulary = Vocabulary(["train"])
    assert vocabulary.ids(["train", "bus"]) == [4, UNKNOWN]
    assert "bus" not in vocabulary


def test_a_token_may_not_occur_twice():
    with pytest.raises(DataError, match="'a' occurs twice"):
        Vocabulary(["a", "a"])


@pytest.mark.parametrize("text", ["", "a\nb\n", "<pad>\n<start>\n<end>\n<none>\nlast line cut"])
def test_a_damaged_text_is_refused(text):
    with pytest.raises(DataError, match=r"words\.txt is not a vocabulary"):
        Vocabulary.parse(text, "words.txt")
