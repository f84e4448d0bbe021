"""The one object that the command line, the web page, the Python user and evaluation share: text in, solution out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from itertools import islice
from pathlib import Path

from tpn2f.checkpoint import Checkpoint, read_checkpoint
from tpn2f.codec import Codec
from tpn2f.contextual import load_reader
from tpn2f.domain.offers import (
    DescribesSteps,
    DoubtsAnswers,
    HasOptions,
    HasSteps,
    JudgesAnswers,
    TellsUnits,
    doubts_of,
    notation_of,
)
from tpn2f.domain.protocol import Domain, Example, Problem, Step
from tpn2f.domain.running import Reading, read_question
from tpn2f.errors import CheckpointError, ConfigError, DataError, ExecutionError, N2FError
from tpn2f.grammar import make_grammar
from tpn2f.model import Model
from tpn2f.model.evaluating import evaluating
from tpn2f.pretrained import bundled_model, find_model
from tpn2f.program import Program
from tpn2f.search import Candidate, batches, beam, first_accepted, greedy
from tpn2f.setting import (
    check_code,
    load_language,
    make_model,
    read_belief,
    read_memory,
    read_setting,
    read_temperature,
    rebuild_model,
    setting,
)
from tpn2f.solution import GUESS, Alternative, Question, Solution, unread
from tpn2f.trust.belief import Belief, probability
from tpn2f.trust.memory import Memory
from tpn2f.trust.signals import Answered, Known, doubts, look_up, signals
from tpn2f.wording import clean

__all__ = [
    "Solver",
    "make_model",
    "read_setting",
    "setting",
    "unread",
    "without_model",
]

MOST_WORDS = 50_000
"""The most words, padding included, that are read at once: what bounds memory."""
FEW = 5
"""A small beam."""
NO_VALUES = "the question has no values to work with"
COMPUTED = "computed as it is written, without a model"
BY_SENSE = "not the most probable program, but the value of that one makes no sense here"
BY_OPTION = "not the most probable program, but the value of that one is not among the options"


class Solver:
    """A model with its vocabularies and its domain."""

    def __init__(self, domain: Domain, codec: Codec, model: Model, temperature: float | None = None) -> None:
        if model.config.writes_trees:
            codec = replace(codec, trees=True)
        self.domain, self.codec, self.model = domain, codec, model
        self.temperature = temperature
        """What log-probabilities are divided by for the confidence, found by calibration; None: not calibrated."""
        self.belief: Belief | None = None
        """What turns the signals of an answer into its confidence; None: its probability alone does."""
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
    ) -> Solver:
        config, codec = read_setting(checkpoint, where)
        if not trust:
            check_code(config, domain, where)
        reader = load_reader(
            config.data.reader, config.model.d_contextual, checkpoint.state.get("reader", {}), where, not trust
        )
        model = rebuild_model(config, codec, checkpoint.tensors.get("model", {}), where)
        if reader is not None:
            codec = replace(codec, reader=reader.load())
        language = load_language(config, domain, data, where)
        try:
            solver = cls(language, codec, model.eval(), read_temperature(checkpoint, where))
        except (ValueError, KeyError, IndexError, RuntimeError) as error:
            raise CheckpointError(f"{where}: its words do not fit the language {language.name}: {error}") from error
        solver.texts, solver.learned_from = checkpoint.texts, config.data.train
        solver.memory = read_memory(checkpoint, where)
        solver.belief, solver.guess_below = read_belief(checkpoint, where)
        return solver

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

    def without_types(self) -> Solver:
        """The same, but its masks come from the signatures of relations alone."""
        other = copy(self)
        other.grammar = make_grammar(self.domain, self.codec, self.grammar.slots_filled, typed=False)
        return other

    @property
    def usual_width(self) -> int:
        """How many hypotheses a question gets when nobody says: a few where answers that make no sense can be told."""
        return FEW if isinstance(self.domain, JudgesAnswers) else 1

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
        return _shown(self._solution(question, reading, self.candidates([reading], width)[0]), width)

    def solve_all(
        self, questions: Iterable[str | Question], width: int = 0, batch_size: int = 32
    ) -> Iterator[Solution]:
        """One solution a question, in order and as soon as its batch is done.

        A question that cannot be read has a solution without a program, whose `error` says why.
        """
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
                    yield _shown(self._solution(question, readings[place], found[place]), width)

    def candidates(self, readings: Sequence[Reading], width: int = 0) -> list[list[Candidate]]:
        """What the model writes for questions that were read; a text that is a program itself is its own candidate."""
        asked = [reading for reading in readings if reading.program is None]
        written = iter(self.predict([reading.seen for reading in asked], width or self.usual_width))
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

    def _solution(self, question: Question, reading: Reading, candidates: Sequence[Candidate]) -> Solution:
        problem, options = reading.valued, question.options
        if options is not None:
            best = self.best_by_options(problem, candidates, options)
        else:
            best = self.best_of(problem, candidates)
        ranked = [best, *(candidate for candidate in candidates if candidate is not best)]
        found = self.work(problem, ranked, clean(question.text))
        chosen = None if options is None or found.error else self._with_options().choose(found.value, options)
        notes = found.notes if best is candidates[0] else (*found.notes, BY_OPTION if options else BY_SENSE)
        solution = replace(found, text=clean(question.text), chosen=chosen, notes=notes)
        return solution if reading.program is None else without_model(solution)

    def best_by_options(
        self, problem: Problem, candidates: Sequence[Candidate], options: str | Sequence[str]
    ) -> Candidate:
        """The best candidate whose value is an option but for rounding, unless it is far less probable than the first.

        Options that cannot be read choose nothing. Which option is right is not looked at.
        """
        domain = self._with_options()

        def gives_option(program: Program) -> bool:
            value, _, error = self._run(program, problem)
            try:
                chosen = None if error else domain.choose(value, options)
            except DataError:
                return False
            return chosen is not None and chosen.exact

        return first_accepted(candidates, gives_option, domain.option_margin)

    def best_by_tests(self, example: Example, candidates: Sequence[Candidate]) -> Candidate:
        """The best candidate that passes the example's tests, to be judged by other tests than these."""
        return first_accepted(candidates, lambda program: self.domain.is_solved(program, example))

    def best_of(self, problem: Problem, candidates: Sequence[Candidate]) -> Candidate:
        """What a person is answered with: the best candidate, or the best that makes sense where that can be told."""
        return self.best_that_runs(problem, candidates) if isinstance(self.domain, JudgesAnswers) else candidates[0]

    def best_that_runs(self, problem: Problem, candidates: Sequence[Candidate]) -> Candidate:
        """The best candidate that has a value, and one that makes sense where the domain can tell."""

        def runs(program: Program) -> bool:
            value, _, error = self._run(program, problem)
            judge = self.domain if isinstance(self.domain, JudgesAnswers) else None
            return not error and (judge is None or judge.makes_sense(value, problem))

        return first_accepted(candidates, runs)

    def _with_options(self) -> HasOptions:
        if not isinstance(self.domain, HasOptions):
            raise ConfigError(f"{self.domain.name} has no questions with options")
        return self.domain

    def work(self, problem: Problem, candidates: Sequence[Candidate], text: str = "") -> Solution:
        """The best candidate, run on the problem. `text` is what a person wrote, for what is found by it."""
        best = candidates[0]
        value, steps, error = self._run(best.program, problem)
        known = look_up(self.memory, problem, text)
        answered = self._answered(problem, best, value, known)
        others = []
        for candidate in candidates[1:]:
            other, _, reason = self._run(candidate.program, problem)
            sure = self.confidence(self._answered(problem, candidate, other, known))
            others.append(Alternative(candidate.program, other, sure, reason))
        return Solution(
            problem,
            best.program,
            value,
            steps,
            self.confidence(answered),
            error,
            answered.unknown,
            tuple(others),
            calibrated=self.temperature is not None,
            notes=self._notes(problem),
            notation=notation_of(self.domain),
            guess_below=self.guess_below,
            doubts=doubts(answered, doubts_of(self.domain)),
            nearest=answered.nearest,
            told=self._told(steps),
            unit=self.domain.unit(problem, text, value) if isinstance(self.domain, TellsUnits) and not error else None,
        )

    def confidence(self, answered: Answered) -> float:
        """How probable it is that an answer is right: by its signals, or by its probability alone."""
        if self.belief is not None:
            return self.belief.confidence(signals(answered))
        return probability(answered.log_probability, self.temperature)

    def signals(self, problem: Problem, candidate: Candidate, text: str = "") -> dict[str, float]:
        """What tells whether a candidate is right."""
        value, _, _ = self._run(candidate.program, problem)
        return signals(self._answered(problem, candidate, value, look_up(self.memory, problem, text)))

    def _answered(self, problem: Problem, candidate: Candidate, value: object, known: Known) -> Answered:
        found: Collection[str] = ()
        if isinstance(self.domain, DoubtsAnswers) and candidate.program is not None:
            found = self.domain.doubtful(problem, candidate.program, value)
        unknown = tuple(dict.fromkeys(word for word in problem.words if word not in self.codec.words))
        doubted = {name: name in found for name in doubts_of(self.domain)}
        said = candidate.program, value, candidate.log_probability, candidate.weakest, unknown
        return Answered(problem, *said, doubts=doubted, **known)

    def _told(self, steps: Sequence[Step]) -> tuple[str, ...]:
        return (
            tuple(self.domain.describe(step.tuple) for step in steps) if isinstance(self.domain, DescribesSteps) else ()
        )

    def _run(self, program: Program | None, problem: Problem) -> tuple[object, tuple[Step, ...], str]:
        """The value of a program and its steps, or why there is no value."""
        try:
            if program is None:
                raise ExecutionError("the model wrote no program")
            if isinstance(self.domain, HasSteps):
                steps = self.domain.steps(program, problem)
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


def _shown(solution: Solution, width: int) -> Solution:
    """The solution as it is wanted: who asked for no beam is shown no other candidates."""
    return solution if width else replace(solution, alternatives=())


def without_model(solution: Solution) -> Solution:
    """The solution of a text that was a program already: nothing in it is a guess, and no word had to be known."""
    return replace(solution, unknown=(), calibrated=True, confidence=1.0, notes=(COMPUTED,), doubts=(), nearest=None)
