"""Word embeddings with given vectors: their sum, what training may change, and words that training never had."""

from __future__ import annotations

from dataclasses import replace

import torch

from tpn2f.model.config import ModelConfig
from tpn2f.model.words import WordEmbedding, repeated

CONFIG = ModelConfig(d_word=6, d_static=4, embedding_scale=1.0)
LEARNED = torch.tensor([True, True, True, True, True, False])


def make(config: ModelConfig = CONFIG) -> WordEmbedding:
    torch.manual_seed(0)
    table = WordEmbedding(config, 6)
    vectors = torch.randn(6, 4)
    vectors[4] = 0.0
    table.set_static(vectors, LEARNED)
    return table.eval()


def test_a_word_is_its_own_vector_plus_the_projected_fixed_one() -> None:
    table = make()
    ids = torch.tensor([3, 0, 4])
    assert table.projection is not None
    expected = table.weight[ids] + table.static[ids] @ table.projection.T
    torch.testing.assert_close(table(ids), expected)
    torch.testing.assert_close(table.table()[ids], expected)
    torch.testing.assert_close(table(torch.tensor([4]))[0], table.weight[4])  # without a fixed vector


def test_a_word_that_training_lacks_has_nothing_of_its_own() -> None:
    table = make()
    assert not table.weight[5].any() and table(torch.tensor([5])).any()


def test_fixed_vectors_are_kept_with_the_weights_and_not_trained() -> None:
    table = make()
    assert "static" in table.state_dict() and "static" not in dict(table.named_parameters())
    table(torch.arange(6)).sum().backward()
    assert table.projection is not None and table.projection.grad is not None and table.static.grad is None


def test_in_training_some_words_are_read_by_their_fixed_vector_alone() -> None:
    table = make(replace(CONFIG, dropout_own=0.5)).train()
    ids = torch.tensor([1])
    assert table.projection is not None
    alone, whole = table.static[ids] @ table.projection.T, table.table()[ids]
    seen = [table(ids) for _ in range(40)]
    assert {bool(torch.allclose(one, alone)) for one in seen} == {True, False}
    assert all(torch.allclose(one, alone) or torch.allclose(one, whole) for one in seen)
    only_own = table(torch.tensor([4]))[0]
    torch.testing.assert_close(only_own, table.weight[4])  # nothing is hidden where nothing else would be left


def test_without_fixed_vectors_it_is_a_plain_table() -> None:
    torch.manual_seed(0)
    table = WordEmbedding(replace(CONFIG, d_static=0), 6)
    assert list(table.state_dict()) == ["weight"] and table.table() is table.weight


def test_a_word_that_is_repeated_is_marked_by_where_the_other_stands() -> None:
    words, counts = torch.tensor([[4, 5, 4, 4], [5, 5, 4, 0]]), torch.tensor([4, 3])
    assert repeated(words, counts).tolist()[0] == [2, 0, 3, 1]
    assert repeated(words, counts).tolist()[1][:3] == [2, 1, 0]
    # Padding is no repetition: the text alone says the same.
    assert repeated(torch.tensor([[0, 4, 0, 0]]), torch.tensor([2]))[0, :2].tolist() == [0, 0]


def test_marks_of_repetition_are_added_to_the_word() -> None:
    table = WordEmbedding(replace(CONFIG, repeats=True), 6).eval()
    words, counts = torch.tensor([[4, 5, 4]]), torch.tensor([3])
    rows, index = table.read(words, counts)
    assert table.repeats is not None
    later, before = table.repeats
    plain = table(torch.tensor([4, 5]))
    expected = torch.stack([plain[0] + later, plain[1], plain[0] + before])
    torch.testing.assert_close(rows[index[0]], expected)
