"""The public originals of the data sets: where they are, what they hold, and the sums that are known."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that stands in the data folder in the end."""

    name: str
    sha256: str | None = None
    git_blob: str | None = None
    """The id that git gives the original, where its sum is unknown. It informs and does not refuse."""
    reconstructed: str | None = None
    """The sha256 of our reconstruction of an original that was not at hand."""
    optional: bool = False
    """Whether a local folder may lack it."""


@dataclass(frozen=True, slots=True)
class Source:
    """What a server gives: a member itself, or a zip archive of members."""

    name: str
    url: str
    sha256: str | None
    members: tuple[SourceFile, ...]

    @property
    def is_archive(self) -> bool:
        return self.name.endswith(".zip")


def _gz(split: str, key: str, sha256: str | None) -> Source:
    name = f"metaset3.{split}.jsonl.gz"
    # Without dl=1 the server sends a web page about the file.
    url = f"https://www.dropbox.com/s/{key}/{name}?dl=1"
    return Source(name, url, sha256, (SourceFile(name, sha256, optional=split == "train"),))


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
    "mathqa": (Source("MathQA.zip", "https://math-qa.github.io/math-QA/data/MathQA.zip", None, _MATHQA),),
    # The train file comes last: it is the largest, and the other two are of use without it.
    "algolisp": (
        _gz("dev", "aajkw83j2ps8bzx", "99bfbc406a8c4c1b250264f7ea2eba335f261bdaae711a740b2a5d8a44118b2c"),
        _gz("test", "f1x9ybkjpf371cp", "714253b6e0144d2bfbcb49628368ef4902ba191b7a8073eca82941252c545f78"),
        _gz("train", "qhun6kml9yb2ui9", None),
    ),
}
