"""The example domains from scratch: trained with configs/small.toml, scored on held-out programs and combinations.

    python benchmarks/examples.py [--runs FOLDER] [NAME ...]

Uses the commands that a user would. Writes results/examples-NAME-SPLIT.json for the splits `test` (programs that train
does not have, of kinds that it has) and `combinations` (sets of relations that never occur together in train), and what
the trainings cost into results/benchmark_examples.json.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parent.parent
NAMES = ("table_queries", "calendar_expressions")
SPLITS = ("test", "combinations")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="*", help=f"which: {', '.join(NAMES)}")
    parser.add_argument("--runs", type=Path, help="the folder of the run directories; default: a temporary one")
    parser.add_argument("--out", type=Path, default=ROOT / "results")
    options = parser.parse_args()
    path = options.out / "benchmark_examples.json"
    for name in options.name or NAMES:
        with TemporaryDirectory() as folder:
            row = learn(name, (options.runs or Path(folder)) / name, options.out)
        # Read again: several of these may run at once.
        rows = {row["domain"]: row for row in json.loads(path.read_text())["rows"]} if path.exists() else {}
        rows[name] = row
        path.write_text(
            json.dumps({"what": "configs/small.toml, one core", "rows": list(rows.values())}, indent=2) + "\n"
        )
        print(row, flush=True)


def learn(name: str, run: Path, out: Path) -> dict[str, object]:
    domain = ("--domain", f"examples/{name}.py")
    started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    tpn2f("train", "configs/small.toml", *domain, "--folder", run)
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    row: dict[str, object] = {"domain": name, "cpu_seconds": round(spent, 1), "wall_seconds": round(wall, 1)}
    for split in SPLITS:
        report = out / f"examples-{name}-{split}.json"
        tpn2f("evaluate", "--model", run, *domain, "--split", split, "--output", report)
        row[split] = json.loads(report.read_text())["groups"][0]["metrics"]["strict"]["value"]
    return row


def tpn2f(*words: object) -> None:
    subprocess.run([sys.executable, "-m", "tpn2f", *map(str, words)], cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
