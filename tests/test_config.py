"""Configs: TOML in, strict keys and types, the same TOML out."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tpn2f.config import Config, DataConfig, TrainingConfig, load_config, make_config, write_config
from tpn2f.errors import ConfigError
from tpn2f.model import ModelConfig
from tpn2f.model.bounds import Bounds, check_settings

PRESETS = sorted((Path(__file__).parent.parent / "configs").glob("*.toml"))


@pytest.mark.parametrize("path", PRESETS, ids=lambda path: path.stem)
def test_every_preset_loads_and_survives_a_round_trip(path, tmp_path):
    config = load_config(path)
    assert config.name == path.stem
    copy = tmp_path / "copy.toml"
    copy.write_text(write_config(config))
    assert load_config(copy) == config


def test_there_are_presets():
    assert {path.stem for path in PRESETS} >= {"arithmetic", "mathqa"}


@given(st.text(max_size=20), st.floats(0, 0.99), st.integers(1, 99), st.booleans(), st.none() | st.floats(0.1, 2))
def test_what_is_written_is_read_back(name, dropout, size, distinct, deviation):
    config = Config(
        "run",
        DataConfig(distinct=distinct, train=name),
        ModelConfig(n_roles=size, dropout_words=dropout, dictionary_deviation=deviation),
        TrainingConfig(seed=size),
    )
    import tomllib

    assert make_config(tomllib.loads(write_config(config)), "there") == config


def test_overrides_change_one_setting(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text('name = "x"\n[training]\nepochs = 3\n')
    config = load_config(path, ["training.epochs=7", "model.encoder=lstm", "training.learning_rate=1"])
    assert config.training == replace(TrainingConfig(), epochs=7, learning_rate=1.0)
    assert config.model.encoder == "lstm"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[model]\nn_role = 5", r"no model\.n_role; did you mean model\.n_roles\?"),
        ("[trainning]\nepochs = 5", r"no trainning; did you mean training\?"),
        ("[model]\nzzz = 5", r"no model\.zzz; there are attention, "),
        ("[model]\nn_roles = 1.5", r"model\.n_roles is 1\.5; expected int"),
        ("[model]\nn_roles = true", r"model\.n_roles is True; expected int"),
        ('[model]\nencoder = "rnn"', r"model\.encoder is 'rnn'; expected one of tpr, lstm"),
        ("[model]\ndropout_words = 1.5", r"dropout_words is 1\.5; expected from 0 to below 1"),
        ("[model]\nn_roles = 0", r"n_roles is 0; expected at least 1"),
        ("[model]\ntemperature = 0", r"model\.temperature is 0\.0; expected above 0"),
        ("[training]\nseed = -1", r"training\.seed is -1; expected from 0 to below 2\^24"),
        ("[training]\nseed = 16777216", r"training\.seed is 16777216; expected from 0 to below 2\^24"),
        ("[training]\naverage = 1.5", r"training\.average is 1\.5; expected from 0 to 1"),
        ("[training]\nlearning_rate = nan", r"training\.learning_rate is nan; expected a finite number"),
        ("[data]\nlimit = -1", r"data\.limit is -1; expected at least 0"),
        ("model = 3", r"model is a table, got 3"),
        ("[model", "is not TOML"),
    ],
)
def test_a_wrong_file_is_refused_with_the_reason(tmp_path, text, message):
    path = tmp_path / "run.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        load_config(path)


@dataclass(frozen=True)
class Own:
    """Settings of somebody's own: without the tests' checks of types, which would come first."""

    kind: Literal["one", "two"] = "one"
    size: Annotated[int | None, Bounds("above 0", lambda value: value > 0)] = 1

    def __post_init__(self) -> None:
        check_settings(self)


def test_bounds_and_choices_hold_without_a_file():
    for make in (
        lambda: ModelConfig(n_roles=0),
        lambda: ModelConfig(dropout_words=1.0),
        lambda: TrainingConfig(seed=2**24),
        lambda: Own(kind="three"),
        lambda: Own(size=0),
    ):
        with pytest.raises(ValueError, match="; expected "):
            make()
    assert Own(size=None).size is None
    assert TrainingConfig(seed=2**24 - 1, average=1.0).seed == 2**24 - 1


@pytest.mark.parametrize("override", ["epochs", "=3", "name.x=3"])
def test_a_wrong_override_is_refused(tmp_path, override):
    path = tmp_path / "run.toml"
    path.write_text('name = "x"')
    with pytest.raises(ConfigError, match="--set"):
        load_config(path, [override])


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(ConfigError, match="cannot read the config"):
        load_config(tmp_path / "none.toml")


@pytest.mark.parametrize("name", ["arithmetic", "arithmetic.toml", "configs/arithmetic.toml"])
def test_a_preset_is_found_from_anywhere_and_a_file_comes_first(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    assert load_config(Path(name)).name == "arithmetic"
    (tmp_path / "configs").mkdir()
    (tmp_path / name).write_text('name = "mine"')
    assert load_config(Path(name)).name == "mine"


@pytest.mark.parametrize("name", ["elsewhere/arithmetic.toml", "/nowhere/arithmetic", "aritmetic"])
def test_what_is_neither_a_file_nor_a_preset_is_told_with_the_presets(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"cannot read the config .*; the presets are algolisp, .*arithmetic"):
        load_config(Path(name))


@pytest.mark.parametrize(
    "name", ["../../x", "/etc/x", "a/b", "a\\b", "..", ".hidden", "", "C:x", "x" * 101, "a\x1b[2J", "a\nb"]
)
def test_a_run_cannot_be_called_after_another_place(name):
    with pytest.raises(ConfigError, match=r"there: name is .*expected a plain name"):
        make_config({"name": name}, "there")


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("training.seed", "-1", "expected from 0 to below 2^24"),
        ("training.seed", "16777216", "expected from 0 to below 2^24"),
        ("training.seed", "9" * 5000, "training.seed is "),
        ("training.epochs", "99999999999999999999", "expected at least 1 and below 2^31"),
        ("data.limit", "99999999999999999999", "expected at least 0 and below 2^31"),
        ("training.learning_rate", "inf", "expected a finite number"),
        ("training.learning_rate", "nan", "expected a finite number"),
        ("training.learning_rate", "1" + 400 * "0", "a whole number of 1,329 bits; expected a finite number"),
        ("model.reasoning_layers", "1000000000", "expected from 1 to 100"),
        ("model.d_word", "[" * 5000, "model.d_word is "),
        ("name", "../../x", "expected a plain name"),
    ],
)
def test_numbers_that_nothing_can_hold_are_one_line(key, value, expected):
    with pytest.raises(ConfigError) as caught:
        load_config(Path("arithmetic"), [f"{key}={value}"])
    assert expected in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("values", [[], "text", 3, None])
def test_what_is_no_table_is_no_config(values):
    with pytest.raises(ConfigError, match=r"there: the config is .*expected a table"):
        make_config(values, "there")


def test_a_toml_file_that_is_nested_without_end_is_one_line(tmp_path):
    path = tmp_path / "deep.toml"
    path.write_text("a = " + "[" * 100_000)
    with pytest.raises(ConfigError, match=r"deep\.toml is not TOML"):
        load_config(path)
