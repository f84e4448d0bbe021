"""The layer rule, read from the source: who may import whom, what no module may call, and how long a module may be."""

from __future__ import annotations

import ast
import re
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "tpn2f"
PATHS = sorted(path for path in SOURCE.rglob("*.py"))
NAMES = [".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__") for path in PATHS]
MODULES = dict(zip(NAMES, PATHS))

# From the ground to the roof: a room imports from layers below its own only, never from a neighbour. Text and symbols
# first, then tensors, then what stands between, then the edges. The domains are in no layer: they stand on `domain` and
# are loaded by name.
LAYERS: tuple[set[str], ...] = (
    {"errors"},
    {"program", "vocabulary", "numbers"},
    {"domain"},
    {"wording", "metrics", "retrieval", "functions"},
    {"trust"},
    {"notebook"},
    {"solution", "contract", "data"},
    {"tpr"},
    {"kernels"},
    {"model", "contextual"},
    {"codec", "config"},
    {"grammar", "checkpoint"},
    {"search", "setting", "pretrained"},
    {"opinions", "choosing"},
    {"solver"},
    {"memory"},
    {"evaluation", "confidence", "export", "explain"},
    {"training", "compare"},
    {"tuning", "publish", "bulk"},
    {"web"},
    {"cli"},
    {"__main__"},
)
FLOOR = {room: floor for floor, rooms in enumerate(LAYERS) for room in rooms}
SYMBOLS = {
    *("errors", "program", "vocabulary", "numbers", "domain", "wording", "metrics", "retrieval", "functions"),
    *("trust", "notebook", "solution", "contract", "data"),
}
TENSORS = {"tpr", "kernels", "model"}
MOST_FLAT = 20
MAX_LINES = 400
MEDIAN_LINES = 160


def room(name: str) -> str:
    return name.partition(".")[0]


@cache
def tree(name: str) -> ast.Module:
    return ast.parse(MODULES[name].read_text(encoding="utf-8"))


def imports(name: str) -> set[str]:
    """Everything that a module imports at any place, by full name, but for what only type checkers see."""
    found: set[str] = set()
    for node in walk(tree(name)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}: imports name the package"
            # `from tpn2f.domains import lisp` names a module only together with its last word.
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def walk(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        yield child
        yield from walk(child)


def imported_modules(name: str) -> set[str]:
    """The modules of the package that a module imports, without `tpn2f.`."""
    found = set()
    for full in imports(name):
        if full.startswith("tpn2f."):
            inner = full.removeprefix("tpn2f.")
            found.add(inner if inner in MODULES else inner.rpartition(".")[0] or inner)
    return found


def libraries(name: str) -> set[str]:
    return {full.partition(".")[0] for full in imports(name)}


def test_every_module_has_its_layer() -> None:
    for name in NAMES:
        assert name == "__init__" or room(name) in {*FLOOR, "domains"}, f"{name} has no layer: give it one in LAYERS"


@pytest.mark.parametrize("name", [name for name in NAMES if room(name) not in ("domains", "__init__")])
def test_imports_point_down(name: str) -> None:
    for other in imported_modules(name):
        if room(other) != room(name):
            assert room(other) in FLOOR, f"{name} imports {other}"
            assert FLOOR[room(other)] < FLOOR[room(name)], f"{name} imports {other}, which is not below it"


def test_few_modules_lie_flat() -> None:
    assert len(list(SOURCE.glob("*.py"))) <= MOST_FLAT


@pytest.mark.parametrize("name", [name for name in NAMES if room(name) in SYMBOLS | {"domains"}])
def test_symbols_know_no_tensors(name: str) -> None:
    assert not libraries(name) & {"torch", "safetensors", "jaxtyping"}
    assert not {room(other) for other in imported_modules(name)} & (TENSORS | {"codec", "search", "checkpoint"})


@pytest.mark.parametrize("name", [name for name in NAMES if room(name) in TENSORS])
def test_tensors_know_no_symbols(name: str) -> None:
    assert {room(other) for other in imported_modules(name)} <= TENSORS | {"errors"}


# A language may stand on another one's: AlgoLisp's programs are Lisp, everyday problems use MathQA's operations.
STANDS_ON = {"algolisp": {"lisp"}, "everyday": {"mathqa"}}


@pytest.mark.parametrize("name", NAMES)
def test_domains_are_imported_by_nobody_but_their_own_files(name: str) -> None:
    for other in imported_modules(name):
        if room(other) == "domains" and other != "domains":
            assert room(name) == "domains", f"{name} imports {other}; domains are loaded by name"
            own, theirs = (module.split(".")[1] for module in (name, other))
            assert theirs == own or theirs in STANDS_ON.get(own, ()), f"{name} imports {other}"


def test_matplotlib_has_one_door() -> None:
    assert [name for name in NAMES if "matplotlib" in libraries(name) and name != "explain.plots"] == []


FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__", "breakpoint", "input"}
FORBIDDEN_MODULES = {"pickle", "marshal", "shelve", "dill", "joblib", "cloudpickle"}


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_evaluated_or_unpickled(name: str) -> None:
    assert not libraries(name) & FORBIDDEN_MODULES
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            assert called not in FORBIDDEN_CALLS, f"{name}, line {node.lineno}: {called}"
            assert called not in ("torch.load", "torch.save", "np.load", "numpy.load"), f"{name}, line {node.lineno}"


# The one place where a person's own words name an attribute: the class in `file.py:Name`.
ALLOWED_GETATTR = {("domain.loading", "_load_class")}


@pytest.mark.parametrize(
    "name", [n for n in NAMES if room(n) in SYMBOLS | {"domains", "codec", "search", "evaluation"}]
)
def test_no_attribute_is_named_by_a_models_output(name: str) -> None:
    for function in ast.walk(tree(name)):
        if not isinstance(function, ast.FunctionDef) or (name, function.name) in ALLOWED_GETATTR:
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("getattr", "setattr", "operator.attrgetter"):
                constant = len(node.args) > 1 and isinstance(node.args[1], ast.Constant)
                assert constant, f"{name}, line {node.lineno}"


def calls_domain(node: ast.expr) -> bool:
    """Whether an expression names a domain: `domain`, `language`, `self.domain`, `solver.domain` ..."""
    return ast.unparse(node).rpartition(".")[2].strip("_") in ("domain", "language")


@pytest.mark.parametrize("name", [name for name in NAMES if room(name) != "domain"])
def test_what_a_domain_offers_is_asked_of_its_protocols_only(name: str) -> None:
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("hasattr", "getattr"):
            assert not calls_domain(node.args[0]), f"{name}, line {node.lineno}: ask `tpn2f.domain` instead"


@pytest.mark.parametrize("name", NAMES)
def test_a_module_is_short_and_says_what_it_is(name: str) -> None:
    text = MODULES[name].read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MAX_LINES
    assert ast.get_docstring(tree(name))


def test_half_of_the_modules_are_shorter_still() -> None:
    lengths = [len(path.read_text(encoding="utf-8").splitlines()) for path in PATHS]
    assert statistics.median(lengths) <= MEDIAN_LINES


def test_no_two_classes_have_one_name() -> None:
    found = Counter(node.name for name in NAMES for node in tree(name).body if isinstance(node, ast.ClassDef))
    assert [name for name, count in found.items() if count > 1] == []


def test_no_module_is_called_after_nothing() -> None:
    assert not {name.rpartition(".")[2] for name in NAMES} & {
        "utils",
        "util",
        "helpers",
        "common",
        "base",
        "manager",
        "misc",
    }


def test_library_code_never_prints() -> None:
    for name in NAMES:
        calls = [node for node in ast.walk(tree(name)) if isinstance(node, ast.Call)]
        assert not [call.lineno for call in calls if ast.unparse(call.func) == "print"], name


@pytest.mark.parametrize(
    "module", ["tpn2f", "tpn2f.cli", "tpn2f.domains.mathqa.domain", "tpn2f.metrics", "tpn2f.domains.algolisp.domain"]
)
def test_symbols_can_be_used_without_loading_torch(module: str) -> None:
    code = f"import sys, {module}; sys.exit('torch is loaded' if 'torch' in sys.modules else 0)"
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


# The walkthroughs of docs/architecture.md: `solve: cli.answer -> solver -> ...`, one line per command.

WALKS = {
    found[1]: found[2].split(" -> ")
    for found in re.finditer(
        r"^[ *`-]*(\w+): ([a-z_.0-9]+(?: -> [a-z_.0-9]*[a-z_0-9])+)",
        (SOURCE.parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
}


def imported_by(name: str) -> set[str]:
    """What a module imports, or the modules of a room: their own names, and the rooms that hold them."""
    inside = [module for module in NAMES if module == name or module.startswith(f"{name}.")]
    found = set().union(*map(imported_modules, inside))
    return found | {other.rpartition(".")[0] for other in found} | {room(other) for other in found}


def test_the_ways_of_the_commands_are_described() -> None:
    assert {"solve", "train", "evaluate"} <= WALKS.keys()


@pytest.mark.parametrize("command", WALKS)
def test_a_way_through_the_house_follows_the_imports(command: str) -> None:
    way = WALKS[command]
    assert len(set(way)) == len(way), f"{command}: no module is entered twice"
    assert room(way[0]) == "cli"
    for place, name in enumerate(way):
        assert name in MODULES, f"{command}: there is no module {name}"
        before = way[:place]
        assert not before or any(name in imported_by(other) for other in before), (
            f"{command}: {name} is imported by none of {', '.join(before)}"
        )
