"""Search: only well-formed programs come out of it, beam 1 = greedy, a wide beam = brute force."""

from dataclasses import replace
from itertools import islice

import pytest
import torch

from tpn2f.codec import Codec
from tpn2f.domain import Choices, Domain, Example, Problem, Signature, load_domain
from tpn2f.domains.algolisp.domain import AlgoLisp, TypeName
from tpn2f.domains.arithmetic import Arithmetic
from tpn2f.domains.lisp.types import infer
from tpn2f.grammar import Grammar, TypedGrammar, make_grammar
from tpn2f.model import ModelConfig, build_model, systems
from tpn2f.program import Program, reference
from tpn2f.search import Candidate, Masks, beam, first_accepted, greedy
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


SYSTEMS = {**systems, **{f"grounded {name}": {**systems[name], "grounded": True} for name in ("tpn2f", "lstm2lstm")}}
SYSTEMS["chained"] = {"grounded": True, "d_chained": 6}


def make_model(codec: Codec, system: str = "tpn2f", seed: int = 0):
    torch.manual_seed(seed)
    config = replace(TINY, **SYSTEMS[system])
    sizes = (len(codec.words), len(codec.relations), len(codec.arguments), codec.n_positions)
    model = build_model(config, *sizes, codec.argument_of_word())
    for parameter in model.parameters():
        parameter.data.uniform_(-1, 1)  # far from uniform outputs, so that choices differ
    return model.eval()


def masks(domain: Domain, codec: Codec, system: str = "tpn2f", longest: int = 6, typed: bool = False) -> Masks:
    return make_grammar(domain, codec, SYSTEMS[system].get("decoder", "tpr") == "tpr", longest, typed)


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


# The masks know the decoder only, and half of the models are grounded.
@pytest.mark.parametrize("system", ["tpn2f", "lstm2lstm"])
@pytest.mark.parametrize(
    ("name", "typed"), [("arithmetic", False), ("mathqa", False), ("algolisp", False), ("algolisp", True)]
)
def test_an_untrained_model_writes_only_well_formed_programs(name, typed, system, request):
    domain = load_domain(name, None if name == "arithmetic" else request.getfixturevalue(f"{name}_data"))
    examples = list(islice(domain.examples("dev"), 40 if not typed else 10))
    codec = Codec.build(examples)
    problems = [example.problem for example in examples]
    names = [domain.names(problem) for problem in problems]
    grammar = masks(domain, codec, system, 6 if not typed else 4, typed)
    for seed in range(3 if not typed else 2):
        model = make_model(codec, f"grounded {system}" if seed % 2 else system, seed)
        for problem, candidate in zip(problems, greedy(model, codec, problems, grammar, names)):
            assert_well_formed(candidate.program, domain, problem)
        for problem, candidates in zip(problems, beam(model, codec, problems, 4, grammar, names)):
            assert 1 <= len(candidates) <= 4
            assert len({candidate.program for candidate in candidates}) == len(candidates)
            for candidate in candidates:
                assert_well_formed(candidate.program, domain, problem)
                if typed and candidate.program is not None:
                    assert infer(candidate.program.to_tree(), problem.bindings) == problem.result


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("masked", [True, False])
def test_a_beam_of_one_is_greedy(system, masked):
    domain = load_domain("arithmetic")
    examples = list(islice(domain.examples("dev"), 30))
    codec = Codec.build(examples)
    problems = [example.problem for example in examples]
    names = [domain.names(problem) for problem in problems]
    grammar = masks(domain, codec, system) if masked else None
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
    grammar = masks(domain, codec)
    problems = [example.problem for example in examples]
    names = [domain.names(problem) for problem in problems]
    together = beam(model, codec, problems, 3, grammar, names)
    alone = [beam(model, codec, [p], 3, grammar, [n])[0] for p, n in zip(problems, names)]
    for one, other in zip(together, alone):
        assert [c.program for c in one] == [c.program for c in other]
        assert [c.score for c in one] == pytest.approx([c.score for c in other], abs=1e-4)


def test_the_best_that_is_accepted_is_taken():
    first, second = Program.parse("f(u)"), Program.parse("g(u, u)")
    candidates = [Candidate(None, -0.1, -0.1), Candidate(first, -1.0, -1.0), Candidate(second, -2.0, -2.0)]
    assert first_accepted(candidates, lambda program: program == second).program == second
    assert first_accepted(candidates, lambda program: True).program == first
    assert first_accepted(candidates, lambda program: False) == candidates[0]
    # The second is 1.9 behind the best of all.
    assert first_accepted(candidates, lambda program: program == second, margin=2.0).program == second
    assert first_accepted(candidates, lambda program: program == second, margin=1.8) == candidates[0]


def test_without_a_grammar_nonsense_is_none_and_ends():
    codec = Codec.build([Example(Problem(("x",)), Program.parse("f(u) | g(#0, u)"))])
    model = make_model(codec)
    for candidate in greedy(model, codec, [Problem(("x",))] * 3, longest=4):
        assert candidate.program is None or len(candidate.program) <= 5


LISP = [
    "len(a) | range(0, #0) | lambda1(arg1) | map(#1, #2)",
    "+(b, 1) | *(#0, b)",
    "partial1(b, +) | map(a, #0) | reduce(#1, 0, +)",
]
ARRAY = Problem(("x",), {"a": TypeName("int[]"), "b": TypeName("int")}, "int[]")
NUMBER = replace(ARRAY, result="int")


@pytest.mark.parametrize("system", ["tpn2f", "lstm2lstm"])
def test_greedy_search_under_types_takes_the_best_symbol_that_leads_to_an_end(system):
    """As if the type system were asked at every step, although it is not."""
    codec = Codec.build([Example(ARRAY, Program.parse(text)) for text in LISP])
    grammar = masks(AlgoLisp(), codec, system, longest=5, typed=True)
    assert isinstance(grammar, TypedGrammar)
    went_back = 0
    for seed in range(6):
        model = make_model(codec, system, seed)
        problems = [ARRAY, NUMBER]
        found = greedy(model, codec, problems, grammar, [{}, {}])
        for problem, candidate in zip(problems, found):
            state = model.start(model.encode(*codec.batch_words([problem])))
            progress = grammar.start([{}], [problem])
            symbols: list[int] = []
            while symbols[-1:] != [END]:
                scores = model.log_probabilities(state)
                went_back += (
                    not grammar.allowed(progress)[0, scores.argmax()]
                    and grammar.allowed(progress, scores, ahead=False)[0, scores.argmax()]
                )
                symbols.append(int(scores.masked_fill(~grammar.allowed(progress), -torch.inf).argmax()))
                state = model.feed(state, torch.tensor(symbols[-1:]))
                progress = grammar.feed(progress, torch.tensor(symbols[-1:]))
            assert candidate.program == codec.decode_symbols(symbols)
            assert candidate.program is not None and infer(candidate.program.to_tree(), problem.bindings)
    assert went_back > 0


def test_what_came_to_nothing_may_stay_as_far_as_it_could_come_to_an_end():
    codec = Codec.build([Example(ARRAY, Program.parse(text)) for text in LISP])
    grammar = masks(AlgoLisp(), codec, longest=3, typed=True)
    assert isinstance(grammar, TypedGrammar)

    def symbols(text: str) -> list[int]:
        rows = codec.encode_program(Program.parse(text))[:-1]
        return [symbol for row in rows for symbol in (row[0], *map(codec.argument_symbol, row[1:]))]

    good = symbols("len(a) | range(0, #0)")
    assert grammar.hopeful(ARRAY, good) == len(good)
    # With three tuples there is no use for a third value: its relation cannot be what the second tuple begins with.
    bad = symbols("len(a) | len(a) | len(a)")
    assert len(bad) > grammar.hopeful(ARRAY, bad) >= len(symbols("len(a)"))
    assert grammar.hopeful(ARRAY, []) == 0


class Blind(Arithmetic):
    """A domain whose type system sees no way on: nothing may come but the end."""

    def typing(self, relations, arguments, n_positions, longest):
        return self

    def start(self, problem, longest=None):
        return "nothing"

    def choices(self, partial):
        return Choices(ends=True)

    def references(self, partial):
        return ()

    def begins(self, partial):
        return True

    def allows(self, partial, word, ahead=True):
        return False

    def feed(self, partial, word):
        return None


def test_where_nothing_is_allowed_the_program_ends_and_goes_behind_every_other():
    codec = Codec.build([Example(Problem(("x",)), Program.parse("f(u) | g(#0, u)"))])
    model = make_model(codec)
    grammar = TypedGrammar(Blind(), codec, slots_filled=True)
    problem = Problem(("x",))
    assert greedy(model, codec, [problem], grammar, [{}])[0].program == Program()
    (only,) = beam(model, codec, [problem], 3, grammar, [{}])[0]
    assert only.program == Program() and only.log_probability == 0
    # A symbol that does not fit, fed all the same, leaves a row that can only end.
    lost = grammar.feed(grammar.start([{}], [problem]), torch.tensor([codec.relations.id("f")]))
    assert grammar.allowed(lost).nonzero().tolist() == [[0, END]]


def test_programs_that_were_cut_off_go_behind_the_others():
    codec = Codec.build([Example(Problem(("x",)), program) for program in every_program(3)])
    grammar = Grammar(RELATIONS, CONSTANTS, codec, True, 3)
    found = beam(make_model(codec), codec, [Problem(("x",))], 200, grammar, [{}], longest=1)[0]
    assert {candidate.program is None for candidate in found} == {True, False}
    assert [c.program is None for c in found] == sorted(c.program is None for c in found)
