"""Spaces of settings: options and files mean the same, and every mistake is reported before anything is trained."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpn2f.config import Config, change_config, load_config, write_value
from tpn2f.errors import ConfigError
from tpn2f.tuning.settings import Dimension, read_space

CONFIG = Config()
PRESET = Path(__file__).parent.parent / "configs" / "arithmetic.toml"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("training.learning_rate=log 1e-3 1e-2", Dimension("training.learning_rate", 1e-3, 1e-2, log=True)),
        ("training.clip=uniform 0 5", Dimension("training.clip", 0.0, 5.0)),
        ("model.n_roles=int 10 50 10", Dimension("model.n_roles", 10, 50, step=10)),
        ("model.n_roles=int 10 45 10", Dimension("model.n_roles", 10, 40, step=10)),
        ("model.n_roles = uniform 10 50", Dimension("model.n_roles", 10, 50, step=1)),
        ("training.batch_size=log 16 256", Dimension("training.batch_size", 16, 256, log=True, step=1)),
        ("model.dictionary_deviation=log 0.1 2", Dimension("model.dictionary_deviation", 0.1, 2.0, log=True)),
        ("model.encoder=choice tpr lstm", Dimension("model.encoder", choices=("tpr", "lstm"))),
        ("model.biases=choice true false", Dimension("model.biases", choices=(True, False))),
        (
            "data.train=choice train dev-train+generated",
            Dimension("data.train", choices=("train", "dev-train+generated")),
        ),
    ],
)
def test_options_say_what_varies(text: str, expected: Dimension) -> None:
    assert read_space([text], None, CONFIG) == (expected,)
    assert read_space([str(expected)], None, CONFIG) == (expected,)


def test_a_file_means_the_same(tmp_path: Path) -> None:
    path = tmp_path / "space.toml"
    path.write_text(
        '[search]\n"training.learning_rate" = "log 1e-3 1e-2"\n'
        '[search.model]\nn_roles = [10, 20]\nsummary = ["sum", "last"]\nd_role = "int 4 8"\n'
    )
    options = ["training.learning_rate=log 1e-3 1e-2", "model.n_roles=choice 10 20", "model.summary=choice sum last"]
    options.append("model.d_role=int 4 8")
    assert read_space([], path, CONFIG) == read_space(options, None, CONFIG)
    both = read_space(["training.clip=uniform 1 5"], path, CONFIG)
    assert len(both) == 5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("training.learning_rate", "expected KEY=log LOW HIGH"),
        ("=log 1 2", "expected KEY="),
        ("training.learnin_rate=log 1 2", r"no training\.learnin_rate; did you mean training\.learning_rate\?"),
        ("trainin.clip=uniform 1 2", r"no trainin; did you mean training\?"),
        ("training.clip.x=uniform 1 2", "clip is a value, not a table"),
        ("training=uniform 1 2", "training is a table"),
        ("training.clip=", "got ''; expected log LOW HIGH"),
        ("training.clip=between 1 2", "'between' is not a kind of range"),
        ("training.clip=uniform 1", "got 1; expected log LOW HIGH"),
        ("training.clip=uniform a b", "got a b; expected log"),
        ("training.clip=uniform 1 inf", "got 1 inf; expected log"),
        ("training.clip=uniform 5 1", "expected two numbers, the smaller first"),
        ("training.clip=log 0 1", "expected two numbers above 0"),
        ("model.n_roles=int 1 5 9", "and a step between"),
        ("model.n_roles=uniform 1.5 9", "is a whole number; expected whole numbers"),
        ("model.n_roles=int 0 9", "n_roles is 0; expected at least 1"),
        ("model.dropout_words=uniform 0 1", "dropout_words is 1.0; expected from 0 to below 1"),
        ("model.encoder=choice tpr rnn", "'rnn'; expected one of tpr, lstm"),
        ("model.encoder=choice tpr", "expected two choices or more"),
        ("model.encoder=choice tpr tpr", "a choice occurs twice"),
        ("model.encoder=uniform 1 2", "model.encoder is 1.0; expected one of"),
        ("data.dev=choice dev train", "data.dev cannot vary, because all trials must be scored on the same"),
        ("data.domain=choice mathqa algolisp", "data.domain cannot vary"),
        ("training.device=choice cpu cuda", "training.device cannot vary, because it changes nothing"),
    ],
)
def test_a_wrong_option_is_refused_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as told:
        read_space([text], None, CONFIG)
    assert "--search" in str(told.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[search", "is not TOML"),
        ("", "has nothing; expected only the table"),
        ("search = 3", "expected only the table"),
        ("[search]\n[model]\nx = 3", "has search, model; expected only the table"),
        ("[search]\nclip = 3", "no clip; there are"),
        ("[search.training]\nclip = 3", "training.clip: got 3; expected log"),
        ("[search.training]\nclip = [[1], [2]]", "each a single value"),
        ("[search]", "there is nothing to search"),
    ],
)
def test_a_wrong_file_is_refused_with_the_reason(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "space.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        read_space([], path, CONFIG)


def test_nothing_twice_and_nothing_at_all(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"training\.clip occurs twice"):
        read_space(["training.clip=uniform 1 2", "training.clip=uniform 1 3"], None, CONFIG)
    with pytest.raises(ConfigError, match="there is nothing to search: expected --search"):
        read_space([], None, CONFIG)
    with pytest.raises(ConfigError, match="cannot read the space"):
        read_space([], tmp_path / "none.toml", CONFIG)


@given(st.floats(1e-9, 1.0) | st.integers(1, 10**9) | st.booleans() | st.text(max_size=12).filter(str.isprintable))
def test_a_setting_that_was_found_can_be_set(value: object) -> None:
    """`--set` reads what is written of the best settings."""
    key = {bool: "model.biases", int: "training.epochs", float: "training.clip", str: "data.train"}[type(value)]
    assert load_config(PRESET, [f"{key}={write_value(value)}"]) == change_config(load_config(PRESET), {key: value}, "")
