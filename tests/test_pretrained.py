"""The models that come with the package: which there are, and which one answers when nobody names one."""

from __future__ import annotations

import pytest

from tpn2f import pretrained
from tpn2f.errors import CheckpointError, DataError
from tpn2f.pretrained import bundled_model, bundled_models, find_model


def test_where_the_reader_is_installed_the_better_model_answers(monkeypatch):
    monkeypatch.setattr(pretrained, "is_installed", lambda name: True)
    assert bundled_models()[:2] == ["everyday-minilm", "everyday"]
    assert bundled_model() == bundled_model("everyday") == "everyday-minilm"


def test_where_it_is_not_the_plain_one_does(monkeypatch):
    monkeypatch.setattr(pretrained, "is_installed", lambda name: False)
    assert "everyday-minilm" not in bundled_models() and bundled_models()[0] == "everyday"
    assert bundled_model() == "everyday"
    # By its name it is found all the same; loading it says what is missing.
    assert find_model("everyday-minilm").name == "everyday-minilm"


def test_other_domains_have_their_own():
    assert bundled_model("mathqa") == "mathqa" and bundled_model("algolisp") == "algolisp"
    with pytest.raises(DataError, match="no model is bundled for arithmetic"):
        bundled_model("arithmetic")
    with pytest.raises(CheckpointError, match="there is no model nowhere"):
        find_model("nowhere")


def test_no_model_carries_texts_of_data_sets():
    """Only what the generator made may be quoted: its questions have marks that no data set has in common."""
    for name in ("everyday", "everyday-minilm"):
        known = (pretrained.PRETRAINED / name / "known.txt").read_text(encoding="utf-8").splitlines()
        assert len(known) > 1000
        # GSM8K and Aggregate are tokenised or told at length; MathQA is in small letters with spaces around signs.
        assert not any(" ." in line or " ?" in line or " , " in line for line in known)
