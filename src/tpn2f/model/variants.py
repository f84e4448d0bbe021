"""Your own models: a class in one file, named by the setting `model.variant`.

A variant is a subclass of `Model` and is called like it. It is named like a domain: by an entry point of the group
`tpn2f.models`, by module (`package.module:Name`) or by file (`path/file.py:Name`).
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType

from tpn2f.model.tpn2f import Model

ENTRY_POINTS = "tpn2f.models"


def variant_names() -> list[str]:
    """The names of the installed variants."""
    return sorted(point.name for point in entry_points(group=ENTRY_POINTS))


def load_variant(spec: str) -> type[Model]:
    """The class that a spec names; the empty one names `Model` itself. Raises ValueError for what is not a variant.

    Runs the code of the file that is named, so only name files that you trust.
    """
    if not spec:
        return Model
    try:
        found = _load(spec)
    except ValueError:
        raise
    except Exception as error:
        raise ValueError(f"model variant {spec}: loading it failed: {type(error).__name__}: {error}") from error
    if not (isinstance(found, type) and issubclass(found, Model)):
        raise ValueError(f"model variant {spec}: got {found!r}; expected a subclass of tpn2f.model.Model")
    return found


def _load(spec: str) -> object:
    place, sign, name = spec.rpartition(":")
    if sign:
        module = _load_file(Path(place)) if place.endswith(".py") else importlib.import_module(place)
        if name not in vars(module):
            raise ValueError(f"model variant {spec}: {place} has no {name!r}")
        return vars(module)[name]
    points = {point.name: point for point in entry_points(group=ENTRY_POINTS)}
    if spec not in points:
        raise ValueError(
            f"no model variant is called {spec!r}; installed are {', '.join(sorted(points)) or 'none'}; "
            "name your own variant as file.py:Name or package.module:Name"
        )
    return points[spec].load()


def _load_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise ValueError(f"{path} is not a file")
    made = importlib.util.spec_from_file_location(f"tpn2f_variant_{path.stem}", path)
    assert made is not None and made.loader is not None
    module = importlib.util.module_from_spec(made)
    # Registered before it runs, because dataclasses look their module up.
    sys.modules[made.name] = module
    made.loader.exec_module(module)
    return module
