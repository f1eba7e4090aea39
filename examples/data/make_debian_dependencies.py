"""Make `debian-dependencies.parquet` and `debian-packages.parquet`: the dependencies of Debian's packages.

    python examples/data/make_debian_dependencies.py [--index FILE] [--folder FOLDER]

It needs PyArrow, and a package index of a Debian release: any `Packages` file of a mirror, plain or
compressed with gz, xz or lz4.  The default is the largest one that `apt-get update` left in
/var/lib/apt/lists (that of the release itself, not of its updates).

In `debian-dependencies.parquet` a row is an edge, from a package to a package that it needs:

==========  ======================================================================
package     name of the package whose `Depends` or `Pre-Depends` field is read
depends_on  name of a package that satisfies the dependency
kind        "Depends", or "Pre-Depends" (needed already while it is being unpacked)
==========  ======================================================================

- Of alternatives (`a | b`), the first that the index can satisfy counts, as for apt.
- A virtual package is not a vertex.  A dependency on one leads to every package that provides it.
- Versions and architectures (`libc6 (>= 2.36)`, `python3:any`) are dropped, and a dependency that
  nothing in the index satisfies is left out.
- A package that both pre-depends and depends on another has one row, the stronger: Pre-Depends.
- Rows are sorted by package, then by what it depends on, so that the same index makes the same
  file.

In `debian-packages.parquet` a row is a package, with or without edges:

==============  ==================================================================
package         its name
section         the part of the archive that it belongs to, such as "libs"
installed_kib   disk space that it takes once installed, in KiB
==============  ==================================================================
"""

from __future__ import annotations

import argparse
import lzma
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

LISTS = Path("/var/lib/apt/lists")
KINDS = ("Pre-Depends", "Depends")  # the stronger first
WANTED = ("Package", "Section", "Installed-Size", "Provides", *KINDS)

Packages = Mapping[str, Mapping[str, str]]  # fields by the name of the package


def main() -> None:
    """Read the index and write both files."""
    parser = argparse.ArgumentParser(description="Make Parquet files of Debian's dependencies.")
    parser.add_argument("--index", type=Path, help="a Packages file, plain or .gz, .xz, .lz4")
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent, help="output folder")
    arguments = parser.parse_args()
    index = arguments.index or largest_index(LISTS)
    packages = {stanza["Package"]: stanza for stanza in stanzas(read_text(index))}
    for name, table, repetitive in (
        ("debian-dependencies.parquet", edge_table(packages), ["depends_on", "kind"]),
        ("debian-packages.parquet", vertex_table(packages), ["section"]),
    ):
        path = arguments.folder / name
        write(table, path, repetitive)
        print(f"{path}: {len(table):,} rows, {path.stat().st_size / 1e6:.2f} MB")


def largest_index(folder: Path) -> Path:
    """Return the largest package index that apt has downloaded."""
    found = [path for path in folder.glob("*Packages*") if path.is_file()]
    if not found:
        raise SystemExit(f"no package index in {folder}: run `apt-get update`, or give --index")
    return max(found, key=lambda path: path.stat().st_size)


def read_text(path: Path) -> str:
    """Return the text of a plain or compressed file."""
    if path.suffix == ".xz":
        return lzma.decompress(path.read_bytes()).decode()
    compression = {".gz": "gzip", ".lz4": "lz4"}.get(path.suffix)
    with pa.input_stream(path, compression=compression) as stream:
        return bytes(stream.read()).decode()


def stanzas(text: str) -> Iterator[dict[str, str]]:
    """Yield the needed fields of every package; each of them is on a single line."""
    for paragraph in text.split("\n\n"):
        fields = dict(
            line.split(": ", 1)
            for line in paragraph.splitlines()
            if line.startswith(tuple(f"{name}: " for name in WANTED))
        )
        if fields:
            yield fields


def names(field: str) -> list[list[str]]:
    """Return the names in a relationship field: for each dependency its alternatives."""
    dependencies = [part for part in field.split(",") if part.strip()]
    return [
        [choice.split("(")[0].split("[")[0].strip().split(":")[0] for choice in part.split("|")]
        for part in dependencies
    ]


def edge_table(packages: Packages) -> pa.Table:
    """Resolve every dependency and return the edges, sorted."""
    providers: dict[str, list[str]] = {}
    for package, stanza in packages.items():
        for (virtual,) in names(stanza.get("Provides", "")):
            providers.setdefault(virtual, []).append(package)

    def satisfied_by(choices: list[str]) -> list[str]:
        for name in choices:
            if name in packages:
                return [name]
            if name in providers:
                return providers[name]
        return []

    kinds: dict[tuple[str, str], str] = {}
    for package, stanza in packages.items():
        for kind in KINDS:
            for choices in names(stanza.get(kind, "")):
                for target in satisfied_by(choices):
                    kinds.setdefault((package, target), kind)
    rows = sorted(kinds)
    return pa.table(
        {
            "package": pa.array([package for package, _ in rows]),
            "depends_on": pa.array([target for _, target in rows]),
            "kind": pa.array([kinds[row] for row in rows]),
        }
    )


def vertex_table(packages: Packages) -> pa.Table:
    """Return a row for every package, sorted by name."""
    rows = sorted(packages.items())
    return pa.table(
        {
            "package": pa.array([package for package, _ in rows]),
            "section": pa.array([stanza.get("Section", "unknown") for _, stanza in rows]),
            "installed_kib": pa.array(
                [int(stanza.get("Installed-Size", 0)) for _, stanza in rows], pa.int64()
            ),
        }
    )


def write(table: pa.Table, path: Path, repetitive: list[str]) -> None:
    """Write a small file: sorted names prefix-coded, repeated values in a dictionary, all by zstd."""
    pq.write_table(
        table,
        path,
        compression="zstd",
        compression_level=19,
        use_dictionary=repetitive,
        column_encoding={"package": "DELTA_BYTE_ARRAY"},
        store_schema=False,
    )


if __name__ == "__main__":
    main()
