"""The public files of the data sets: where they are, what they contain, and the known checksums."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of the data folder."""

    name: str
    sha256: str | None = None
    """Of the content: of a .gz file, of what is packed in it."""
    git_blob: str | None = None
    """The git blob id of the original, where its checksum is unknown. A difference is reported, not refused."""
    reconstructed: str | None = None
    """The sha256 of our reconstruction of an original that was unavailable."""
    optional: bool = False
    """Whether a local folder may lack it."""


@dataclass(frozen=True, slots=True)
class Source:
    """What a server sends: a member itself, perhaps not packed yet, or a zip archive of members."""

    name: str
    url: str
    members: tuple[SourceFile, ...]

    @property
    def is_archive(self) -> bool:
        return self.name.endswith(".zip")


def _algolisp(split: str, key: str, sha256: str | None) -> Source:
    name = f"metaset3.{split}.jsonl.gz"
    # Without dl=1 the server sends a web page about the file.
    url = f"https://www.dropbox.com/s/{key}/{name}?dl=1"
    return Source(name, url, (SourceFile(name, sha256, optional=split == "train"),))


def _github(name: str, sha256: str) -> Source:
    """A file of a repository's main branch, whatever that is called; packed here if its name says so."""
    folder, _, file = name.removesuffix(".gz").partition("/")
    url = f"https://raw.githubusercontent.com/{_REPOSITORIES[folder]}/{file}"
    return Source(f"{folder}/{file}", url, (SourceFile(name, sha256),))


_REPOSITORIES = {
    "gsm8k": "openai/grade-school-math/HEAD/grade_school_math/data",
    "aggregate": "CogComp/arithmetic/HEAD/data",
    "svamp": "arkilpatel/SVAMP/HEAD",
    "mawps": "LYH-YF/MWPToolkit/HEAD/dataset/mawps",
}
_MATHQA = (
    SourceFile(
        "train.json",
        git_blob="76a236ea303f50cfb24042806c3269268990d0ff",
        reconstructed="6d810e5cd33a248686d0c5d9dbb1a500216b4625c0241077cd7b37c1426707c4",
    ),
    SourceFile("dev.json", "aeca12424fc8f32d0e35c09b7738986a446c12f110c8071f3cc8913712f04bf3"),
    SourceFile("test.json", "dfe7bc4691caf26842ccd4cf14e8f978327bab4f2989e0b076a4e6b38a9371d1"),
    SourceFile(
        "challenge_test.json", "76cfe1091d19c61a95abc8cca23dfde9e1690bdb6a0b42a35453193483253579", optional=True
    ),
    SourceFile("operation_list.txt", "3ea53c71034e52605f8203f1525d7f03bd4a0ddc3e4384c93b3ee1e4ddc1e8ca", optional=True),
    SourceFile("constant_list.txt", "611b5d1089f0d10e6486b5ffeaee92c95efc5df9e385b809d4d142181e2bb4a0", optional=True),
)
SOURCES: dict[str, tuple[Source, ...]] = {
    "mathqa": (Source("MathQA.zip", "https://math-qa.github.io/math-QA/data/MathQA.zip", _MATHQA),),
    # The train file comes last: it is the largest, and the other two are of use without it.
    "algolisp": (
        _algolisp("dev", "aajkw83j2ps8bzx", "165108f96ba42e4d042108e6035587a257a1b1768ec494d420a570877dbbe945"),
        _algolisp("test", "f1x9ybkjpf371cp", "053dd50f5d0b867eef808c530117149c822cf4d2c9b0375d89cc2e57e2ad274b"),
        _algolisp("train", "qhun6kml9yb2ui9", None),
    ),
    "everyday": (
        _github("gsm8k/train.jsonl.gz", "17f347dc51477c50d4efb83959dbb7c56297aba886e5544ee2aaed3024813465"),
        _github("gsm8k/train_socratic.jsonl.gz", "153d86551187cfd64ef7afb59bfd0ef75cea3ae9388e7ad31e43920b6dd77872"),
        _github("gsm8k/test.jsonl", "3730d312f6e3440559ace48831e51066acaca737f6eabec99bccb9e4b3c39d14"),
        _github("gsm8k/test_socratic.jsonl", "c96673362fa7a699f4836a9b6474a067448f95fe58064727501ee63ba4c3fdb6"),
        _github("aggregate/questions.json", "a1fdbc08df5afe418ab0d72b530114712f20e73ed5a8ac9c4f5c3147e3272a25"),
        _github("svamp/SVAMP.json", "5be77703a6d891ae476d7c082787ad361392aa02453b132516cdd5f4e7934e3e"),
        _github("mawps/trainset.json", "a4a41869f6474ef7b69730d73620570a8429a5d91769b3f3907949d15fcfeb1a"),
        _github("mawps/validset.json", "1740756acdefae3740a4f4afd8ad14497d41933bcb6d70e720780a41d712b11f"),
        _github("mawps/testset.json", "f0d767e8f8bb979358f02a38a07b9363879ab458d945de77cfc475d4942baa27"),
    ),
}
