"""The models that come with the package, and how a model is found by its place or its name."""

from __future__ import annotations

import json
from pathlib import Path

from tpn2f.checkpoint import MANIFEST, find_checkpoint
from tpn2f.contextual import is_installed
from tpn2f.errors import CheckpointError, DataError

PRETRAINED = Path(__file__).parent
DEFAULT_MODELS = ("everyday-minilm", "everyday")
"""The bundled model that answers when nobody names one: the first of these that can be used here."""


def find_model(place: Path | str) -> Path:
    """The checkpoint of a run directory, of a checkpoint directory, or of a bundled model by its name."""
    folder = Path(place)
    for inner in (folder / "checkpoints" / "best", folder):
        if (there := find_checkpoint(inner)) is not None:
            return there
    if str(place) in _names():
        return PRETRAINED / str(place)
    known = ", ".join(bundled_models()) or "none is bundled"
    what = f"{place} has no checkpoint" if folder.exists() else f"there is no model {place}"
    raise CheckpointError(f"{what}: expected a run directory or a bundled model ({known})")


def bundled_models() -> list[str]:
    """The names of the models that come with the package and can be used here, the default one first."""
    default = {name: place for place, name in enumerate(DEFAULT_MODELS)}
    names = [name for name in _names() if _can_read(name)]
    return sorted(names, key=lambda name: (default.get(name, len(default)), name))


def bundled_model(domain: str | None = None) -> str:
    """The bundled model of a domain, or the default one."""
    there = bundled_models()
    wanted = DEFAULT_MODELS if domain is None or domain in DEFAULT_MODELS else (domain,)
    for name in wanted:
        if name in there:
            return name
    raise DataError(
        f"no model is bundled for {domain or DEFAULT_MODELS[-1]} (there is {', '.join(there) or 'none yet'}); "
        "name a trained one with --model"
    )


def _names() -> list[str]:
    return [path.parent.name for path in PRETRAINED.glob(f"*/{MANIFEST}")]


def _can_read(name: str) -> bool:
    """Whether the pre-trained reader that a bundled model needs, if any, is installed."""
    try:
        reader = json.loads((PRETRAINED / name / "state.json").read_text(encoding="utf-8"))["config"]["data"]["reader"]
    except (OSError, ValueError, KeyError, TypeError):
        return True  # it names none, or loading it will say what is wrong
    return not reader or is_installed(str(reader))
