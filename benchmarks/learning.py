"""How fast the four systems learn the toy domain: held-out accuracy within two minutes of one core.

    python benchmarks/learning.py [--seconds 120] [--threads 1]

Trains each system from scratch on arithmetic's train split for at most this many seconds of CPU time, selects nothing,
and scores the test split strictly at the end. Writes results/benchmark_learning.json.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from tpn2f.config import load_config
from tpn2f.domain import load_domain
from tpn2f.metrics import score
from tpn2f.model import systems
from tpn2f.training import Trainer

CONFIG = Path(__file__).parent.parent / "configs" / "arithmetic.toml"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--seconds", type=float, default=120.0, help="CPU seconds per system, for training and scoring dev"
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--system", choices=list(systems), action="append")
    parser.add_argument("--out", type=Path, default=Path("results/benchmark_learning.json"))
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.set_flush_denormal(True)
    rows = [learn(system, options.seconds) for system in options.system or systems]
    result = {"what": "arithmetic, strict accuracy on test", "threads": options.threads, "rows": rows}
    options.out.write_text(json.dumps(result, indent=2) + "\n")


def learn(system: str, seconds: float) -> dict:
    config = load_config(CONFIG)
    config = replace(config, model=replace(config.model, **systems[system]))
    domain = load_domain("arithmetic")
    with TemporaryDirectory() as folder:
        trainer = Trainer(config, domain, Path(folder))
        started = time.process_time()
        for event in trainer.run():
            if event.kind == "dev":
                spent = time.process_time() - started
                print(
                    f"{system} epoch {event.epoch} loss {event.loss:.3f} dev {event.dev:.3f} {spent:.0f} CPU-s",
                    flush=True,
                )
            # Enough is left for the rest of this step only.
            trainer.stop = trainer.stop or time.process_time() - started > seconds
        spent = time.process_time() - started
        known = {"train": {example.problem.words for example in domain.examples("train")}}
        examples = list(domain.examples("test"))
        found = trainer.solver.predict([example.problem for example in examples])
        report = score(domain, examples, [candidates[0].program for candidates in found], known)
    groups = {group.name: round(100 * group.metrics["strict"].value, 2) for group in report.groups[:3]}
    row = {"system": system, "epochs": trainer.standing.epoch, "cpu_seconds": round(spent, 1), "strict": groups}
    print(row, flush=True)
    return row


if __name__ == "__main__":
    main()
