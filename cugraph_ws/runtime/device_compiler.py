"""Compile kernels from Python to machine code, cached on disk.

Numba compiles a kernel to PTX, and nvJitLink to machine code for one architecture; neither needs a
GPU.  The name of a cached binary is a hash of everything that it depends on, so a second process
loads it without importing Numba, and code of other sources, compilers or architectures is never found.
Binaries of that name that came with the library (`ci/shipped.py`) are used before the cache.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from cugraph_ws.runtime.atomic_files import is_private, private_folder
from cugraph_ws.runtime.device_functions import compilers, version
from cugraph_ws.runtime.kernel_sources import sources_digest
from cugraph_ws.runtime.machine_code import (
    code_folder,
    read_entry,
    shipped_entry,
    write_entry,
)
from cugraph_ws.runtime.signature import Kind
from cugraph_ws.runtime.single_flight import single_flight

__all__ = [
    "Binary", "Capability", "compile_if_free", "compile_kernel", "compile_to_ptx",
    "entry_name", "is_kept", "load_or_compile",
]  # fmt: skip

Capability = tuple[int, int]
SUFFIX = ".cubin"
# Numba's pointer to a function's Python globals, which no kernel reads; its name differs between processes
ENVIRONMENT = re.compile(r"^\.common \.global \.align 8 \.u64 _ZN08NumbaEnv\w+;\n", re.MULTILINE)
FEWEST = 128  # threads of a block below which its limit is not halved to avoid spills


@dataclass(frozen=True)
class Binary:
    """Machine code of one kernel, for one architecture and one signature.

    Attributes
    ----------
    name : str
        Name of the entry point.
    registers : int
        Registers of a thread.
    spilled : int
        Bytes that a thread spills from registers to local memory.
    stack : int
        Bytes of a thread's stack frame.
    shared : int
        Bytes of static shared memory of a block.
    code : bytes
        An ELF file (cubin).
    threads : int
        Most threads of a block; 0 if the kernel sets no limit.
    """

    name: str
    registers: int
    spilled: int
    stack: int
    shared: int
    code: bytes
    threads: int = 0


@lru_cache
def _compilers() -> tuple[str, ...]:
    """Return what every kernel depends on: how the compilers are called, and their versions.

    Of CUDA only the major version counts, since drivers of a version run code of all its minor ones.
    """
    toolkit, _, _ = version("cuda-bindings").partition(".")
    return (
        sources_digest(Path(__file__).read_text("utf-8"), "compile_kernel"),
        *compilers(),
        toolkit,
    )


def load_or_compile(
    text: str, name: str, kinds: tuple[Kind, ...], capability: Capability,
    function: Callable[[], Any], missing: Callable[[], None] | None = None,
) -> Binary:  # fmt: skip
    """Return a kernel's machine code from the disk cache, or compile it and write it there.

    While another process compiles the same kernel, this one waits for it.

    Parameters
    ----------
    text : str
        Source of its module; see `kernel_sources` for what of it counts.
    name : str
        Name of the kernel.
    kinds : tuple
        Its signature; see `cugraph_ws.runtime.signature`.
    capability : (int, int)
        Compute capability.
    function : callable
        Returns the kernel; called only to compile it.
    missing : callable, optional
        Called if the cache lacks the kernel, before it is compiled.

    Returns
    -------
    Binary
    """
    entry = entry_name(text, name, kinds, capability)
    path = _path(entry)
    binary = _stored(entry, path)
    if binary is None:  # missing or damaged
        if path is None:
            return _compile(function(), kinds, capability)
        if missing is not None:
            missing()
        with single_flight(path):
            binary = _stored(entry, path)  # another process has compiled it meanwhile
            if binary is None:
                binary = _compile(function(), kinds, capability)
                _write(path, binary)
    return binary


def compile_if_free(
    text: str, name: str, kinds: tuple[Kind, ...], capability: Capability,
    function: Callable[[], Any],
) -> None:  # fmt: skip
    """Compile a kernel into the disk cache, unless it is there or another process is compiling it.

    Parameters
    ----------
    text, name, kinds, capability, function
        As in `load_or_compile`.
    """
    entry = entry_name(text, name, kinds, capability)
    path = _path(entry)
    if path is not None and _stored(entry, path) is None:
        with single_flight(path, patience=0) as is_locked:
            if is_locked and _stored(entry, path) is None:
                _write(path, _compile(function(), kinds, capability))


def is_kept(text: str, name: str, kinds: tuple[Kind, ...], capability: Capability) -> bool:
    """Return whether a kernel's machine code is in the disk cache, or came with the library.

    Parameters
    ----------
    text, name, kinds, capability
        As in `load_or_compile`.
    """
    entry = entry_name(text, name, kinds, capability)
    return _stored(entry, _path(entry)) is not None


def entry_name(text: str, name: str, kinds: tuple[Kind, ...], capability: Capability) -> str:
    """Return the name of a kernel's entry, with a hash of all that its machine code depends on.

    Parameters
    ----------
    text, name, kinds, capability
        As in `load_or_compile`.

    Returns
    -------
    str
    """
    facts = sources_digest(text, name), kinds, capability, _compilers()
    return f"{name}-{hashlib.sha256(repr(facts).encode()).hexdigest()[:40]}{SUFFIX}"


def _path(entry: str) -> Path | None:
    """Return the place of an entry in the disk cache, None if there is no folder for it."""
    folder = code_folder()
    return None if folder is None else folder / "cuda" / entry


def _stored(entry: str, path: Path | None) -> Binary | None:
    """Return a binary that came with the library or is in the cache, None if missing or damaged."""
    content = shipped_entry(entry)
    if content is None and path is not None and is_private(path.parent):
        content = read_entry(path)
    if content is None:
        return None
    header, _, code = content.partition(b"\n")
    return Binary(**json.loads(header), code=code)


def _write(path: Path, binary: Binary) -> None:
    """Write a binary to the cache, if the folder is private and the disk has room."""
    facts = asdict(binary)
    code = facts.pop("code")
    with contextlib.suppress(OSError):
        if private_folder(path.parent):
            write_entry(path, json.dumps(facts).encode() + b"\n" + code)


def compile_kernel(function: Any, kinds: tuple[Kind, ...], capability: Capability) -> Binary:
    """Compile a kernel for an architecture.

    Parameters
    ----------
    function : callable
        A function decorated with `@kernel`.
    kinds : tuple
        Its signature.
    capability : (int, int)
        Compute capability, such as (9, 0).

    Returns
    -------
    Binary
        The machine code, and the resources that it uses.

    Raises
    ------
    ProgramError
        If the compiler refuses the kernel.
    """
    ptx = ENVIRONMENT.sub("", compile_to_ptx(function, kinds, capability))
    entries = re.findall(r"\.entry\s+(\w+)", ptx)
    name = function.__name__
    ptx = ptx.replace(entries[0], name)
    most, lean = getattr(function, "most_threads", 0), getattr(function, "most_registers", 0)
    binary = _assemble(name, ptx, capability, most, lean)
    if lean and binary.spilled + binary.stack > 0:
        binary = _assemble(name, ptx, capability, most)
    while binary.spilled + binary.stack > 0 and most > FEWEST:
        most //= 2  # twice the registers for each thread
        binary = _assemble(name, ptx, capability, most)
    return binary


def compile_to_ptx(function: Any, kinds: tuple[Kind, ...], capability: Capability) -> str:
    """Compile a kernel to PTX, without the assembler; see `cuda_target`, which is imported by the first call."""
    from cugraph_ws.runtime import cuda_target

    return cuda_target.compile_to_ptx(function, kinds, capability)


def _compile(function: Any, kinds: tuple[Kind, ...], capability: Capability) -> Binary:
    """Compile a kernel without garbage collection, which takes an eighth of the time and frees little."""
    before = gc.isenabled()
    gc.disable()
    try:
        return compile_kernel(function, kinds, capability)
    finally:
        if before:
            gc.enable()


def _assemble(name: str, ptx: str, capability: Capability, most: int, registers: int = 0) -> Binary:
    """Assemble a kernel for blocks of at most `most` threads, with at most `registers` each.

    A limit of 0 leaves the choice to the assembler.
    """
    from cuda.bindings import nvjitlink

    head = re.search(rf"\.entry\s+{name}\s*\([^)]*\)", ptx)
    limits = f"\n.maxntid {most}, 1, 1\n" if most else ""
    limits += f"\n.maxnreg {registers}\n" if registers else ""
    if head is not None:
        ptx = ptx[: head.end()] + limits + ptx[head.end() :]
    text = ptx.encode()
    options = [f"-arch=sm_{capability[0]}{capability[1]}", "-verbose", "-O3"]
    handle = nvjitlink.create(len(options), options)
    try:
        nvjitlink.add_data(handle, nvjitlink.InputType.PTX, text, len(text), name)
        nvjitlink.complete(handle)
        code = bytearray(nvjitlink.get_linked_cubin_size(handle))
        nvjitlink.get_linked_cubin(handle, code)
        log = bytearray(nvjitlink.get_info_log_size(handle))
        nvjitlink.get_info_log(handle, log)
    finally:
        nvjitlink.destroy(handle)
    return Binary(
        name=name, **_figures(log.decode(errors="replace")), code=bytes(code), threads=most
    )


def _figures(log: str) -> dict[str, int]:
    """Parse the assembler's log for the resources of a kernel."""

    def figure(pattern: str) -> int:
        matched = re.search(pattern, log)
        return int(matched[1]) if matched else 0

    return {
        "registers": figure(r"Used (\d+) registers"),
        "spilled": figure(r"(\d+) bytes spill stores"),
        "stack": figure(r"(\d+) bytes stack frame"),
        "shared": figure(r"(\d+) bytes smem"),
    }
