"""Windows of pieces: read in batches of a bounded size, and put together to words."""

import torch

from tpn2f.contextual.windows import MOST_PIECES, Window, in_batches, in_words


def test_every_window_is_read_once_in_batches_of_a_bounded_size():
    lengths = [300, 5, 4000, 300, 1, 0, 700]
    windows = [Window(text, [7] * length, [0] * length) for text, length in enumerate(lengths)]
    parts: list[list[int]] = []

    def read(places: list[int]) -> list[torch.Tensor]:
        parts.append(places)
        return [torch.tensor([float(place)]) for place in places]

    found = in_batches(windows, read)
    assert [int(vector) for vector in found] == list(range(len(lengths)))
    assert sorted(place for part in parts for place in part) == list(range(len(lengths)))
    for part in parts:
        assert len(part) == 1 or len(part) * (max(lengths[place] for place in part) + 2) <= MOST_PIECES
    assert len(parts) > 1 and in_batches([], read) == []


def test_a_word_is_the_mean_of_its_pieces_wherever_its_window_is():
    texts = [("one", "two"), (), ("three",)]
    windows = [Window(0, [1, 2], [0, 0]), Window(0, [3], [1]), Window(2, [4], [0])]
    vectors = [torch.tensor([[1.0], [3.0]]), torch.tensor([[5.0]]), torch.tensor([[7.0]])]
    assert [rows.tolist() for rows in in_words(texts, windows, vectors, 1)] == [[[2.0], [5.0]], [[0.0]], [[7.0]]]
    assert [rows.tolist() for rows in in_words([()], [], [], 1)] == [[[0.0]]]


def test_gradients_go_through_the_mean():
    vectors = torch.ones(2, 1, requires_grad=True)
    (found,) = in_words([("one",)], [Window(0, [1, 2], [0, 0])], [vectors], 1)
    found.sum().backward()
    assert vectors.grad is not None and vectors.grad.tolist() == [[0.5], [0.5]]
