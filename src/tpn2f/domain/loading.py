"""Where domains and their data are found. Built-in domains and your own are both loaded by `load_domain`."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tpn2f.domain.protocol import Domain
from tpn2f.errors import DataError, DomainError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ENTRY_POINTS = "tpn2f.domains"
DEFAULT_DOMAIN = "mathqa"
"""The default domain, and the bundled model that answers by default."""
_MEMBERS = (
    *("name", "splits", "relations", "constants", "examples", "names"),
    *("read", "execute", "is_solved", "credits", "diagnose", "subsets"),
)


def data_folder(name: str, data: Path | str | None = None) -> Path:
    """The folder of a data set: `data` or TPN2F_DATA if given, else the first usual place that has it.

    Both the folder itself and a folder that holds one of that name are taken.
    """
    told = data or os.environ.get("TPN2F_DATA")
    if told:
        inner = Path(told) / name
        return inner if inner.is_dir() else Path(told)
    places = [Path("data"), cache_folder()]
    for place in places:
        if (place / name).is_dir():
            return place / name
    looked = ", ".join(str(place / name) for place in places)
    raise DataError(
        f"no data for {name}: looked in {looked}. Fetch it with `tpn2f data get {name}`, or name a folder with "
        "--data DIR or TPN2F_DATA"
    )


def cache_folder() -> Path:
    """Where `tpn2f data get` puts what it fetches."""
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "tpn2f"


def entry_points(group: str) -> Iterable[EntryPoint]:
    """What is installed under a group. The standard library's way to find it is loaded when it is needed."""
    from importlib import metadata

    return metadata.entry_points(group=group)


def domain_names() -> list[str]:
    """The names of the installed domains."""
    return sorted(point.name for point in entry_points(group=ENTRY_POINTS))


def names_code(spec: str) -> bool:
    """Whether a domain or a model variant is named as a file or a module, and not as something that is installed.

    What a stranger's model names like this is not loaded unless the person says so: it may do anything.
    """
    return ":" in spec or spec.endswith(".py")


def load_domain(spec: str, data: Path | str | None = None) -> Domain:
    """A domain by installed name (`mathqa`), by module (`package.module:Name`) or by file (`path/file.py:Name`).

    A file that has one domain only may be named alone: `path/file.py`. Runs the code of the domain that is named, so
    only name files that you trust.
    """
    if names_code(spec):
        make = _load_class(spec)
    else:
        points = {point.name: point for point in entry_points(group=ENTRY_POINTS)}
        if spec not in points:
            raise DomainError(
                f"no domain is called {spec!r}; installed are {', '.join(sorted(points)) or 'none'}; "
                "name your own domain as file.py:Name or package.module:Name"
            )
        try:
            make = points[spec].load()
        except Exception as error:
            raise DomainError(
                f"{spec}: loading {points[spec].value} failed: {type(error).__name__}: {error}"
            ) from error
    try:
        domain = make(data)
    except TypeError as error:
        raise DomainError(f"{spec}: {getattr(make, '__name__', 'it')}(data) cannot be called: {error}") from error
    missing = [name for name in _MEMBERS if not hasattr(domain, name)]
    if missing:
        raise DomainError(f"{spec} is not a domain: it has no {', '.join(missing)}")
    return domain


def _load_class(spec: str) -> Callable[[Path | str | None], Domain]:
    place, sign, name = spec.rpartition(":")
    place, name = (place, name) if sign else (spec, "")
    try:
        module = _load_file(Path(place)) if place.endswith(".py") else importlib.import_module(place)
    except DomainError:
        raise
    except Exception as error:
        raise DomainError(f"{spec}: loading {place} failed: {type(error).__name__}: {error}") from error
    if not sign:
        name = _only_domain(module, place)
    found = getattr(module, name, None) if name.isidentifier() else None
    if not callable(found):
        raise DomainError(f"{spec}: {place} has no class {name!r}")
    return cast(Callable[[Path | str | None], Domain], found)


def _only_domain(module: object, place: str) -> str:
    """The name of the one domain that a file defines."""
    found = [
        name
        for name, value in vars(module).items()
        if callable(value) and all(hasattr(value, member) for member in _MEMBERS)
    ]
    if len(found) != 1:
        raise DomainError(f"{place} has {', '.join(found) or 'no domain'}; name one as {place}:Name")
    return found[0]


def _load_file(path: Path):
    if not path.is_file():
        raise DomainError(f"{path} is not a file")
    spec = importlib.util.spec_from_file_location(f"tpn2f_domain_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Registered before it runs, because dataclasses look their module up.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
