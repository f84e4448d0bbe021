"""The one object that the command line, the web page, the Python user and evaluation share: text in, solution out."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from itertools import islice
from pathlib import Path

from tpn2f.checkpoint import Checkpoint, read_checkpoint
from tpn2f.choosing import Chooser
from tpn2f.codec import Codec
from tpn2f.contextual import TunedReader, load_reader
from tpn2f.domain.offered import Offered
from tpn2f.domain.protocol import Domain, Problem, Step
from tpn2f.domain.running import Reading, read_question
from tpn2f.errors import CheckpointError, ExecutionError, N2FError
from tpn2f.grammar import make_grammar
from tpn2f.model import Model
from tpn2f.model.evaluating import evaluating
from tpn2f.opinions import add_recalled, heard, join_opinions
from tpn2f.pretrained import bundled_model, bundled_models, find_model
from tpn2f.program import Program
from tpn2f.search import MOST_WORDS, Candidate, batches, beam, greedy
from tpn2f.setting import (
    check_code,
    load_language,
    make_model,
    read_belief,
    read_choice,
    read_memory,
    read_second,
    read_setting,
    read_temperature,
    rebuild_model,
    setting,
)
from tpn2f.solution import GUESS, Alternative, Question, Solution, unread
from tpn2f.trust.belief import Belief, probability
from tpn2f.trust.caution import cautious
from tpn2f.trust.memory import Memory
from tpn2f.trust.signals import Answered, Heard, Known, agreements, doubts, look_up, signals, strange_signals
from tpn2f.wording import clean

__all__ = [
    "Solver",
    "make_model",
    "read_setting",
    "setting",
    "unread",
    "without_model",
]

FEW = 5
"""A small beam."""
NO_VALUES = "the question has no values to work with"
COMPUTED = "computed as it is written, without a model"


class Solver(Chooser):
    """A model with its vocabularies and its domain."""

    def __init__(self, domain: Domain, codec: Codec, model: Model, temperature: float | None = None) -> None:
        if model.config.writes_trees:
            codec = replace(codec, trees=True)
        self.domain, self.codec, self.model = domain, codec, model
        self.temperature = temperature
        """What log-probabilities are divided by for the confidence, found by calibration; None: not calibrated."""
        self.belief: Belief | None = None
        """What turns the signals of an answer into its confidence; None: its probability alone does."""
        self.second: Solver | None = None
        """Another model of the same domain, which is asked for a second opinion where people are answered."""
        self.guess_below = GUESS
        self.memory: Memory | None = None
        self.learned_from = ""
        """The splits that the model was trained on."""
        self.texts: Mapping[str, str] = {}
        """What came with the model as text: a bundled one has a card and a map of its relations."""
        tuples = model.config.decoder == "tpr"
        self.grammar = make_grammar(domain, codec, slots_filled=tuples)

    @classmethod
    def load(
        cls,
        place: Path | str | None = None,
        data: Path | str | None = None,
        domain: str | None = None,
        trust: bool = False,
    ) -> Solver:
        """From a run directory, a checkpoint directory, or a model that comes with the package, by its name.

        `domain` says where the domain is, if not where it was when the model was trained. Without a place it is the
        bundled model of the domain. A model may name files of Python as its domain and as its variant. They are run
        only if you name the domain, or `trust` the model.
        """
        if place is None:
            place, domain = bundled_model(domain), None
        return cls.from_checkpoint(read_checkpoint(find_model(place)), str(place), data, domain, trust)

    @classmethod
    def from_checkpoint(
        cls,
        checkpoint: Checkpoint,
        where: str,
        data: Path | str | None = None,
        domain: str | None = None,
        trust: bool = False,
        alone: bool = False,
    ) -> Solver:
        """`alone`: without the second model that it names."""
        config, codec = read_setting(checkpoint, where)
        if not trust:
            check_code(config, domain, where)
        reader = load_reader(
            config.data.reader, config.model.d_contextual, checkpoint.state.get("reader", {}), where, not trust
        )
        if reader is not None:
            layers = config.model.reader_layers
            codec = replace(codec, reader=TunedReader(reader.load(), layers) if layers else reader.load())
        model = rebuild_model(config, codec, checkpoint.tensors.get("model", {}), where)
        language = load_language(config, domain, data, where)
        try:
            solver = cls(language, codec, model.eval(), read_temperature(checkpoint, where))
        except (ValueError, KeyError, IndexError, RuntimeError) as error:
            raise CheckpointError(f"{where}: its words do not fit the language {language.name}: {error}") from error
        solver.texts, solver.learned_from = checkpoint.texts, config.data.train
        solver.memory = read_memory(checkpoint, where)
        solver.belief, solver.guess_below = read_belief(checkpoint, where)
        solver.choice = read_choice(checkpoint, where)
        solver.second = None if alone else solver.load_second(read_second(checkpoint, where), where)
        return solver

    def load_second(self, name: str | None, where: str) -> Solver | None:
        """A bundled model of the same domain, by its name: whoever made a checkpoint can name no other."""
        if name is None:
            return None
        if name not in bundled_models():
            raise CheckpointError(f"{where}: its second model {name!r} is not bundled ({', '.join(bundled_models())})")
        found = Solver.from_checkpoint(read_checkpoint(find_model(name)), name, alone=True)
        if found.domain.name != self.domain.name:
            raise CheckpointError(f"{where}: its second model {name} is for another domain, {found.domain.name}")
        return found

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
        # Problems of similar length go together; the answers come back in the order of the questions.
        order = sorted(range(len(problems)), key=lambda place: len(problems[place].words))
        found: dict[int, list[Candidate]] = {}
        grammar = self.grammar if masked else None
        for places in batches(order, problems, batch_size, MOST_WORDS):
            part = [problems[place] for place in places]
            names = [self.domain.names(problem) for problem in part]
            with evaluating(self.model):
                if width == 1:
                    candidates = [[one] for one in greedy(self.model, self.codec, part, grammar, names)]
                else:
                    candidates = beam(self.model, self.codec, part, width, grammar, names, length_penalty)
            found.update(zip(places, candidates))
            progress(len(found))
        return [found[place] for place in range(len(problems))]

    def propose(
        self,
        problems: Sequence[Problem],
        width: int = 0,
        masked: bool = True,
        progress: Callable[[int], None] = lambda done: None,
    ) -> list[list[Candidate]]:
        """What people's answers are chosen from: the candidates of the usual width, and the programs of known questions
        that are near. With a second model its candidates, too, each with the opinion of both."""
        width = width or self.usual_width
        found = self.predict(problems, width, masked, progress=progress)
        if width == 1:
            return found
        if self.memory is not None and self.recalls:
            found = add_recalled(self.model, self.codec, self.domain, self.memory, problems, found)
        if self.second is None:
            return found
        others = self.second.propose(problems, width, masked)
        return join_opinions((self.model, self.codec), (self.second.model, self.second.codec), problems, found, others)

    @property
    def recalls(self) -> bool:
        """Whether programs of known questions are candidates where people are answered."""
        return self.memory is not None and any(self.memory.programs)

    def without_types(self) -> Solver:
        """The same, but its masks come from the signatures of relations alone."""
        other = copy(self)
        other.grammar = make_grammar(self.domain, self.codec, self.grammar.slots_filled, typed=False)
        return other

    @property
    def domain(self) -> Domain:
        return self._domain

    @domain.setter
    def domain(self, domain: Domain) -> None:
        self._domain, self._offered = domain, Offered.by(domain)

    @property
    def usual_width(self) -> int:
        """How many hypotheses a question gets when nobody says: a few where answers that make no sense can be told."""
        return 1 if self._offered.judge is None else FEW

    def solve(
        self,
        text: str,
        width: int = 0,
        inputs: Mapping[str, object] | None = None,
        options: str | Sequence[str] | None = None,
    ) -> Solution:
        """Read, encode, search, decode, execute. Raises DataError for a question that cannot be read.

        A `width` of 0 is the usual one. `inputs` are values that are given beside the text, by name; `options` are
        answers to choose from. Of a beam the best program that gives an option is taken then, unless it is far less
        probable than the best of all.
        """
        question = Question(text, inputs or {}, options)
        reading = self.read(question)
        return self._solution(question, reading, self.candidates([reading], width)[0], others=bool(width))

    def solve_all(
        self,
        questions: Iterable[str | Question],
        width: int = 0,
        batch_size: int = 32,
        alternatives: bool | None = None,
    ) -> Iterator[Solution]:
        """One solution a question, in order and as soon as its batch is done.

        A question that cannot be read has a solution without a program, whose `error` says why. Other candidates are
        looked at if `alternatives`, or if nobody says but asks for a beam.
        """
        others = bool(width) if alternatives is None else alternatives
        waiting = iter(questions)
        while part := list(islice(waiting, batch_size)):
            asked = [Question(question) if isinstance(question, str) else question for question in part]
            readings: dict[int, Reading] = {}
            errors: dict[int, N2FError] = {}
            for place, question in enumerate(asked):
                try:
                    readings[place] = self.read(question)
                except N2FError as error:
                    errors[place] = error
            found = dict(zip(readings, self.candidates(list(readings.values()), width)))
            for place, question in enumerate(asked):
                if place in errors:
                    yield unread(question, errors[place])
                else:
                    yield self._solution(question, readings[place], found[place], others)

    def candidates(self, readings: Sequence[Reading], width: int = 0) -> list[list[Candidate]]:
        """What the model writes for questions that were read; a text that is a program itself is its own candidate."""
        asked = [reading for reading in readings if reading.program is None]
        written = iter(self.propose([reading.seen for reading in asked], width))
        return [
            next(written) if reading.program is None else [Candidate(reading.program, 0.0, 0.0)] for reading in readings
        ]

    def read(self, question: Question) -> Reading:
        """A question as the model sees it, and as the executor needs it. Raises DataError or ConfigError."""
        reading = read_question(self.domain, clean(question.text), question.inputs)
        # Now, not when a whole batch depends on it.
        self.domain.names(reading.problem)
        if question.options is not None:
            self._with_options().choose(0.0, question.options)
        return reading

    def _solution(
        self, question: Question, reading: Reading, candidates: Sequence[Candidate], others: bool
    ) -> Solution:
        """The best candidate at work, and the `others` beside it where they are wanted: each costs a run."""
        problem, options = reading.valued, question.options
        if options is not None:
            best = self.best_by_options(problem, candidates, options)
        else:
            best = self.best_of(problem, candidates)
        ranked = [best, *(candidate for candidate in candidates if others and candidate is not best)]
        found = self.work(problem, ranked, clean(question.text))
        chosen = None if options is None or found.error else self._with_options().choose(found.value, options)
        notes = (*found.notes, *self.why_taken(problem, candidates, best, options is not None))
        solution = replace(found, text=clean(question.text), chosen=chosen, notes=notes)
        return solution if reading.program is None else without_model(solution)

    def work(self, problem: Problem, candidates: Sequence[Candidate], text: str = "") -> Solution:
        """The best candidate, run on the problem. `text` is what a person wrote, for what is found by it."""
        best = candidates[0]
        value, steps, error = self.run(best.program, problem)
        answered, *rest = self.answered(problem, candidates, look_up(self.memory, problem, text))
        sure = self.confidence(answered)
        return Solution(
            problem,
            best.program,
            value,
            steps,
            sure,
            error,
            answered.unknown,
            self._alternatives(candidates[1:], rest, sure),
            calibrated=self.temperature is not None,
            notes=self._notes(problem),
            notation=self._offered.notation,
            guess_below=self.guess_below,
            doubts=doubts(answered, self._offered.doubts),
            nearest=answered.nearest,
            at_home=self.belief is None,
            told=self._told(steps),
            unit=None if self._offered.units is None or error else self._offered.units.unit(problem, text, value),
        )

    def _alternatives(
        self, candidates: Sequence[Candidate], answered: Sequence[Answered], sure: float
    ) -> tuple[Alternative, ...]:
        """The other candidates. Where signals say how sure the answer is, they share what it leaves, by probability."""
        together = sum(math.exp(candidate.log_probability) for candidate in candidates) or 1.0
        found = []
        for candidate, one in zip(candidates, answered):
            _, _, reason = self.run(candidate.program, one.problem)
            share = (1 - sure) * math.exp(candidate.log_probability) / together
            shown = self.confidence(one) if self.belief is None else share
            found.append(Alternative(candidate.program, one.value, shown, reason))
        return tuple(found)

    def confidence(self, answered: Answered) -> float:
        """How probable it is that an answer is right: by its signals, or by its probability alone."""
        if self.belief is not None:
            return self.belief.confidence(signals(answered))
        found = probability(answered.log_probability, self.temperature)
        # A temperature was fitted on texts with new words in them, if dev has any; nothing was fitted without one.
        return found if self.temperature is not None else cautious(found, strange_signals(answered))

    def answered(self, problem: Problem, candidates: Sequence[Candidate], known: Known | None = None) -> list[Answered]:
        """All candidates for a question, run, with what tells whether each is right. `known` is the same for all."""
        values = [self.run(candidate.program, problem)[0] for candidate in candidates]
        shares = agreements(values, [candidate.log_probability for candidate in candidates])
        memories = self.memory, None if self.second is None else self.second.memory
        opinions = heard(problem, candidates, values, *memories)
        return [self._answered(problem, *one, known or {}) for one in zip(candidates, values, shares, opinions)]

    def _answered(
        self, problem: Problem, candidate: Candidate, value: object, agreement: float, opinion: Heard, known: Known
    ) -> Answered:
        found: Collection[str] = ()
        if self._offered.doubter is not None and candidate.program is not None:
            found = self._offered.doubter.doubtful(problem, candidate.program, value)
        unknown = tuple(dict.fromkeys(word for word in problem.words if word not in self.codec.words))
        doubted = {name: name in found for name in self._offered.doubts}
        said = candidate.program, value, candidate.log_probability, candidate.weakest, unknown
        return Answered(
            problem, *said, agreement=agreement, recalled=candidate.recalled, doubts=doubted, **opinion, **known
        )

    def _told(self, steps: Sequence[Step]) -> tuple[str, ...]:
        words = self._offered.words
        return () if words is None else tuple(words.describe(step.tuple) for step in steps)

    def run(self, program: Program | None, problem: Problem) -> tuple[object, tuple[Step, ...], str]:
        """The value of a program and its steps, or why there is no value."""
        try:
            if program is None:
                raise ExecutionError("the model wrote no program")
            if self._offered.steps is not None:
                steps = self._offered.steps.steps(program, problem)
                return steps[-1].result, steps, ""
            return self.domain.execute(program, problem), (), ""
        except ExecutionError as reason:
            return None, (), str(reason)

    def _notes(self, problem: Problem) -> tuple[str, ...]:
        notes = []
        # Where a program may begin with nothing, as a route does, a question without values is as good as any.
        if not problem.bindings and all(signature.arity for signature in self.domain.relations.values()):
            notes.append(NO_VALUES)
        new = sum(word not in self.codec.words for word in problem.words)
        if 3 * new > len(problem.words) and self.belief is None:
            notes.append(
                f"{new:,} of {len(problem.words):,} words are new to the model: its confidence means little here"
            )
        return tuple(notes)


def without_model(solution: Solution) -> Solution:
    """The solution of a text that was a program already: nothing in it is a guess, and no word had to be known."""
    return replace(
        solution, unknown=(), calibrated=True, confidence=1.0, notes=(COMPUTED,), doubts=(), nearest=None, computed=True
    )
