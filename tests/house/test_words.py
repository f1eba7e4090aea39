"""The library is written in the field's terms: private words that it once had are not used again."""

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# What was written, and what is written instead.  Words with an everyday meaning that the text needs
# ("parts", "least", "ends", "report", "call") are not here.
TERMS = {
    "council": "stop vote",
    "crew": "communicator",
    "homing": "coalescing",
    "lifeline": "heartbeat, control channel",
    "lifelines": "heartbeat, control channel",
    "loud": "active, changing",
    "news": "updates, activated",
    "parcel": "message",
    "parcels": "message",
    "relay": "worklist pull",
    "shelf": "sorted run",
    "strangers": "remote ids",
    "summons": "direct task start",
    "survey": "probe",
    "whom": "which",
    "wish": "request",
}
NAMES = {  # in names of the code alone
    "boxes": "buffers",
    "heard": "received",
    "settle": "exchange, place, assign",
    "told": "received, known",
    "wires": "links",
}
PHRASES = {
    "as it stands": "uncompiled, unchanged",
    "lies in pieces": "is partitioned",
    "odds to follow": "damping factor",
    "speak up": "count as changed",
    "stands in a file": "is defined in a file",
    "until it rests": "until convergence",
}
# Compilers order variables by name, so that another name may cost these kernels registers.
KEPT = {("superstep.py", "news"), ("belief.py", "settle"), ("predecessor_codes.py", "told")}


def sources() -> list[Path]:
    """Return the files whose words are checked."""
    texts = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CHANGELOG.md")]
    texts += [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "decisions").glob("*.md")]
    for folder in ("cugraph_ws", "kernels"):
        texts += (ROOT / folder).rglob("*.py")
    return sorted(texts)


def pieces(path: Path, text: str) -> Iterator[tuple[int, str, bool]]:
    """Yield line numbers, what is written there, and whether it is a name of the code."""
    if path.suffix != ".py":
        yield from ((line, one, False) for line, one in enumerate(text.splitlines(), 1))
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NAME:
            yield token.start[0], token.string, True
        elif token.type in (tokenize.STRING, tokenize.COMMENT):
            for line, one in enumerate(token.string.splitlines(), token.start[0]):
                yield line, one, False


def found_in(path: Path, text: str) -> Iterator[str]:
    """Yield a line for each private word, with what to write instead."""
    for line, piece, is_name in pieces(path, text):
        words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", piece).lower())
        terms = TERMS | (NAMES if is_name else {})
        for word in sorted(terms.keys() & set(words)):
            if (path.name, word) not in KEPT:
                yield f"{path.name}:{line}: {word}; write {terms[word]}"
        whole = " ".join(words)
        for phrase, instead in PHRASES.items():
            if re.search(rf"\b{phrase}\b", whole):
                yield f"{path.name}:{line}: {phrase}; write {instead}"


def test_the_library_is_written_in_the_terms_of_its_field() -> None:
    found = [one for path in sources() for one in found_in(path, path.read_text("utf-8"))]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.py", "loud_rows = 1\n", ["loud"]),
        ("a.py", "class CrewMember: ...\n", ["crew"]),
        ("a.py", 'told = f"{y} can be told apart"  # no news\n', ["told", "news"]),
        ("a.py", '"""A part.\n\nIt runs as it stands.\n"""\n', ["as it stands"]),
        ("a.py", "cloud = aloud = outboxes = crews\n", []),
        ("a.md", "The council has told the crew.\n", ["council", "crew"]),
        ("a.md", "The ends of an edge, and the parts of an id, settle.\n", []),
    ],
)
def test_private_words_are_found(name: str, text: str, words: list[str]) -> None:
    assert [re.findall(r": ([a-z ]+);", one)[0] for one in found_in(Path(name), text)] == words
