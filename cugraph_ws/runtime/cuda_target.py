"""Numba-CUDA, the compiler of kernels: the only module that imports it.

`compile_to_ptx` is all that the host needs.  The other names are what `kernels/cuda/primitives.py`,
the language of kernels, is written in.  Which of Numba-CUDA's internals they rely on is the table of
`tests/runtime/test_cuda_target.py`.
"""

from __future__ import annotations

import contextlib
import threading
import types
from collections.abc import Container, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from llvmlite import ir
from numba import cuda
from numba.core import cgutils
from numba.core import types as numba_types
from numba.core.errors import NumbaError
from numba.cuda import compiler, dispatcher
from numba.cuda.codegen import CUDACodeLibrary
from numba.cuda.descriptor import cuda_target
from numba.cuda.extending import intrinsic
from numba.cuda.target import CUDACallConv

from cugraph_ws.errors import ProgramError
from cugraph_ws.runtime.device_functions import (
    Callee,
    FunctionCode,
    ResolvedCode,
    Written,
    as_places,
    entry_key,
    keep,
    kept,
    link_order,
    resolved,
)
from cugraph_ws.runtime.function_identity import UnknownValueError, codes, function_digest
from cugraph_ws.runtime.signature import Kind

if TYPE_CHECKING:
    from cugraph_ws.runtime.device_compiler import Capability

__all__ = [
    "DeviceFunction", "cgutils", "compile_to_ptx", "cuda", "intrinsic", "ir", "numba_types", "use_first",
]  # fmt: skip

CONTEXT = cuda_target.target_context
OPTIONS = {"fastmath": False, "opt": 3}  # of NVVM, as of `cuda.jit` and `cuda.compile`
ENTRY = {"entry": True}  # in the place of a device function's options
_LOCK = threading.RLock()  # all compilations of a process are one after the other

Types = tuple[Any, ...]  # of Numba


def compile_to_ptx(function: Any, kinds: tuple[Kind, ...], capability: Capability) -> str:
    """Compile a kernel to PTX, without the assembler.

    Parameters
    ----------
    function, kinds, capability
        As in `compile_kernel`.

    Returns
    -------
    str

    Raises
    ------
    ProgramError
        If the compiler refuses the kernel.
    """
    kernel = _Instance(function, tuple(map(_numba_type, kinds)), ENTRY)
    try:
        with _LOCK, _compiling_for(capability):
            return _ptx(kernel, capability)
    except (NumbaError, KeyError) as error:  # KeyError: a function that Numba's CUDA target lacks
        program = function.__module__.removeprefix("cugraph_ws_cuda_")
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise ProgramError(
            f"{program}: its kernel `{function.__name__}` cannot be compiled for a GPU: {reason}; use "
            "functions of math instead of NumPy's, or engine='cpu'"
        ) from error


@contextlib.contextmanager
def _compiling_for(capability: Capability) -> Iterator[None]:
    """Let the dispatchers of inner device functions see a GPU, which they ask for its capability."""
    present = dispatcher.get_current_device
    stand_in = types.SimpleNamespace(compute_capability=capability)
    dispatcher.get_current_device = lambda: stand_in
    try:
        yield
    finally:
        dispatcher.get_current_device = present


def use_first(capability: Capability) -> None:
    """Compile a kernel that no cache has to PTX: the compiler's first use takes longer than later ones.

    Parameters
    ----------
    capability
        As in `compile_kernel`.
    """
    _compiled(lambda: None, (), capability).get_asm_str(cc=capability)


def _ptx(kernel: _Instance, capability: Capability) -> str:
    library = kernel.found()
    if library is None:
        compiled = _compiled(kernel.function, kernel.arguments, capability)
        library = kernel.kept(compiled, compiled._entry_name, numba_types.void)
    modules = CUDACodeLibrary(CONTEXT.codegen(), kernel.function.__name__, nvvm_options=OPTIONS)
    modules._llvm_strs = link_order(library.code)
    return str(modules.get_asm_str(cc=capability))


def _compiled(function: Any, arguments: Types, capability: Capability) -> Any:
    """Compile a kernel to NVVM IR by Numba."""
    library, _ = compiler._compile_pyfunc_with_fixup(
        function, arguments, device=False, abi="numba", cc=capability
    )
    return library


# ------------------------------------------------------------------------ device functions


class DeviceFunction(dispatcher.CUDADispatcher):  # type: ignore[misc]
    """A device function, whose code the disk cache keeps; see `device_functions`."""

    def compile_device(self, args: Types, return_type: Any = None) -> Any:
        """Return its code for types of arguments: what stands for Numba's result of a compilation."""
        if args not in self.overloads:
            instance = _Instance(self.py_func, args, self.targetoptions)
            library = instance.found()
            if library is None:
                compiled = super().compile_device(args, return_type)
                symbol, returns = compiled.fndesc.mangled_name, compiled.signature.return_type
                library = instance.kept(compiled.library, symbol, returns)
            self.overloads[args] = stand_in = _Compiled(instance, library)
            CONTEXT.insert_user_function(stand_in, stand_in, [library])
        return self.overloads[args]


class _Library(CUDACodeLibrary):  # type: ignore[misc]
    """Code of a function and what it calls, as Numba links it: with no modules, since `link_order` has them."""

    def __init__(self, instance: _Instance, returns: Any, code: ResolvedCode) -> None:
        super().__init__(CONTEXT.codegen(), code.symbol)
        self.instance, self.returns, self.code = instance, returns, code
        self._finalized = True

    @property
    def modules(self) -> list[Any]:
        """No modules of llvmlite."""
        return []


class _Compiled:
    """Stands for Numba's result of a compilation, and describes the function to its callers."""

    objectmode, noalias, target_context = False, False, CONTEXT

    def __init__(self, instance: _Instance, library: _Library) -> None:
        self.library, self.entry_point, self.fndesc = library, self, self
        self.signature = library.returns(*instance.arguments)
        self.restype, self.argtypes = library.returns, instance.arguments
        self.args = instance.function.__code__.co_varnames[: len(instance.arguments)]
        self.mangled_name = self.llvm_func_name = library.code.symbol
        self.inline = bool(instance.options.get("forceinline"))
        self.call_conv = CUDACallConv(CONTEXT)

    def declare_function(self, module: Any) -> Any:
        """Declare the function in a caller's module."""
        kind = self.call_conv.get_function_type(self.restype, self.argtypes)
        declared = cgutils.get_or_insert_function(module, kind, self.mangled_name)
        self.call_conv.decorate_function(declared, self.args, self.argtypes, noalias=False)
        if self.inline:
            declared.attributes.add("alwaysinline")
        return declared


class _Instance(NamedTuple):
    """A function for types of arguments.

    Attributes
    ----------
    function : callable
    arguments : tuple of Numba types
    options : dict
        How it is compiled; `ENTRY` for a kernel.
    """

    function: Any
    arguments: Types
    options: dict[str, Any]

    def found(self) -> _Library | None:
        """Return its code from the cache, with that of all that it calls; None if the cache lacks some."""
        key = self._key()
        for code in [] if key is None else kept(key):
            with contextlib.suppress(_UnknownTypeError):
                called = [self._called(callee) for callee in code.callees]
                return self._resolved(code, called, self._read(code.returns))
        return None

    def kept(self, library: Any, symbol: str, returns: Any) -> _Library:
        """Return the code that Numba has compiled, and keep it in the cache.

        Parameters
        ----------
        library : CUDACodeLibrary
        symbol : str
            Its own, in the library's module.
        returns : Numba type
        """
        parts = dict.fromkeys([library, *library.linking_libraries])
        modules = [str(part._module) for part in parts if not isinstance(part, _Library)]
        text = "".join(modules)
        called = sorted(  # as they are called: the types of some arguments are what others return
            (part for part in parts if isinstance(part, _Library)),
            key=lambda part: text.index(f'"{part.code.symbol}"'),
        )
        symbols = [callee.code.symbol for callee in called]
        texts = as_places(modules, symbol, symbols, entry=self.options is ENTRY)
        code, key = FunctionCode(None, texts, []), self._key()
        if key is not None:
            with contextlib.suppress(_UnknownTypeError):
                callees = [self._callee(callee) for callee in called]
                code = FunctionCode(self._written(returns), texts, callees)
                keep(key, code)
        return self._resolved(code, called, returns)

    def _resolved(self, code: FunctionCode, called: list[_Library], returns: Any) -> _Library:
        codes_called = [callee.code for callee in called]
        return _Library(self, returns, resolved(self.function.__name__, code, codes_called))

    def _key(self) -> str | None:
        """Return the name of its entry, None if a change of what it names could not be seen."""
        try:
            digest = function_digest(self.function, lambda value: isinstance(value, DeviceFunction))
            arguments = [_written(kind, self._names) for kind in self.arguments]
        except (UnknownValueError, _UnknownTypeError):
            return None
        options = sorted(map(repr, self.options.items()))
        return entry_key(self.function.__name__, [digest, arguments, options])

    @property
    def _names(self) -> set[str]:
        """The names of globals and of attributes in its code."""
        return {name for code in codes(self.function.__code__) for name in code.co_names}

    def _callee(self, callee: _Library) -> Callee:
        """Describe a function that it calls, as `_called` finds it again."""
        function, arguments, _ = callee.instance
        for name in sorted(self._names & self.function.__globals__.keys()):
            value = self.function.__globals__[name]
            if isinstance(value, DeviceFunction) and value.py_func is function:
                written = [self._written(kind) for kind in arguments]
                return Callee(name, written, self._written(callee.returns))
        raise _UnknownTypeError(function)

    def _called(self, callee: Callee) -> _Library:
        """Return the code of a function that it calls, if that returns what was expected."""
        device_function = self.function.__globals__.get(callee.name)
        if not isinstance(device_function, DeviceFunction):
            raise _UnknownTypeError(callee.name)
        arguments = tuple(self._read(kind) for kind in callee.arguments)
        try:
            library: _Library = device_function.compile_device(arguments).library
        except Exception as error:  # it is no longer called with these types
            raise _UnknownTypeError(callee.name) from error
        if self._written(library.returns) != callee.returns:
            raise _UnknownTypeError(callee.name)
        return library

    def _written(self, kind: Any) -> Written:
        """Return a type as JSON has it, if it can be read again."""
        written = _written(kind, self._names)
        if self._read(written) != kind:
            raise _UnknownTypeError(kind)
        return written

    def _read(self, written: Written) -> Any:
        """Return the Numba type that was written."""
        if isinstance(written, str):
            return getattr(numba_types, written)
        what, *parts = written
        if what == "literal":
            return numba_types.literal(parts[0])
        if what == "pointer":
            return numba_types.CPointer(self._read(parts[0]))
        name, kinds, _ = parts
        named = self.function.__globals__.get(name) if name else None
        if name and len(getattr(named, "_fields", ())) != len(kinds):
            raise _UnknownTypeError(name)
        return numba_types.BaseTuple.from_types([self._read(kind) for kind in kinds], named)


class _UnknownTypeError(TypeError):
    """A type that is not written, or what was written is not there."""


def _written(kind: Any, names: Container[str]) -> Written:
    """Return a type as JSON has it; of the fields of named tuples those that are in `names`."""
    if isinstance(kind, numba_types.Literal) and isinstance(kind.literal_value, (int, str)):
        return ["literal", kind.literal_value]
    if isinstance(kind, (numba_types.Integer, numba_types.Float, numba_types.Boolean)):
        return kind.name
    if kind is numba_types.void:
        return "void"
    if type(kind) is numba_types.CPointer and kind.addrspace is None:
        return ["pointer", _written(kind.dtype, names)]
    if isinstance(kind, numba_types.BaseTuple):
        fields = enumerate(getattr(kind, "fields", ()))
        used = [[place, field] for place, field in fields if field in names]
        name = getattr(getattr(kind, "instance_class", None), "__name__", "")
        return ["tuple", name, [_written(part, names) for part in kind.types], used]
    raise _UnknownTypeError(kind)


def _numba_type(kind: Kind) -> Any:
    if isinstance(kind, tuple):
        return numba_types.Tuple([_numba_type(part) for part in kind])
    if kind.endswith("*"):
        return numba_types.CPointer(getattr(numba_types, kind[:-1]))
    return getattr(numba_types, "boolean" if kind == "bool" else kind)
