"""Words in the same company have similar vectors."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tpn2f.training.word_vectors import _information, _neighbours, word_vectors


def test_neighbours_left_and_right_are_counted_apart_and_near_ones_more():
    places, counts = _neighbours([[4, 5, 6], [4, 5]], 8)
    found = {(int(word), int(other)): float(count) for (word, other), count in zip(places.T, counts)}
    assert found == {(4, 5): 2, (5, 6): 1, (4, 6): 0.5, (5, 8 + 4): 2, (6, 8 + 5): 1, (6, 8 + 4): 0.5}


def test_information_is_that_of_a_dense_table():
    random = np.random.default_rng(0)
    texts = [random.integers(0, 9, 12).tolist() for _ in range(20)]
    places, counts = _neighbours(texts, 9)
    table = np.zeros((9, 18))
    table[places[0], places[1]] = counts
    columns = table.sum(0) ** 0.75 / (table.sum(0) ** 0.75).sum()
    with np.errstate(divide="ignore"):
        expected = np.maximum(np.log(table / table.sum(1, keepdims=True) / columns), 0)
    found = np.zeros((9, 18))
    places, values = _information(places, counts)
    found[places[0], places[1]] = values
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_words_in_the_same_company_are_alike():
    """4 and 5 take each other's place, 6 and 7 stand elsewhere."""
    torch.manual_seed(0)
    texts = [[8, word, 9, 10] for word in (4, 5)] * 5 + [[11, word, 12, 13] for word in (6, 7)] * 5
    vectors = word_vectors(texts, 14, 6)
    similar = vectors @ vectors.T
    assert similar[4, 5] > 0.99 and similar[6, 7] > 0.99
    assert abs(similar[4, 6]) < 0.3
    torch.testing.assert_close(vectors.norm(dim=1)[4:], torch.ones(10))
    assert not vectors[:4].any()


@pytest.mark.parametrize("texts", [[], [[]], [[4]], [[4], [5], []]])
def test_without_neighbours_there_is_nothing_to_say(texts):
    assert not word_vectors(texts, 6, 3).any()


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.integers(0, 9), max_size=8), max_size=6), st.integers(1, 12))
def test_any_texts_have_vectors_of_length_one_or_zero(texts, width):
    lengths = word_vectors(texts, 10, width).norm(dim=1)
    assert torch.all((lengths < 1e-3) | ((lengths - 1).abs() < 1e-3))
