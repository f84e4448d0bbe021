"""A study in a database, as Optuna keeps it: opened, asked for settings, and its failures as errors of ours.

The only module that knows which pruners and storages there are. Optuna (extra `tuning`) is imported when it is
needed. Nothing is trained here.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tpn2f.config import Config
from tpn2f.errors import ConfigError, DataError
from tpn2f.tuning.settings import Dimension

if TYPE_CHECKING:
    from optuna import Study, Trial
    from optuna.pruners import BasePruner
    from optuna.storages import RDBStorage

OPENINGS = 5
"""How often a database is opened while others may be making its tables."""
PRUNERS = ("median", "halving", "none")


def storage_name(url: str) -> str:
    """A database URL as it may be shown: without its password. Raises ConfigError if it is not a URL."""
    try:
        import optuna
        from sqlalchemy.engine import make_url
        from sqlalchemy.exc import ArgumentError
    except ImportError as error:
        raise ConfigError("optuna is not installed, which tuning needs: pip install 'tpn2f[tuning]'") from error
    # The caller reports what happens; Optuna would report it again on standard error.
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        return make_url(url).render_as_string(hide_password=True)
    except ArgumentError as error:
        raise ConfigError(
            "--storage is not a database URL; expected one such as postgresql://user@host/name"
        ) from error


def open_study(url: str, name: str, pruner: BasePruner) -> Study:
    """The study of that name, made if it is not there."""
    import optuna

    # Several processes wait for each other, rather than fail at a busy file.
    waiting = {"connect_args": {"timeout": 60}} if url.startswith("sqlite") else {}
    try:
        storage = _open_storage(url, waiting)
    except ImportError as error:
        raise ConfigError(f"--storage {storage_name(url)}: its driver is not installed ({error})") from error
    return optuna.create_study(
        storage=storage, study_name=name, direction="maximize", load_if_exists=True, pruner=pruner
    )


def _open_storage(url: str, settings: dict[str, Any]) -> RDBStorage:
    """Workers that begin together in an empty database make the same tables: all but one have to look again."""
    from optuna.storages import RDBStorage
    from sqlalchemy.exc import IntegrityError, ProgrammingError

    for left in reversed(range(OPENINGS)):
        try:
            return RDBStorage(url, engine_kwargs=settings)
        except (IntegrityError, ProgrammingError):
            if not left:
                raise
            time.sleep(random.uniform(0.5, 1.5))
    raise AssertionError("never reached")


def make_pruner(name: str, startup: int, config: Config) -> BasePruner:
    """The rule that stops hopeless trials, after `startup` trials that always run to the end."""
    from optuna import pruners

    if name == "median":
        # Trials differ least in their first fifth: warm-up and luck.
        return pruners.MedianPruner(startup, n_warmup_steps=config.training.epochs // 5)
    if name == "halving":
        return pruners.SuccessiveHalvingPruner(config.training.evaluate_every, 3, bootstrap_count=startup)
    if name == "none":
        return pruners.NopPruner()
    raise ConfigError(f"there is no pruner {name!r}; there are {', '.join(PRUNERS)}")


@contextmanager
def reaching(where: str) -> Iterator[None]:
    """Around every use of a study: a database that fails is one clear error."""
    from optuna.exceptions import OptunaError
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (OptunaError, SQLAlchemyError) as error:
        reason = str(error.__cause__ or error).split("\n")[0]
        raise DataError(f"{where} cannot be used: {reason}") from error


def suggest(trial: Trial, dimension: Dimension) -> Any:
    """The study's choice for a setting; the same again for a trial that has one."""
    if dimension.choices:
        return trial.suggest_categorical(dimension.key, dimension.choices)
    if dimension.step:
        low, high = int(dimension.low), int(dimension.high)
        return trial.suggest_int(dimension.key, low, high, step=dimension.step, log=dimension.log)
    return trial.suggest_float(dimension.key, dimension.low, dimension.high, log=dimension.log)
