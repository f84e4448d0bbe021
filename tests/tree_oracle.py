"""The forward passes of our Seq2Tree and SAPS in NumPy float64, node by node, written from `docs/equations.md`.

Shares no code with the package. Trees are nested lists, walked by recursion: [symbol, child, child, ...].
"""

from __future__ import annotations

import math

import numpy as np

from oracle import Weights, affine, cross_entropy, sigmoid, softmax

Tree = list


def tanh(vector: np.ndarray) -> np.ndarray:
    return np.array([math.tanh(value) for value in vector])


def gates(w: Weights, name: str, given: np.ndarray, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What the input and the state each give all gates of a cell."""
    return (
        affine(w[f"{name}.weight_ih"], given) + w[f"{name}.bias_ih"],
        affine(w[f"{name}.weight_hh"], state) + w[f"{name}.bias_hh"],
    )


def gru(w: Weights, name: str, given: np.ndarray, state: np.ndarray) -> np.ndarray:
    """r, z, n; h' = (1 - z) n + z h. The reset gate acts on what the state gives the candidate."""
    new, d = np.zeros_like(state), len(state)
    from_input, from_state = gates(w, name, given, state)
    for k in range(d):
        reset, keep = (sigmoid(from_input[k + g * d] + from_state[k + g * d]) for g in (0, 1))
        candidate = math.tanh(from_input[k + 2 * d] + reset * from_state[k + 2 * d])
        new[k] = (1 - keep) * candidate + keep * state[k]
    return new


def lstm(
    w: Weights, name: str, given: np.ndarray, state: np.ndarray, cell: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """i, f, g, o in torch's order."""
    hidden, memory, d = np.zeros_like(state), np.zeros_like(cell), len(state)
    total = np.add(*gates(w, name, given, state))
    for k in range(d):
        memory[k] = sigmoid(total[k + d]) * cell[k] + sigmoid(total[k]) * math.tanh(total[k + 2 * d])
        hidden[k] = sigmoid(total[k + 3 * d]) * math.tanh(memory[k])
    return hidden, memory


def named(w: Weights, place: str, which: str) -> Weights:
    """The weights of one layer and direction under the name of a cell."""
    parts = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    return {f"cell.{part}": w[f"{place}.{part}_{which}"] for part in parts}


def read_gru(w: Weights, words: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """States and summary of a GRU that reads from left to right."""
    cell = named(w, "encoder.gru", "l0")
    states = [np.zeros(cell["cell.weight_hh"].shape[1])]
    for word in words:
        states.append(gru(cell, "cell", w["encoder.embedding.weight"][word], states[-1]))
    return np.stack(states[1:]), states[-1]


def read_lstms(w: Weights, words: list[int], layers: int) -> tuple[np.ndarray, np.ndarray]:
    """States and summary of LSTMs that read in both directions, one above the other."""
    vectors = [w["encoder.embedding.weight"][word] for word in words]
    last: list[np.ndarray] = []
    for layer in range(layers):
        ways = []
        for which, order in ((f"l{layer}", 1), (f"l{layer}_reverse", -1)):
            cell = named(w, "encoder.lstm", which)
            state = memory = np.zeros(cell["cell.weight_hh"].shape[1])
            states = []
            for vector in vectors[::order]:
                state, memory = lstm(cell, "cell", vector, state, memory)
                states.append(state)
            ways.append(states[::order])
        vectors = [np.concatenate(pair) for pair in zip(*ways)]
        last = [ways[0][-1], ways[1][0]]
    return np.stack(vectors), np.concatenate(last)


def loss(w: Weights, kind: str, states: np.ndarray, summary: np.ndarray, tree: Tree) -> float:
    """The sum of the cross-entropies of all nodes of a tree."""
    mapped = affine(w["decoder.reasoning.layers.0.weight"], summary) + w["decoder.reasoning.layers.0.bias"]
    z = tanh(mapped)
    d = len(z)
    nothing = np.zeros(d)
    context = [affine(w["decoder.context.weight"], state) for state in states] if kind == "tree" else []

    def predict(h: np.ndarray) -> np.ndarray:
        found = np.zeros(d)
        if kind == "tree":
            shares = softmax(np.array([sum(h[k] * column[k] for k in range(d)) for column in context]))
            for share, column in zip(shares, context):
                found = found + share * column
        else:
            window = affine(w["decoder.window.weight"], h) + w["decoder.window.bias"]
            found = np.array([sigmoid(window[k]) * z[k] for k in range(d)])
        return affine(w["decoder.output.weight"], tanh(affine(w["decoder.attentional.weight"], np.array([*h, *found]))))

    def hand(which: str, symbol: int, h: np.ndarray, memory: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        embedded = w["decoder.symbol_embedding.weight"][symbol]
        if kind == "tree":
            return gru(w, f"decoder.{which}", embedded, h), nothing
        return lstm(w, f"decoder.{which}", np.array([*embedded, *z]), h, memory)

    down, along = ("ancestral", "fraternal") if kind == "tree" else ("vertical", "horizontal")

    def visit(node: Tree, above: tuple, before: tuple) -> tuple[float, np.ndarray]:
        joined = affine(w["decoder.join.weight"], np.array([*above[0], *before[0]])) + w["decoder.join.bias"]
        h = tanh(joined)
        cost = cross_entropy(predict(h), node[0])
        handed, sibling = hand(down, node[0], h, above[1]), (nothing, nothing)
        for child in node[1:]:
            more, state = visit(child, handed, sibling)
            cost += more
            sibling = hand(along, child[0], state, sibling[1])
        return cost, h

    return visit(tree, (z, mapped), (nothing, nothing))[0]
