"""The training loop: teacher forcing, Adam, selection on dev, and checkpoints from which it continues bit for bit.

`Trainer.run` yields what happens as events and prints nothing. Everything random in a step comes from the seed and the
step's number, and the order of an epoch from the seed and the epoch's number, so the state to keep is small: weights,
moments, averages and a few counters. Test splits are never read here.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tpn2f.checkpoint import Checkpoint, load_weights, read_latest, rotate_checkpoint, write_checkpoint
from tpn2f.codec import Codec, Weighted, batch_order
from tpn2f.config import Config, config_difference, what_is_learned, write_config
from tpn2f.contextual import TunedReader, choose_store, load_reader
from tpn2f.domain import Domain, Example, Splits
from tpn2f.errors import CheckpointError, DataError
from tpn2f.evaluation import digest
from tpn2f.metrics import is_same
from tpn2f.model.evaluating import evaluating
from tpn2f.model.health import representation_health
from tpn2f.program import Program
from tpn2f.setting import make_model, read_setting, setting
from tpn2f.solver import Solver
from tpn2f.training.clock import Clock
from tpn2f.training.events import Event, Standing
from tpn2f.training.examples import read_mixture, spread, weigh
from tpn2f.training.faults import check_disk, check_weights_finite, diverged
from tpn2f.training.hardware import choose_hardware
from tpn2f.training.metrics_file import append_record, drop_records
from tpn2f.training.optimizer import load_optimizer, make_optimizer, optimizer_tensors
from tpn2f.training.processes import Processes
from tpn2f.training.tensorboard import check_tensorboard, track
from tpn2f.training.weight_start import read_start, start_weights
from tpn2f.training.word_start import named_vectors, start_words

ALONE = Processes()
HEALTH_EXAMPLES = 64
"""How many dev examples the health of the representation is measured on."""


class Trainer:
    """One training run in one directory. `stop` may be set from a signal handler: the run then saves and ends."""

    def __init__(
        self, config: Config, domain: Domain, run: Path, processes: Processes = ALONE, splits: Splits | None = None
    ) -> None:
        """`splits` may hold splits that are already read."""
        self.config, self.domain, self.folder, self.processes = config, domain, run, processes
        self.stop = False
        self._unwritten: CheckpointError | None = None
        self.hardware = choose_hardware(config.training.device, config.training.precision)
        self.device = self.hardware.device
        self.reading = choose_hardware(config.training.device, config.training.reader_precision)
        if config.training.tensorboard:
            check_tensorboard()
        # Before the data, which takes longer to read.
        earlier = read_start(config)
        splits = splits or Splits(domain)
        parts = read_mixture(splits, config.data.train, config.data.limit)
        examples = [example for example, _ in parts]
        self.dev = spread(splits.take(config.data.dev), config.training.evaluate_examples)
        if not examples or not self.dev:
            raise DataError(
                f"{domain.name}: the split {config.data.train if not examples else config.data.dev} is empty"
            )
        self.data_digest = digest(examples)
        vectors = named_vectors(config)
        more = vectors.words[: config.data.more_words] if vectors is not None else ()
        live, layers = load_reader(config.data.reader, config.model.d_contextual), config.model.reader_layers
        # What never changes is read once: all layers of a frozen encoder, the lower ones of one that is tuned.
        self.reader = None if live is None else choose_store(live, layers)
        reader = TunedReader(live, layers, self.reader) if live is not None and layers else self.reader
        self.codec = replace(Codec.build(examples, config.data.word_at_least, more), reader=reader)
        self.examples = weigh(parts, config)
        self.lengths = [(len(e.problem.words), len(e.program)) for e, _ in self.examples]
        torch.manual_seed(config.training.seed)
        self.model = make_model(config, self.codec).to(self.device)
        start_words(self.model, self.codec, self.examples, config, vectors, processes)
        if earlier is not None:
            start_weights(self.model, self.codec, earlier)
        self.solver = Solver(domain, self.codec, self.model)
        self.optimizer = make_optimizer(self.model, config.training.recurrent_rate, config.training.reader_rate)
        self.average = [parameter.detach().clone() for parameter in self.model.parameters()]
        self.standing = Standing()
        self.batches_an_epoch = len(batch_order(self.lengths, config.training.batch_size, 0, 0))
        self.steps = self.batches_an_epoch * config.training.epochs

    def resume(self, force: bool = False) -> str | None:
        """Goes back to the last good checkpoint of the run directory; None if there is none. Returns a note.

        Refuses a checkpoint of another config or other data, unless forced.
        """
        found = read_latest(self.folder / "checkpoints")
        if found is None:
            return None
        checkpoint, note = found
        where = str(self.folder)
        config, codec = read_setting(checkpoint, where)
        changed = what_is_learned(config) != what_is_learned(self.config)
        if not force:
            if changed:
                told = config_difference(config, self.config)
                raise CheckpointError(f"{where} was trained with another config ({told})")
            if checkpoint.state.get("data_sha256") != self.data_digest or codec != self.codec:
                raise CheckpointError(f"{where} was trained on other data than {self.config.data.train} holds now")
        load_weights(self.model, checkpoint.tensors.get("model", {}), where)
        try:
            load_optimizer(self.optimizer, checkpoint.tensors["optimizer"], where)
            average = checkpoint.tensors.get("average")
            if average:
                self.average = [average[name].to(self.device, copy=True) for name, _ in self.model.named_parameters()]
            self.standing = Standing(**{"cpu_seconds": None, **checkpoint.state["standing"]})
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise CheckpointError(f"{where}: the training cannot be continued: {error}") from error
        if changed:  # forced: with other settings a finished training may have more to do
            self.standing.finished = self.standing.epoch >= self.config.training.epochs
        if self.processes.leads:
            drop_records(self.folder, self.standing.epoch)
        return note or f"continuing after step {self.standing.step:,} (epoch {self.standing.epoch + 1})"

    def run(self) -> Iterator[Event]:
        """Trains to the end, or until `stop`; saves now and then, and at the end."""
        if not (self.config.training.tensorboard and self.processes.leads):
            return self._run()
        # Between epochs the step that was done last is scored already; within one it cannot be.
        return track(self._run(), self.folder, self.standing.step + (self.standing.batch == 0))

    def _run(self) -> Iterator[Event]:
        standing, training = self.standing, self.config.training
        if self.processes.leads:
            check_disk(self.model, self.config, self.folder)
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / "config.toml").write_text(write_config(self.config), encoding="utf-8")
        # What a pre-trained reader works before the first step is a cost, too.
        clock = Clock(standing, self.processes.size)
        yield from self._read_texts()
        if self.reader is not None and self._stops_alone():
            return
        saved = started = time.perf_counter()
        steps_before = standing.step
        since, done = started, 0  # examples since the last scoring: the speed of a record
        self.model.train()
        while not standing.finished:
            order = batch_order(self.lengths, training.batch_size, training.seed, standing.epoch)
            for places in order[standing.batch :]:
                with self.hardware.rounded():
                    self._step([self.examples[place] for place in places])
                now = clock.tell(standing)
                pace = (now - started) / (standing.step - steps_before)
                done += len(places)
                yield self._event("step", examples_per_second=len(places) / pace, pace=pace)
                # Only the leading process saves, so clocks that differ do no harm.
                if self.stop or now - saved > training.checkpoint_seconds:
                    saved = time.perf_counter()
                    yield self._save()
                if self.stop:
                    return
            epoch_loss = standing.loss / standing.examples
            standing.epoch, standing.batch, standing.loss, standing.examples = standing.epoch + 1, 0, 0.0, 0
            last = standing.epoch == training.epochs
            if last or standing.epoch % training.evaluate_every == 0:
                yield self._evaluate(epoch_loss, done / (time.perf_counter() - since))
                if self._unwritten is not None:  # a full disk: the score was worth more than an end at once
                    raise self._unwritten
                since, done = time.perf_counter(), 0
            patient = not training.patience or standing.since_best < training.patience
            standing.finished = last or not patient
            clock.tell(standing)
            saved = time.perf_counter()
            yield self._save()
        yield self._event("finished", text=f"best dev {100 * standing.best:.2f} % after epoch {standing.best_epoch}")

    def _read_texts(self) -> Iterator[Event]:
        """Lets the pre-trained encoder read what no training has had it read before."""
        if self.reader is None or self.standing.finished:
            return
        for note in self.reader.store.notes:
            yield self._event("note", text=note)
        started = time.perf_counter()
        problems = [example.problem for example, _ in self.examples] + [example.problem for example in self.dev]
        for done, total in self.reader.prepare(problems, self._stops_alone):
            left = (time.perf_counter() - started) / done * (total - done)
            yield Event("reading", done, total, self.standing.epoch, seconds_left=left)

    def _stops_alone(self) -> bool:
        """Whether to stop outside of a step: several processes only stop together."""
        return self.stop and self.processes.size == 1

    def _step(self, examples: Sequence[Weighted]) -> None:
        standing, training = self.standing, self.config.training
        # Dropout depends on nothing but the seed, the step and the process.
        torch.manual_seed((training.seed << 40) + (self.processes.rank << 32) + standing.step + 1)
        for group in self.optimizer.param_groups:
            group["lr"] = group["factor"] * self.rate(standing.step)
        self.optimizer.zero_grad(set_to_none=self.processes.size == 1)
        cost = torch.zeros(1, device=self.device)
        mine = self.processes.share(examples)
        if mine:
            with self.reading.mixed():
                batch = self.codec.batch(mine, self.config.data.noise, self.config.data.unmarked).to(self.device)
            with self.hardware.mixed():
                loss = self.model.loss(*batch)
            # The mean over this share, scaled so that the shares sum to the mean over the whole batch.
            (loss.value * (len(mine) / len(examples))).backward()
            cost += loss.per_example.sum()
        stop = torch.tensor([float(self.stop)], device=self.device)
        self.processes.sum(cost, stop, *(_gradient(parameter) for parameter in self.model.parameters()))
        self.stop = bool(stop > 0)
        if not math.isfinite(cost.item()):
            raise diverged(self.config, standing.step + 1)
        if training.clip:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), training.clip)
        self.optimizer.step()
        if training.average:
            # Young averages forget faster, so that the first weights do not linger.
            decay = min(training.average, (1 + standing.step) / (10 + standing.step))
            for average, parameter in zip(self.average, self.model.parameters()):
                average.lerp_(parameter.detach(), 1 - decay)
        standing.step += 1
        standing.batch += 1
        standing.loss += cost.item()
        standing.examples += len(examples)

    def rate(self, step: int) -> float:
        """The learning rate of a step."""
        training = self.config.training
        warm = min(1.0, (step + 1) / training.warmup_steps) if training.warmup_steps else 1.0
        if training.schedule == "cosine":
            fall = 0.5 * (1 + math.cos(math.pi * min(1.0, step / max(self.steps, 1))))
            warm *= training.final_rate + (1 - training.final_rate) * fall
        elif training.schedule == "exponential":
            warm *= training.decay ** (step // self.batches_an_epoch)
        return training.learning_rate * warm

    def _evaluate(self, epoch_loss: float, speed: float) -> Event:
        """The accuracy on dev of the weights that would be kept; the best are kept."""
        standing = self.standing
        weights = [parameter.detach().clone() for parameter in self.model.parameters()]
        if self.config.training.average:
            self._put(self.average)
        mine = self.processes.share(self.dev)
        predictions = self.solver.predict([example.problem for example in mine])
        right = [self._is_right(found[0].program, example) for found, example in zip(predictions, mine)]
        count = torch.tensor([float(sum(right))], device=self.device)
        self.processes.sum(count)
        dev = count.item() / len(self.dev)
        standing.since_best += 1
        if dev > standing.best:
            standing.best, standing.best_epoch, standing.since_best = dev, standing.epoch, 0
            if self.processes.leads:
                best = self._checkpoint({"model": self.model.state_dict()})
                try:
                    write_checkpoint(self.folder / "checkpoints" / "best", best)
                except CheckpointError as error:
                    self._unwritten = error
        health = self._health()
        self._put(weights)
        rate = self.rate(max(standing.step - 1, 0))
        record = {
            "step": standing.step,
            "epoch": standing.epoch,
            "loss": epoch_loss,
            f"dev_{self.config.training.selection}": dev,
            "rate": rate,
        }
        record |= {name: round(value, 4) for name, value in health.items()}
        record["seconds"] = round(standing.seconds, 1)
        if standing.cpu_seconds is not None:
            record["cpu_seconds"] = round(standing.cpu_seconds, 1)
        if self.processes.leads:
            try:
                append_record(self.folder, record)
            except CheckpointError as error:
                self._unwritten = error
        if speed:  # a run that resumes just before a scoring has no speed yet
            record["examples_per_second"] = round(speed, 1)
        return self._event("dev", dev=dev, loss=epoch_loss, record=record)

    def _is_right(self, program: Program | None, example: Example) -> bool:
        if self.config.training.selection == "strict":
            return is_same(program, example.program)
        return bool(program) and self.domain.is_solved(program, example)

    def _health(self) -> dict[str, float]:
        """Of some dev examples that this codec can spell."""
        widest = self.codec.n_positions
        examples = [e for e in self.dev if all(len(step.arguments) <= widest for step in e.program)][:HEALTH_EXAMPLES]
        if not examples:
            return {}
        with evaluating(self.model):
            batch = self.codec.batch(examples).to(self.device)
            return representation_health(self.model, *batch[:4], batch.contextual)

    def _put(self, weights: Sequence[Tensor]) -> None:
        with torch.no_grad():
            for parameter, tensor in zip(self.model.parameters(), weights):
                parameter.copy_(tensor)

    def _save(self) -> Event:
        check_weights_finite(self.model, self.config, self.standing.step)
        tensors: dict[str, dict[str, Tensor]] = {
            "model": self.model.state_dict(),
            "optimizer": optimizer_tensors(self.optimizer),
        }
        if self.config.training.average:
            names = [name for name, _ in self.model.named_parameters()]
            tensors["average"] = dict(zip(names, self.average))
        if self.processes.leads:
            rotate_checkpoint(self.folder / "checkpoints", self._checkpoint(tensors))
        return self._event("saved")

    def _checkpoint(self, tensors: dict[str, dict[str, Tensor]]) -> Checkpoint:
        state, texts = setting(self.config, self.codec)
        standing: dict[str, Any] = {name: getattr(self.standing, name) for name in self.standing.__dataclass_fields__}
        state = {**state, "data_sha256": self.data_digest, "standing": standing}
        return Checkpoint(tensors, state, {**texts, "config.toml": write_config(self.config)})

    def _event(
        self,
        kind: str,
        loss: float | None = None,
        dev: float = math.nan,
        text: str = "",
        examples_per_second: float = 0.0,
        pace: float = math.nan,
        record: Mapping[str, float] | None = None,
    ) -> Event:
        standing = self.standing
        return Event(
            kind,
            standing.step,
            self.steps,
            standing.epoch,
            loss if loss is not None else standing.loss / max(standing.examples, 1),
            self.rate(max(standing.step - 1, 0)),
            examples_per_second,
            pace * (self.steps - standing.step),
            dev,
            standing.best,
            text,
            record or {},
        )


def _gradient(parameter: Tensor) -> Tensor:
    """The gradient to be summed; zeros where this share has none."""
    if parameter.grad is None:
        parameter.grad = torch.zeros_like(parameter)
    return parameter.grad
