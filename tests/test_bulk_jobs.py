"""Files of questions become folders of answers: one answer a question, in order; what was stopped goes on."""

import json
from collections import Counter

import pytest

from test_bulk_tables import write_questions
from tiny_model import make_run
from tpn2f import bulk
from tpn2f.bulk import answers, folder, jobs
from tpn2f.bulk.answers import Answering, AnswersParts, HowAsked
from tpn2f.bulk.engines import Engine
from tpn2f.bulk.folder import done_before, part_path
from tpn2f.bulk.jobs import solve_file
from tpn2f.bulk.tables import divide, read_rows
from tpn2f.errors import ConfigError, DataError
from tpn2f.solver import Solver

TEXTS = [f"what is the sum of {k} and {k + 1} ?" for k in range(20)] + ["", "hello there"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("model"))


def rows_of(place, kind="jsonl"):
    return [row for path in sorted(place.glob(f"part-*.{kind}")) for row in read_rows(path)]


@pytest.mark.parametrize("kind", ["jsonl", "csv", "txt", "parquet"])
@pytest.mark.parametrize("written", ["", "jsonl"])
def test_every_question_has_one_answer_in_order(kind, written, run, tmp_path):
    texts = [text for text in TEXTS if text or kind != "txt"]
    path = write_questions(tmp_path, kind, texts)
    summary = solve_file(path, tmp_path / "out", HowAsked(str(run)), kind=written, size=6)
    found = rows_of(tmp_path / "out", written or {"txt": "jsonl"}.get(kind, kind))
    assert [int(row["row"]) for row in found] == list(range(1, len(texts) + 1))
    assert [row["question"] or "" for row in found] == texts
    assert summary["questions"] == len(texts) and summary["parts"] >= 4
    solver = Solver.load(run)
    for row, text in zip(found[:3], texts):
        assert row["program"] == str(solver.solve(text).program)
    told = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert told["questions"] == told["questions_this_time"] == len(texts)
    assert summary["unanswered"] == sum(not row["program"] for row in found)
    if kind in ("jsonl", "parquet"):
        assert [str(row["id"]) for row in found] == [str(k) for k in range(len(texts))]


def test_work_that_was_stopped_goes_on(run, tmp_path, monkeypatch):
    path, out, asking = write_questions(tmp_path, "jsonl", TEXTS), tmp_path / "out", HowAsked(str(run))
    begun = []
    whole = AnswersParts.__call__

    def dies(self, part):
        begun.append(part.number)
        if part.number == 2 and len(begun) == 3:
            raise KeyboardInterrupt
        return whole(self, part)

    monkeypatch.setattr(AnswersParts, "__call__", dies)
    with pytest.raises(KeyboardInterrupt):
        solve_file(path, out, asking, size=5)
    assert not (out / "summary.json").exists()
    # What a process leaves that is killed while it writes, and before it told what it wrote.
    (out / ".part-000002.jsonl-abc").write_text('{"row": ')
    lines = (out / "tallies.jsonl").read_text().splitlines()
    (out / "tallies.jsonl").write_text(f'{lines[0]}\n{{"par')
    seen = []
    summary = solve_file(path, out, asking, size=5, progress=lambda done, total: seen.append((done, total)))
    assert begun == [0, 1, 2, 2, 3, 4] and seen[0] == (10, len(TEXTS)) and seen[-1] == (len(TEXTS),) * 2
    assert Counter(row["row"] for row in rows_of(out)) == {k + 1: 1 for k in range(len(TEXTS))}
    straight = tmp_path / "straight"
    assert solve_file(path, straight, asking, size=5) == summary
    assert rows_of(straight) == rows_of(out)
    assert not list(out.glob(".part*"))
    again = len(begun)
    assert solve_file(path, out, asking, size=5) == summary and len(begun) == again


def test_a_part_without_a_tally_is_counted(run, tmp_path):
    path, out = write_questions(tmp_path, "csv", TEXTS), tmp_path / "out"
    summary = solve_file(path, out, HowAsked(str(run), abstain_below=1.0), size=5)
    (out / "tallies.jsonl").unlink()
    there = done_before(out, divide(path, 5).parts, "csv")
    assert sum(tally.unanswered for tally in there.values()) == summary["unanswered"]


def test_another_job_is_refused(run, tmp_path):
    path, out = write_questions(tmp_path, "jsonl", TEXTS[:3]), tmp_path / "out"
    solve_file(path, out, HowAsked(str(run)))
    with pytest.raises(DataError, match="holds another job: width is 0 there, 2 here; choose another folder"):
        solve_file(path, out, HowAsked(str(run), width=2))
    other = make_run(tmp_path / "other", seed=1)
    with pytest.raises(DataError, match="holds another job: model"):
        solve_file(path, out, HowAsked(str(other)))
    path.write_text(path.read_text() + '{"question": "3 + 4"}\n')
    with pytest.raises(DataError, match="holds another job: questions"):
        solve_file(path, out, HowAsked(str(run)))
    (out / "job.json").write_text("[]")
    with pytest.raises(DataError, match="damaged"):
        solve_file(path, out, HowAsked(str(run)))


def test_folders_that_are_not_ours_stay_as_they_are(run, tmp_path):
    path, out = write_questions(tmp_path, "jsonl", TEXTS[:3]), tmp_path / "out"
    out.mkdir()
    (out / "letter.txt").write_text("dear")
    with pytest.raises(DataError, match=r"is not empty \(letter.txt\) and holds no job"):
        solve_file(path, out, HowAsked(str(run)))
    with folder.claimed(tmp_path / "used", {}), pytest.raises(DataError, match="in use by another process"):
        solve_file(path, tmp_path / "used", HowAsked(str(run)))
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot write"):
        solve_file(path, tmp_path / "file" / "out", HowAsked(str(run)))


def test_what_cannot_be_done_is_said_first(run, tmp_path):
    empty = tmp_path / "empty.jsonl"
    empty.write_text("\n \n")
    with pytest.raises(DataError, match="holds no questions"):
        solve_file(empty, tmp_path / "out", HowAsked(str(run)))
    path = write_questions(tmp_path, "jsonl", TEXTS[:3])
    with pytest.raises(ConfigError, match="cannot be written as xlsx"):
        solve_file(path, tmp_path / "out", HowAsked(str(run)), kind="xlsx")
    with pytest.raises(ConfigError, match="expected here or ray"):
        Engine("moon")
    with pytest.raises(ConfigError, match="for --on ray"):
        Engine("here", workers=2)


def test_parts_that_an_engine_forgets_are_missed(run, tmp_path, monkeypatch):
    monkeypatch.setattr(Engine, "run", lambda self, job, parts: iter(()))
    path = write_questions(tmp_path, "jsonl", TEXTS[:3])
    with pytest.raises(DataError, match="1 of 1 parts were not done; the same command goes on"):
        solve_file(path, tmp_path / "out", HowAsked(str(run)))


def test_questions_from_python(run, monkeypatch):
    monkeypatch.setattr(answers, "BATCH", 2)
    asked = ["what is the sum of 3 and 4 ?", {"id": 7, "text": "add 3 to 4 ."}, {"no": "question"}, "twice 3"]
    found = list(bulk.solve(iter(asked), str(run)))
    assert [row["question"] for row in found] == [asked[0], "add 3 to 4 .", "", "twice 3"]
    assert [row["id"] for row in found] == [None, 7, None, None]
    assert "expected a JSON object" in str(found[2]["error"])
    assert bulk.solve_file is jobs.solve_file


def test_places_mean_the_same_in_every_folder(run, tmp_path, monkeypatch):
    monkeypatch.chdir(run.parent)
    asking = HowAsked(run.name, "arithmetic").fixed()
    assert (asking.model, asking.domain) == (str(run.resolve()), "arithmetic")
    (run.parent / "mine.py").write_text("")
    assert HowAsked(run.name, "mine.py:Mine").fixed().domain == f"{(run.parent / 'mine.py').resolve()}:Mine"
    job = Answering(tmp_path / "q.jsonl", tmp_path, "jsonl", asking)
    assert job.start().solver.domain.name == "arithmetic"


def test_the_command_answers_a_file_into_a_folder(tpn2f, run, nowhere):
    path = write_questions(nowhere, "jsonl", TEXTS[:4])
    done = tpn2f("solve", "--file", path, "--output", "answers", "--model", run)
    assert (done.code, done.out.strip()) == (0, "4 questions: 1 files in answers")
    assert [row["row"] for row in rows_of(nowhere / "answers")] == [1, 2, 3, 4]
    done = tpn2f("solve", "--file", path, "--output", "tables", "--model", run, "--format", "csv")
    assert done.code == 0 and part_path(nowhere / "tables", 0, "csv").exists()
    path.write_text('{"question": 3}\n')
    done = tpn2f("solve", "--file", path, "--output", "other", "--model", run)
    assert (done.code, done.out.strip()) == (1, "1 questions, 1 of them without an answer: 1 files in other")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--output", "out"], "needs a file of questions that can be read again"),
        (["--file", "q.txt", "--on", "ray"], "are for answers in a folder"),
        (["--file", "q.txt", "--format", "csv"], "are for answers in a folder"),
        (["--file", "q.txt", "--output", "out", "--on", "moon"], "expected here or ray"),
    ],
)
def test_what_does_not_go_together_is_said(tpn2f, nowhere, words, told):
    (nowhere / "q.txt").write_text("3 + 4\n")
    done = tpn2f("solve", *words, *([] if "--file" in words else ["3 + 4"]))
    assert done.code == 2 and told in done.err


def test_without_ray_the_work_is_done_here(tpn2f, run, nowhere, monkeypatch):
    monkeypatch.setattr("tpn2f.bulk.engines.has_ray", lambda: False)
    path = write_questions(nowhere, "jsonl", TEXTS[:4])
    done = tpn2f("solve", "--file", path, "--output", "answers", "--model", run, "--on", "ray")
    assert done.code == 0 and "Ray is not installed" in done.err and "done in this process" in done.err
    assert len(rows_of(nowhere / "answers")) == 4


def test_a_part_that_kills_its_workers_ends_the_job(run, tmp_path):
    for _ in range(folder.ATTEMPTS):
        folder.begin(tmp_path, 3)
    folder.begin(tmp_path, 4)
    with pytest.raises(DataError, match="4 workers died over the questions of part 3"):
        folder.begin(tmp_path, 3)
    path = write_questions(tmp_path, "jsonl", TEXTS[:3])
    (tmp_path / "out").mkdir()
    with folder.claimed(tmp_path / "out", {}):
        folder.begin(tmp_path / "out", 0)
    (tmp_path / "out" / "job.json").unlink()
    (tmp_path / "out" / ".begun-000000").unlink()
    solve_file(path, tmp_path / "out", HowAsked(str(run)))
    assert not list((tmp_path / "out").glob(".*"))


@pytest.mark.parametrize("more", [["--work", "found"], ["--work", "found", "--beam", "2"]])
def test_a_search_in_parts_scores_as_ever(tpn2f, run, nowhere, more, monkeypatch):
    monkeypatch.setattr("tpn2f.bulk.searching.SIZE", 7)
    words = ["evaluate", "--model", run, "--split", "dev", "--limit", "20", *more[2:], "--json"]
    straight, parts = (json.loads(tpn2f(*words, *some).out) for some in ([], more[:2]))
    for report in (straight, parts):
        report.pop("notes", None)
        for name in [name for name in report.get("facts", {}) if "second" in name or "share" in name]:
            del report["facts"][name]
    assert straight == parts
    assert len(list((nowhere / "found").glob("part-*.jsonl"))) == 3
    assert tpn2f(*words, *more[:2]).code == 0
    done = tpn2f("evaluate", "--system", "gold", "--domain", "arithmetic", "--work", "found")
    assert done.code == 2 and "name one with --model" in done.err
