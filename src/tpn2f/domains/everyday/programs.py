"""One way to write one meaning: trees of operations become programs in canonical form.

The rules, which generated problems follow too:

1. A number of the text is always used by its name, also where it is a word: half of x is `multiply(n_half, n_x)`, never
   `divide(n_x, const_2)`; twice x is `multiply(n_twice, n_x)`. A constant stands only for what the text does not say.
2. p percent is `divide(n_p, const_100)`, and p percent of x is that, multiplied by x. x raised by p percent is
   `add(const_1, ...)` of it, times x, only where the solution says so; else the part is added to the whole.
3. Arguments of add and multiply: names of the text in their order, then results in the order of the first number that
   they use, then constants. `add(n0,#0)`, `multiply(n1,const_12)`.
4. A chain of additions or of multiplications is sorted in the same way and folded from the left: a + b + c is
   `add(n0,n1)|add(n2,#0)`. Subtractions and divisions stay as the solution has them.
5. What is computed twice is one step. Steps that the answer does not need are left out. Steps stand in the order of the
   tree: those of the first argument, those of the second, the step itself.
6. Only add, subtract, multiply and divide come from equations; other operations of MathQA (`reminder`, `floor`, `lcm`)
   are used where no combination of these four says the same.
"""

from __future__ import annotations

from collections.abc import Sequence

from tpn2f.errors import DataError
from tpn2f.program import Program, RelationalTuple, reference

RELATION = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide"}
_COMMUTES = frozenset(("add", "multiply"))
_LAST = 10**6


class Builder:
    """Collects tuples, each only once, and gives the word by which a later tuple calls the result."""

    def __init__(self) -> None:
        self.tuples: list[RelationalTuple] = []
        self._known: dict[RelationalTuple, str] = {}
        self._first: list[int] = []
        """The place in the text of the first number that a tuple's value depends on."""

    def call(self, relation: str, *arguments: str) -> str:
        """The word for the value of one operation, with the arguments in canonical order."""
        if relation in _COMMUTES:
            arguments = tuple(sorted(arguments, key=self.order))
        step = RelationalTuple(relation, arguments)
        if step not in self._known:
            self._known[step] = f"#{len(self.tuples)}"
            self.tuples.append(step)
            self._first.append(min(self._place(word) for word in arguments))
        return self._known[step]

    def chain(self, relation: str, words: Sequence[str]) -> str:
        """A sum or a product of many, sorted and folded from the left."""
        words = sorted(words, key=self.order)
        result = words[0]
        for word in words[1:]:
            result = self.call(relation, result, word)
        return result

    def order(self, word: str) -> tuple[int, int, str]:
        """Names of the text, then results, then constants."""
        if word.startswith("#"):
            return 1, self._place(word), f"{int(word[1:]):06}"
        return (2, 0, word) if word.startswith("const_") else (0, int(word[1:]), "")

    def _place(self, word: str) -> int:
        target = reference(word)
        if target is not None:
            return self._first[target]
        return _LAST if word.startswith("const_") else int(word[1:])

    def program(self, result: str) -> Program:
        """The tuples that one result needs, in the order of its tree."""
        wanted: list[RelationalTuple] = []
        moved: dict[str, str] = {}

        def place(word: str) -> str:
            target = reference(word)
            if target is None:
                return word
            if word not in moved:
                step = self.tuples[target]
                # Depth is bounded by the length of the solution.
                arguments = tuple(place(argument) for argument in step.arguments)
                moved[word] = f"#{len(wanted)}"
                wanted.append(RelationalTuple(step.relation, arguments))
            return moved[word]

        place(result)
        return Program(tuple(wanted))


def canonical(program: Program) -> Program:
    """The same program in canonical form: percent as a division by 100, arguments in order, nothing twice or unused."""
    builder = Builder()
    words: list[str] = []
    for step in program.tuples:
        targets = [reference(word) for word in step.arguments]
        if any(target is not None and target >= len(words) for target in targets):
            raise DataError("a step does not point backwards")
        arguments = [words[k] if k is not None else word for k, word in zip(targets, step.arguments)]
        if step.relation == "percent" and len(arguments) == 2:
            words.append(builder.call("multiply", builder.call("divide", arguments[0], "const_100"), arguments[1]))
        else:
            words.append(builder.call(step.relation, *arguments))
    return builder.program(words[-1]) if words else program
