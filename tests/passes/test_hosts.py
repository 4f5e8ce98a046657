"""Modules of hosts that call programs of ours: through our passes and upstream's they run, and are right."""

import ctypes
import re
from pathlib import Path

import numpy as np
import pytest

import tadc
from tadc.compiler.run_passes import run_passes
from tadc.dialect.mlir import ir, new_context
from tadc.dialect.program_reader import read_program, tad_functions
from tadc.dialect.readable_text import parse_module
from tadc.toolkit.running import function_in_memory

engine = pytest.importorskip("torch_mlir.execution_engine")
runtime = pytest.importorskip("torch_mlir.runtime")

GUESTS = Path(__file__).parents[2] / "lit_tests" / "guests"

#: Upstream's passes from tensors to LLVM.
TO_LLVM = (
    "one-shot-bufferize{bufferize-function-boundaries allow-return-allocs-from-loops "
    "function-boundary-type-conversion=identity-layout-map},buffer-deallocation-pipeline,"
    "convert-linalg-to-loops,convert-vector-to-scf,convert-bufferization-to-memref,lower-affine,"
    "convert-scf-to-cf,expand-strided-metadata,lower-affine,convert-vector-to-llvm,"
    "finalize-memref-to-llvm,convert-math-to-llvm,convert-func-to-llvm,convert-arith-to-llvm,"
    "convert-cf-to-llvm,convert-ub-to-llvm,reconcile-unrealized-casts"
)


def run(text: str, passes: str, name: str, *arrays: np.ndarray, like: np.ndarray) -> np.ndarray:
    """What a function of a module gives for arrays, one array of this shape."""
    context = new_context()
    module = parse_module(text, context)
    with context:
        (function,) = (
            op for op in module.body.operations if ir.StringAttr(op.attributes["sym_name"]).value == name
        )
        function.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()
    run_passes(module, f"{passes},{TO_LLVM}")
    with context:
        made = engine.ExecutionEngine(module, opt_level=2)
        result = runtime.get_ranked_memref_descriptor(np.empty_like(like))
        given = [runtime.get_ranked_memref_descriptor(array) for array in arrays if np.shape(array)]
        sizes = [ctypes.c_int64(int(array)) for array in arrays if not np.shape(array)]
        pointers = [ctypes.pointer(ctypes.pointer(each)) for each in (result, *given)]
        made.invoke(name, *pointers, *map(ctypes.pointer, sizes))
        return runtime.ranked_memref_to_numpy(ctypes.pointer(result)).copy()


@pytest.mark.parametrize("options", ["vector-bytes=0", "vector-bytes=64"])
def test_a_host_trains_by_a_gradient(options):
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(8, 2)), np.array([2.0, -3.0])
    passes = f"tad-vjp,tad-cancel-deltas,tad-simplify,tad-fuse,tad-to-loops{{{options}}}"
    found = run((GUESTS / "train.mlir").read_text(), passes, "train", np.zeros(2), x, x @ w, like=w)
    np.testing.assert_allclose(found, w, atol=1e-6)
    # As many steps by hand have the same result.
    by_hand = np.zeros(2)
    for _ in range(200):
        by_hand -= 0.05 * 2 * x.T @ (x @ by_hand - x @ w)
    np.testing.assert_allclose(found, by_hand, atol=1e-12)


@pytest.mark.parametrize("passes", ["tad-to-loops", "tad-specialise{sizes=N=40},tad-to-loops"])
def test_a_host_calls_over_sizes(passes):
    x = np.random.default_rng(1).normal(size=40)
    found = run((GUESTS / "sizes.mlir").read_text(), passes, "host", x, like=np.empty(38))
    np.testing.assert_allclose(found, np.exp(x[1:-1]) + np.exp(x[:1:-1]), rtol=1e-14)


#: Programs with one result, from what is an operand everywhere to what is clamped, chosen and converted.
#: Those that read elements where operands have no maps.
EXTRACTED = {"reversed", "guarded", "gradient"}
PROGRAMS = {
    "window": "x: f64[9]; w: f64[3]; y[i: 7] = sum{k} (w[k]*x[i + k])",
    "product": "a: f64[5, 6]; b: f64[6, 4]; y[i, j] = tanh(sum{k} (a[i, k]*b[k, j]))*i + 2*j",
    "reversed": "x: f64[9]; y[i] = x[8 - i]*x[i // 2] + x[4]",
    "guarded": "x: f64[9]; y[i] = if {i >= 1} then (x[i] - x[i - 1]) else (3*x[i])",
    "triangle": "a: f64[5, 5]; x: f64[5]; y[i] = x[i] - sum{k}_0^(i - 1) (a[i, k]*x[k])",
    "nested": "a: f64[4, 6]; y[i] = max{j} (a[i, j] - sum{k}_(j)^5 (a[i, k]**3))/prod{j}_0^2 (a[i, 2*j])",
    "functions": "x: f64[8]; y[i] = sigmoid(x[i])**2 + relu(x[i]) % 3 + select(x[i] > 0, x[i], 1/x[i])",
    "types": "x: f32[8]; y: f64[8]; z[i: 8] = exp(x[i])*y[i]",
    "lets": "x: f64[8]; let m = max{i} (x[i]); let s = sum{i} (exp(x[i] - m)); y[i] = exp(x[i] - m)/s",
    "gradient": "w: f64[3]; y[p: 9] = sum{i}_0^3 (if {0 <= p - i and p - i < 3} then (w[p - i]) else (0))",
}


@pytest.mark.parametrize(
    ("name", "is_sized"),
    [
        (name, sized)
        for name, text in PROGRAMS.items()
        for sized in (False, True)
        if "[8]" in text or not sized
    ],
)
def test_operations_of_linalg_compute_the_same(name, is_sized):
    text = PROGRAMS[name]
    f = tadc.function(text)
    rng = np.random.default_rng(2)
    arrays = [
        rng.normal(size=[int(str(n)) for n in a.shape]).astype({"f32": "f4", "f64": "f8"}[a.type])
        for a in f.program.arguments
    ]
    wanted, tolerance = f(*arrays), 1e-6 if "f32" in text else 1e-13
    if is_sized:
        f = tadc.function(text.replace("8]", "N]"))
    module = ir.Module.create(ir.Location.unknown(new_context()))
    tadc.build(f, module, name="f")
    run_passes(module, "tad-to-linalg")
    lowered = str(module)
    assert "tad." not in lowered
    assert ("tensor.extract" in lowered) == (name in EXTRACTED)
    given = [*arrays, *[np.int64(8)] * is_sized]
    np.testing.assert_allclose(
        run(lowered, "canonicalize", "f", *given, like=wanted), wanted, rtol=tolerance, atol=tolerance
    )
    assert run_passes(module, "linalg-to-tad") == []
    (again,) = tad_functions(module.operation)
    back = function_in_memory(read_program(again), "<again>")
    assert back.program.sizes == f.program.sizes
    np.testing.assert_allclose(back(*arrays), wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "x: f64[9]; scan{i} s[i: 9] = if {i > 0} then (s[i - 1]*0.5 + x[i]) else (x[i])",
            "a recurrence is no operation of linalg",
        ),
        (
            "x: f64[9]; j: index[4] in 9; y[i] = x[j[i]]",
            "reads through index arrays are no operations of linalg",
        ),
        ("x: f64[9]; y = logsumexp{i} (x[i])", "`logsumexp` is no reduction of linalg"),
    ],
)
def test_what_linalg_does_not_have_is_said(text, said):
    module = ir.Module.create(ir.Location.unknown(new_context()))
    tadc.build(tadc.function(text), module)
    before = str(module)
    with pytest.raises(tadc.CompileError, match=said):
        run_passes(module, "tad-to-linalg")
    assert str(module) == before


def test_a_round_trip_gives_the_formulas_back():
    """A gradient whose reads are clamped in linalg, over sizes that the module tests, is as it was."""
    f = tadc.vjp(tadc.function("x: f64[N]; w: f64[K]; y[i: N - K + 1] = sum{k} (w[k]*x[i + k])"))
    module = ir.Module.create(ir.Location.unknown(new_context()))
    tadc.build(f, module)
    assert run_passes(module, "tad-to-linalg,linalg-to-tad") == []
    (again,) = tad_functions(module.operation)
    assert str(function_in_memory(read_program(again), "<again>")) == (
        "x: f64[N]\nw: f64[K]\ndy: f64[N - K + 1]\ndx_0: f64[N]\ndx_1: f64[K]\n\n"
        "dx_0[i] = sum{j}_(max [0; K + i - N])^(min [K - 1; i]) (dy[i - j] * w[j])\n"
        "dx_1[i] = sum{j}_0^(N - K) (dy[j] * x[i + j])\n"
    )


def test_a_host_of_linalg_gets_its_gradient():
    rng = np.random.default_rng(3)
    w, x, y = rng.normal(size=2), rng.normal(size=(8, 2)), rng.normal(size=8)
    passes = "linalg-to-tad,tad-vjp,tad-cancel-deltas,tad-simplify,tad-to-loops"
    found = run((GUESTS / "from-linalg.mlir").read_text(), passes, "step", w, x, y, like=w)
    np.testing.assert_allclose(found, 2 * x.T @ (x @ w - y), rtol=1e-13)


@pytest.mark.parametrize("passes", ["linalg-to-tad,tad-to-loops", "linalg-to-tad,tad-to-linalg"])
def test_a_function_over_open_sizes_keeps_its_callers(passes):
    rng = np.random.default_rng(4)
    a, x = rng.normal(size=(3, 5)), rng.normal(size=5)
    text = (
        (GUESTS / "open-sizes.mlir").read_text()
        + """
        func.func @host(%a: tensor<3x5xf64>, %x: tensor<5xf64>) -> tensor<?xf64> {
          %by = arith.constant 0.5 : f64
          %b = tensor.cast %a : tensor<3x5xf64> to tensor<?x?xf64>
          %y = tensor.cast %x : tensor<5xf64> to tensor<?xf64>
          %r = func.call @scaled(%by, %b, %y) : (f64, tensor<?x?xf64>, tensor<?xf64>) -> tensor<?xf64>
          return %r : tensor<?xf64>
        }"""
    )
    found = run(text, passes, "host", a, x, like=np.empty(3))
    np.testing.assert_allclose(found, 0.5 * (a @ x) ** 2, rtol=1e-13)


def test_functions_read_through_tensors_of_integers():
    rng = np.random.default_rng(5)
    x, at = rng.normal(size=(7, 3)), np.array([6, 0, 0, 3, 2])
    text, passes = (GUESTS / "places.mlir").read_text(), "linalg-to-tad,tad-to-loops"
    assert np.array_equal(run(text, passes, "take", x, at, like=x[at]), x[at])
    column = at[:, None].astype(np.int32)
    assert np.array_equal(run(text, passes, "gathered", x, column, like=x[at]), x[at])


def test_loops_that_carry_tensors_compute_the_same():
    rng = np.random.default_rng(6)
    w, x, h, c = rng.normal(size=(3, 3)), rng.normal(size=(7, 3)), rng.normal(size=3), rng.normal(size=6)
    text = (
        (GUESTS / "loops.mlir").read_text()
        + """
        func.func @host(%w: tensor<3x3xf64>, %x: tensor<?x3xf64>, %h: tensor<3xf64>, %c: tensor<6xf64>,
                        %p: tensor<8xf64>) -> tensor<15xf64> {
          %c0 = arith.constant 0 : index
          %by = tensor.extract %h[%c0] : tensor<3xf64>
          %last, %all = func.call @rnn(%w, %x, %h)
            : (tensor<3x3xf64>, tensor<?x3xf64>, tensor<3xf64>) -> (tensor<3xf64>, tensor<?x3xf64>)
          %row = tensor.extract_slice %all[4, 0] [1, 3] [1, 1] : tensor<?x3xf64> to tensor<3xf64>
          %value = func.call @horner(%c, %by) : (tensor<6xf64>, f64) -> tensor<f64>
          %one = tensor.expand_shape %value [] output_shape [1] : tensor<f64> into tensor<1xf64>
          %sums = func.call @prefix(%p) : (tensor<8xf64>) -> tensor<8xf64>
          %r = tensor.concat dim(0) %last, %row, %one, %sums
            : (tensor<3xf64>, tensor<3xf64>, tensor<1xf64>, tensor<8xf64>) -> tensor<15xf64>
          return %r : tensor<15xf64>
        }"""
    )
    p, states = rng.normal(size=8), [h]
    for row in x:
        states.append(np.tanh(row + w @ states[-1]))
    wanted = np.concatenate([states[-1], states[5], [np.polyval(c, h[0])], np.cumsum(p)])
    found = run(text, "linalg-to-tad,tad-to-loops", "host", w, x, h, c, p, like=wanted)
    np.testing.assert_allclose(found, wanted, rtol=1e-13)


@pytest.mark.parametrize(
    ("type", "said"),
    [
        ("tensor<4xi32>", "tensors of floats, not tensor<4xi32>"),
        ("tensor<4xcomplex<f64>>", "tensors of floats"),
        ("memref<4xf64>", "works on buffers"),
    ],
)
def test_what_is_no_program_stays(type, said):
    copy = f"linalg.copy ins(%x : {type}) outs(%x : {type})"
    body = f"{copy}\nreturn" if "memref" in type else f"%y = {copy} -> {type}\nreturn %y : {type}"
    results = "" if "memref" in type else f"-> {type}"
    module = ir.Module.parse(f"func.func @f(%x: {type}) {results} {{ {body} }}", ir.Context())
    before = str(module)
    with pytest.warns(tadc.CompileWarning, match=said):
        tadc.run_passes(module, "linalg-to-tad")
    assert str(module) == before


def test_operations_of_unknown_dialects_stay():
    context = ir.Context()
    context.allow_unregistered_dialects = True
    type = "tensor<4xf64>"
    text = f"""func.func @f(%x: {type}) -> {type} {{
        %y = "theirs.op"(%x) : ({type}) -> {type}
        %z = linalg.exp ins(%y : {type}) outs(%x : {type}) -> {type}
        return %z : {type}
    }}"""
    module = ir.Module.parse(text, context)
    before = str(module)
    with pytest.warns(tadc.CompileWarning, match="`theirs.op` cannot be imported"):
        tadc.run_passes(module, "linalg-to-tad")
    assert str(module) == before


def run_before_and_after(text: str, *arrays: np.ndarray, like: np.ndarray) -> tuple[np.ndarray, ...]:
    """What `@f` of a module gives to a host, by upstream's passes alone and by ours."""
    arguments, results = re.findall(r"@f\((.*?)\) -> (.*?) \{", text)[0]
    names, types = re.sub(r":[^,]*", "", arguments), re.sub(r"%\w+: ", "", arguments)
    called = f"%r = func.call @f({names}) : ({types}) -> {results}\nreturn %r : {results}"
    text += f"\nfunc.func @host({arguments}) -> {results} {{ {called} }}"
    passes = ("canonicalize", "linalg-to-tad,tad-to-loops")
    return tuple(run(text, each, "host", *[a.copy() for a in arrays], like=like) for each in passes)


def loop_over(bounds: str, place: str, written: str, type: str) -> str:
    """A function whose loop writes elements of `%u` into `%y`."""
    return f"""func.func @f(%y: {type}, %u: tensor<8xf64>) -> {type} {{
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c2 = arith.constant 2 : index
        %c3 = arith.constant 3 : index
        %c4 = arith.constant 4 : index
        %c7 = arith.constant 7 : index
        %c8 = arith.constant 8 : index
        %r = scf.for %t = {bounds} iter_args(%a = %y) -> {type} {{
          %p = {place} : index
          %v = tensor.extract %u[%t] : tensor<8xf64>
          %s = tensor.extract_slice %u[%t] [1] [1] : tensor<8xf64> to tensor<1xf64>
          %b = {written} {type}
          scf.yield %b : {type}
        }}
        return %r : {type}
    }}"""


@pytest.mark.parametrize(
    ("bounds", "place", "written", "type"),
    [
        ("%c1 to %c8 step %c2", "arith.addi %t, %c0", "tensor.insert %v into %a[%p] :", "tensor<8xf64>"),
        (
            "%c1 to %c8 step %c2",
            "arith.addi %t, %c0",
            "tensor.insert_slice %s into %a[%p] [1] [1] : tensor<1xf64> into",
            "tensor<8xf64>",
        ),
        ("%c0 to %c8 step %c3", "arith.subi %c7, %t", "tensor.insert %v into %a[%p] :", "tensor<8xf64>"),
        ("%c0 to %c4 step %c1", "arith.addi %t, %t", "tensor.insert %v into %a[%p] :", "tensor<8xf64>"),
        (
            "%c1 to %c4 step %c1",
            "arith.addi %t, %t",
            "tensor.insert %v into %a[%p, %c1] :",
            "tensor<8x3xf64>",
        ),
    ],
)
def test_loops_write_elements_that_are_apart(bounds, place, written, type):
    y = np.random.default_rng(7).normal(size=(8, 3) if "x3" in type else 8)
    wanted, found = run_before_and_after(loop_over(bounds, place, written, type), y, np.arange(8.0), like=y)
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize(
    "body",
    [
        "%z = tensor.cast %x : tensor<?xf64> to tensor<4xf64>\n"
        "%r = linalg.exp ins(%z : tensor<4xf64>) outs(%y : tensor<4xf64>) -> tensor<4xf64>",
        "%r = linalg.add ins(%x, %y : tensor<?xf64>, tensor<4xf64>) outs(%y : tensor<4xf64>)"
        " -> tensor<4xf64>",
    ],
)
def test_functions_keep_their_types(body):
    text = f"""func.func @f(%x: tensor<?xf64>, %y: tensor<4xf64>) -> tensor<4xf64> {{
        {body}
        return %r : tensor<4xf64>
    }}"""
    wanted, found = run_before_and_after(text, np.arange(4.0), np.ones(4), like=np.empty(4))
    np.testing.assert_allclose(found, wanted, rtol=1e-14)


def of_elements(type: str, body: str, written: str = "(d0)") -> str:
    """A function of each element `%k` of a tensor of integers."""
    return f"""func.func @f(%i: tensor<4x{type}>) -> tensor<4xf64> {{
        %c2 = arith.constant 2 : index
        %e = tensor.empty() : tensor<4xf64>
        %r = linalg.generic {{
          indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> {written}>],
          iterator_types = ["parallel"]
        }} ins(%i : tensor<4x{type}>) outs(%e : tensor<4xf64>) {{
        ^bb0(%k: {type}, %o: f64):
          {body}
          linalg.yield %v : f64
        }} -> tensor<4xf64>
        return %r : tensor<4xf64>
    }}"""


@pytest.mark.parametrize(
    "body",
    [
        "%v = arith.sitofp %k : i1 to f64",
        "%v = arith.uitofp %k : i1 to f64",
        "%w = arith.extsi %k : i1 to i32\n%v = arith.sitofp %w : i32 to f64",
        "%w = arith.index_cast %k : i1 to index\n%z = arith.index_cast %w : index to i64\n"
        "%v = arith.sitofp %z : i64 to f64",
    ],
)
def test_one_bit_has_a_sign(body):
    given = np.array([True, False, True, True])
    wanted, found = run_before_and_after(of_elements("i1", body), given, like=np.empty(4))
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            of_elements("i64", "%w = arith.trunci %k : i64 to i8\n%v = arith.sitofp %w : i8 to f64"),
            "narrower and may not fit",
        ),
        (of_elements("i32", "%v = arith.sitofp %k : i32 to f64"), "used other than as subscripts"),
        (
            of_elements(
                "index",
                "%c0 = arith.constant 0 : index\n%p = arith.maxsi %k, %c0 : index\n"
                "%w = tensor.extract %i[%p] : tensor<4xindex>\n%v = tensor.extract %e[%w] : tensor<4xf64>",
            ),
            "used other than as subscripts",
        ),
        (
            of_elements(
                "index", "%p = arith.addi %k, %c2 : index\n%v = tensor.extract %e[%p] : tensor<4xf64>"
            ),
            "used other than as subscripts",
        ),
        (
            of_elements(
                "i32",
                "%n = tensor.dim %i, %c2 : tensor<4xi32>\n%w = arith.index_cast %n : index to i64\n"
                "%v = arith.sitofp %w : i64 to f64",
            ),
            "a dimension that there is not",
        ),
        (
            """func.func @f(%x: tensor<4x4xf64>) -> tensor<4x4xf64> {
              %r = linalg.generic {
                indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1, d1)>],
                iterator_types = ["parallel", "parallel"]
              } ins(%x : tensor<4x4xf64>) outs(%x : tensor<4x4xf64>) {
              ^bb0(%a: f64, %b: f64):
                %v = math.exp %a : f64
                linalg.yield %v : f64
              } -> tensor<4x4xf64>
              return %r : tensor<4x4xf64>
            }""",
            "not written once at each place",
        ),
        (
            """func.func @f(%x: f64) -> tensor<f64> {
              %c0 = arith.constant 0 : i8
              %c1 = arith.constant 1 : i8
              %c9 = arith.constant 9 : i8
              %r = scf.for %t = %c0 to %c9 step %c1 iter_args(%a = %x) -> f64 : i8 {
                %b = math.exp %a : f64
                scf.yield %b : f64
              }
              %s = tensor.from_elements %r : tensor<f64>
              return %s : tensor<f64>
            }""",
            "counts in i8",
        ),
    ],
)
def test_what_would_not_be_right_stays(text, said):
    module = ir.Module.parse(text, new_context())
    before = str(module)
    with pytest.warns(tadc.CompileWarning, match=said):
        tadc.run_passes(module, "linalg-to-tad")
    assert str(module) == before
