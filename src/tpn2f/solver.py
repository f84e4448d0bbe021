"""The one object that the command line, the web page, the Python user and evaluation share: text in, solution out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tpn2f.checkpoint import Checkpoint, load_weights, read_checkpoint
from tpn2f.codec import Codec
from tpn2f.config import Config, make_config
from tpn2f.domain import Domain, Problem, Step, load_domain
from tpn2f.errors import CheckpointError, ExecutionError
from tpn2f.model import Model, build_model
from tpn2f.program import Program
from tpn2f.search import Candidate, Grammar, beam, greedy
from tpn2f.vocabulary import Vocabulary

VOCABULARIES = ("words", "relations", "arguments")


@dataclass(frozen=True, slots=True)
class Solution:
    """What a model makes of one problem."""

    problem: Problem
    program: Program | None
    value: object
    """What the program gives; None when it cannot be run."""
    steps: tuple[Step, ...]
    """The program worked tuple by tuple, where the language runs that way."""
    confidence: float
    """The probability of the program among all well-formed ones, as the model sees it; not calibrated."""
    error: str
    """Why there is no value; empty when there is one."""
    unknown: tuple[str, ...]
    """Words that training did not have."""
    alternatives: tuple[Candidate, ...]


class Solver:
    """A model with its vocabularies and its domain."""

    def __init__(self, domain: Domain, codec: Codec, model: Model) -> None:
        self.domain, self.codec, self.model = domain, codec, model
        tuples = model.config.decoder == "tpr"
        self.grammar = Grammar(domain.relations, domain.constants, codec, slots_filled=tuples)

    @classmethod
    def load(cls, place: Path | str, data: Path | str | None = None) -> Solver:
        """From a checkpoint directory, such as `runs/mathqa/checkpoints/best`, or a run directory."""
        folder = Path(place)
        best = folder / "checkpoints" / "best"
        return cls.from_checkpoint(read_checkpoint(best if best.is_dir() else folder), str(place), data)

    @classmethod
    def from_checkpoint(cls, checkpoint: Checkpoint, where: str, data: Path | str | None = None) -> Solver:
        config, codec = read_setting(checkpoint, where)
        model = make_model(config, codec)
        load_weights(model, checkpoint.tensors.get("model", {}), where)
        return cls(load_domain(config.data.domain, data), codec, model.eval())

    def predict(
        self,
        problems: Sequence[Problem],
        width: int = 1,
        masked: bool = True,
        length_penalty: float = 0.0,
        batch_size: int = 128,
        progress: Callable[[int], None] = lambda done: None,
    ) -> list[list[Candidate]]:
        """Ranked candidates a problem: one by greedy search for a width of 1, else by beam search."""
        training = self.model.training
        self.model.eval()
        # Problems of similar length go together; the answers come back in the order of the questions.
        order = sorted(range(len(problems)), key=lambda place: len(problems[place].words))
        found: dict[int, list[Candidate]] = {}
        grammar = self.grammar if masked else None
        for start in range(0, len(order), batch_size):
            places = order[start : start + batch_size]
            part = [problems[place] for place in places]
            names = [self.domain.names(problem) for problem in part]
            if width == 1:
                candidates = [[one] for one in greedy(self.model, self.codec, part, grammar, names)]
            else:
                candidates = beam(self.model, self.codec, part, width, grammar, names, length_penalty)
            found.update(zip(places, candidates))
            progress(len(found))
        self.model.train(training)
        return [found[place] for place in range(len(problems))]

    def solve(self, text: str, width: int = 1) -> Solution:
        """Read, encode, search, decode, execute."""
        problem = self.domain.read(text)
        return self.work(problem, self.predict([problem], width)[0])

    def work(self, problem: Problem, candidates: Sequence[Candidate]) -> Solution:
        """The best candidate, run on the problem."""
        best = candidates[0]
        value: object = None
        steps: tuple[Step, ...] = ()
        error = ""
        try:
            if best.program is None:
                raise ExecutionError("the model wrote no program")
            if hasattr(self.domain, "steps"):
                steps = self.domain.steps(best.program, problem)  # type: ignore[attr-defined]
                value = steps[-1].result
            else:
                value = self.domain.execute(best.program, problem)
        except ExecutionError as reason:
            error = str(reason)
        unknown = tuple(dict.fromkeys(word for word in problem.words if word not in self.codec.words))
        confidence = math.exp(best.log_probability)
        return Solution(problem, best.program, value, steps, confidence, error, unknown, tuple(candidates[1:]))


def make_model(config: Config, codec: Codec) -> Model:
    """A fresh model of the right sizes."""
    return build_model(config.model, len(codec.words), len(codec.relations), len(codec.arguments), codec.n_positions)


def setting(config: Config, codec: Codec) -> tuple[dict[str, object], dict[str, str]]:
    """The part of a checkpoint that `read_setting` reads: state and texts."""
    state = {"config": asdict(config), "n_positions": codec.n_positions, "longest": codec.longest}
    texts = {f"{name}.txt": getattr(codec, name).text() for name in VOCABULARIES}
    return state, texts


def read_setting(checkpoint: Checkpoint, where: str) -> tuple[Config, Codec]:
    """The config and the codec of a checkpoint. Raises CheckpointError for what is missing."""
    for key in ("config", "n_positions", "longest"):
        if key not in checkpoint.state:
            raise CheckpointError(f"{where}: the checkpoint's state has no {key!r}")
    vocabularies: dict[str, Vocabulary] = {}
    for name in VOCABULARIES:
        if f"{name}.txt" not in checkpoint.texts:
            raise CheckpointError(f"{where}: the checkpoint has no vocabulary {name}.txt")
        vocabularies[name] = Vocabulary.parse(checkpoint.texts[f"{name}.txt"], f"{where}/{name}.txt")
    config = make_config(checkpoint.state["config"], where)
    return config, Codec(
        **vocabularies, n_positions=checkpoint.state["n_positions"], longest=checkpoint.state["longest"]
    )
