"""Hyper-parameter search: trainings that find out where in a space of settings the best model is.

Optuna (extra `tuning`) chooses the settings and keeps the study in a database. Every trial is an ordinary training in a
run directory of its own, so that an interrupted one continues bit for bit. Several processes and machines may share one
study through one database; each looks after its own trials. Trials are ranked by strict accuracy on dev; no test split
is read.

    RUN/study.db     the study, unless it is in another database       RUN/best.toml    the best config so far
    RUN/trial-003    the run directory of a trial                      RUN/study.json   which study this is a part of
"""

from __future__ import annotations

import json
import math
import shutil
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tpn2f.checkpoint import locked
from tpn2f.config import Config, change_config, config_difference, make_config, what_is_learned, write_config
from tpn2f.domain import Domain, Splits
from tpn2f.errors import CheckpointError, ConfigError, DataError, DivergedError, N2FError
from tpn2f.evaluation import digest
from tpn2f.training import Event, Trainer
from tpn2f.training.examples import mixture_parts
from tpn2f.training.hardware import choose_hardware
from tpn2f.training.tensorboard import check_tensorboard
from tpn2f.tuning.database import make_pruner, open_study, reaching, storage_name, suggest
from tpn2f.tuning.settings import Dimension

if TYPE_CHECKING:
    from optuna import Trial
    from optuna.trial import FrozenTrial

LOST_SECONDS = 3600.0
"""A trial of another machine without news for this long is given up and tried again."""


@dataclass(frozen=True, slots=True)
class TrialEvent:
    """Something that happened in a trial."""

    kind: Literal["begun", "training", "finished", "pruned", "failed", "saved"]
    number: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    value: float = math.nan
    """The best strict dev accuracy so far."""
    epoch: int = 0
    seconds: float = 0.0
    text: str = ""
    training: Event | None = None


@dataclass(frozen=True, slots=True)
class Best:
    """The best trial of a study."""

    number: int
    value: float
    settings: Mapping[str, Any]
    config: Config


class Tuner:
    """One worker of a study. `stop` may be set from a signal handler: the trial is saved, and continues next time."""

    def __init__(
        self,
        config: Config,
        space: Sequence[Dimension],
        domain: Domain,
        run: Path,
        storage: str = "",
        study: str = "",
        pruner: str = "median",
        startup: int = 5,
    ) -> None:
        """`storage`: a database URL; RUN/study.db without one. `startup`: trials before anything is pruned."""
        self.config, self.space, self.domain, self.folder = config, tuple(space), domain, run
        self.splits = Splits(domain)
        self.stop = False
        self._check()
        try:
            run.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CheckpointError(f"cannot write into {run}: {error.strerror}") from error
        url = storage or f"sqlite:///{(run / 'study.db').resolve()}"
        name, shown = study or config.name, storage_name(url)
        self.where = f"the study {name} in {shown}"
        place = self._read_place(name, shown)
        with reaching(self.where):
            self.study = open_study(url, name, make_pruner(pruner, startup, config))
            self._agree("config", asdict(what_is_learned(config)))
            self._agree("space", sorted(map(str, space)))
        self.place = place or self._write_place(name, shown)

    def run(self, trials: int, timeout: float = math.inf) -> Iterator[TrialEvent]:
        """Works until the study has `trials` trials, or the time is over, or `stop`. Continues its own trials first."""
        deadline = time.monotonic() + timeout
        while not self.stop and time.monotonic() < deadline:
            with ExitStack() as lock:
                with reaching(self.where):
                    trial = self._claim(trials, lock)
                if trial is None:
                    return
                with reaching(self.where):
                    yield from self._work(trial, deadline)

    def best(self) -> Best | None:
        """The best trial that came to its end, of all workers."""
        with reaching(self.where):
            done = [trial for trial in self._trials() if trial.state.name == "COMPLETE" and trial.value is not None]
        if not done:
            return None
        first = max(done, key=lambda trial: (trial.value, -trial.number))
        assert first.value is not None
        config = change_config(self.config, first.params, f"trial {first.number}")
        return Best(first.number, first.value, first.params, config)

    def trial_folder(self, number: int) -> Path:
        """The run directory of a trial."""
        return self.folder / f"trial-{number:03d}"

    def _check(self) -> None:
        """What would fail in the first trial fails here."""
        choose_hardware(self.config.training.device, self.config.training.precision)
        if self.config.training.tensorboard:
            check_tensorboard()
        for name in (*mixture_parts(self.config.data.train), self.config.data.dev):
            if not self.splits.take(name, 1):
                raise DataError(f"{self.domain.name}: the split {name} is empty")

    def _read_place(self, study: str, storage: str) -> str | None:
        """The name of this run directory in the study, if it has one. Raises ConfigError if it belongs to another."""
        path = self.folder / "study.json"
        try:
            there = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise ConfigError(f"{path} cannot be read: {error}") from error
        if not isinstance(there, dict) or not isinstance(there.get("place"), str):
            raise ConfigError(f"{path} is damaged: expected an object with study, storage and place")
        for key, value in {"study": study, "storage": storage}.items():
            if there.get(key) != value:
                raise ConfigError(
                    f"{self.folder} belongs to another study: {key} is {there.get(key)} there, {value} here; "
                    "choose another --folder"
                )
        return there["place"]

    def _write_place(self, study: str, storage: str) -> str:
        """Makes this run directory a part of the study. Of several processes that begin at once one is heard."""
        there = {"study": study, "storage": storage, "place": uuid.uuid4().hex}
        try:
            with (self.folder / "study.json").open("x", encoding="utf-8") as file:
                file.write(json.dumps(there, indent=1) + "\n")
        except FileExistsError:
            return self._read_place(study, storage) or there["place"]
        return there["place"]

    def _agree(self, name: str, value: Any) -> None:
        """What all workers of a study must have the same. The first one decides."""
        there = self.study.user_attrs.get(name)
        if there is None:
            self.study.set_user_attr(name, value)
        elif name == "config":
            if (other := make_config(there, self.where)) != what_is_learned(self.config):
                raise ConfigError(f"{self.where} has another config ({config_difference(other, self.config)}){_ELSE}")
        elif there != value:
            raise ConfigError(f"{self.where} has another {name}: {_short(there)} there, {_short(value)} here{_ELSE}")

    def _trials(self) -> list[FrozenTrial]:
        return self.study.get_trials(deepcopy=False)

    def _claim(self, trials: int, lock: ExitStack) -> Trial | None:
        """A trial to work on, its run directory locked: one that was interrupted here, or a new one."""
        from optuna.trial import Trial, TrialState

        for known in self._trials():
            if known.state.name != "RUNNING":
                continue
            folder = self.trial_folder(known.number)
            if folder.is_dir() or known.user_attrs.get("place") == self.place:
                with ExitStack() as attempt:
                    try:
                        attempt.enter_context(locked(folder))
                    except CheckpointError:
                        continue  # another process works on it
                    if self._trials()[known.number].state.name == "RUNNING":  # not ended between the two looks
                        lock.push(attempt.pop_all())
                        return Trial(self.study, known._trial_id)
            elif time.time() - _seen(known) > LOST_SECONDS:
                self._give_up(known)
        if sum(_counts(known) for known in self._trials()) >= trials:
            return None
        trial = self.study.ask()
        # Several workers may have seen the same last free place; who came later gives the trial back.
        if sum(_counts(known) for known in self._trials() if known.number < trial.number) >= trials:
            trial.set_user_attr("void", True)
            self.study.tell(trial, state=TrialState.FAIL, skip_if_finished=True)
            return None
        # Locked before its owner is recorded, so that no other process takes it for an interrupted one.
        lock.enter_context(locked(self.trial_folder(trial.number)))
        return trial

    def _give_up(self, known: FrozenTrial) -> None:
        """The machine of this trial is gone: its settings are tried again by the next free worker."""
        from optuna.trial import Trial, TrialState

        Trial(self.study, known._trial_id).set_user_attr("void", True)
        self.study.tell(known.number, state=TrialState.FAIL, skip_if_finished=True)
        self.study.enqueue_trial(known.params)

    def _work(self, trial: Trial, deadline: float) -> Iterator[TrialEvent]:
        """Trains a trial, reports its progress to the study, and stops it if it is hopeless."""
        from optuna.exceptions import UpdateFinishedTrialError
        from optuna.samplers import TPESampler
        from optuna.trial import TrialState

        # Randomness comes from the seed and the trial's number, so that an interruption changes nothing.
        self.study.sampler = TPESampler(seed=(self.config.training.seed * 1_000_003 + trial.number) % 2**32)
        settings = {dimension.key: suggest(trial, dimension) for dimension in self.space}
        for name, value in (("place", self.place), ("seen", time.time())):
            trial.set_user_attr(name, value)
        trainer: Trainer | None = None
        ending: Literal["finished", "pruned", "failed", "saved"] = "saved"
        text = ""
        try:
            config = change_config(self.config, settings, f"trial {trial.number}")
            trainer = Trainer(config, self.domain, self.trial_folder(trial.number), splits=self.splits)
            self._agree("dev_sha256", digest(trainer.dev))
            note = trainer.resume()
            yield TrialEvent("begun", trial.number, settings, text=note or "")
            with closing(_events(trainer)) as events:
                for event in events:
                    trainer.stop = trainer.stop or self.stop or time.monotonic() > deadline
                    self._report(trial, event)
                    yield TrialEvent("training", trial.number, settings, event.best, event.epoch, training=event)
                    if event.kind == "dev" and event.epoch < config.training.epochs and trial.should_prune():
                        ending = "pruned"
                        break
            if trainer.standing.finished:
                ending = "finished"
        except CheckpointError:
            raise  # what was saved before is good: the trial continues next time
        except DivergedError as error:
            ending, text = "failed", str(error)
        except N2FError:
            trial.set_user_attr("void", True)
            self.study.tell(trial, state=TrialState.FAIL, skip_if_finished=True)
            raise
        except UpdateFinishedTrialError:
            ending, text = "failed", "another machine assumed that it was lost"
        except (RuntimeError, MemoryError) as error:
            # Out of memory, or numbers out of range: of these settings only.
            ending, text = "failed", " ".join(str(error).split())[:200] or type(error).__name__
        standing = trainer.standing if trainer else None
        value = standing.best if standing and standing.best >= 0 else math.nan
        if ending == "finished":
            self.study.tell(trial, value, skip_if_finished=True)
        elif ending != "saved":
            state = TrialState.PRUNED if ending == "pruned" else TrialState.FAIL
            self.study.tell(trial, state=state, skip_if_finished=True)
        best = self.best()
        if ending != "saved":
            self._tidy(trial.number, best)
        if best and best.number == trial.number:
            text = "the best so far"
        yield TrialEvent(
            ending,
            trial.number,
            settings,
            value,
            standing.epoch if standing else 0,
            standing.seconds if standing else 0.0,
            text,
        )

    def _report(self, trial: Trial, event: Event) -> None:
        if event.kind == "dev" and event.epoch not in self._trials()[trial.number].intermediate_values:
            trial.report(event.best, event.epoch)
        if event.kind in ("dev", "saved"):
            trial.set_user_attr("seen", time.time())

    def _tidy(self, number: int, best: Best | None) -> None:
        """Keeps the best weights of an ended trial, not those for continuing it; writes the best config."""
        for name in ("last", "previous"):
            shutil.rmtree(self.trial_folder(number) / "checkpoints" / name, ignore_errors=True)
        if best is not None:
            _replace(self.folder / "best.toml", write_config(best.config))


_ELSE = "; choose another --folder, or another --study in a common database"


def _events(trainer: Trainer) -> Any:
    """A generator, which can be closed before its end."""
    yield from trainer.run()


def _counts(known: FrozenTrial) -> bool:
    """Whether a trial is one of those that were asked for: not one that is tried again."""
    return known.state.name != "WAITING" and not known.user_attrs.get("void")


def _seen(known: FrozenTrial) -> float:
    """When there was news of a trial. One whose worker died before any is given a day: clocks are set differently."""
    begun = known.datetime_start
    return known.user_attrs.get("seen", math.inf if begun is None else begun.timestamp() + 86_400)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else ", ".join(map(str, value))
    return text if len(text) < 200 else f"{text[:197]}..."


def _replace(path: Path, text: str) -> None:
    """Writes a file completely or not at all."""
    draft = path.with_name(f".{path.name}-{uuid.uuid4().hex[:8]}")
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror}; the study has all scores") from error
