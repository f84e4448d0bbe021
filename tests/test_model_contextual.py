"""Models that read contextual vectors beside words: the equation, padding and company, kernels, gradients."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import oracle
from test_model import BEYOND, GROUNDED, SMALL, assert_near, make, make_batch, paper_weights
from tpn2f.model import systems

WIDTH = 10
CONTEXTUAL = {"d_contextual": WIDTH}
FAMILY = [
    pytest.param(replace(SMALL, **overrides, **more, **CONTEXTUAL), id=name + suffix)
    for name, overrides in systems.items()
    for suffix, more in (("", {}), ("-beyond-the-paper", BEYOND | GROUNDED))
]


def make_vectors(seed: int = 0) -> torch.Tensor:
    """For the texts of `make_batch`; what stands at padding must not matter."""
    return torch.randn(4, 10, WIDTH, generator=torch.Generator().manual_seed(seed)) * 3 + 1


@pytest.mark.parametrize("kernel", ["reference", "fused"])
def test_a_word_is_its_vector_plus_the_projected_normalised_contextual_one(kernel):
    model = make(replace(SMALL, kernel=kernel, **CONTEXTUAL)).double()
    words, word_counts, tuples, tuple_counts = make_batch()
    vectors = make_vectors().double()
    encoding = model.encode(words, word_counts, vectors)
    loss = model.loss(words, word_counts, tuples, tuple_counts, contextual=vectors).per_example
    w, mlp = paper_weights(model)
    matrix = model.encoder.embedding.contextual.detach().numpy()
    own = model.encoder.embedding.weight.detach().numpy()
    sizes = (SMALL.d_argument, SMALL.d_relation, SMALL.d_position)
    for row in range(len(words)):
        n, m = int(word_counts[row]), int(tuple_counts[row])
        inputs = oracle.read_in_context(own[words[row, :n].numpy()], matrix, vectors[row, :n].numpy())
        embedded, index = model.encoder.embedding.read(words, word_counts, vectors)
        assert_near(embedded[index[row, :n]], inputs)
        read = oracle.encode(w, inputs, SMALL.temperature)
        assert_near(encoding.filler_scores[row, 0, :n], read["a_f"])
        assert_near(encoding.roles[row, 0, :n], read["r"])
        written = oracle.decode(w, mlp, read["T"], tuples[row, :m].tolist(), 1, sizes, None, read["T"])
        assert_near(loss[row], np.array(written["loss"]))


@pytest.mark.parametrize("config", FAMILY)
def test_padding_and_company_change_nothing(config):
    model = make(config, factor=1.5)
    words, word_counts, tuples, tuple_counts = make_batch()
    vectors = make_vectors()
    together = model.loss(words, word_counts, tuples, tuple_counts, contextual=vectors).per_example
    order = torch.tensor([2, 0, 3, 1])
    batch = [part[order] for part in (words, word_counts, tuples, tuple_counts)]
    shuffled = model.loss(*batch, contextual=vectors[order]).per_example
    torch.testing.assert_close(shuffled, together[order], rtol=0, atol=1e-5)
    for row in range(len(words)):
        n, m, one = int(word_counts[row]), int(tuple_counts[row]), slice(row, row + 1)
        alone = words[one, :n], word_counts[one], tuples[one, :m], tuple_counts[one]
        found = model.loss(*alone, contextual=vectors[one, :n]).per_example
        torch.testing.assert_close(found, together[one], rtol=0, atol=1e-5)


@pytest.mark.parametrize("config", FAMILY)
def test_kernels_agree_and_padding_gets_no_gradient(config):
    words, word_counts, tuples, tuple_counts = make_batch()
    gradients = []
    for kernel in ("reference", "fused"):
        model = make(replace(config, kernel=kernel)).double()
        vectors = make_vectors().double().requires_grad_()
        model.loss(words, word_counts, tuples, tuple_counts, contextual=vectors).value.backward()
        assert vectors.grad is not None
        padding = torch.arange(words.shape[1]) >= word_counts[:, None]
        assert not vectors.grad[padding].any() and vectors.grad[~padding].any(1).all()
        gradients.append([vectors.grad, *(parameter.grad for parameter in model.parameters())])
    for one, other in zip(*gradients):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-9)


def test_the_same_word_is_read_differently_in_another_text():
    model = make(replace(SMALL, **CONTEXTUAL))
    words, counts = torch.tensor([[5, 5]]), torch.tensor([2])
    embedded, index = model.encoder.embedding.read(words, counts, make_vectors()[:1, :2])
    assert index.tolist() == [[0, 1]] and not torch.allclose(embedded[0], embedded[1])


def test_own_vectors_are_hidden_in_training_so_that_new_words_are_understood():
    model = make(replace(SMALL, dropout_own=0.5, **CONTEXTUAL)).train()
    words, counts, vectors = torch.tensor([[5]]), torch.tensor([1]), make_vectors()[:1, :1]
    seen = torch.stack([model.encoder.embedding.read(words, counts, vectors)[0][0] for _ in range(40)])
    with torch.no_grad():
        model.eval()
        whole = model.encoder.embedding.read(words, counts, vectors)[0][0]
        alone = whole - model.encoder.embedding.weight[5]
    hidden = [bool(torch.allclose(one, alone, atol=1e-5)) for one in seen]
    assert set(hidden) == {True, False}
    assert all(torch.allclose(one, alone if hid else whole, atol=1e-5) for one, hid in zip(seen, hidden))


@pytest.mark.parametrize("encoder", ["lstm", "gru"])
def test_a_state_has_the_projected_contextual_vector_and_begins_without_it(encoder):
    config = replace(SMALL, encoder=encoder, summary="last", **CONTEXTUAL)
    plain, model = make(config), make(replace(config, contextual_states=True))
    words, counts, *_ = make_batch()
    vectors = make_vectors()
    matrix = model.encoder.shortcut
    assert matrix.shape == (config.d_context, WIDTH) and not matrix.any()
    model.load_state_dict({**plain.state_dict(), "encoder.shortcut": matrix})
    without = plain.encode(words, counts, vectors)
    assert torch.equal(model.encode(words, counts, vectors).context_fillers, without.context_fillers)
    with torch.no_grad():
        matrix.normal_()
    found = model.encode(words, counts, vectors)
    for row, n in enumerate(counts.tolist()):
        centred = vectors[row, :n] - vectors[row, :n].mean(1, keepdim=True)
        normal = centred / centred.pow(2).mean(1, keepdim=True).sqrt()
        added = found.context_fillers[row, 0] - without.context_fillers[row, 0]
        torch.testing.assert_close(added[:n], normal @ matrix.detach().T, rtol=0, atol=1e-4)
        assert not added[n:].any()
    assert torch.equal(found.summary, without.summary)


@pytest.mark.parametrize("changes", [{"encoder": "tpr", **CONTEXTUAL}, {"encoder": "lstm"}])
def test_bindings_and_models_without_vectors_have_no_such_states(changes):
    with pytest.raises(ValueError, match="contextual_states is for plain encoders"):
        replace(SMALL, contextual_states=True, **changes)


def test_vectors_that_are_missing_or_not_wanted_are_told():
    words, counts, *_ = make_batch()
    with pytest.raises(ValueError, match="contextual vectors of none; expected width 10"):
        make(replace(SMALL, **CONTEXTUAL)).encode(words, counts)
    with pytest.raises(ValueError, match="contextual vectors of width 9; expected width 10"):
        make(replace(SMALL, **CONTEXTUAL)).encode(words, counts, make_vectors()[:, :, :9])
    with pytest.raises(ValueError, match="d_contextual is 0"):
        make(SMALL).encode(words, counts, make_vectors())
