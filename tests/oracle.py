"""TP-N2F's forward pass in NumPy float64, index by index, written from the equations of the paper's appendix.

Shares no code with the package. A weight is named as in the appendix: U_ff is the input matrix of the Filler-LSTM's
forget gate, V_ro the recurrent one of the Role-LSTM's output gate. Slow on purpose: no vectorised product anywhere.
"""

from __future__ import annotations

import math

import numpy as np

Weights = dict[str, np.ndarray]


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def affine(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    result = np.zeros(matrix.shape[0])
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            result[i] += matrix[i, j] * vector[j]
    return result


def softmax(x: np.ndarray) -> np.ndarray:
    powers = [math.exp(value - max(x)) for value in x]
    return np.array([power / sum(powers) for power in powers])


def lstm(
    w: Weights, suffix: str, word: np.ndarray, state: np.ndarray, cell: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """A standard LSTM: f, g, i, o, then c and h."""
    total = {
        gate: affine(w[f"U_{suffix}{gate}"], word) + affine(w[f"V_{suffix}{gate}"], state) + w[f"b_{suffix}{gate}"]
        for gate in "fgio"
    }
    new_cell, hidden = np.zeros_like(cell), np.zeros_like(cell)
    for k in range(len(cell)):
        new_cell[k] = sigmoid(total["f"][k]) * cell[k] + sigmoid(total["i"][k]) * math.tanh(total["g"][k])
        hidden[k] = sigmoid(total["o"][k]) * math.tanh(new_cell[k])
    return hidden, new_cell


def read_in_context(own: np.ndarray, matrix: np.ndarray, contextual: np.ndarray) -> np.ndarray:
    """The encoder's input where a text has contextual vectors: w + W_c c, for c of mean 0 and variance 1."""
    found = []
    for word, vector in zip(own, contextual):
        mean = sum(vector) / len(vector)
        variance = sum((entry - mean) ** 2 for entry in vector) / len(vector)
        even = np.array([(entry - mean) / math.sqrt(variance + 1e-5) for entry in vector])
        found.append(word + affine(matrix, even))
    return np.stack(found)


def encode(w: Weights, words: np.ndarray, temperature: float) -> dict[str, np.ndarray]:
    """The encoder: every word vector to a_f, a_r, f, r and T = f (x) r, the next hidden state of both."""
    d_filler, d_role = w["W_f"].shape[0], w["W_r"].shape[0]
    flat = np.zeros(d_filler * d_role)
    cell_f = cell_r = np.zeros(d_filler * d_role)
    found: dict[str, list[np.ndarray]] = {"a_f": [], "a_r": [], "f": [], "r": [], "T": []}
    for word in words:
        h_f, cell_f = lstm(w, "f", word, flat, cell_f)
        h_r, cell_r = lstm(w, "r", word, flat, cell_r)
        a_f = softmax(affine(w["W_fa"], h_f) / temperature)
        a_r = softmax(affine(w["W_ra"], h_r) / temperature)
        f, r = affine(w["W_f"], a_f), affine(w["W_r"], a_r)
        binding = np.zeros((d_filler, d_role))
        for i in range(d_filler):
            for j in range(d_role):
                binding[i, j] = f[i] * r[j]
        flat = np.array([binding[i, j] for i in range(d_filler) for j in range(d_role)])
        for name, value in zip(found, (a_f, a_r, f, r, flat)):
            found[name].append(value)
    return {name: np.stack(values) for name, values in found.items()}


def summarise(bindings: np.ndarray) -> np.ndarray:
    """T_S: the sum of all words' bindings."""
    total = np.zeros(bindings.shape[1])
    for binding in bindings:
        for k in range(len(total)):
            total[k] += binding[k]
    return total


def reason(layers: list[tuple[np.ndarray, np.ndarray]], summary: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """f_mapping: linear layers, each followed by tanh. Gives H^0, and the last layer before its tanh."""
    hidden = mapped = summary
    for matrix, bias in layers:
        mapped = affine(matrix, hidden) + bias
        hidden = np.array([math.tanh(value) for value in mapped])
    return hidden, mapped


def attend(w: Weights, h: np.ndarray, bindings: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Atten: d = score(h, C_T) by dot product, s = C_T softmax(d), H = K [h ; s], with C_T the projected bindings.

    Beyond the paper: Q in the place of C for the scores, and a factor on them.
    """
    context = [affine(w["C"], binding) for binding in bindings]
    asked = [affine(w["Q"], binding) for binding in bindings] if "Q" in w else context
    factor = float(w.get("sharpness", np.array(1.0)))
    scores = np.array([factor * sum(h[k] * column[k] for k in range(len(h))) for column in asked])
    shares = softmax(scores)
    s = np.zeros(len(h))
    for share, column in zip(shares, context):
        for k in range(len(h)):
            s[k] += share * column[k]
    return affine(w["K"], np.array([*h, *s])), shares


def unbind(w: Weights, flat: np.ndarray, sizes: tuple[int, int, int]) -> dict[str, np.ndarray]:
    """Two-step unbinding of H, and the logits of the relation and of the argument at every position."""
    d_argument, d_relation, d_position = sizes
    structure = np.zeros(sizes)
    for j in range(d_argument):
        for k in range(d_relation):
            for m in range(d_position):
                structure[j, k, m] = flat[(j * d_relation + k) * d_position + m]
    bindings = np.zeros((len(w["p"]), d_argument, d_relation))
    for i, position in enumerate(w["p"]):
        for j in range(d_argument):
            for k in range(d_relation):
                for m in range(d_position):
                    bindings[i, j, k] += structure[j, k, m] * position[m]
    total = np.array([sum(b[j, k] for b in bindings) for j in range(d_argument) for k in range(d_relation)])
    relation = affine(w["W_dual"], total)
    arguments = np.stack([affine(binding, relation) for binding in bindings])
    return {
        "r'": relation,
        "a": arguments,
        "l_r": affine(w["L_r"], relation),
        "l_a": np.stack([affine(w["L_a"], argument) for argument in arguments]),
    }


def of_length_one(bindings: np.ndarray) -> np.ndarray:
    """Beyond the paper: T / |T| for every word."""
    return np.stack([binding / math.sqrt(sum(value * value for value in binding)) for binding in bindings])


def mean_bindings(bindings: np.ndarray, arguments: list[int], specials: int) -> dict[int, np.ndarray]:
    """Beyond the paper: for every argument that is a word of the text the mean of the bindings where it stands.

    `arguments` has for every word the argument that it is; below `specials`, it is none.
    """
    found: dict[int, np.ndarray] = {}
    for argument in arguments:
        if argument < specials:
            continue
        places = [t for t in range(len(arguments)) if arguments[t] == argument]
        total = np.zeros(bindings.shape[1])
        for t in places:
            for k in range(len(total)):
                total[k] += bindings[t, k]
        found[argument] = total / len(places)
    return found


def ground(w: Weights, state: np.ndarray, means: dict[int, np.ndarray], logits: np.ndarray) -> np.ndarray:
    """l_a_i of a grounded argument: its learned part and q_i . k, with q_i = Q_i H and k = K_n of its mean binding."""
    result = np.array(logits)
    for i in range(len(logits)):
        query = affine(w["Q_n"][i], state)
        for argument, mean in means.items():
            key = affine(w["K_n"], mean)
            for k in range(len(key)):
                result[i, argument] += query[k] * key[k]
    return result


def chain(
    w: Weights, state: np.ndarray, written: list[np.ndarray], means: dict[int, np.ndarray], logits: np.ndarray
) -> np.ndarray:
    """l_a_i of argument i with O c_i, and for grounded ones (Q c_i) . k; c_i = tanh(S_i H + B_i [e_rel; e_1; ...]).

    `written` are the embeddings of the tuple's relation and arguments.
    """
    result = np.array(logits)
    for i in range(len(logits)):
        joined = affine(w[f"S_{i}"], state) + affine(w[f"B_{i}"], np.concatenate(written[: i + 1]))
        joined = np.array([math.tanh(value) for value in joined])
        result[i] += affine(w["O_c"], joined)
        for argument, mean in means.items():
            key, query = affine(w["K_n"], mean), affine(w["Q_c"], joined)
            for k in range(len(key)):
                result[i, argument] += query[k] * key[k]
    return result


def cross_entropy(logits: np.ndarray, target: int) -> float:
    top = max(logits)
    return math.log(sum(math.exp(value - top) for value in logits)) - (logits[target] - top)


def decode(
    w: Weights,
    layers: list[tuple[np.ndarray, np.ndarray]],
    bindings: np.ndarray,
    tuples: list[list[int]],
    start: int,
    sizes: tuple[int, int, int],
    means: dict[int, np.ndarray] | None = None,
    seen: np.ndarray | None = None,
) -> dict[str, np.ndarray | float]:
    """The decoder with teacher forcing: H, attention, r', logits of every tuple, and the loss of the whole program.

    `means` are the mean bindings of the text's arguments where these are grounded; `seen` are the bindings that
    attention sees where these are not the summed ones.
    """
    seen = bindings if seen is None else seen
    state, cell = reason(layers, summarise(bindings))
    found: dict[str, list[np.ndarray]] = {"H": [], "attention": [], "r'": [], "l_r": [], "l_a": []}
    loss = 0.0
    previous = [start] * len(tuples[0])

    def embedded(relation: int, *arguments: int) -> list[np.ndarray]:
        vectors = [
            w["E_arg"][argument] + (affine(w["P_n"], means[argument]) if means and argument in means else 0)
            for argument in arguments
        ]
        return [w["E_rel"][relation], *vectors]

    for current in tuples:
        h, cell = lstm(w, "", np.concatenate(embedded(*previous)), state, cell)
        state, shares = attend(w, h, seen)
        unbound = unbind(w, state, sizes)
        if means:
            unbound["l_a"] = ground(w, state, means, unbound["l_a"])
        if "O_c" in w:
            unbound["l_a"] = chain(w, state, embedded(*current), means or {}, unbound["l_a"])
        for name, value in zip(found, (state, shares, unbound["r'"], unbound["l_r"], unbound["l_a"])):
            found[name].append(value)
        loss += cross_entropy(unbound["l_r"], current[0])
        for i, argument in enumerate(current[1:]):
            loss += cross_entropy(unbound["l_a"][i], argument)
        previous = current
    return {"loss": loss, **{name: np.stack(values) for name, values in found.items()}}
