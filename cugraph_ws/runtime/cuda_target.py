"""Numba-CUDA, the compiler of kernels: the only module that imports it.

`compile_to_ptx` is all that the host needs.  The other names are what `kernels/cuda/primitives.py`,
the language of kernels, is written in.  Which of Numba-CUDA's internals they rely on is the table of
`tests/runtime/test_cuda_target.py`.
"""

from __future__ import annotations

import contextlib
import inspect
import threading
import types
from collections.abc import Container, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from llvmlite import ir
from numba import cuda
from numba.core import cgutils
from numba.core import types as numba_types
from numba.core.errors import NumbaError
from numba.cuda import dispatcher
from numba.cuda.codegen import CUDACodeLibrary
from numba.cuda.cudadrv import nvvm
from numba.cuda.descriptor import cuda_target
from numba.cuda.extending import intrinsic, models, register_model
from numba.cuda.target import CUDACallConv

from cugraph_ws.errors import ProgramError
from cugraph_ws.runtime.device_functions import (
    HIDDEN,
    Callee,
    FunctionCode,
    ResolvedCode,
    Written,
    as_places,
    entry_key,
    hidden_type,
    keep,
    kept,
    link_order,
    resolved,
)
from cugraph_ws.runtime.function_identity import UnknownValueError, codes, function_digest
from cugraph_ws.runtime.kernel_sources import source_of
from cugraph_ws.runtime.signature import Kind

if TYPE_CHECKING:
    from cugraph_ws.runtime.device_compiler import Capability

__all__ = [
    "DeviceFunction", "InterfaceFunction", "OpaqueTypes", "cgutils", "compile_functions", "compile_to_ptx", "cuda",
    "intrinsic", "ir", "numba_types", "options", "use_first",
]  # fmt: skip

CONTEXT = cuda_target.target_context
CALLS = CUDACallConv(CONTEXT)
OPTIONS = {"fastmath": False, "opt": 3}  # of NVVM, as of `cuda.jit` and `cuda.compile`
OPAQUE = "OPAQUE"  # the global name of a module's `OpaqueTypes`
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
    try:
        with _LOCK, _compiling_for(capability):
            return _ptx(function, tuple(map(_numba_type, kinds)), capability)
    except (NumbaError, KeyError) as error:  # KeyError: a function that Numba's CUDA target lacks
        program = function.__module__.removeprefix("cugraph_ws_cuda_")
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise ProgramError(
            f"{program}: its kernel `{function.__name__}` cannot be compiled for a GPU: {reason}; use "
            "functions of math instead of NumPy's, or engine='cpu'"
        ) from error


@contextlib.contextmanager
def _compiling_for(capability: Capability) -> Iterator[None]:
    """Let Numba see a GPU, which dispatchers ask for its capability, and sizes of types that it cannot know."""
    present, size_of = dispatcher.get_current_device, CONTEXT.get_abi_sizeof
    stand_in = types.SimpleNamespace(compute_capability=capability)
    dispatcher.get_current_device = lambda: stand_in
    # The size is for debuggers
    CONTEXT.get_abi_sizeof = lambda kind: 0 if HIDDEN.search(str(kind)) else size_of(kind)
    try:
        yield
    finally:
        dispatcher.get_current_device = present
        del CONTEXT.get_abi_sizeof


def use_first(capability: Capability) -> None:
    """Compile a kernel that no cache has to PTX: the compiler's first use takes longer than later ones.

    Parameters
    ----------
    capability
        As in `compile_kernel`.
    """
    with _LOCK, _compiling_for(capability):
        compiled = dispatcher.CUDADispatcher(lambda: None, options()).compile_device(())
        compiled.library.get_asm_str(cc=capability)


def compile_functions(function: Any, kinds: tuple[Kind, ...]) -> None:
    """Compile a kernel's code and all functions that it calls to NVVM IR, which the disk cache keeps.

    Parameters
    ----------
    function, kinds
        As in `compile_kernel`.
    """
    with _LOCK, _compiling_for((9, 0)):  # the same for all capabilities
        _modules(function, tuple(map(_numba_type, kinds)))


def _ptx(function: Any, arguments: Types, capability: Capability) -> str:
    modules = CUDACodeLibrary(CONTEXT.codegen(), function.__name__, nvvm_options=OPTIONS)
    modules._llvm_strs = _modules(function, arguments)
    return str(modules.get_asm_str(cc=capability))


def _modules(function: Any, arguments: Types) -> list[str]:
    """Compile a kernel as a device function, and write an entry point that calls it."""
    device_function = DeviceFunction(function, options(forceinline=True))
    opaque = function.__globals__.get(OPAQUE)
    if opaque is None:
        return link_order(_entry(device_function.compile_device(arguments), None, arguments), {})
    try:
        body = device_function.compile_device(opaque.hide(function, arguments))
    except (NumbaError, TypeError):  # a loop looks into what is opaque, or a role has two types
        opaque.forget(function)
        with opaque.looking():
            body = device_function.compile_device(arguments)
        opaque.forget(function)
    return link_order(_entry(body, opaque, arguments), opaque.layouts())


def options(**chosen: Any) -> dict[str, Any]:
    """Return the compiler's options of device functions.

    Parameters
    ----------
    **chosen
        As of `numba.cuda.jit`.
    """
    made: dict[str, Any] = cuda.jit(device=True, **chosen)(lambda: None).targetoptions
    return dict(made)


# ------------------------------------------------------------------------ device functions


class DeviceFunction(dispatcher.CUDADispatcher):  # type: ignore[misc]
    """A device function, whose code the disk cache keeps; see `device_functions`."""

    def compile_device(self, args: Types, return_type: Any = None) -> Any:
        """Return its code for types of arguments: what stands for Numba's result of a compilation."""
        try:
            return self.code_for(args)
        except _NotYetKnownError:  # none will: what the cache has is of other callees
            return self._made(args, None)

    def code_for(self, args: Types) -> _Compiled:
        """Do as `compile_device`.

        Raises
        ------
        _NotYetKnownError
            If it calls functions with opaque types that no function has returned yet.
        """
        if args not in self.overloads:
            return self._made(args, _Instance(self.py_func, args, self.targetoptions).found())
        compiled: _Compiled = self.overloads[args]
        return compiled

    def _made(self, args: Types, library: _Library | None) -> _Compiled:
        """Return its code, compiled by Numba if it is not given."""
        instance = _Instance(self.py_func, args, self.targetoptions)
        if library is None:
            compiled = super().compile_device(args)
            symbol, returns = compiled.fndesc.mangled_name, compiled.signature.return_type
            library = instance.kept(compiled.library, symbol, returns)
        return self._noted(library)

    def _noted(self, library: _Library) -> _Compiled:
        """Let Numba find its code for the types of an instance."""
        stand_in = _Compiled(library.instance, library)
        self.overloads[library.instance.arguments] = stand_in
        CONTEXT.insert_user_function(stand_in, stand_in, [library])
        return stand_in

    def forget(self) -> None:
        """Forget the code for all types, which the cache keeps."""
        self.overloads.clear()


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
        self.instance = instance
        self.signature = library.returns(*instance.arguments)
        self.restype, self.argtypes = library.returns, instance.arguments
        self.args = instance.function.__code__.co_varnames[: len(instance.arguments)]
        self.mangled_name = self.llvm_func_name = library.code.symbol
        self.inline = bool(instance.options.get("forceinline"))
        self.call_conv = CALLS

    def declare_function(self, module: Any) -> Any:
        """Declare the function in a caller's module."""
        return self.declared(module, self.argtypes, self.restype)

    def declared(self, module: Any, arguments: Types, returns: Any) -> Any:
        """Declare the function for types with the same code as its own."""
        kind = CALLS.get_function_type(returns, arguments)
        declared = cgutils.get_or_insert_function(module, kind, self.mangled_name)
        CALLS.decorate_function(declared, self.args, arguments, noalias=False)
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
        How it is compiled.
    """

    function: Any
    arguments: Types
    options: dict[str, Any]

    def found(self) -> _Library | None:
        """Return its code from the cache, with that of all that it calls; None if the cache lacks some.

        Raises
        ------
        _NotYetKnownError
            As of `DeviceFunction.code_for`.
        """
        key = self._key()
        for code in [] if key is None else kept(key):
            with contextlib.suppress(_UnknownTypeError):
                called = self._all_called(code.callees)
                return self._resolved(code, called, self._read(code.returns))
        return None

    def _all_called(self, callees: list[Callee]) -> list[_Library]:
        """Return the code of all that it calls, that of functions first whose types of arguments are known."""
        called: dict[int, _Library] = {}
        waiting = dict(enumerate(callees))
        while waiting:
            for place, callee in waiting.items():
                with contextlib.suppress(_NotYetKnownError):
                    called[place] = self._called(callee)
            unknown = {place: waiting[place] for place in waiting.keys() - called.keys()}
            if len(unknown) == len(waiting):
                raise _NotYetKnownError(next(iter(unknown.values())).name)
            waiting = unknown
        return [called[place] for place in range(len(callees))]

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
        texts = as_places(modules, symbol, symbols, entry=False)
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
            digest = function_digest(self.function, _is_device_function, _source)
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
            library = device_function.code_for(arguments).library
        except _NotYetKnownError:
            raise
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
        if what == "opaque":
            return Opaque(parts[0])
        if what == "pointer":
            return numba_types.CPointer(self._read(parts[0]))
        name, kinds, _ = parts
        named = self.function.__globals__.get(name) if name else None
        if name and len(getattr(named, "_fields", ())) != len(kinds):
            raise _UnknownTypeError(name)
        return numba_types.BaseTuple.from_types([self._read(kind) for kind in kinds], named)


def _is_device_function(value: Any) -> bool:
    return isinstance(value, DeviceFunction)


def _source(function: types.FunctionType) -> str:
    source = source_of(function)
    if source is None:
        raise UnknownValueError(f"{function} has no text")
    return source


class _UnknownTypeError(TypeError):
    """A type that is not written, or what was written is not there."""


class _NotYetKnownError(LookupError):
    """An opaque type that no function has returned yet."""


def _written(kind: Any, names: Container[str]) -> Written:
    """Return a type as JSON has it; of the fields of named tuples those that are in `names`."""
    if isinstance(kind, numba_types.Literal) and isinstance(kind.literal_value, (int, str)):
        return ["literal", kind.literal_value]
    if isinstance(kind, (numba_types.Integer, numba_types.Float, numba_types.Boolean)):
        return kind.name
    if kind is numba_types.void:
        return "void"
    if isinstance(kind, Opaque) and kind.known is None:
        return ["opaque", kind.role]
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


# ------------------------------------------------------------------------ opaque types


class Opaque(numba_types.Type):  # type: ignore[misc]  # Numba and llvmlite have no types for checkers
    """A type of a program that kernels hand on and do not look into.

    Code for it has a place for its layout, so the same code serves all programs.

    Parameters
    ----------
    role : str
        What values of the type are to kernels.
    known : Numba type, optional
        What it is in a program; then code for it has the program's layout, passed as one value.
    """

    def __init__(self, role: str, known: Any = None) -> None:
        self.role, self.known = role, known
        super().__init__(f"opaque {role}" if known is None else f"opaque {role}: {known}")


class _Layout(ir.Type):  # type: ignore[misc]  # as of `Opaque`
    """The place for the layout of an opaque type."""

    def __init__(self, role: str) -> None:
        self.name = hidden_type(role)

    def _to_string(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Layout) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)


@register_model(Opaque)
class _OpaqueModel(models.PrimitiveModel):  # type: ignore[misc]  # as of `Opaque`
    def __init__(self, manager: Any, kind: Opaque) -> None:
        layout = _Layout(kind.role) if kind.known is None else CONTEXT.get_value_type(kind.known)
        super().__init__(manager, kind, layout)


class OpaqueTypes:
    """What opaque types are in the module of a program's kernels.

    Parameters
    ----------
    roles : mapping
        By the name of a kernel's parameter: its role, or a list of the roles of its parts, None for parts
        that are not opaque.
    """

    def __init__(self, roles: Mapping[str, Any]) -> None:
        self._roles = roles
        self._known: dict[str, Any] = {}
        self.looks = False  # whether a function is compiled that looks into them

    def hide(self, kernel: Any, arguments: Types) -> Types:
        """Return the types with which a kernel is compiled, of those with which it is launched."""
        names = inspect.signature(kernel).parameters
        known: dict[str, Any] = {}
        hidden = tuple(
            _hidden(self._roles.get(name), kind, known)
            for name, kind in zip(names, arguments, strict=True)
        )
        if any(self._known.get(role, kind) != kind for role, kind in known.items()):
            self.forget(kernel)
        self._known |= known
        return hidden

    def forget(self, kernel: Any) -> None:
        """Forget what is known, and the code of the functions of a kernel's module for it."""
        self._known.clear()
        for function in kernel.__globals__.values():
            if (
                isinstance(function, DeviceFunction)
                and function.py_func.__globals__ is kernel.__globals__
            ):
                function.forget()

    def opaque(self, role: str, kind: Any) -> Opaque:
        """Return the opaque type of what a function returns, which is the same wherever it is returned."""
        return _opaque(role, numba_types.unliteral(kind), self._known)

    def shown(self, kind: Any) -> Any:
        """Return what a type is that may be opaque."""
        if not isinstance(kind, Opaque):
            return kind
        if kind.role not in self._known:
            raise _NotYetKnownError(kind.role)
        return self._known[kind.role]

    def filled(self, kind: Any) -> Any:
        """Return a type whose code is that of `kind` when its places have been filled."""
        if isinstance(kind, Opaque):
            return Opaque(kind.role, self.shown(kind))
        if not isinstance(kind, numba_types.BaseTuple):
            return kind
        parts = tuple(map(self.filled, kind.types))
        return kind if parts == tuple(kind.types) else numba_types.Tuple(parts)

    def layouts(self) -> dict[str, str]:
        """Return the layout of each opaque type, as LLVM writes it."""
        return {role: str(CONTEXT.get_value_type(kind)) for role, kind in self._known.items()}

    @contextlib.contextmanager
    def looking(self) -> Iterator[None]:
        """Let interface functions be called with what opaque types are."""
        self.looks = True
        try:
            yield
        finally:
            self.looks = False


def _opaque(role: str, kind: Any, known: dict[str, Any]) -> Opaque:
    """Return an opaque type, and note what it is, which is the same wherever it is known."""
    if known.setdefault(role, kind) != kind:
        raise TypeError(f"{role} is {known[role]} and {kind} in one kernel")
    return Opaque(role)


def _hidden(roles: Any, kind: Any, known: dict[str, Any]) -> Any:
    """Return a parameter's type, its parts with roles opaque, and note what these are."""
    if isinstance(roles, str):
        return _opaque(roles, kind, known)
    if roles is None:
        return kind
    parts = zip(roles, kind.types, strict=True)
    return numba_types.Tuple([_hidden(role, part, known) for role, part in parts])


class InterfaceFunction(DeviceFunction):
    """A function of a program that kernels call with opaque types, and that looks into them.

    Parameters
    ----------
    function, options
        As of `DeviceFunction`.
    role : str or None
        What it returns; None if that is not opaque.
    """

    def __init__(self, function: Any, options: dict[str, Any], role: str | None) -> None:
        super().__init__(function, options)
        self._role = role
        self._inner = DeviceFunction(function, options)
        # Whether its callers look into opaque types, by types of arguments
        self._seen: dict[Types, bool] = {}

    def code_for(self, args: Types) -> _Compiled:
        """Return its code for types of arguments, by way of one that looks into opaque types."""
        opaque: OpaqueTypes = self.py_func.__globals__[OPAQUE]
        looks = opaque.looks
        if self._seen.setdefault(args, looks) != looks:
            raise TypeError(
                f"{self.__name__}{args} is called by kernels, and by functions of the program"
            )
        if args not in self.overloads:
            if looks:
                self.overloads[args] = self._inner.compile_device(args)
            else:
                with opaque.looking():
                    inner = self._inner.compile_device(tuple(map(opaque.shown, args)))
                self._noted(self._by_way_of(inner, args, opaque))
        compiled: _Compiled = self.overloads[args]
        return compiled

    def forget(self) -> None:
        """Forget the code for all types, which the cache keeps."""
        super().forget()
        self._seen.clear()

    def _by_way_of(self, inner: _Compiled, args: Types, opaque: OpaqueTypes) -> _Library:
        """Write code that takes opaque values apart, and calls that for what they are."""
        returns = inner.restype if self._role is None else opaque.opaque(self._role, inner.restype)
        instance = _Instance(self.py_func, args, self.targetoptions)
        given, result = tuple(map(opaque.filled, args)), opaque.filled(returns)
        module = _module(self.__name__)
        function = ir.Function(module, CALLS.get_function_type(result, given), self.__name__)
        function.attributes.add("alwaysinline")
        builder = ir.IRBuilder(function.append_basic_block())
        values = CALLS.decode_arguments(builder, given, function)
        called = inner.declare_function(module)
        status, value = CALLS.call_function(builder, called, inner.restype, inner.argtypes, values)
        if self._role is None:
            value = CONTEXT.get_return_value(builder, returns, value)
        builder.store(value, function.args[0])
        builder.ret(status.code)
        # Types that differ in their roles only have the same text, and callers that declare them apart
        name = " ".join([self.__name__, *map(str, args)])
        code = _of_module(module, self.__name__, name, inner, entry=False)
        return _Library(instance, returns, code)


def _entry(body: _Compiled, opaque: OpaqueTypes | None, arguments: Types) -> ResolvedCode:
    """Write the entry point that calls a kernel's code."""
    name = body.instance.function.__name__
    given = body.argtypes if opaque is None else tuple(map(opaque.filled, body.argtypes))
    module = _module(name)
    packer = CONTEXT.get_arg_packer(arguments)
    kind = ir.FunctionType(ir.VoidType(), packer.argument_types)
    function = ir.Function(module, kind, name)
    builder = ir.IRBuilder(function.append_basic_block())
    values = packer.from_arguments(builder, function.args)
    values = [_as(builder, value, to) for value, to in zip(values, given, strict=True)]
    called = body.declared(module, given, body.restype)
    CALLS.call_function(builder, called, body.restype, given, values)
    builder.ret_void()
    nvvm.set_cuda_kernel(function)
    return _of_module(module, name, name, body, entry=True)


def _as(builder: Any, value: Any, kind: Any) -> Any:
    """Return a value as one of a type that differs from its own in parts that are opaque."""
    if value.type == CONTEXT.get_value_type(kind):
        return value
    parts = [builder.extract_value(value, place) for place in range(len(kind.types))]
    parts = [_as(builder, part, to) for part, to in zip(parts, kind.types, strict=True)]
    return CONTEXT.make_tuple(builder, kind, parts)


def _module(name: str) -> Any:
    return CUDACodeLibrary(CONTEXT.codegen(), name).create_ir_module(name)


def _of_module(
    module: Any, symbol: str, name: str, called: _Compiled, *, entry: bool
) -> ResolvedCode:
    """Return the code of a module with a function that calls another one."""
    texts = as_places([str(module)], symbol, [called.mangled_name], entry=entry)
    return resolved(name, FunctionCode(None, texts, []), [called.library.code])
