"""GPU topology: how the GPUs of a host are connected, according to `nvidia-smi`."""

from __future__ import annotations

import re
import shutil
import subprocess

__all__ = ["gpu_links", "links_of"]

PATIENCE = 20.0  # seconds for the tool
TERMINAL = re.compile(r"\x1b\[[0-9;]*m")  # underlining, which the tool also writes to a pipe


def gpu_links(uuid: str) -> dict[str, str]:
    """Return how one GPU is connected with the others of this host.

    Parameters
    ----------
    uuid : str
        The GPU's UUID.

    Returns
    -------
    dict of str to str
        By UUID of the other GPU: "NVLink, 18 lanes" or "PCIe (PHB)".  Empty if the tool is missing
        or fails.
    """
    tool = shutil.which("nvidia-smi")
    if tool is None or not uuid:
        return {}
    outputs = []
    for words in (["--query-gpu=index,uuid", "--format=csv,noheader"], ["topo", "-m"]):
        try:
            done = subprocess.run(  # noqa: S603 - the driver's own tool, with fixed words
                [tool, *words], capture_output=True, text=True, timeout=PATIENCE, check=True
            )
        except (OSError, subprocess.SubprocessError):
            return {}
        outputs.append(done.stdout)
    return links_of(uuid, *outputs)


def links_of(uuid: str, listed: str, matrix: str) -> dict[str, str]:
    """Parse the tool's output.

    Parameters
    ----------
    uuid : str
        The GPU's UUID.
    listed : str
        Lines of index and UUID, separated by a comma.
    matrix : str
        The tool's matrix of GPUs: a header, and for each GPU a row of words such as NV18, PIX,
        PXB, PHB, NODE and SYS.

    Returns
    -------
    dict of str to str
        As `gpu_links`.
    """
    names = {}
    for line in listed.splitlines():
        index, _, name = line.partition(",")
        names[f"GPU{index.strip()}"] = name.strip()
    lines = [TERMINAL.sub("", line).split() for line in matrix.splitlines()]
    header = next((words for words in lines if words[:1] == ["GPU0"] and "X" not in words), [])
    rows = [words for words in lines if words and "X" in words[1:]]
    own_row = next((words for words in rows if names.get(words[0]) == uuid), [])
    return {
        names[column]: _words(word)
        for column, word in zip(header, own_row[1:], strict=False)
        if column in names and word != "X"
    }


def _words(word: str) -> str:
    lanes = re.fullmatch(r"NV(\d+)", word)
    return f"NVLink, {lanes[1]} lanes" if lanes else f"PCIe ({word})"
