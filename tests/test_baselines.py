"""The plain LSTM sides: what a flat decoder is fed, and what an LSTM encoder gives."""

from dataclasses import replace

import pytest
import torch

from tpn2f.model import END, NONE, PAD, ModelConfig, build_model, systems
from tpn2f.model.baselines import flatten

N_RELATIONS = 10
END_TUPLE = [END, NONE, NONE]
PAD_TUPLE = [PAD, PAD, PAD]


@pytest.mark.parametrize(
    ("tuples", "symbols"),
    [
        ([END_TUPLE], [END]),
        ([[4, 5, 6], END_TUPLE], [4, 15, 16, END]),
        ([[4, 5, NONE], [6, 7, 8], END_TUPLE], [4, 15, 6, 17, 18, END]),
        ([[4, NONE, NONE], END_TUPLE, PAD_TUPLE], [4, END]),
    ],
)
def test_tuples_become_symbols_without_padding_arguments(tuples, symbols):
    count = len(tuples) - tuples.count(PAD_TUPLE)
    found, counts = flatten(torch.tensor([tuples]), torch.tensor([count]), N_RELATIONS)
    assert found.tolist() == [symbols]
    assert counts.tolist() == [len(symbols)]


def test_rows_are_padded_to_the_longest():
    tuples = torch.tensor([[[4, 5, 6], END_TUPLE], [END_TUPLE, PAD_TUPLE]])
    found, counts = flatten(tuples, torch.tensor([2, 1]), N_RELATIONS)
    assert found.tolist() == [[4, 15, 16, END], [END, PAD, PAD, PAD]]
    assert counts.tolist() == [4, 1]


@pytest.mark.parametrize("kernel", ["fused", "reference"])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("summary", ["last", "sum"])
def test_an_lstm_encoder_is_torch_s_lstm_over_the_real_words(summary, bidirectional, kernel):
    torch.manual_seed(0)
    config = ModelConfig(d_hidden=6, d_word=5, bidirectional=bidirectional, kernel=kernel)
    config = replace(config, **systems["lstm2lstm"])
    model = build_model(replace(config, summary=summary), 20, N_RELATIONS, 12, 2)
    words, counts = torch.tensor([[4, 5, 6, 7], [8, 9, PAD, PAD]]), torch.tensor([4, 2])
    encoding = model.encode(words, counts)
    assert encoding.filler_scores is None
    assert encoding.roles is None
    assert encoding.mask.tolist() == [[True] * 4, [True, True, False, False]]
    for row, count in enumerate(counts.tolist()):
        states, (last, _) = model.encoder.lstm(model.encoder.embedding.weight[words[row : row + 1, :count]])
        torch.testing.assert_close(encoding.context_fillers[row, 0, :count], states[0])
        assert (encoding.context_fillers[row, 0, count:] == 0).all()
        torch.testing.assert_close(encoding.summary[row], last.flatten() if summary == "last" else states[0].sum(0))


def test_the_presets_are_the_paper_s_systems():
    assert set(systems) == {"tpn2f", "lstm2lstm", "lstm2tp", "tp2lstm"}
    sides = {
        name: (replace(ModelConfig(), **o).encoder, replace(ModelConfig(), **o).decoder) for name, o in systems.items()
    }
    assert sides == {
        "tpn2f": ("tpr", "tpr"),
        "lstm2tp": ("lstm", "tpr"),
        "tp2lstm": ("tpr", "lstm"),
        "lstm2lstm": ("lstm", "lstm"),
    }


def test_a_flat_decoder_has_no_tuples_to_look_at():
    config = replace(ModelConfig(d_hidden=6), **systems["lstm2lstm"])
    model = build_model(config, 20, N_RELATIONS, 12, 2)
    batch = torch.tensor([[4]]), torch.tensor([1]), torch.tensor([[END_TUPLE]]), torch.tensor([1])
    with pytest.raises(TypeError, match="expected a tpr decoder"):
        model.decode(*batch)


@pytest.mark.parametrize("name", systems)
def test_a_few_programs_are_learned_by_heart(name):
    """Every system can give each of three different texts its own program."""
    torch.manual_seed(0)
    small = ModelConfig(
        n_fillers=12,
        d_filler=6,
        n_roles=6,
        d_role=5,
        d_word=16,
        d_relation=6,
        d_argument=5,
        d_position=3,
        d_symbol=16,
        d_hidden=32,
        dictionary_deviation=0.5,
        selection_scale=3.0,
    )
    model = build_model(replace(small, **systems[name]), 20, N_RELATIONS, 12, 2)
    words = torch.tensor([[4, 5, 6], [5, 4, 6], [7, 5, PAD]])
    tuples = torch.tensor(
        [[[4, 5, 6], [5, 7, NONE], END_TUPLE], [[6, 5, 6], END_TUPLE, PAD_TUPLE], [[4, 9, 8], END_TUPLE, PAD_TUPLE]]
    )
    batch = words, torch.tensor([3, 3, 2]), tuples, torch.tensor([3, 2, 2])
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(300):
        optimiser.zero_grad()
        model.loss(*batch).value.backward()
        optimiser.step()
    assert model.loss(*batch).per_example.max().item() < 0.1
