"""TP-N2F equals the paper's equations; padding and company change nothing; the symbol machine equals the loss."""

import copy
from dataclasses import fields, replace

import numpy as np
import pytest
import torch

import oracle
from tpn2f.model import END, NONE, PAD, START, ModelConfig, build_model, systems
from tpn2f.model.baselines import flatten
from tpn2f.model.encoder import mirrored
from tpn2f.tpr import bind, decompose

SMALL = ModelConfig(
    n_fillers=7,
    d_filler=4,
    n_roles=5,
    d_role=3,
    d_word=6,
    d_relation=4,
    d_argument=3,
    d_position=2,
    d_symbol=5,
    d_hidden=8,
)
N_WORDS, N_RELATIONS, N_ARGUMENTS = 30, 9, 12
# Some arguments are also words: each stands in some texts of a batch, once or more, and not in others.
NAMES = {19: 7, 20: 11, 13: 8, 26: 10, 5: 4, 24: 9}
ARGUMENT_OF_WORD = [NAMES.get(word, PAD) for word in range(N_WORDS)]
needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no CUDA device")


def make(config: ModelConfig, n_positions: int = 2, factor: float = 3.0):
    torch.manual_seed(0)
    model = build_model(config, N_WORDS, N_RELATIONS, N_ARGUMENTS, n_positions, ARGUMENT_OF_WORD)
    # Away from the nearly linear start, so that a wrong equation shows.
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.mul_(factor)
            if name.startswith("decoder.chaining.") and not parameter.any():  # it begins by adding nothing
                parameter.normal_()
    return model.eval()


def make_batch(n_positions: int = 2, seed: int = 0, word_counts=(5, 1, 9, 3), tuple_counts=(2, 1, 4, 3)):
    """Words, word counts, tuples, tuple counts, with a place of padding more than the longest rows need."""
    generator = torch.Generator().manual_seed(seed)
    batch, words, tuples = len(word_counts), max(word_counts) + 1, max(tuple_counts) + 1
    word_ids = torch.randint(NONE + 1, N_WORDS, (batch, words), generator=generator)
    relations = torch.randint(NONE + 1, N_RELATIONS, (batch, tuples, 1), generator=generator)
    arguments = torch.randint(NONE, N_ARGUMENTS, (batch, tuples, n_positions), generator=generator)
    tuple_ids = torch.cat([relations, arguments], dim=2)
    for row in range(batch):
        word_ids[row, word_counts[row] :] = PAD
        tuple_ids[row, tuple_counts[row] - 1] = torch.tensor([END] + [NONE] * n_positions)
        tuple_ids[row, tuple_counts[row] :] = PAD
    return word_ids, torch.tensor(word_counts), tuple_ids, torch.tensor(tuple_counts)


BEYOND = {"bidirectional": True, "biases": True, "attention": "general"}
GROUNDED = {"grounded": True, "d_grounded": 5}
CHAINED = {"d_chained": 6}
LOOKING = {"normalised": True, "sharpness": 3.0, "attention_guide": 0.5}
FAMILY = [
    pytest.param(replace(SMALL, **overrides, **more), id=name + suffix)
    for name, overrides in systems.items()
    for suffix, more in (
        ("", {}),
        ("-beyond-the-paper", BEYOND),
        ("-grounded", GROUNDED),
        ("-all-beyond-the-paper", BEYOND | GROUNDED | LOOKING),
    )
]
FAMILY += [
    pytest.param(replace(SMALL, **overrides, **more, **CHAINED), id=f"{name}-chained{suffix}")
    for name, overrides in systems.items()
    if overrides.get("decoder", "tpr") == "tpr"
    for suffix, more in (("", {}), ("-grounded", GROUNDED))
]


def paper_weights(model) -> tuple[oracle.Weights, list[tuple[np.ndarray, np.ndarray]]]:
    """The model's parameters under the appendix's names."""
    w: oracle.Weights = {}
    reader, decoder = model.encoder.readers[0], model.decoder
    d = model.config.d_binding
    stacked = [f"{lstm}{gate}" for gate in "fiog" for lstm in "fr"]
    for k, name in enumerate(stacked):
        rows = slice(k * d, (k + 1) * d)
        w[f"U_{name}"], w[f"V_{name}"], w[f"b_{name}"] = (
            matrix[rows].detach().numpy() for matrix in (reader.input, reader.recurrent, reader.bias)
        )
    d = model.config.d_tuple
    for k, gate in enumerate("fiog"):
        rows = slice(k * d, (k + 1) * d)
        w[f"U_{gate}"], w[f"V_{gate}"], w[f"b_{gate}"] = (
            matrix[rows].detach().numpy() for matrix in (decoder.lstm.input, decoder.lstm.recurrent, decoder.lstm.bias)
        )
    named = {
        "W_fa": reader.filler_selection,
        "W_ra": reader.role_selection,
        "W_f": reader.filler_dictionary,
        "W_r": reader.role_dictionary,
        "C": decoder.lstm.context,
        "K": decoder.lstm.output,
        "p": decoder.position_unbinding,
        "W_dual": decoder.dual.weight,
        "L_r": decoder.relation_output.weight,
        "L_a": decoder.argument_output.weight,
        "E_rel": decoder.relation_embedding.weight,
        "E_arg": decoder.argument_embedding.weight,
    }
    if decoder.grounding is not None:
        queries = decoder.grounding.query.weight.unflatten(0, (model.n_positions, -1))
        named |= {"K_n": decoder.grounding.key.weight, "P_n": decoder.grounding.feedback.weight, "Q_n": queries}
    if decoder.chaining is not None:
        chaining = decoder.chaining
        named |= {"O_c": chaining.output.weight}
        named |= {f"S_{i}": layer.weight for i, layer in enumerate(chaining.state)}
        named |= {f"B_{i}": layer.weight for i, layer in enumerate(chaining.before)}
        if chaining.query is not None:
            named["Q_c"] = chaining.query.weight
    if decoder.lstm.query is not None:
        named["Q"] = decoder.lstm.query
    if decoder.lstm.sharpness is not None:
        named["sharpness"] = decoder.lstm.sharpness
    w |= {name: value.detach().numpy() for name, value in named.items()}
    layers = [(layer.weight.detach().numpy(), layer.bias.detach().numpy()) for layer in decoder.reasoning.layers]
    return w, layers


def assert_near(found: torch.Tensor, expected, tolerance: float = 1e-10) -> None:
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize(
    "beyond",
    [
        {},
        GROUNDED,
        {"attention": "general", "sharpness": 2.0},
        GROUNDED | {"normalised": True, "attention": "general"},
        CHAINED,
        CHAINED | GROUNDED,
    ],
    ids=["paper", "grounded", "sharp", "grounded-normalised", "chained", "chained-grounded"],
)
@pytest.mark.parametrize("kernel", ["reference", "fused"])
@pytest.mark.parametrize(("n_positions", "layers"), [(1, 1), (2, 1), (3, 2), (2, 3)])
def test_the_model_is_the_paper(kernel, n_positions, layers, beyond):
    """Encoder, mapping, attention, unbinding and loss against loops written from the appendix, and what is beyond."""
    model = make(replace(SMALL, kernel=kernel, reasoning_layers=layers, **beyond), n_positions).double()
    words, word_counts, tuples, tuple_counts = make_batch(n_positions)
    w, mlp = paper_weights(model)
    encoding = model.encode(words, word_counts)
    decoded = model.decode(words, word_counts, tuples, tuple_counts)
    loss = model.loss(words, word_counts, tuples, tuple_counts)
    sizes = (SMALL.d_argument, SMALL.d_relation, SMALL.d_position)
    losses = []
    for row in range(len(words)):
        n, m = int(word_counts[row]), int(tuple_counts[row])
        vectors = model.encoder.embedding.weight.detach().numpy()[words[row, :n].numpy()]
        read = oracle.encode(w, vectors, SMALL.temperature)
        for found, name in (
            (encoding.filler_scores, "a_f"),
            (encoding.role_scores, "a_r"),
            (encoding.fillers, "f"),
            (encoding.roles, "r"),
        ):
            assert_near(found[row, 0, :n], read[name])
        seen = oracle.of_length_one(read["T"]) if model.config.normalised else read["T"]
        bindings = bind(encoding.context_fillers, encoding.context_roles)
        assert_near(bindings[row, 0, :n].flatten(1), seen)
        assert_near(encoding.summary[row], oracle.summarise(read["T"]))
        state, cell = model.decoder.reasoning(encoding.summary[row : row + 1])
        expected_state, expected_cell = oracle.reason(mlp, oracle.summarise(read["T"]))
        assert_near(state[0], expected_state)
        assert_near(cell[0], expected_cell)
        means = None
        if model.config.grounded:
            means = oracle.mean_bindings(seen, [ARGUMENT_OF_WORD[word] for word in words[row, :n]], NONE + 1)
        written = oracle.decode(w, mlp, read["T"], tuples[row, :m].tolist(), START, sizes, means, seen)
        for found, name in (
            (decoded.hidden.flatten(2)[row, :m], "H"),
            (decoded.attention[row, :m, :n], "attention"),
            (decoded.relation_unbinding[row, :m], "r'"),
            (decoded.relation[row, :m], "l_r"),
            (decoded.arguments[row, :m], "l_a"),
        ):
            assert_near(found, written[name])
        losses.append(written["loss"])
    assert_near(loss.per_example, losses)
    assert_near(loss.value, np.mean(losses))


@pytest.mark.parametrize("config", FAMILY)
def test_padding_and_company_change_nothing(config):
    """A problem alone, in a batch, and in a batch of another order: the same logits to 1e-5 in single precision."""
    model = make(config, factor=1.5)
    words, word_counts, tuples, tuple_counts = make_batch()
    together = model.loss(words, word_counts, tuples, tuple_counts).per_example
    first = model.log_probabilities(model.start(model.encode(words, word_counts)))
    order = torch.tensor([2, 0, 3, 1])
    shuffled = model.loss(words[order], word_counts[order], tuples[order], tuple_counts[order]).per_example
    torch.testing.assert_close(shuffled, together[order], rtol=0, atol=1e-5)
    for row in range(len(words)):
        n, m, one = int(word_counts[row]), int(tuple_counts[row]), slice(row, row + 1)
        batch = words[one, :n], word_counts[one], tuples[one, :m], tuple_counts[one]
        torch.testing.assert_close(model.loss(*batch).per_example, together[one], rtol=0, atol=1e-5)
        lonely = model.log_probabilities(model.start(model.encode(words[one, :n], word_counts[one])))
        torch.testing.assert_close(lonely, first[one], rtol=0, atol=1e-5)
        if config.decoder == "tpr":
            alone, inside = model.decode(*batch), model.decode(words, word_counts, tuples, tuple_counts)
            torch.testing.assert_close(alone.relation[0], inside.relation[row, :m], rtol=0, atol=1e-5)
            torch.testing.assert_close(alone.arguments[0], inside.arguments[row, :m], rtol=0, atol=1e-5)


@pytest.mark.parametrize("config", FAMILY)
def test_padding_gets_no_gradient_and_everything_else_does(config):
    model = make(config)
    model.loss(*make_batch()).value.backward()
    assert [name for name, value in model.named_parameters() if value.grad is None or (value.grad == 0).all()] == []
    assert (model.encoder.embedding.weight.grad[PAD] == 0).all()


@pytest.mark.parametrize("config", FAMILY)
def test_the_symbol_machine_gives_the_probability_of_the_loss(config):
    """Feeding a program symbol by symbol, in any company of rows, adds up to its negative log-likelihood."""
    model = make(config).double()
    words, word_counts, tuples, tuple_counts = make_batch()
    expected = model.loss(words, word_counts, tuples, tuple_counts).per_example
    if config.decoder == "tpr":
        slots = torch.arange(3)
        symbols = torch.where(slots > 0, tuples + N_RELATIONS, tuples).flatten(1)
        counts = tuple_counts * 3
    else:
        symbols, counts = flatten(tuples, tuple_counts, N_RELATIONS)
    rows = torch.arange(len(words))
    found = torch.zeros(len(words), dtype=torch.float64)
    with torch.no_grad():
        state = model.start(model.encode(words, word_counts))
        for step in range(int(counts.max())):
            alive = (counts[rows] > step).nonzero()[:, 0].flip(0)
            state, rows = state.select(alive), rows[alive]
            assert state.slot == (step % 3 if config.decoder == "tpr" else None)
            scores = model.log_probabilities(state)
            assert scores.shape == (len(rows), model.n_symbols)
            torch.testing.assert_close(scores.exp().sum(1), torch.ones(len(rows), dtype=torch.float64))
            if config.decoder == "tpr":
                silent = slice(N_RELATIONS, None) if state.slot == 0 else slice(0, N_RELATIONS)
                assert (scores[:, silent] == -torch.inf).all()
            chosen = symbols[rows, step]
            found[rows] -= scores.gather(1, chosen.unsqueeze(1)).squeeze(1)
            state = model.feed(state, chosen)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", systems)
def test_only_arguments_that_stand_in_the_text_are_grounded(name):
    """Two models of equal weights, one of them grounded: their scores differ for the names of a text, else nowhere."""
    config = replace(SMALL, **systems[name])
    plain, grounded = make(config), make(replace(config, **GROUNDED))
    words, word_counts, _, _ = make_batch()
    encoding = grounded.encode(words, word_counts)
    assert encoding.arguments is not None
    state = grounded.start(encoding)
    found = grounded.decoder.grounding.scores(state.hidden, state.grounded.keys, state.grounded.name_of)
    for row, count in enumerate(word_counts.tolist()):
        standing = {NAMES[word] for word in words[row, :count].tolist() if word in NAMES}
        assert set(found[row].any(0).nonzero().squeeze(1).tolist()) == standing
        same = slice(row, row + 1), slice(0, count)
        other = plain.start(plain.encode(words[same], word_counts[same[0]]))
        torch.testing.assert_close(other.hidden, state.hidden[same[0]])


@pytest.mark.parametrize("name", systems)
def test_a_text_without_names_is_read_as_without_grounding(name):
    config = replace(SMALL, **systems[name])
    words, word_counts, tuples, tuple_counts = make_batch()
    silent = words.masked_fill(torch.isin(words, torch.tensor(list(NAMES))), NONE)
    batch = silent, word_counts, tuples, tuple_counts
    plain, grounded = make(config).loss(*batch), make(replace(config, **GROUNDED)).loss(*batch)
    torch.testing.assert_close(grounded.per_example, plain.per_example)
    grounded.value.backward()


@pytest.mark.parametrize("more", [{}, GROUNDED], ids=["", "grounded"])
def test_chaining_begins_by_adding_nothing(more):
    torch.manual_seed(0)
    plain = build_model(replace(SMALL, **more), N_WORDS, N_RELATIONS, N_ARGUMENTS, 2, ARGUMENT_OF_WORD)
    torch.manual_seed(0)
    chained = build_model(replace(SMALL, **more, **CHAINED), N_WORDS, N_RELATIONS, N_ARGUMENTS, 2, ARGUMENT_OF_WORD)
    batch = make_batch()
    assert torch.equal(chained.loss(*batch).per_example, plain.loss(*batch).per_example)


def test_a_chained_argument_depends_on_what_its_tuple_has_and_a_relation_does_not():
    """Other arguments before it, other scores; without chaining the same ones."""
    words, word_counts, _, _ = make_batch()
    for more, depends in ((CHAINED | GROUNDED, True), (GROUNDED, False)):
        model = make(replace(SMALL, **more))
        state = model.start(model.encode(words, word_counts))
        relation, *arguments = (torch.full((len(words),), number) for number in (NONE + 1, 7, 8))
        after = model.feed(state, relation)
        assert torch.equal(after.relation, state.relation)
        scores = [
            model.log_probabilities(model.feed(after, argument + N_RELATIONS))[:, N_RELATIONS:]
            for argument in arguments
        ]
        assert torch.equal(*scores) is not depends


@pytest.mark.parametrize("decoder", ["lstm", "tree", "saps"])
def test_only_tuples_are_chained(decoder):
    with pytest.raises(ValueError, match="d_chained is for a tpr decoder, which writes tuples; got decoder"):
        replace(SMALL, decoder=decoder, **CHAINED)


@pytest.mark.parametrize(
    ("table", "message"),
    [((), "argument_of_word has 0 entries; expected one per word, 30"), ([12] * N_WORDS, "expected 0 to 11")],
)
def test_a_grounded_model_must_know_which_words_are_arguments(table, message):
    with pytest.raises(ValueError, match=message):
        build_model(replace(SMALL, **GROUNDED), N_WORDS, N_RELATIONS, N_ARGUMENTS, 2, table)


@pytest.mark.parametrize("encoder", ["tpr", "lstm"])
def test_attention_may_see_bindings_of_length_one(encoder):
    """The summary keeps their lengths; padding stays zero."""
    config = replace(SMALL, encoder=encoder, bidirectional=True)
    words, word_counts, _, _ = make_batch()
    plain, unit = (make(replace(config, normalised=on)).encode(words, word_counts) for on in (False, True))
    assert torch.equal(plain.summary, unit.summary)
    lengths = bind(unit.context_fillers, unit.context_roles).flatten(3).norm(dim=3)
    torch.testing.assert_close(lengths, unit.mask.unsqueeze(1).expand_as(lengths).float())
    directions = torch.cosine_similarity(plain.context_fillers, unit.context_fillers, dim=3)
    torch.testing.assert_close(directions, lengths)


@pytest.mark.parametrize("name", systems)
def test_sharpness_is_a_factor_on_the_scores_of_attention(name):
    config = replace(SMALL, **systems[name], attention="general")
    batch = make_batch()
    expected, sharp = make(config).double(), make(replace(config, sharpness=2.5)).double()
    with torch.no_grad():
        sharp.decoder.lstm.sharpness.fill_(4.0)
        expected.decoder.lstm.query.mul_(4.0)
    torch.testing.assert_close(sharp.loss(*batch).per_example, expected.loss(*batch).per_example)


@pytest.mark.parametrize("decoder", ["tpr", "lstm"])
def test_the_guide_is_the_cross_entropy_of_attention_and_arguments(decoder):
    """Against loops; it is part of the target and not of the report."""
    config = replace(SMALL, decoder=decoder)
    batch = words, word_counts, tuples, tuple_counts = make_batch()
    plain, guided = make(config), make(replace(config, attention_guide=0.5))
    attention, written = plain.decoder.attend(plain.encode(words, word_counts), tuples, tuple_counts)
    total, counted = 0.0, 0
    for row in range(len(words)):
        standing = [ARGUMENT_OF_WORD[word] for word in words[row].tolist()]
        for step in range(written.shape[1]):
            names = [name for name in written[row, step].tolist() if name != PAD and name in standing]
            for name in names:
                share = sum(attention[row, step, place] for place, one in enumerate(standing) if one == name)
                total -= float(share.detach().log()) / len(names)
                counted += 1
    assert counted > 3
    one, other = plain.loss(*batch), guided.loss(*batch)
    assert (other.value - one.value).item() == pytest.approx(0.5 * total / len(words), rel=1e-4)
    torch.testing.assert_close(other.per_example, one.per_example)


def test_a_copy_has_weights_of_its_own():
    model = make(SMALL)
    twin, batch = copy.deepcopy(model), make_batch()
    before = model.loss(*batch).per_example
    with torch.no_grad():
        for parameter in twin.parameters():
            parameter.zero_()
    assert torch.equal(model.loss(*batch).per_example, before)
    twin.load_state_dict(model.state_dict())
    assert torch.equal(twin.loss(*batch).per_example, before)


def test_rows_of_a_state_may_repeat():
    model = make(SMALL)
    words, word_counts, _, _ = make_batch()
    state = model.start(model.encode(words, word_counts)).select(torch.tensor([2, 2, 0]))
    scores = model.log_probabilities(state)
    assert (scores[0] == scores[1]).all()
    assert not torch.equal(scores[0], scores[2])
    assert state.attention.shape == (3, words.shape[1])
    assert (state.attention[2, 5:] == 0).all()


@pytest.mark.parametrize("config", FAMILY)
def test_fused_and_reference_kernels_train_alike(config):
    batch = make_batch()
    gradients = []
    for kernel in ("reference", "fused"):
        model = make(replace(config, kernel=kernel)).double()
        model.loss(*batch).value.backward()
        gradients.append({name: value.grad for name, value in model.named_parameters()})
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradients[1][name], gradient, rtol=1e-8, atol=1e-9, msg=name)


def test_the_loss_weighs_examples_and_reports_them_unweighed():
    model = make(SMALL)
    batch = make_batch()
    plain = model.loss(*batch)
    weights = torch.tensor([1.0, 0.0, 2.0, 0.5])
    weighed = model.loss(*batch, weights)
    torch.testing.assert_close(weighed.value, (plain.per_example * weights).mean())
    torch.testing.assert_close(weighed.per_example, plain.per_example)
    assert not weighed.per_example.requires_grad


def test_label_smoothing_changes_the_target_and_not_the_report():
    batch = make_batch()
    plain = make(SMALL).loss(*batch)
    smooth = make(replace(SMALL, label_smoothing=0.2)).loss(*batch)
    torch.testing.assert_close(smooth.per_example, plain.per_example)
    model = make(SMALL)
    decoded = model.decode(*batch)
    _, _, tuples, counts = batch
    total = 0.0
    for row, count in enumerate(counts.tolist()):
        for logits, targets in (
            (decoded.relation[row, :count], tuples[row, :count, 0]),
            (decoded.arguments[row, :count].flatten(0, 1), tuples[row, :count, 1:].flatten()),
        ):
            total += torch.nn.functional.cross_entropy(logits, targets, label_smoothing=0.2, reduction="sum").item()
    assert smooth.value.item() == pytest.approx(total / len(counts), rel=1e-5)


@pytest.mark.parametrize("config", FAMILY)
def test_dropout_acts_in_training_only(config):
    rates = {field.name: 0.3 for field in fields(ModelConfig) if field.name.startswith("dropout_")}
    assert len(rates) == 7  # `dropout_own` needs fixed vectors: tests/test_model_words.py
    batch = make_batch()
    wet, dry = make(replace(config, **rates)), make(config)
    torch.testing.assert_close(wet.loss(*batch).per_example, dry.loss(*batch).per_example)
    wet.train()
    torch.manual_seed(1)
    one = wet.loss(*batch).per_example
    torch.manual_seed(2)
    other = wet.loss(*batch).per_example
    assert not torch.allclose(one, other)


@pytest.mark.parametrize(
    "name",
    ["dropout_words", "dropout_context", "dropout_summary", "dropout_symbols", "dropout_hidden", "dropout_recurrent"],
)
def test_every_dropout_does_something(name):
    model = make(replace(SMALL, **{name: 0.5})).train()
    batch = make_batch()
    torch.manual_seed(1)
    assert not torch.allclose(model.loss(*batch).per_example, make(SMALL).loss(*batch).per_example)


def test_the_last_binding_can_stand_for_the_problem():
    model = make(replace(SMALL, summary="last", bidirectional=True))
    words, word_counts, _, _ = make_batch()
    encoding = model.encode(words, word_counts)
    bindings = bind(encoding.fillers, encoding.roles).flatten(3)
    for row, count in enumerate(word_counts.tolist()):
        expected = torch.cat([bindings[row, 0, count - 1], bindings[row, 1, 0]])
        torch.testing.assert_close(encoding.summary[row], expected)


def test_reading_backward_is_reading_the_reversed_text():
    model = make(replace(SMALL, bidirectional=True))
    words, counts, _, _ = make_batch()
    mirror = mirrored(counts, words.shape[1])
    assert torch.equal(mirror.gather(1, mirror), torch.arange(words.shape[1]).expand_as(mirror))
    backward = model.encode(words, counts).fillers[:, 1]
    model.encoder.readers[0].load_state_dict(model.encoder.readers[1].state_dict())
    forward = model.encode(words.gather(1, mirror), counts).fillers[:, 0]
    torch.testing.assert_close(backward.gather(1, mirror.unsqueeze(-1).expand_as(backward)), forward)


def test_what_unbinding_sees_of_a_state_is_a_tuple():
    """Section 4.4 on the model's own H: unbinding H_TPR gives what unbinding H gives."""
    model = make(SMALL).double()
    decoded = model.decode(*make_batch())
    unbound = model.decoder.unbind(decoded.hidden.flatten(2))
    found = decompose(decoded.hidden, model.decoder.position_unbinding, decoded.relation_unbinding)
    torch.testing.assert_close(found.arguments, unbound.argument_vectors)
    torch.testing.assert_close(found.represented + found.residual, decoded.hidden)


def test_zero_can_be_the_first_cell():
    mapped, zero = make(SMALL).decoder.reasoning, make(replace(SMALL, initial_cell="zero")).decoder.reasoning
    summary = torch.randn(2, SMALL.d_context)
    hidden, cell = mapped(summary)
    torch.testing.assert_close(cell.tanh(), hidden)
    other, nothing = zero(summary)
    assert torch.equal(other, hidden)
    assert (nothing == 0).all()


def test_initialisation_follows_the_config():
    config = replace(
        ModelConfig(), forget_bias=2.0, dictionary_deviation=0.7, position_init="orthogonal", selection_scale=10.0
    )
    torch.manual_seed(0)
    model = build_model(config, N_WORDS, N_RELATIONS, N_ARGUMENTS, 2)
    reader, decoder = model.encoder.readers[0], model.decoder
    d = config.d_binding
    assert reader.bias[: 2 * d].mean().item() == pytest.approx(2, abs=0.01)
    assert reader.bias[2 * d :].mean().item() == pytest.approx(0, abs=0.01)
    assert decoder.lstm.bias[: config.d_tuple].mean().item() == pytest.approx(2, abs=0.01)
    assert reader.filler_dictionary.std().item() == pytest.approx(0.7, abs=0.03)
    assert reader.filler_selection.abs().max().item() == pytest.approx(10 / d**0.5, rel=0.01)
    positions = decoder.position_unbinding
    torch.testing.assert_close(positions @ positions.T, torch.eye(2), rtol=0, atol=1e-6)


def test_the_paper_has_this_many_parameters():
    """MathQA's sizes: encoder 3.6 M, decoder and mapping as counted by hand."""
    config = ModelConfig()
    model = build_model(config, 1000, 60, 100, 2)
    d, h = 600, 1000
    reader = 8 * d * (128 + d + 1) + 150 * d + 50 * d + 30 * 150 + 20 * 50
    lstm = 4 * h * (3 * 128 + h + 1) + h * d + h * 2 * h
    unbinding = 2 * 5 + 20 * 200 + 60 * 20 + 100 * 10
    embeddings = 128 * (1000 + 60 + 100)
    assert sum(p.numel() for p in model.parameters()) == reader + lstm + unbinding + embeddings + (d + 1) * h


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("d_filler", 0, "d_filler is 0; expected at least 1"),
        ("dropout_words", 1.0, "dropout_words is 1.0; expected from 0 to below 1"),
        ("temperature", 0.0, "temperature is 0.0; expected above 0"),
        ("sharpness", 0.0, "sharpness is 0.0; expected above 0"),
        ("attention_guide", -1.0, "attention_guide is -1.0; expected at least 0"),
    ],
)
def test_impossible_sizes_are_refused(name, value, message):
    with pytest.raises(ValueError, match=message):
        ModelConfig(**{name: value})
    with pytest.raises(ValueError, match="n_relations is 3; expected at least 4"):
        build_model(SMALL, N_WORDS, 3, N_ARGUMENTS, 2)


@needs_cuda
@pytest.mark.parametrize("config", FAMILY)
def test_a_device_gives_what_the_processor_gives(config):
    batch = make_batch()
    expected = make(config).loss(*batch)
    found = make(config).cuda().loss(*(value.cuda() for value in batch))
    torch.testing.assert_close(found.per_example.cpu(), expected.per_example, rtol=0, atol=1e-4)
