"""Models in files: modules of MLIR, ONNX, and programs that `torch.export` wrote."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from tadc.caller.program_files import file_error
from tadc.dialect import mlir
from tadc.frontend.packages import imported
from tadc.importing.imported_function import ImportedFunction, imported_function
from tadc.importing.linalg_modules import lowered, module_context
from tadc.importing.torch_lowering import run_passes, to_linalg
from tadc.passes.linalg.index_forms import IndexForm, SizeSymbol, of_atom
from tadc.passes.linalg.linalg_generic import inner_operations
from tadc.passes.linalg.linalg_programs import NamedValue, legal_names, open_sizes, program_of
from tadc.passes.linalg.refusals import refuse
from tadc.passes.linalg.source_places import SourcePlace

#: CHLO as its printer writes it. Of a dialect that it has not, MLIR reads the generic form alone.
_TYPE = r"tensor<[^>]*>"
_CHLO = re.compile(rf"chlo\.(\w+) (%[\w#:]+(?:, %[\w#:]+)*) : ({_TYPE}(?:, {_TYPE})*) -> ({_TYPE})")


def load_model(path: str) -> ImportedFunction:
    """The function of a model in a file: `.mlir`, `.onnx` or `.pt2`.

    Raises CompileError: TAD0801 for a file that cannot be read, TAD0513 for what the language has not.
    """
    if not Path(path).is_file():
        raise file_error(f"no file `{path}`")
    readers = {".mlir": _of_mlir, ".onnx": _of_onnx, ".pt2": _of_exported}
    return readers[Path(path).suffix](path)


def _of_exported(path: str) -> ImportedFunction:
    from tadc.importing.torch_modules import function_of_exported

    torch: Any = imported("torch", "programs of `torch.export` are read by PyTorch", "torch")
    try:
        exported = torch.export.load(path)
    except Exception as error:
        raise _damaged(path, "torch.export", error) from None
    return function_of_exported(exported, _name(path), None)


def _name(path: str) -> str:
    return legal_names([Path(path).stem])[0]


def _damaged(path: str, what: str, error: Exception) -> Exception:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = lines[0][:200] if lines else type(error).__name__
    return file_error(f"`{path}` cannot be read by {what}: {said}")


def _of_mlir(path: str) -> ImportedFunction:
    """Of a module of linalg, StableHLO or torch-mlir, its function `main`, or the only one."""
    raw = Path(path).read_bytes()
    if not raw.startswith(b"ML\xefR"):
        try:
            raw = _CHLO.sub(_generic, raw.decode())
        except UnicodeDecodeError:
            raise file_error(f"`{path}` is neither text in UTF-8 nor bytecode of MLIR") from None
    with mlir.LOCK, module_context() as context:
        try:
            module = mlir.ir.Module.parse(raw, context)
        except mlir.ir.MLIRError as error:
            _refuse_text(path, error)
        if any(op.name.startswith("torch.") for op in inner_operations(module.body)):
            to_linalg(module, None)
        _check_dialects(path, module)
        lowered(module)
        function = _entry(path, module)
        names = _argument_names(function, raw if isinstance(raw, str) else "")
        sizes = open_sizes(list(function.regions[0].blocks[0].arguments))
        given = [NamedValue(n, s) for n, s in zip(names, sizes, strict=True)]
        count = len(list(function.regions[0].blocks[0].operations)[-1].operation.operands)
        own = function.attributes["sym_name"].value
        name = legal_names([_name(path) if own == "main" else own])[0]
        results = [name] if count == 1 else [f"{name}_{i}" for i in range(count)]
        program = program_of(function, given, legal_names(results), name, SourcePlace(path, 1))
    return imported_function(program, _by_position(names, program.inputs))


def _generic(match: re.Match[str]) -> str:
    name, operands, types, result = match.groups()
    listed = types if types.count("tensor<") > 1 else ", ".join([types] * (operands.count(",") + 1))
    return f'"chlo.{name}"({operands}) : ({listed}) -> {result}'


def _refuse_text(path: str, error: Any) -> NoReturn:
    found = re.search(r'error: "[^"]*":(\d+):\d+: ([^\n]*)', str(error))
    line, message = (int(found[1]), found[2]) if found else (1, str(error).splitlines()[0])
    refuse(f"MLIR cannot read the module: {message[:200]}", SourcePlace(path, line))


def _check_dialects(path: str, module: Any) -> None:
    """Refuse operations of dialects that are not known, but for CHLO's."""
    for op in inner_operations(module.body):
        dialect = op.name.partition(".")[0]
        if dialect != "chlo" and not op.context.is_registered_operation(op.name):
            place = re.search(r'"[^"]*":(\d+):', str(op.location))
            at = SourcePlace(path, int(place[1]) if place else 1)
            refuse(f"`{op.name}` is of a dialect that is not known", at, "lower it to `linalg` first")


def _entry(path: str, module: Any) -> Any:
    functions = [op.operation for op in module.body.operations if op.operation.name == "func.func"]
    named = [f for f in functions if f.attributes["sym_name"].value == "main"]
    public = [f for f in functions if "sym_visibility" not in f.attributes]
    for found in (named, functions if len(functions) == 1 else public):
        if len(found) == 1:
            return found[0]
    refuse("a module has one function, or one that is called `main`", SourcePlace(path, 1))


def _argument_names(function: Any, text: str) -> list[str]:
    """The names of arguments, of their locations or as they are written."""
    arguments = function.regions[0].blocks[0].arguments
    head = re.search(rf"@{function.attributes['sym_name'].value}\((.*?)\)\s*(?:->|attributes|{{)", text, re.S)
    written = re.findall(r"%(\w+)\s*:", head[1]) if head else []
    if len(written) != len(arguments):
        written = [f"x{i}" for i in range(len(arguments))]
    located = [re.match(r'loc\("([^"]+)"\)', str(argument.location)) for argument in arguments]
    return legal_names([m[1] if m else w for m, w in zip(located, written, strict=True)])


def _by_position(names: Sequence[str], inputs: Sequence[str]) -> Callable[..., dict[str, Any]]:
    def arguments_of(*actual: Any) -> dict[str, Any]:
        return {name: value for name, value in zip(names, actual, strict=False) if name in inputs}

    return arguments_of


def _of_onnx(path: str) -> ImportedFunction:
    """Of a model of ONNX: inputs and weights are arguments with their names."""
    onnx: Any = imported("onnx", "models of ONNX are read by its package", "onnx")
    importer: Any = import_module(f"{mlir.SUPPLIER}.extras.onnx_importer")
    try:
        model = onnx.load(path)
        model = onnx.shape_inference.infer_shapes(model)
    except Exception as error:
        raise _damaged(path, "onnx", error) from None
    weights = _weights_as_inputs(onnx, model)
    names = [value.name for value in model.graph.input]
    legal = dict(zip(names, legal_names(names), strict=True))
    with mlir.LOCK, module_context() as context:
        try:
            info = importer.ModelInfo(model, config=importer.Config(elide_initialized_inputs=False))
            module = info.create_module(context=context)
            importer.NodeImporter.define_function(info.main_graph, module.operation).import_all()
        except Exception as error:
            raise _damaged(path, "torch-mlir", error) from None
        place = SourcePlace(path, 1)
        run_passes("builtin.module(torch-onnx-to-torch-backend-pipeline)", module, place)
        to_linalg(module, place)
        lowered(module)
        function = _entry(path, module)
        sizes = _onnx_sizes(model)
        given = [NamedValue(legal[n], sizes[n]) for n in names]
        results = legal_names([value.name for value in model.graph.output])
        program = program_of(function, given, results, _name(path), place)
    constants = {legal[n]: value for n, value in weights.items() if legal[n] in program.inputs}
    free = [legal[n] for n in names if n not in weights]
    return imported_function(program, _by_position(free, program.inputs), None, constants)


def _weights_as_inputs(onnx: Any, model: Any) -> dict[str, Any]:
    """Make the floating weights inputs; their values by name."""
    found: dict[str, Any] = {}
    listed = {value.name for value in model.graph.input}
    for tensor in list(model.graph.initializer):
        value = onnx.numpy_helper.to_array(tensor)
        if value.dtype.kind != "f" or value.size < 2:
            continue
        found[tensor.name] = value
        model.graph.initializer.remove(tensor)
        if tensor.name not in listed:
            model.graph.input.append(
                onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, value.shape)
            )
    return found


def _onnx_sizes(model: Any) -> Mapping[str, dict[int, IndexForm]]:
    """By input the sizes that the model leaves open, with its names for them."""
    symbols: dict[str, SizeSymbol] = {}
    free = iter("NMKLPQRSTUVWXYZ")
    found: dict[str, dict[int, IndexForm]] = {}
    for value in model.graph.input:
        found[value.name] = {}
        for i, size in enumerate(value.type.tensor_type.shape.dim):
            if not size.HasField("dim_value"):
                key = size.dim_param or f"{value.name}.{i}"
                symbol = symbols.get(key) or symbols.setdefault(key, SizeSymbol(next(free)))
                found[value.name][i] = of_atom(symbol)
    return found
