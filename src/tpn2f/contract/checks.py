"""The contract of `tpn2f.domain.Domain` as checks of any domain, with findings in plain words.

`check_domain` checks the language, then the examples, then unusual programs: random ones, changed gold programs, huge
and tiny numbers. It does not stop at the first fault and changes nothing. It runs the domain's functions in this
process, where one that cannot be interrupted would block it; `isolated.py` therefore runs it in a separate process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal

from tpn2f.contract.probes import HOSTILE_TEXTS, hostile, is_number, mutate, random_program
from tpn2f.contract.variety import little_variety, tell_rewordings
from tpn2f.domain.offers import inputs_of, skipped_of
from tpn2f.domain.protocol import Domain, Example, Problem
from tpn2f.domain.running import check_types, read_problem
from tpn2f.domain.splits import split_parts, split_roles
from tpn2f.errors import DataError, ExecutionError, LimitError, ProgramSyntaxError
from tpn2f.program import Program, RelationalTuple, reference

OnCheck = Callable[[str], None]
SHOWN = 3
"""How many examples of one fault are reported."""
RANDOM_PROGRAMS = 300


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: a note on what was found, a warning about what makes scores less meaningful, or an error to fix."""

    level: Literal["note", "warning", "error"]
    text: str


def check_domain(domain: Domain, progress: OnCheck = lambda what: None) -> Iterator[Finding]:
    """Everything that is checked, in order."""
    counts = (f"{len(words)} {kind}{'s' * (len(words) != 1)}" for words, kind in _parts(domain))
    yield Finding("note", f"{domain.name}: {', '.join(counts)}")
    yield from check_language(domain)
    if not domain.relations:
        return
    yield from check_reading(domain)
    splits: dict[str, list[Example]] = {}
    reasons: set[str] = set()
    for split in domain.splits:
        progress(f"the examples of {split}")
        try:
            splits[split] = list(domain.examples(split))
        except DataError as error:
            # What makes one split unreadable usually affects all of them, so it is reported once.
            if str(error) not in reasons:
                yield Finding("error", f"{split}: {error}")
            reasons.add(str(error))
    if not splits:
        return
    yield Finding("note", f"examples: {', '.join(f'{split} {len(part):,}' for split, part in splits.items())}")
    yield from check_splits(domain, splits)
    yield from check_examples(domain, splits)
    yield from check_variety(domain, splits)
    examples = [example for part in splits.values() for example in part]
    if examples:
        yield from check_gold(domain, examples, progress)
        yield from check_robustness(domain, examples, progress)


def check_language(domain: Domain) -> Iterator[Finding]:
    """Checks that names can be written in programs, and that signatures make sense."""
    if not domain.name.isidentifier():
        yield Finding("error", f"the name {domain.name!r} is not made of letters, digits and _")
    if not domain.relations:
        yield Finding("error", "there are no relations")
    for relation, signature in domain.relations.items():
        if not is_word(relation, relation=True):
            yield Finding("error", f"the relation {relation!r} cannot be written in a program")
        if signature.commutative and signature.arity < 2:
            yield Finding("error", f"{relation} is commutative but has {signature.arity} arguments")
        if not signature.doc:
            yield Finding("warning", f"{relation} has no description: write a docstring, which is shown as its help")
    for constant, kind in domain.constants.items():
        if not is_word(constant) or not kind:
            yield Finding("error", f"the constant {constant!r} cannot be written in a program, or has no type")


def check_reading(domain: Domain) -> Iterator[Finding]:
    """Checks that any text is read, or refused with a DataError."""
    for text in HOSTILE_TEXTS:
        try:
            problem = domain.read(text)
        except DataError:
            continue
        except Exception as error:
            yield Finding("error", f"reading {text[:20]!r} raised {type(error).__name__}: {error}; expected DataError")
            continue
        if not text.strip():
            yield Finding("error", f"the empty text {text!r} was read; expected DataError")
        elif fault := problem_fault(domain, problem):
            yield Finding("error", f"reading {text[:20]!r}: {fault}")
    try:
        list(domain.examples("no such split"))
        yield Finding("error", "a split that does not exist has examples; expected DataError")
    except DataError:
        pass


def check_splits(domain: Domain, splits: Mapping[str, Sequence[Example]]) -> Iterator[Finding]:
    """Checks the splits: whether they are filled, what was left out, and what occurs in two of them."""
    filled = [split for split, examples in splits.items() if examples]
    roles = split_roles(domain)
    for split in splits:
        if split not in filled:
            yield Finding("error", f"the split {split} is empty")
    if len(filled) == 1:
        yield Finding(
            "error",
            f"there is only one split, {filled[0]}: a model learns from {roles.learn}, is chosen by {roles.select} and "
            "scored on test",
        )
    learned = [split for split in split_parts(roles.learn) if split in filled]
    if len(filled) > 1 and not learned:
        yield Finding("error", f"there is no split {roles.learn} to learn from; there are {', '.join(filled)}")
    for split, lines in skipped_of(domain).items():
        for line in lines[:SHOWN]:
            yield Finding("error", f"{split}: left out: {line}")
        if len(lines) > SHOWN:
            yield Finding("error", f"{split}: {len(lines) - SHOWN:,} more were left out")
    if not learned:
        return
    examples = [example for split in learned for example in splits[split]]
    texts = {_key(example, "texts"): example.id for example in examples}
    templates = {_key(example, ""): example.id for example in examples}
    relations = {step.relation for example in examples for step in example.program}
    for split in filled:
        if split in learned:
            continue
        for kind, known in (("texts", texts), ("texts without their values", templates)):
            leaks = [(e, known[key]) for e in splits[split] if (key := _key(e, kind)) in known]
            if leaks:
                example, other = leaks[0]
                told = f"{example.id} and {other}, {example.text[:80]!r}"
                count = f"{len(leaks):,} of {len(splits[split]):,}"
                yield Finding(
                    "error" if known is texts else "warning",
                    f"leak: {count} {kind} of {split} are also in {roles.learn}, such as {told}",
                )
        new = sorted({step.relation for example in splits[split] for step in example.program} - relations)
        if new:
            yield Finding("warning", f"{split}: {', '.join(new[:5])} cannot be learned: {roles.learn} never uses it")


def check_examples(domain: Domain, splits: Mapping[str, Sequence[Example]]) -> Iterator[Finding]:
    """Checks that texts and programs are well formed and well typed, and that one text has one program."""
    faults: dict[str, list[str]] = {}
    programs: dict[tuple[str, ...], dict[Program, str]] = {}
    ids: Counter[str] = Counter()
    for examples in splits.values():
        for example in examples:
            ids[example.id] += 1
            programs.setdefault(example.problem.words, {}).setdefault(example.program, example.id)
            if not example.text.strip() or not example.id:
                faults.setdefault("has no text or no id", []).append(example.id or "an example")
            if fault := problem_fault(domain, example.problem):
                faults.setdefault(fault, []).append(example.id)
            if fault := program_fault(domain, example):
                faults.setdefault(fault, []).append(example.id)
    twice = [name for name, count in ids.items() if count > 1]
    if twice:
        yield Finding("error", f"{len(twice):,} ids are given twice, such as {twice[0]}")
    for fault, where in list(faults.items())[: 10 * SHOWN]:
        more = f" (and {len(where) - 1:,} more)" if len(where) > 1 else ""
        yield Finding("error", f"{where[0]}{more}: {fault}")
    ambiguous = [(words, found) for words, found in programs.items() if len(found) > 1]
    for words, found in ambiguous[:SHOWN]:
        told = " and ".join(f"{program} ({name})" for program, name in list(found.items())[:2])
        yield Finding("warning", f"ambiguous: {' '.join(words)[:80]!r} means {told}")
    if len(ambiguous) > SHOWN:
        yield Finding("warning", f"ambiguous: {len(ambiguous) - SHOWN:,} more texts have several programs")
    used = {step.relation for examples in splits.values() for example in examples for step in example.program}
    unused = [relation for relation in domain.relations if relation not in used]
    if unused and used:
        yield Finding("warning", f"no example uses {', '.join(unused[:10])}: a model cannot learn it")


def check_variety(domain: Domain, splits: Mapping[str, Sequence[Example]]) -> Iterator[Finding]:
    """Checks that training says things in several ways; if not, shows what other words would do."""
    examples = learned_examples(domain, splits)
    told = little_variety(domain, examples)
    if told is not None:
        yield Finding("warning", told)
        yield from (Finding("note", line) for line in tell_rewordings(domain, examples))


def learned_examples(domain: Domain, splits: Mapping[str, Sequence[Example]]) -> list[Example]:
    """What a model learns from."""
    return [example for split in split_parts(split_roles(domain).learn) for example in splits.get(split, ())]


def check_gold(domain: Domain, examples: Sequence[Example], progress: OnCheck = lambda what: None) -> Iterator[Finding]:
    """Checks that gold programs run, give the answer, and give it again."""
    reasons: dict[str, list[Example]] = {}
    for example in examples:
        progress(f"{example.id}: {example.program}")
        try:
            reason = domain.diagnose(example)
        except Exception as error:
            reason = f"diagnose raised {type(error).__name__}: {error}"
        if reason is not None:
            reasons.setdefault(reason, []).append(example)
    for reason, found in reasons.items():
        told = f"{found[0].id}, {found[0].text[:60]!r}: {_failure(domain, found[0]) or found[0].program}"
        yield Finding("error", f"gold: {reason} in {len(found):,} of {len(examples):,} examples, such as {told}")
    inputs = inputs_of(domain)
    for example in examples[:: max(1, len(examples) // 100)]:
        progress(f"{example.id} again: {example.program}")
        given = {name: value for name, value in example.problem.bindings.items() if name in inputs}
        try:
            once = domain.execute(example.program, example.problem)
            if not _equal(once, domain.execute(example.program, example.problem)):
                yield Finding("error", f"{example.id}: {example.program} gives another value when it is run again")
                break
            words = read_problem(domain, example.text, given).words
            if words != example.problem.words:
                yield Finding("warning", f"{example.id}: read again, the text is {' '.join(words)[:80]!r}")
                break
        except (ExecutionError, DataError):
            continue
        except Exception as error:
            yield Finding("error", f"{example.id}: {example.program} raised {type(error).__name__}: {error}")
            break


def check_robustness(
    domain: Domain, examples: Sequence[Example], progress: OnCheck = lambda what: None
) -> Iterator[Finding]:
    """Checks programs that a model or an attacker might write: each must run or raise an ExecutionError."""
    random = Random(0)
    stopped: set[str] = set()
    """Relations that ran into a limit; each is reported once."""
    names = tuple(domain.credits(Program(), examples[0]))
    for number in range(RANDOM_PROGRAMS):
        example = random.choice(examples)
        problem = hostile(random, example.problem) if number % 2 else example.problem
        program = (
            mutate(random, domain, example.program, problem)
            if number % 3 == 0
            else random_program(random, domain, problem, stopped)
        )
        if stopped & {step.relation for step in program}:
            continue
        progress(f"a random program: {program}")
        try:
            domain.execute(program, problem)
        except LimitError as error:
            place = int(word) if (word := str(error)[5:].partition(",")[0]).isdecimal() else len(program) - 1
            stopped.add(program.tuples[place].relation)
            given = ", ".join(f"{name} = {value}" for name, value in problem.bindings.items() if is_number(value))
            yield Finding("warning", f"runs into a limit: {error} ({given[:80]})")
        except ExecutionError as error:
            if not str(error).strip():
                yield Finding("error", f"{program}: the ExecutionError has no message")
        except Exception as error:
            yield Finding("error", f"{program} raised {type(error).__name__}: {error}; expected ExecutionError")
            return
        credits = domain.credits(program, example)
        if tuple(credits) != names or not all(0 <= credit <= 1 for credit in credits.values()):
            yield Finding("error", f"{program} is credited {dict(credits)}; expected {', '.join(names)} from 0 to 1")
            return


def is_word(word: str, relation: bool = False) -> bool:
    """Whether a program can hold the word, as a relation or as an argument, and is read back."""
    try:
        step = RelationalTuple(word) if relation else RelationalTuple("f", (word,))
        return Program.parse(str(step)) == Program((step,)) and reference(word) is None
    except ProgramSyntaxError:
        return False


def problem_fault(domain: Domain, problem: Problem) -> str | None:
    """What is wrong with a problem: empty words, names without values, names that are also constants."""
    if not problem.words or not all(isinstance(word, str) and word for word in problem.words):
        return "there are no words, or empty ones"
    names = domain.names(problem)
    for name, kind in names.items():
        if name not in problem.bindings:
            return f"{name} has no value"
        if name in domain.constants:
            return f"{name} is also a constant"
        if not kind or not is_word(name):
            return f"{name!r} cannot be written in a program, or has no type"
    return None


def program_fault(domain: Domain, example: Example) -> str | None:
    """What is wrong with a gold program; None if it is well formed and well typed."""
    try:
        check_types(example.program, domain.relations, {**domain.constants, **domain.names(example.problem)})
    except ExecutionError as error:
        return str(error)
    return None


def _parts(domain: Domain) -> tuple[tuple[Mapping[str, object], str], ...]:
    return (domain.relations, "relation"), (domain.constants, "constant")


def _key(example: Example, kind: str) -> str | tuple[str, ...]:
    return example.text if kind == "texts" else example.problem.words


def _failure(domain: Domain, example: Example) -> str:
    try:
        domain.execute(example.program, example.problem)
    except ExecutionError as error:
        return str(error)
    return ""


def _equal(one: object, other: object) -> bool:
    try:
        return bool(one == other) or str(one) == str(other)
    except Exception:
        return False
