"""Which candidate of a beam is taken: by options, by tests, by what makes sense, by the choice of calibration."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from tpn2f.domain.offered import Offered
from tpn2f.domain.offers import HasOptions
from tpn2f.domain.protocol import Domain, Example, Problem, Step
from tpn2f.errors import ConfigError, DataError
from tpn2f.program import Program
from tpn2f.search import Candidate, first_accepted
from tpn2f.trust.belief import Belief
from tpn2f.trust.signals import Answered, signals

BY_SENSE = "not the most probable program, but the value of that one makes no sense here"
BY_OPTION = "not the most probable program, but the value of that one is not among the options"
BY_CHOICE = "not the most probable program, but more speaks for it"


class Chooser(ABC):
    """The part of a solver that takes one of the candidates for a question."""

    _offered: Offered
    choice: Belief | None = None
    """What ranks the candidates of a beam by their signals; None: their probability does."""

    @property
    @abstractmethod
    def domain(self) -> Domain: ...

    @abstractmethod
    def answered(self, problem: Problem, candidates: Sequence[Candidate]) -> list[Answered]:
        """All candidates for a question, run, with what tells whether each is right."""

    @abstractmethod
    def run(self, program: Program | None, problem: Problem) -> tuple[object, tuple[Step, ...], str]:
        """The value of a program and its steps, or why there is no value."""

    def best_by_options(
        self, problem: Problem, candidates: Sequence[Candidate], options: str | Sequence[str]
    ) -> Candidate:
        """The best candidate whose value is an option but for rounding, unless it is far less probable than the first.

        Options that cannot be read choose nothing. Which option is right is not looked at.
        """
        domain = self._with_options()

        def gives_option(program: Program) -> bool:
            value, _, error = self.run(program, problem)
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
        return candidates[0] if self._offered.judge is None else self.best_that_runs(problem, candidates)

    def best_that_runs(self, problem: Problem, candidates: Sequence[Candidate]) -> Candidate:
        """The best candidate that has a value, and one that makes sense where the domain can tell: by the choice that
        calibration found, or by its probability. The first one where none is left."""
        answered = self.answered(problem, candidates)
        return candidates[self.pick([self.makes_sense(one) for one in answered], answered)]

    def pick(self, sensible: Sequence[bool], answered: Sequence[Answered]) -> int:
        """The place of the candidate to take."""
        left = [place for place, there in enumerate(sensible) if there]
        if self.choice is None or not left:
            return left[0] if left else 0
        choice = self.choice
        return max(left, key=lambda place: choice.score(signals(answered[place])))

    def makes_sense(self, answered: Answered) -> bool:
        """Whether a candidate has a value, and one that can be the answer where the domain can tell."""
        if answered.value is None:
            return False
        judge = self._offered.judge
        return judge is None or judge.makes_sense(answered.value, answered.problem)

    def _with_options(self) -> HasOptions:
        if not isinstance(self.domain, HasOptions):
            raise ConfigError(f"{self.domain.name} has no questions with options")
        return self.domain

    def why_taken(
        self, problem: Problem, candidates: Sequence[Candidate], best: Candidate, by_options: bool
    ) -> tuple[str, ...]:
        """A note on why the best candidate is not the first one, where it is not."""
        if best is candidates[0]:
            return ()
        if by_options:
            return (BY_OPTION,)
        return (BY_CHOICE if self.makes_sense(self.answered(problem, candidates[:1])[0]) else BY_SENSE,)
