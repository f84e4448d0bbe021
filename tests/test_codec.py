"""Between symbols and ids and back; batches; the order of an epoch."""

from itertools import islice

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tpn2f import model, vocabulary
from tpn2f.codec import MARKS, Codec, Weighted, batch_order, distinct
from tpn2f.domain import Example, Problem, load_domain
from tpn2f.errors import DataError
from tpn2f.program import Program
from tpn2f.vocabulary import END, NONE, PAD, SPECIALS


def example(text: str, program: str) -> Example:
    return Example(Problem(tuple(text.split()), {"n0": 1.0}), Program.parse(program))


EXAMPLES = [
    example("half of n0", "divide(n0, const_2)"),
    example("n0 and its root", "sqrt(n0) | add(n0, #0)"),
    example("a box of n0", "volume(n0, n0, n0) | sqrt(#0) | sqrt(#1)"),
]
CODEC = Codec.build(EXAMPLES)


def symbols(codec: Codec, program: Program) -> list[int]:
    """The joint symbols of a program, slot by slot, as a tuple decoder writes them."""
    rows = codec.encode_program(program)
    return [symbol for row in rows for symbol in (row[0], *map(codec.argument_symbol, row[1:]))]


@pytest.mark.parametrize("name", ["arithmetic", "mathqa", "algolisp"])
def test_programs_survive_the_way_to_ids_and_back(name, request):
    data = None if name == "arithmetic" else request.getfixturevalue(f"{name}_data")
    examples = list(islice(load_domain(name, data).examples("dev"), 500))
    codec = Codec.build(examples)
    for one in examples:
        assert codec.decode_symbols(symbols(codec, one.program)) == one.program


def test_symbols_and_tensors_mean_the_same_specials():
    """The model may not know the vocabulary, so both say these four numbers."""
    ours = (vocabulary.PAD, vocabulary.START, vocabulary.END, vocabulary.NONE)
    assert ours == (model.PAD, model.START, model.END, model.NONE) == tuple(range(4))


def test_an_encoded_program_ends_and_fills_its_positions():
    rows = CODEC.encode_program(EXAMPLES[1].program)
    assert rows[-1] == [END, NONE, NONE, NONE]
    assert rows[0][2:] == [NONE, NONE]
    assert all(len(row) == 1 + CODEC.n_positions == 4 for row in rows)


def test_symbols_that_spell_no_program_give_none():
    relation, argument = CODEC.relations.id("sqrt"), CODEC.argument_symbol(CODEC.arguments.id("n0"))
    assert CODEC.decode_symbols([argument, relation, END]) is None
    assert CODEC.decode_symbols([PAD, END]) is None
    assert CODEC.decode_symbols([relation, CODEC.argument_symbol(PAD)]) is None
    assert CODEC.decode_symbols([relation, argument, CODEC.argument_symbol(NONE), END]) == Program.parse("sqrt(n0)")
    assert CODEC.decode_symbols([END]) == Program()


def test_vocabularies_have_every_reference_below_the_largest():
    codec = Codec.build([example("x", "sqrt(n0) | sqrt(n0) | sqrt(n0) | sqrt(#2)")])
    assert {"#0", "#1", "#2"} <= set(codec.arguments)


def test_a_batch_is_padded_and_counted():
    batch = CODEC.batch([EXAMPLES[0], Weighted(EXAMPLES[2], 3.0)])
    assert batch.words.shape == (2, 4)
    assert batch.word_counts.tolist() == [3, 4]
    assert batch.words[0, 3] == PAD
    assert batch.tuple_counts.tolist() == [2, 4]
    assert (batch.tuples[0, 2:] == PAD).all()
    assert batch.weights.tolist() == [1.0, 3.0]


def test_unknown_words_and_empty_texts_still_have_ids():
    words, counts = CODEC.batch_words([Problem(("never", "seen")), Problem(())])
    assert words.tolist() == [[NONE, NONE], [NONE, PAD]]
    assert counts.tolist() == [2, 1]


def test_a_program_of_higher_arity_is_refused():
    codec = Codec.build([example("x", "sqrt(n0)")])
    with pytest.raises(DataError, match="3 arguments"):
        codec.encode_program(EXAMPLES[2].program)


def test_no_examples_no_codec():
    with pytest.raises(DataError, match="no training examples"):
        Codec.build([])


def test_distinct_counts_equal_pairs():
    weighted = distinct([Weighted(EXAMPLES[place], 1.0) for place in (0, 1, 0)])
    assert [(w.example, w.weight) for w in weighted] == [(EXAMPLES[0], 2.0), (EXAMPLES[1], 1.0)]


LENGTHS = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=60)


@given(LENGTHS, st.integers(1, 7), st.integers(0, 5), st.integers(0, 5))
def test_an_epoch_has_every_place_once_in_an_order_of_its_own(lengths, batch_size, seed, epoch):
    batches = batch_order(lengths, batch_size, seed, epoch)
    assert sorted(place for batch in batches for place in batch) == list(range(len(lengths)))
    assert all(1 <= len(batch) <= batch_size for batch in batches)
    assert batches == batch_order(lengths, batch_size, seed, epoch)


def test_batches_hold_similar_lengths():
    random = torch.Generator().manual_seed(0)
    lengths = [(int(length), 1) for length in torch.randint(5, 100, (2_000,), generator=random)]
    spread = [
        max(lengths[place][0] for place in batch) - min(lengths[place][0] for place in batch)
        for batch in batch_order(lengths, 32, 0, 0)
    ]
    assert sum(spread) / len(spread) < 10


def test_epochs_differ():
    lengths = [(1, 1)] * 100
    assert batch_order(lengths, 10, 0, 0) != batch_order(lengths, 10, 0, 1)


def test_no_noise_disturbs_nothing():
    codec = Codec.build(EXAMPLES)
    for example in EXAMPLES:
        words = codec.encode_words(example.problem)
        assert codec.disturb(words, 0.0) == words


def test_noise_changes_about_its_part_of_the_words_and_leaves_arguments_alone():
    example = Example(Problem(("n0", *["apples"] * 30, "n1")), Program.parse("add(n0, n1)"))
    others = [Example(Problem(("pears", "plums", "figs", "nuts")), example.program)]
    codec = Codec.build([example, *others])
    torch.manual_seed(0)
    apples = codec.words.id("apples")
    left, unknown, other, kept = 0, 0, 0, 0
    for _ in range(300):
        heard = codec.disturb(codec.encode_words(example.problem), 0.3)
        assert heard[0] == codec.words.id("n0") and heard[-1] == codec.words.id("n1")
        inner = heard[1:-1]
        left += 30 - len(inner)
        unknown += inner.count(NONE)
        kept += inner.count(apples)
        other += len(inner) - inner.count(NONE) - inner.count(apples)
    # A tenth each; a seventh of the other words are apples again.
    for part, expected in ((left, 0.1), (unknown, 0.1), (other, 0.1 * 6 / 7), (kept, 0.7 + 0.1 / 7)):
        assert abs(part / 9000 - expected) < 0.015


def test_noise_never_leaves_an_empty_text():
    example = Example(Problem(("apples",)), Program.parse("add(n0, n1)"))
    codec = Codec.build([example])
    torch.manual_seed(0)
    assert all(codec.disturb(codec.encode_words(example.problem), 0.99) for _ in range(200))


def test_marks_are_left_out_about_as_often_as_asked_and_nothing_else_changes():
    words = ("how", ",", "many", ".", "apples", "?") * 10
    codec = Codec.build([Example(Problem(words), Program.parse("add(n0, n1)"))])
    torch.manual_seed(0)
    kept = 0
    for _ in range(100):
        heard = [codec.words[word] for word in codec.disturb(codec.encode_words(Problem(words)), 0.0, 0.4)]
        assert [word for word in heard if word.isalpha()] == [word for word in words if word.isalpha()]
        kept += sum(word in MARKS for word in heard)
    assert abs(kept / 3000 - 0.6) < 0.03


def test_a_word_is_the_argument_of_the_same_name():
    codec = Codec.build([example("add n0 to a", "add(n0, a)"), example("n1 and more", "add(n1, const_2)")])
    table = codec.argument_of_word()
    assert len(table) == len(codec.words)
    named = {codec.words[word]: codec.arguments[argument] for word, argument in enumerate(table) if argument != PAD}
    assert named == {"n0": "n0", "n1": "n1", "a": "a"}
    assert table[: len(SPECIALS)] == [PAD] * len(SPECIALS)
