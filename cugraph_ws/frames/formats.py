"""Which format a file has: named, or found from its suffix and its first bytes.

A file is taken for a list of edges only if nothing else is known of it, and its first rows look like
one.  A format that is known, but not read, is refused by its name with a way to convert it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cugraph_ws.errors import FileError
from cugraph_ws.frames.streams import with_line_feeds

__all__ = ["FORMATS", "SUFFIXES", "find_format", "refuse_binary", "refuse_unlikely", "suffixes"]

FORMATS = (
    *("parquet", "arrow", "csv", "tsv", "snap", "matrix-market", "dimacs", "metis", "graphml"),
    *("gml", "pajek", "jsonl"),
)
SUFFIXES = {
    ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow",
    ".csv": "csv", ".tsv": "tsv", ".mtx": "matrix-market", ".gr": "dimacs", ".dimacs": "dimacs",
    ".col": "dimacs", ".clq": "dimacs", ".graph": "metis", ".metis": "metis", ".graphml": "graphml",
    ".gml": "gml", ".net": "pajek", ".pajek": "pajek", ".jsonl": "jsonl", ".ndjson": "jsonl",
}  # fmt: skip
COMPRESSED = (".gz", ".bz2", ".zst", ".lz4", ".xz")
MOST_COLUMNS = 4  # of a list of edges: two ids, a weight and a time

# What each format of text begins with; comments before it are allowed for.
SKIPPED = rb"(?:\s|\xef\xbb\xbf|[#%].*\n|//.*\n|/\*(?:.|\n)*?\*/)*"
BEGINNINGS = {
    "matrix-market": rb"(?i:%%MatrixMarket)",
    "dimacs": rb"(?:c(?:[ \t].*)?\r?\n|\s)*p\s+\w+\s+\d+\s+\d+",
    "graphml": rb"(?:\s|\xef\xbb\xbf|<\?.*?\?>|<!(?:.|\n)*?>)*<(?:\w+:)?graphml\b",
    "gml": SKIPPED + rb'(?:(?:Creator|Version|comment|label)\s+(?:"[^"]*"|\S+)\s+)*graph\s*\[',
    "jsonl": rb'(?:\s|\xef\xbb\xbf)*\{\s*"[^\n[{]*\}[ \t]*(?:\n|$)',
    "pajek": SKIPPED + rb"\*(?i:vertices|network|arcs|edges|arcslist|edgeslist|matrix)\b",
}

GRAPHML = "convert it to GraphML, for example by "


@dataclass(frozen=True)
class Other:
    """A format that is not read: how it is known, and what to do about it."""

    name: str
    suffixes: str
    beginning: bytes
    remedy: str


NETWORKX = GRAPHML + "networkx.write_graphml(networkx.read_{}(path), 'graph.graphml')"
OTHERS = (
    Other("DOT (Graphviz)", ".dot .gv", SKIPPED + rb'(?:strict\s+)?(?:di)?graph\b\s*(?:\w+|"[^"]*")?\s*\{',
          "convert it to GML, by gv2gml of Graphviz"),
    Other("GEXF", ".gexf", rb"(?:\s|\xef\xbb\xbf|<\?.*?\?>|<!(?:.|\n)*?>)*<(?:\w+:)?gexf\b",
          NETWORKX.format("gexf")),
    Other("an HTML page", ".html .htm", rb"(?i:\s*(?:<!doctype html|<html))",
          "fetch the file itself again: this is a page about it, or an error"),
    Other("RDF", ".nt .nq .ttl .rdf", SKIPPED + rb"(?:<[^>\s]+>\s+<[^>\s]+>\s|@prefix\b|@base\b)",
          "make a CSV of the subjects and objects of one predicate"),
    Other("XML", ".xml .svg .kml .osm", rb"(?:\s|\xef\xbb\xbf)*<[?!a-zA-Z][^\n>]*>?\s*(?:\n|<)", GRAPHML + "igraph"),
    Other("a pickle of Python", ".pickle .pkl .gpickle", rb"\x80[\x02-\x05]",
          "load it in Python, and write its edges by to_parquet or to_csv"),
    Other("HDF5", ".h5 .hdf5 .hdf", rb"\x89HDF\r\n\x1a\n", "write its edges by pandas.read_hdf(path).to_parquet"),
    Other("Excel", ".xlsx .xls .xlsm .ods", rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1|PK\x03\x04(?:.|\n){26,60}(?:\[Content_Types\]|xl/|mimetypeapplication)",
          "save the sheet as CSV"),
    Other("JSON", ".json .geojson", rb'(?:\s|\xef\xbb\xbf)*(?:\{\s*["}]|\[\s*[\[{"\d\]])',
          "write an object with source and destination in each line (.jsonl), or a CSV or Parquet file"),
    Other("SQLite", ".sqlite .sqlite3 .db", rb"SQLite format 3\0", "export the table of edges as CSV"),
    Other("a zip archive", ".zip", rb"PK[\x03\x05]", "unpack it, and give the file in it"),
    Other("a NumPy archive", ".npz .npy", rb"\x93NUMPY", "load it in Python: Graph.from_matrix and Graph.from_arrays take what is in it"),
    Other("a 7z archive", ".7z", rb"7z\xbc\xaf\x27\x1c", "unpack it, and give the file in it"),
    Other("a RAR archive", ".rar", rb"Rar!\x1a\x07", "unpack it, and give the file in it"),
    Other("a tar archive", ".tar .tgz .tbz2 .txz", rb"(?s:.{257})ustar", "unpack it, and give the file in it"),
    Other("compressed by compress", ".z", rb"\x1f\x9d", "unpack it by gunzip"),
    Other("ORC", ".orc", rb"ORC", "write it as Parquet, by pyarrow.orc.read_table"),
    Other("Avro", ".avro", rb"Obj\x01", "write it as Parquet"),
    Other("MATLAB", ".mat", rb"MATLAB \d", "load it by scipy.io.loadmat: Graph.from_matrix takes its matrix"),
    Other("R data", ".rds .rda .rdata", rb"RD[AX]\d\n|[XAB]\n\0", "write it as CSV in R, by write.csv"),
    Other("PDF", ".pdf", rb"%PDF-", "give the data itself"),
    Other("a pointer of Git LFS", "", rb"version https://git-lfs", "fetch the file itself, by git lfs pull"),
    Other("graph6 or sparse6", ".g6 .s6 .d6 .graph6 .sparse6 .digraph6", rb">>(?:graph6|sparse6|digraph6)<<|:[?-~]+\n",
          NETWORKX.format("graph6") + " (or read_sparse6)"),
    Other("UCINET DL", ".dl", rb"(?i:\s*dl\b\s*n\w*\s*=)", "convert it to Pajek .net, by UCINET"),
    Other("LEDA", ".lgr .gw .leda", SKIPPED + rb"LEDA\.GRAPH", NETWORKX.format("leda")),
    Other("GDF", ".gdf", rb"nodedef\s*>", GRAPHML + "Gephi"),
    Other("Tulip", ".tlp", rb'\s*\(\s*tlp\b', GRAPHML + "Gephi"),
    Other("Feather of version 1", "", rb"FEA1", "write it again as Parquet, by pandas.read_feather(path).to_parquet"),
    Other("Trivial Graph Format", ".tgf", b"", "make a CSV with columns source and destination"),
    Other("LGL", ".lgl", b"", GRAPHML + "igraph: Graph.Read_Lgl(path).write_graphml('graph.graphml')"),
    Other("Cytoscape SIF", ".sif", b"", "make a CSV with columns source and destination: the middle column is a kind of edge"),
    Other("adjacency lists", ".adjlist .multiline_adjlist", b"",
          "write edges instead, by networkx.write_edgelist(networkx.read_adjlist(path), 'edges.txt')"),
    Other("Harwell-Boeing", ".rb .rua .rsa .psa .pua .hb", b"", "convert it to Matrix Market (.mtx)"),
    Other("DIMACS CNF (formulas)", ".cnf", b"", "give a graph"),
)  # fmt: skip
# Words of languages for graphs; no list of edges has them as cells.
SIGNS = {"{", "}", "[", "]", "->", "--", "-->", "=", "=>", "|"}


def suffixes(path: Path) -> str:
    """Return the suffix of a file in lower case, without that of its compression."""
    name = path.name.lower()
    for compressed in COMPRESSED:
        name = name.removesuffix(compressed)
    return Path(name).suffix


def find_format(path: Path, head: bytes) -> str | None:
    """Return the format that a file is known to have; None for rows of cells.

    Parameters
    ----------
    path : Path
    head : bytes
        The beginning of its text, decompressed.

    Raises
    ------
    FileError
        If the file has a format that is not read.
    """
    suffix, text = suffixes(path), with_line_feeds(head)
    if SUFFIXES.get(suffix) == "jsonl":
        return "jsonl"
    for name, beginning in BEGINNINGS.items():
        if re.match(beginning, text):
            return name
    by_suffix = (refused for refused in OTHERS if suffix and suffix in refused.suffixes.split())
    by_beginning = (
        refused
        for refused in OTHERS
        if refused.beginning
        and (re.match(refused.beginning, head) or re.match(refused.beginning, text))
    )
    refused = next(by_suffix, None) or next(by_beginning, None)
    if refused is not None:
        raise FileError(f"{path}: is {refused.name}, which is not read; {refused.remedy}")
    refuse_binary(path, head)
    return None if suffix in (".csv", ".tsv") else SUFFIXES.get(suffix)


def refuse_binary(path: Path, head: bytes) -> None:
    """Refuse a file that cannot be text."""
    if b"\0" in head:
        raise FileError(
            f"{path}: is neither text in UTF-8 nor in a known format; convert it to one of: "
            f"{', '.join(FORMATS)}"
        )


def refuse_unlikely(path: Path, rows: Sequence[Sequence[str]], *, header: bool) -> None:
    """Refuse a file whose first rows do not look like edges.

    Parameters
    ----------
    path : Path
    rows : sequence of sequence of str
        Cells of the first rows.
    header : bool
        Whether the first one is the header.
    """
    signs = [cell for row in rows for cell in row if cell in SIGNS or cell[-1:] in ("{", ";")]
    if signs:
        reason = f"{signs[0]!r} is no id"
    elif rows and not header and len(rows[0]) > MOST_COLUMNS:
        reason = f"a row has {len(rows[0])} cells and there is no header"
    else:
        return
    raise FileError(
        f"{path}: does not look like a list of edges, since {reason}; give --format snap (or csv, tsv) if "
        f"it is one, or convert it to one of: {', '.join(FORMATS)}"
    )
