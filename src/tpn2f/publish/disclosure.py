"""What our presets change against the paper, read from the configs themselves: one table per task.

The presets of a table that are not columns are told as differences from the column that they are most like. What no
config says (how numbers are read, how weights are stored) stands here once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from tpn2f.config import Config, TrainingConfig, load_config, write_value
from tpn2f.model.config import ModelConfig
from tpn2f.publish.reproduce import TABLES, row_config
from tpn2f.publish.rows import markdown

NOT_SAID = "not said"
SIZES = ("n_fillers", "d_filler", "n_roles", "d_role", "d_relation", "d_argument", "d_position", "d_word", "d_symbol")
STARTS = ("embedding_scale", "dictionary_deviation", "selection_scale", "position_init", "forget_bias")
SIDES = ("encoder", "decoder", "d_hidden", "summary", "variant")


@dataclass(frozen=True, slots=True)
class PaperTask:
    """A table of the paper, and what the paper says of its own runs."""

    columns: tuple[str, ...]
    paper: Mapping[str, str]
    """Aspect -> the paper's choice; `not said` for the others."""
    everywhere: Mapping[str, tuple[str, str]]
    """What no config says: aspect -> the paper's choice and that of all our rows."""


TASKS = {
    "mathqa": PaperTask(
        ("mathqa-paper", "mathqa-60"),
        {
            "sizes": "150 fillers of 30, 50 roles of 20, d_H = 1,000",
            "learning rate": "0.00115",
            "epochs": "60",
            "options beyond the paper": "none",
            "equal pairs of text and program": "every record",
            "learned from": "`train`",
            "decoding": "no masks",
        },
        {
            "training file": ("the original", "a reconstruction: 177 programs and a third of the options by rules"),
            "numbers in a text": ("kept as they are", "named `n0`, `n1`, ... for the model"),
            "operations with three arguments": ("rewritten to binary ones", "kept: one tuple with three positions"),
            "weights that are scored": (NOT_SAID, "rounded to float16"),
        },
    ),
    "algolisp": PaperTask(
        ("algolisp-paper", "algolisp"),
        {
            "sizes": "150 fillers of 30, 50 roles of 30, d_H = 3,000",
            "learning rate": "0.00115",
            "epochs": "50",
            "options beyond the paper": "none",
            "equal pairs of text and program": "every record",
            "learned from": "`train`, 79,214 records",
            "decoding": "no masks",
        },
        {"weights that are scored": (NOT_SAID, "rounded to float16")},
    ),
}


def disclosure(task: str) -> Callable[[Path], str]:
    """The table of a task, from the configs beside the folder of results."""

    def table(results: Path) -> str:
        known, configs = TASKS[task], results.parent / "configs"
        columns = {name: load_config(configs / f"{name}.toml") for name in known.columns}
        rows = [["", "the paper", *(f"`{name}`" for name in columns)]]
        for aspect, told in ASPECTS.items():
            cells = [told(config) for config in columns.values()]
            rows.append([aspect, known.paper.get(aspect, NOT_SAID), *cells])
        rows.append(["decoding", known.paper["decoding"], *(_decoding(task, name) for name in columns)])
        rows += [[aspect, paper, *[ours] * len(columns)] for aspect, (paper, ours) in known.everywhere.items()]
        others = {name: row_config(configs, name) for name in TABLES[task].rows if name not in columns}
        lines = [f"* `{name}`: {_unlike(config, columns)}." for name, config in others.items()]
        return "\n".join([_left(markdown(rows)), *(["", *lines] if lines else [])])

    return table


def _sizes(config: Config) -> str:
    model = config.model
    read = f"{model.n_fillers} fillers of {model.d_filler}, {model.n_roles} roles of {model.d_role}"
    plain = f"LSTM of {model.d_hidden}"
    encoder = read if model.encoder == "tpr" else plain
    return f"{encoder}, d_H = {model.d_tuple:,}" if model.decoder == "tpr" else f"{encoder}, {plain} as decoder"


def _widths(config: Config) -> str:
    return f"words {config.model.d_word}, symbols {config.model.d_symbol}"


def _starts(config: Config) -> str:
    changed = _changed(config.model, ModelConfig(), STARTS)
    changed |= _changed(config.training, TrainingConfig(), ("word_vectors",))
    return _settings(changed) or "as in the published code"


def _dropout(config: Config) -> str:
    rates = {
        f.name.removeprefix("dropout_"): getattr(config.model, f.name) for f in fields(config.model) if _drops(f.name)
    }
    rates |= {"wrong words": config.data.noise, "punctuation of the text": config.data.unmarked}
    return ", ".join(f"{name} {rate:g}" for name, rate in rates.items() if rate) or "none"


def _drops(name: str) -> bool:
    return name.startswith("dropout_") or name == "label_smoothing"


def _rate(config: Config) -> str:
    training = config.training
    told = [f"{training.learning_rate:g}, {training.schedule}"]
    if training.recurrent_rate != 1:
        told.append(f"times {training.recurrent_rate:g} for recurrences")
    told += [f"warm-up of {training.warmup_steps} steps"] if training.warmup_steps else []
    told += [f"gradients of at most {training.clip:g}"] if training.clip else []
    return ", ".join(told)


def _beyond(config: Config) -> str:
    """Every setting of the model that no other line has and that is not the paper's: new ones are told too."""
    told = {*SIZES, *STARTS, *SIDES, "kernel", *(f.name for f in fields(config.model) if _drops(f.name))}
    names = [f.name for f in fields(config.model) if f.name not in told]
    changed = _changed(config.model, ModelConfig(), names)
    changed |= _changed(config.training, TrainingConfig(), ("average",))
    return _settings(changed) or "none"


def _pairs(config: Config) -> str:
    if not config.data.distinct:
        return "every record"
    power = config.data.weight_power
    if not power:
        return "once"
    return "once, with the weight of their number" + (f" to the power {power:g}" if power != 1 else "")


def _rare(config: Config) -> str:
    least = config.data.word_at_least
    return f"unknown if in training fewer than {least} times" if least > 1 else "known"


def _selection(config: Config) -> str:
    training = config.training
    count = f"{training.evaluate_examples:,} examples" if training.evaluate_examples else "all"
    often = "every epoch" if training.evaluate_every == 1 else f"every {training.evaluate_every} epochs"
    what = "strict" if training.selection == "strict" else "by answer"
    return f"best on `{config.data.dev}` ({what}, {count}, {often})"


ASPECTS: dict[str, Callable[[Config], str]] = {
    "sizes": _sizes,
    "width of embeddings": _widths,
    "weights at the start": _starts,
    "dropout": _dropout,
    "learning rate": _rate,
    "epochs": lambda config: str(config.training.epochs),
    "batch": lambda config: str(config.training.batch_size),
    "options beyond the paper": _beyond,
    "learned from": lambda config: f"`{config.data.train}`",
    "equal pairs of text and program": _pairs,
    "rare words": _rare,
    "choice of the weights": _selection,
}


def _decoding(task: str, row: str) -> str:
    modes = TABLES[task].rows.get(row, ())
    masks = "masks from the types of the language" if task == "algolisp" else "masks: only well-formed programs"
    return masks if all(mode.masked for mode in modes) else "no masks"


def _unlike(config: Config, columns: Mapping[str, Config]) -> str:
    """The settings in which a preset differs from the column that it is most like."""
    apart = {name: _differences(config, other) for name, other in columns.items()}
    nearest = min(apart, key=lambda name: len(apart[name]))
    return f"as `{nearest}`, but {_settings(apart[nearest])}" if apart[nearest] else f"as `{nearest}`"


def _differences(config: Config, other: Config) -> dict[str, object]:
    found: dict[str, object] = {}
    for table in ("data", "model", "training"):
        ours, theirs = asdict(getattr(config, table)), asdict(getattr(other, table))
        found |= {f"{table}.{key}": value for key, value in ours.items() if value != theirs[key]}
    if found.keys() & {"model.encoder", "model.decoder"}:  # the width of the side that is an LSTM here
        found["model.d_hidden"] = config.model.d_hidden
    if config.model.encoder != "tpr":  # nothing is selected
        found.pop("model.temperature", None)
    return found


def _changed(settings: object, defaults: object, names: tuple[str, ...] | list[str]) -> dict[str, object]:
    ours, theirs = asdict(settings), asdict(defaults)  # type: ignore[call-overload]
    return {name: ours[name] for name in names if ours[name] != theirs[name]}


def _settings(changed: Mapping[str, object]) -> str:
    return ", ".join(f"{name} = {write_value(value)}" for name, value in changed.items())


def _left(table: str) -> str:
    """Words are flush left."""
    return table.replace("|---:", "|---")
