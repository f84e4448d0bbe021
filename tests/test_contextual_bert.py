"""The encoder in plain torch is that of transformers, and leaves to it what it does not know."""

import json

import pytest
import torch

from tpn2f.contextual.bert import read_bert

pytest.importorskip("transformers", reason="needs the extra `pretrained`", exc_type=ImportError)

from tiny_bert import LONGEST, make_bert


def read(folder):
    return read_bert(folder / "config.json", folder / "model.safetensors")


def assert_same_states(folder, texts):
    from transformers import AutoModel

    ids = torch.nn.utils.rnn.pad_sequence([torch.tensor(text) for text in texts], batch_first=True)
    mask = torch.arange(ids.shape[1]) < torch.tensor([[len(text)] for text in texts])
    given = {"input_ids": ids, "attention_mask": mask.long(), "output_hidden_states": True}
    theirs = AutoModel.from_pretrained(folder, attn_implementation="sdpa").eval()
    bert = read(folder)
    assert bert is not None
    with torch.no_grad():
        ours, expected = bert.eval()(**given).hidden_states, theirs(**given).hidden_states
    assert len(ours) == len(expected)
    for one, other in zip(ours, expected):
        torch.testing.assert_close(one[mask], other[mask], rtol=1e-5, atol=1e-5)
    assert bert.get_input_embeddings().num_embeddings == theirs.get_input_embeddings().num_embeddings


def test_the_states_are_those_of_transformers(tmp_path):
    folder = make_bert(tmp_path)
    assert_same_states(folder, [[2, 5, 9, 3], [2, 3], [2, *range(4, 2 + LONGEST), 3][:LONGEST]])
    assert_same_states(folder, [[2, 7, 3]])


@pytest.mark.parametrize(
    ("name", "value"),
    [("model_type", "mpnet"), ("hidden_act", "relu"), ("position_embedding_type", "relative_key"), ("vocab_size", "5")],
)
def test_another_kind_of_encoder_is_left_to_transformers(name, value, tmp_path):
    folder = make_bert(tmp_path)
    settings = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**settings, name: value}))
    assert read(folder) is None


@pytest.mark.parametrize("settings", ["[]", "{damaged", "null"])
def test_what_cannot_be_read_is_left_to_transformers_to_tell(settings, tmp_path):
    folder = make_bert(tmp_path)
    (folder / "config.json").write_text(settings)
    assert read(folder) is None
    other = make_bert(tmp_path / "other")
    (other / "model.safetensors").write_bytes(b"damaged")
    assert read(other) is None
    third = make_bert(tmp_path / "third", width=16)
    (third / "config.json").write_text((other / "config.json").read_text())
    assert read(third) is None
