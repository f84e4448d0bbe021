"""What the tests want to know of all gold programs of an AlgoLisp split, found out in a process of its own.

    python tests/gold.py FOLDER SPLIT

Under pytest every call's types are checked, which makes hundreds of thousands of runs several times slower.
"""

from __future__ import annotations

import gc
import json
import sys
from collections import Counter
from collections.abc import Iterator

from tpn2f.domain import Example
from tpn2f.domains.algolisp.domain import PROTOCOL, AlgoLisp, Answer
from tpn2f.domains.lisp.types import infer
from tpn2f.errors import N2FError
from tpn2f.program import Program


def report(folder: str, split: str) -> dict[str, object]:
    domain = AlgoLisp(folder)
    # A million lists and dictionaries that stay: the collector need not look at them again and again.
    gc.disable()
    examples = list(domain.examples(split))
    gc.freeze()
    gc.enable()
    read = [domain.read(example.text) for example in examples]
    found: dict[str, object] = {
        "records": len(examples),
        "programs": len({example.program for example in examples}),
        "reasons": Counter(domain.diagnose(example) or "none" for example in examples),
        "defects": list(defects(examples)),
        "same words": sum(ours.words == example.problem.words for ours, example in zip(read, examples)),
        "same bindings": sum(ours.bindings == example.problem.bindings for ours, example in zip(read, examples)),
    }
    if split == "dev":
        for part in PROTOCOL:
            found[part] = [[example.id.split(":")[1], str(example.program)] for example in domain.examples(part)]
    return found


def defects(examples: list[Example]) -> Iterator[str]:
    """Gold programs that are of another type than their record says, or do not survive tree or text."""
    seen: set[object] = set()
    for example in examples:
        assert isinstance(example.answer, Answer)
        key = (example.program, tuple(example.problem.bindings.items()), example.answer.return_type)
        if key in seen:
            continue
        seen.add(key)
        try:
            tree = example.program.to_tree()
            arguments = {name: str(kind) for name, kind in example.problem.bindings.items()}
            if infer(tree, arguments) != example.answer.return_type:
                yield f"{example.id}: {infer(tree, arguments)}"
            if Program.from_tree(tree) != example.program or Program.parse(str(example.program)) != example.program:
                yield f"{example.id}: does not survive tree or text"
        except N2FError as error:
            yield f"{example.id}: {error}"


if __name__ == "__main__":
    json.dump(report(*sys.argv[1:3]), sys.stdout)
