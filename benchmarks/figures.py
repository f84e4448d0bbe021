"""The paper's figures with a model of ours: roles and fillers of its example questions, relations with 3 to 6 clusters.

    python benchmarks/figures.py --model runs/mathqa [--split dev] [--limit 0]
    python benchmarks/figures.py --redraw

Writes docs/figures/DOMAIN-* for print (PNG, SVG and PDF, one column wide) and results/analysis-DOMAIN.json, and makes
docs/analysis.md anew from the analysis files of all domains, so that no number in the page is typed. Needs the extra
`analysis` and the data. With --redraw the pictures are made anew from the numbers of earlier runs, without data.

Attention is drawn of a model that attends. Where that of the model is nearly even, a map of it would show noise: then
it is the map of the model in `ATTENDS`, kept in results/attention-DOMAIN.json, or none.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from pathlib import Path
from typing import Any

from tpn2f.domain import Domain, load_domain
from tpn2f.errors import ExecutionError
from tpn2f.explain import QuestionMap, RelationMap, TPRMeasure, analyse, explain_question
from tpn2f.explain.labels import differing
from tpn2f.explain.plots import EVEN, draw_attention, draw_measure, draw_relations, draw_selections, save
from tpn2f.program import Program
from tpn2f.solver import Solver

ROOT = Path(__file__).resolve().parent.parent

# The appendix of the paper: "Dataset samples" and "Generated programs comparison". The four AlgoLisp questions of its
# figures are pictures only; these are the questions of the same appendix, as it prints them.
QUESTIONS: dict[str, tuple[str, ...]] = {
    "mathqa": (
        (
            "The present polulation of a town is 3888. Population increase rate is 20%. Find the population of town "
            "after 1 year?"
        ),
        "A train running at the speed of 50 km per hour crosses a post in 4 seconds. What is the length of the train?",
        "20 is subtracted from 60 percent of a number, the result is 88. Find the number?",
        (
            "The population of a village is 14300. It increases annually at the rate of 15 percent. What will be its "
            "population after 2 years?"
        ),
        (
            "There are two groups of students in the sixth grade. There are 45 students in group a, and 55 students "
            "in group b. If, on a particular day, 20 percent of the students in group a forget their homework, and "
            "40 percent of the students in group b forget their homework, then what percentage of the sixth graders "
            "forgot their homework?"
        ),
        "1 divided by 0.05 is equal to",
    ),
    "algolisp": (
        (
            "Consider an array of numbers and a number, decrements each element in the given array by the given "
            "number, what is the given array?"
        ),
        "Consider a number a, compute factorial of a",
        (
            "Given an array of numbers and numbers b and c, add c to elements of the product of elements of the "
            "given array and b, what is the product of elements of the given array and b?"
        ),
        (
            "You are given an array of numbers a and numbers b, c and d, let how many times you can replace the "
            "median in a with sum of its digits before it becomes a single digit number and b be the coordinates of "
            "one end and c and d be the coordinates of another end of segment e, your task is to find the length of "
            "segment e rounded down"
        ),
    ),
}
ATTENTION = 2
"""The question whose attention is drawn, counted from 0."""
ATTENDS = {"mathqa": "everyday"}
"""The bundled model whose attention is drawn where that of a domain's own model is nearly even."""
TITLES = {"mathqa": "MathQA", "algolisp": "AlgoLisp"}
SHOWN = 12
"""How many groups are listed in the page."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="a run directory, a checkpoint or a bundled model; without: page only")
    parser.add_argument("--redraw", action="store_true", help="draw all pictures again from the numbers in results/")
    parser.add_argument("--split", default="dev")
    parser.add_argument("--limit", type=int, default=0, help="how many examples of the split; 0 for all")
    parser.add_argument("--shuffles", type=int, default=999)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--root", type=Path, default=ROOT, help="where docs/ and results/ are")
    options = parser.parse_args()
    if options.model:
        look(Solver.load(options.model, options.data), options)
    if options.redraw:
        for path in sorted((options.root / "results").glob("analysis-*.json")):
            redraw(json.loads(path.read_text(encoding="utf-8")), options.root)
    page = options.root / "docs" / "analysis.md"
    page.write_text(make_page(options.root / "results"), encoding="utf-8")
    print(f"written: {page}")


def look(solver: Solver, options: argparse.Namespace) -> None:
    """The figures and the numbers of one model."""
    name, started = solver.domain.name, time.process_time()
    questions = QUESTIONS.get(name) or tuple(e.text for e, _ in zip(solver.domain.examples(options.split), range(4)))
    maps = [explain_question(solver, text) for text in questions]
    analysis = analyse(solver, options.split, options.limit, options.shuffles, lambda message: None)
    analysed = analysis.to_dict()
    figures = draw(options.root, name, [found.to_dict() for found in maps], analysed)
    facts = {
        "model": Path(options.model).name,
        "weights_sha256": fingerprint(solver),
        "shuffles": options.shuffles,
        "cpu_seconds": round(time.process_time() - started, 1),
        "figures": figures,
    }
    seen = [{"question": text, **found.to_dict()} for text, found in zip(questions, maps)]
    result = rounded({"facts": facts, "questions": seen, "analysis": analysed})
    path = options.root / "results" / f"analysis-{name}.json"
    path.write_text(json.dumps(result, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
    print(f"written: {path} and {len(figures)} figures, {facts['cpu_seconds']} CPU-s")


def redraw(result: dict[str, Any], root: Path) -> None:
    """The pictures of a model that was looked at earlier."""
    made = draw(root, result["analysis"]["domain"], result["questions"], result["analysis"])
    print(f"drawn: {', '.join(made.values())}")


def draw(root: Path, name: str, questions: list[dict[str, Any]], analysed: dict[str, Any]) -> dict[str, str]:
    """The pictures that there is something to draw for, by what they show; of each the name of its PNG."""
    maps = [QuestionMap.from_dict(found) for found in questions]
    folder, figures = root / "docs" / "figures", dict[str, Any]()
    if any(found.has_roles for found in maps):
        figures["roles"] = draw_selections(maps, "role")
        figures["fillers"] = draw_selections(maps, "filler")
    attends = attending(root / "results", name, questions)
    if attends is not None:
        figures["attention"] = draw_attention(attends)
    if analysed["relations"] is not None:
        figures["relations"] = draw_relations(RelationMap.from_dict(analysed["relations"]))
    if analysed["tpr"] is not None:
        figures["measure"] = draw_measure(TPRMeasure.from_dict(analysed["tpr"]))
    return {what: save(figure, folder / f"{name}-{what}")[0].name for what, figure in figures.items()}


def attending(results: Path, name: str, questions: list[dict[str, Any]]) -> QuestionMap | None:
    """The map of a model that attends: the domain's own, or that of `ATTENDS`; none where neither does."""
    chosen = questions[min(ATTENTION, len(questions) - 1)]
    own = QuestionMap.from_dict(chosen)
    path = results / f"attention-{name}.json"
    path.unlink(missing_ok=True)
    if own.attention and own.evenness <= EVEN:
        return own
    if name not in ATTENDS:
        return None
    solver, domain = Solver.load(ATTENDS[name]), load_domain(name)
    for told in questions:
        # A map is shown of a question that both models answer in the same way.
        text, program = told["question"], QuestionMap.from_dict(told).program
        found = solver.solve(text)
        if program is not None and found.value is not None and found.value == value(domain, program, text):
            break
    else:
        return None
    found = explain_question(solver, text, program=found.program)
    facts = {
        "model": ATTENDS[name],
        "weights_sha256": fingerprint(solver),
        "question": text,
        "evenness": found.evenness,
        "evenness_of_own": own.evenness,
        **found.to_dict(),
    }
    path.write_text(json.dumps(rounded(facts), ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
    return found


def value(domain: Domain, program: Program, text: str) -> object:
    """What a program gives for a text; nothing where it does not run."""
    try:
        return domain.execute(program, domain.read(text))
    except ExecutionError:
        return None


def fingerprint(solver: Solver) -> str:
    """Of the weights, so that a page can be traced to its model."""
    digest = hashlib.sha256()
    for name, tensor in sorted(solver.model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:16]


def rounded(value: Any) -> Any:
    """With five digits: enough for pictures, and the file stays small."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {key: rounded(part) for key, part in value.items()}
    return [rounded(part) for part in value] if isinstance(value, list | tuple) else value


def make_page(results: Path) -> str:
    """docs/analysis.md from the analysis files."""
    parts = [
        "# Inside the models",
        "This page is made by a command. No number in it is typed by hand:",
        (
            "<!-- not run: it takes an hour and needs all data -->\n"
            "```console\n$ python benchmarks/figures.py --model MODEL      # then the same for the other domain\n```"
        ),
        (
            "It repeats section 5 and the appendix of the paper with our models. It adds what the paper only shows in "
            "pictures: a measurement of section 4.4, and tests of whether fillers follow meaning and roles follow "
            "structure. `tpn2f explain` shows the same for any question and any model. Every picture is also there as "
            "SVG and PDF, one column wide, for print."
        ),
    ]
    files = sorted(results.glob("analysis-*.json"), key=lambda path: path.stem, reverse=True)
    for path in files:
        result = json.loads(path.read_text(encoding="utf-8"))
        other = results / f"attention-{result['analysis']['domain']}.json"
        parts += section(result, json.loads(other.read_text(encoding="utf-8")) if other.exists() else None)
    if not files:
        parts.append("No model was looked at yet.")
    return "\n\n".join(parts) + "\n"


def section(result: dict[str, Any], attends: dict[str, Any] | None) -> list[str]:
    """One model; `attends` is another one whose attention is shown."""
    analysis, facts = result["analysis"], result["facts"]
    title, figures = str(TITLES.get(analysis["domain"], analysis["domain"])), facts["figures"]
    parts = [
        f"## {title}",
        (
            f"Model `{facts['model']}` (weights `{facts['weights_sha256']}`), seen on {analysis['examples']:,} "
            f"examples of {analysis['split']}."
        ),
    ]
    if "roles" in figures:
        parts += [
            "### Roles and fillers of questions",
            (
                "The questions of the paper's appendix. A word has the colour of the role, or filler, that it "
                "selects most. Below it are all with a weight above 0.1, as in the paper's figures."
            ),
            f"![The roles that the words of {title} questions select](figures/{figures['roles']})",
            f"![The fillers that the words of {title} questions select](figures/{figures['fillers']})",
        ]
    parts += attention(result, attends, title)
    if analysis["groups"]:
        parts += groups(analysis["groups"])
    if analysis["relations"]:
        parts += relations(analysis["relations"], title, figures)
    if analysis["tpr"]:
        parts += measure(analysis["tpr"], title, figures)
    if analysis["purity"]:
        parts += purity(analysis["purity"])
    return [*parts, *(f"Note: {note}." for note in analysis["notes"])]


def attention(result: dict[str, Any], attends: dict[str, Any] | None, title: str) -> list[str]:
    """The map of a model that attends, and which one that is."""
    name, model = result["analysis"]["domain"], result["facts"]["model"]
    own = QuestionMap.from_dict(result["questions"][min(ATTENTION, len(result["questions"]) - 1)])
    even = f"{100 * own.evenness:.0f} % of the largest possible entropy"
    picture = f"![Attention of the tuples over the words of a question, {title}](figures/{name}-attention.png)"
    if own.attention and own.evenness <= EVEN:
        told = [f"What each tuple of the program attends to in `{model}`; its attention has {even}.", picture]
    elif attends is not None:
        which = f"`{attends['model']}` (weights `{attends['weights_sha256']}`)"
        reason = f"The attention of `{model}` is nearly the same for all words ({even}), so a map of it shows nothing."
        told = [
            f"{reason} This is {which}, which attends ({100 * attends['evenness']:.0f} %).",
            picture,
        ]
    else:
        told = [f"The attention of `{model}` is nearly the same for all words ({even}); there is no map of it."]
    return ["### Attention", *told]


def groups(found: dict[str, Any]) -> list[str]:
    parts = ["### Words by filler and by role"]
    for kind in ("filler", "role"):
        rows = [[kind, "tokens", "typical words"]]
        for group in found[f"{kind}s"][:SHOWN]:
            words = " ".join(f"`{member['word'].replace('|', '&#124;')}`" for member in group["words"][:10])
            rows.append([str(group["number"]), f"{group['tokens']:,}", words])
        used = len(found[f"{kind}s"])
        parts.append(
            f"The model has {found[f'n_{kind}s']} {kind}s. Words select {used} of them with a weight above 0.1; the "
            f"table has the largest {min(SHOWN, used)}. Typical words are frequent in the group and "
            "less frequent elsewhere."
        )
        parts.append(markdown(rows, "rrl"))
    return parts


def relations(found: dict[str, Any], title: str, figures: dict[str, str]) -> list[str]:
    rows = [["clusters", "relations of each cluster"]]
    # The panels of the picture, with its numbers.
    for labels, _ in differing([clustering["labels"] for clustering in found["clusterings"]]):
        members: dict[int, list[str]] = {}
        for name, label in zip(found["relations"], labels):
            members.setdefault(label, []).append(f"`{name.replace('|', '&#124;')}`")
        rows.append([str(len(members)), "<br>".join(f"{n + 1}. {', '.join(members[n])}" for n in sorted(members))])
    first, second = found["explained"]
    return [
        "### The map of relations",
        (
            "The unbinding vector of every relation, averaged over the tuples of the split, in the plane of the two "
            f"principal components, which hold {percent(first)} and {percent(second)} of the variance. Clusters are "
            "those of k-means on the whole vectors; larger points have more tuples. The legend says how many relations "
            "a cluster has. The first panel names all relations, each further panel those that change their cluster."
        ),
        f"![The unbinding vectors of the relations of {title}, with 3 to 6 clusters](figures/{figures['relations']})",
        markdown(rows, "rl"),
    ]


def measure(found: dict[str, Any], title: str, figures: dict[str, str]) -> list[str]:
    named = {
        "H_TPR of its own outputs": "own",
        "control: relation vector of another relation": "other_relation",
        "control: relation vector of another tuple of the same relation": "same_relation",
        "control: whole tuple of another relation": "other_tuple",
        "the best relation vector there is": "best",
        "all that the positions see": "positions",
    }
    rows = [["share of the square of H's length", "mean", "5 %", "median", "95 %"]]
    for name, key in named.items():
        if found[key] is not None:
            rows.append([name, *(percent(found[key][part]) for part in ("mean", "low", "median", "high"))])
    rows.append(["a random relation vector and a random H", percent(found["chance"]), "", "", ""])
    own, other, whole = (found[key]["mean"] for key in ("own", "other_relation", "other_tuple"))
    return [
        "### How much of H is a tuple (section 4.4)",
        (
            "Section 4.4 shows that any H is H_TPR + Z, where H_TPR is the representation of the tuple that "
            "unbinding reads from H, and Z is what unbinding cannot see. It does not say how large Z is. Over "
            f"{found['tuples']:,} tuples, given the true ones before, H_TPR is {percent(own)} of H. With the relation "
            f"vector of a tuple of another relation it would be {percent(other)}, and another tuple's whole H_TPR "
            f"explains {percent(whole)}. The rest is Z: unbinding does not see it, but the next step of the decoder "
            "does."
        ),
        f"![How much of H is explained by its own outputs and by controls, {title}](figures/{figures['measure']})",
        markdown(rows, "lrrrr"),
    ]


def purity(found: list[dict[str, Any]]) -> list[str]:
    rows = [["groups", "against", "units", "purity", "shuffled", "mutual information", "shuffled", "p"]]
    for row in found:
        values = ("purity", "control_purity", "mutual_information", "control_mutual_information", "p_value")
        units = f"{row['units']:,} {row['unit']}"
        rows.append([row["groups"], row["classes"], units, *(f"{row[value]:.3f}" for value in values)])
    return [
        "### Do fillers follow meaning, and roles structure?",
        (
            "Purity is the part of all units that are of the commonest class of their group; mutual information is "
            "normalised, from 0 to 1. Both grow with the number of groups by chance alone, so each stands beside the "
            f"mean of {found[0]['shuffles']} shuffles, and p says how often a shuffle has at least as much mutual "
            "information. Word classes (closed lists) are shuffled among distinct words; the part of the question "
            "(what is given, what is asked) among the places of one and the same word; operation classes among "
            "relations."
        ),
        markdown(rows, "lllrrrrr"),
    ]


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def markdown(rows: list[list[str]], sides: str) -> str:
    marks = "|" + "|".join({"l": "---", "r": "---:"}[side] for side in sides) + "|"
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], marks, *lines[1:]])


if __name__ == "__main__":
    main()
