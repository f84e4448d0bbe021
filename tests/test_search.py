"""Search: masks that keep gold and exclude nonsense, beam 1 = greedy, a wide beam = brute force."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

import pytest
import torch

from conftest import unchecked
from tpn2f.codec import Codec
from tpn2f.domain import Domain, Example, Problem, Signature, load_domain
from tpn2f.model import ModelConfig, build_model, systems
from tpn2f.program import Program, reference
from tpn2f.search import Candidate, Grammar, beam, execution_guided, greedy
from tpn2f.vocabulary import END

TINY = ModelConfig(
    n_fillers=7,
    d_filler=4,
    n_roles=5,
    d_role=3,
    d_word=6,
    d_relation=3,
    d_argument=4,
    d_position=3,
    d_symbol=5,
    d_hidden=8,
)


def make_model(codec: Codec, system: str = "tpn2f", seed: int = 0):
    torch.manual_seed(seed)
    config = replace(TINY, **systems[system])
    model = build_model(config, len(codec.words), len(codec.relations), len(codec.arguments), codec.n_positions)
    for parameter in model.parameters():
        parameter.data.uniform_(-1, 1)  # far from uniform outputs, so that choices differ
    return model.eval()


def make_grammar(domain: Domain, codec: Codec, system: str = "tpn2f", longest: int = 6) -> Grammar:
    return Grammar(domain.relations, domain.constants, codec, systems[system].get("decoder", "tpr") == "tpr", longest)


def assert_well_formed(program: Program | None, domain: Domain, problem: Problem) -> None:
    """Not empty, known relations, right arities, earlier references, names that there are, types that fit."""
    assert program is not None and len(program) >= 1
    words = {**domain.constants, **domain.names(problem)}
    for index, step in enumerate(program):
        signature = domain.relations[step.relation]
        assert len(step.arguments) == signature.arity, step
        for argument, expected in zip(step.arguments, signature.arguments):
            target = reference(argument)
            assert target is None or target < index, step
            given = words[argument] if target is None else domain.relations[program.tuples[target].relation].result
            assert "any" in (given, expected) or given == expected, (step, argument, given, expected)


def assert_allows(grammar: Grammar, codec: Codec, domain: Domain, examples: Sequence[Example]) -> None:
    """No gold symbol is excluded at its place."""
    for start in range(0, len(examples), 500):
        part = examples[start : start + 500]
        progress = grammar.start([domain.names(example.problem) for example in part])
        rows = torch.nn.utils.rnn.pad_sequence(
            [torch.tensor(codec.encode_program(example.program)) for example in part], batch_first=True
        )
        rows[..., 1:] += len(codec.relations)
        live = torch.ones(len(part), dtype=torch.bool)
        for symbols in rows.flatten(1).unbind(1):
            allowed = grammar.allowed(progress).gather(1, symbols[:, None]).squeeze(1)
            wrong = (live & ~allowed).nonzero().flatten().tolist()
            assert not wrong, part[wrong[0]].program
            live &= symbols != END
            progress = grammar.feed(progress, symbols)
            if not live.any():
                break


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("arithmetic", "train"),
        ("mathqa", "train"),
        ("mathqa", "dev"),
        ("mathqa", "test"),
        ("algolisp", "dev"),
        ("algolisp", "test"),
    ],
)
def test_masks_never_exclude_a_gold_program(name, split, request):
    domain = load_domain(name, None if name == "arithmetic" else request.getfixturevalue(f"{name}_data"))
    with unchecked():
        # A mask depends on the program and on the names of its problem only; programs of one length go together.
        pairs = {(tuple(domain.names(one.problem)), one.program): one for one in domain.examples(split)}
        examples = sorted(pairs.values(), key=lambda example: len(example.program))
        # The vocabulary of the split itself, so that every gold program can be spelled; no model is involved.
        codec = Codec.build(examples)
        assert_allows(make_grammar(domain, codec, longest=codec.longest), codec, domain, examples)


@pytest.mark.parametrize("system", systems)
@pytest.mark.parametrize("name", ["arithmetic", "mathqa", "algolisp"])
def test_an_untrained_model_writes_only_well_formed_programs(name, system, request):
    domain = load_domain(name, None if name == "arithmetic" else request.getfixturevalue(f"{name}_data"))
    examples = list(islice(domain.examples("dev"), 40))
    codec = Codec.build(examples)
    problems = [example.problem for example in examples]
    names = [domain.names(problem) for problem in problems]
    grammar = make_grammar(domain, codec, system)
    for seed in range(3):
        model = make_model(codec, system, seed)
        for problem, candidate in zip(problems, greedy(model, codec, problems, grammar, names)):
            assert_well_formed(candidate.program, domain, problem)
        for problem, candidates in zip(problems, beam(model, codec, problems, 4, grammar, names)):
            assert 1 <= len(candidates) <= 4
            assert len({candidate.program for candidate in candidates}) == len(candidates)
            for candidate in candidates:
                assert_well_formed(candidate.program, domain, problem)


@pytest.mark.parametrize("system", systems)
@pytest.mark.parametrize("masked", [True, False])
def test_a_beam_of_one_is_greedy(system, masked):
    domain = load_domain("arithmetic")
    examples = list(islice(domain.examples("dev"), 30))
    codec = Codec.build(examples)
    problems = [example.problem for example in examples]
    names = [domain.names(problem) for problem in problems]
    grammar = make_grammar(domain, codec, system) if masked else None
    for seed in range(3):
        model = make_model(codec, system, seed)
        one = greedy(model, codec, problems, grammar, names, longest=5)
        other = [candidates[0] for candidates in beam(model, codec, problems, 1, grammar, names, longest=5)]
        assert [candidate.program for candidate in one] == [candidate.program for candidate in other]
        assert [c.log_probability for c in one] == pytest.approx([c.log_probability for c in other])


# Two relations and one word: few enough programs to write them all.
RELATIONS = {"f": Signature(("x",), "x"), "g": Signature(("x", "x"), "y")}
CONSTANTS = {"u": "x"}


def every_program(longest: int) -> list[Program]:
    programs = [""]
    complete: list[str] = []
    for index in range(longest):
        grown = []
        for program in programs:
            steps = program.split(" | ") if program else []
            words = ["u", *(f"#{k}" for k in range(index) if steps[k].startswith("f"))]
            calls = [f"f({a})" for a in words] + [f"g({a}, {b})" for a in words for b in words]
            grown += [" | ".join([*steps, call]) for call in calls]
        complete += grown
        programs = grown
    return [Program.parse(text) for text in complete]


def log_probability(model, codec: Codec, grammar: Grammar, problem: Problem, program: Program) -> float:
    """Of one program under the mask, symbol by symbol: what beam search must agree with."""
    state = model.start(model.encode(*codec.batch_words([problem])))
    progress = grammar.start([{}])
    total = 0.0
    rows = codec.encode_program(program)
    for row in rows:
        slots = [row[0], *map(codec.argument_symbol, row[1:])]
        for symbol in slots if model.config.decoder == "tpr" else [s for s in slots if s != codec.argument_symbol(3)]:
            scores = model.log_probabilities(state).masked_fill(~grammar.allowed(progress), -torch.inf).log_softmax(1)
            total += scores[0, symbol].item()
            if symbol == END:
                return total
            state = model.feed(state, torch.tensor([symbol]))
            progress = grammar.feed(progress, torch.tensor([symbol]))
    raise AssertionError("a program without an end")


@pytest.mark.parametrize("system", systems)
@pytest.mark.parametrize("seed", range(3))
def test_a_wide_beam_is_brute_force(system, seed):
    problem = Problem(("some", "words"))
    everything = every_program(3)
    codec = Codec.build([Example(problem, program) for program in everything])
    grammar = Grammar(RELATIONS, CONSTANTS, codec, systems[system].get("decoder") != "lstm", 3)
    model = make_model(codec, system, seed).double()
    with torch.no_grad():
        expected = {program: log_probability(model, codec, grammar, problem, program) for program in everything}
        found = beam(model, codec, [problem], 2 * len(everything), grammar, [{}])[0]
    assert sum(torch.tensor(list(expected.values())).exp()) == pytest.approx(1, abs=1e-6)
    assert {candidate.program for candidate in found} == set(everything)
    for candidate in found:
        assert candidate.program is not None
        assert candidate.log_probability == pytest.approx(expected[candidate.program], abs=1e-6)
    assert [c.score for c in found] == sorted((c.score for c in found), reverse=True)


def test_length_penalty_prefers_longer_programs():
    codec = Codec.build([Example(Problem(("x",)), program) for program in every_program(3)])
    grammar = Grammar(RELATIONS, CONSTANTS, codec, True, 3)
    model = make_model(codec)
    plain = beam(model, codec, [Problem(("x",))], 200, grammar, [{}])[0]
    normalised = beam(model, codec, [Problem(("x",))], 200, grammar, [{}], length_penalty=1.0)[0]
    assert {c.program for c in plain} == {c.program for c in normalised}
    for candidate in normalised:
        assert candidate.program is not None
        # The end tuple counts, as in the log-probability.
        assert candidate.score == pytest.approx(candidate.log_probability / (len(candidate.program) + 1))


def test_problems_do_not_disturb_each_other():
    domain = load_domain("arithmetic")
    examples = list(islice(domain.examples("dev"), 12))
    codec = Codec.build(examples)
    model = make_model(codec).double()  # these wild weights make a lot of a rounding error
    grammar = make_grammar(domain, codec)
    problems = [example.problem for example in examples]
    names = [domain.names(problem) for problem in problems]
    together = beam(model, codec, problems, 3, grammar, names)
    alone = [beam(model, codec, [p], 3, grammar, [n])[0] for p, n in zip(problems, names)]
    for one, other in zip(together, alone):
        assert [c.program for c in one] == [c.program for c in other]
        assert [c.score for c in one] == pytest.approx([c.score for c in other], abs=1e-4)


def test_execution_guidance_takes_the_best_that_runs():
    first, second = Program.parse("f(u)"), Program.parse("g(u, u)")
    candidates = [Candidate(None, -0.1, -0.1), Candidate(first, -1.0, -1.0), Candidate(second, -2.0, -2.0)]
    assert execution_guided(candidates, lambda program: program == second).program == second
    assert execution_guided(candidates, lambda program: True).program == first
    assert execution_guided(candidates, lambda program: False) == candidates[0]


def test_without_a_grammar_nonsense_is_none_and_ends():
    codec = Codec.build([Example(Problem(("x",)), Program.parse("f(u) | g(#0, u)"))])
    model = make_model(codec)
    for candidate in greedy(model, codec, [Problem(("x",))] * 3, longest=4):
        assert candidate.program is None or len(candidate.program) <= 5
