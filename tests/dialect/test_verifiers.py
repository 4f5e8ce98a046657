"""Each invariant of each operation, broken once: its error, at its place."""

import pytest

from tadc.dialect.mlir import ir
from tadc.dialect.ops import SCALAR_FUNCTIONS
from tadc.dialect.readable_text import parse_module
from tadc.frontend.functions import REDUCTIONS
from tests.dialect.support import problem

#: The functions that `tad.apply` has, and the reductions besides sums.
APPLIED, REDUCED = ", ".join(SCALAR_FUNCTIONS), ", ".join(kind for kind in REDUCTIONS if kind != "sum")

YIELD = '"tad.yield"(%x) : (f64) -> ()'
BODY = f"({{ ^bb0(%k: index): {YIELD} }})"
GIVE = '"tad.yield"(%n) : (i32) -> ()'
WHOLE = f"({{ ^bb0(%k: index): {GIVE} }})"
LINE = "affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>"
SIDES = f"({{ {YIELD} }}, {{ {YIELD} }})"


def module(body: str) -> str:
    return f"func.func @f(%a: tensor<4xf64>, %i: index, %x: f64, %y: f32, %n: i32) {{\n{body}\nreturn\n}}"


def test_the_parts_are_valid() -> None:
    for line in (
        f'%0 = "tad.map"() {BODY} {{domain = {LINE}}} : () -> tensor<4xf64>',
        f'%0 = "tad.sum"() {BODY} {{domain = {LINE}}} : () -> f64',
        f'%0 = "tad.reduce"() {BODY} {{domain = {LINE}, kind = "max"}} : () -> f64',
        f'%0 = "tad.guard"(%i) {SIDES} {{where = {LINE}}} : (index) -> f64',
    ):
        parse_module(module(line), ir.Context())


GENERIC = [
    (f'%0 = "tad.map"() {BODY} {{domain = {LINE}}} : () -> tensor<?xf64>',
     "'tad.map' op domain must be the box of its shape, tensor<?xf64>"),
    (f'%0 = "tad.map"() {WHOLE} {{domain = {LINE}}} : () -> tensor<4xi32>',
     "'tad.map' op result must be f16, bf16, f32 or f64, got i32"),
    (f'%0 = "tad.map"() {BODY} {{domain = {LINE}}} : () -> tensor<*xf64>',
     "expected base type 'builtin.tensor' but got 'builtin.unranked_tensor'"),
    (f'%0 = "tad.map"() {BODY} {{domain = {LINE}}} : () -> tensor<4x4xf64>',
     "'tad.map' op set has 1 dimensions, expected 2"),
    (f'%0 = "tad.map"() {BODY} {{domain = affine_set<(d0)[s0] : (d0 - s0 >= 0)>}} : () -> tensor<4xf64>',
     "'tad.map' op set has 1 symbols, but 0 index operands are given"),
    (f'%0 = "tad.map"() {BODY} : () -> tensor<4xf64>',
     "'tad.map' op attribute \"domain\" is expected but not provided"),
    (f'%0 = "tad.map"() {BODY} {{domain = affine_map<(d0) -> (d0)>}} : () -> tensor<4xf64>',
     "expected base attribute 'builtin.integer_set' but got 'builtin.affine_map'"),
    (f'%0 = "tad.map"() ({{ {YIELD} }}) {{domain = {LINE}}} : () -> tensor<4xf64>',
     "'tad.map' op region must have 1 index arguments, got 0"),
    (f'%0 = "tad.map"() ({{ ^bb0(%k: f64): {YIELD} }}) {{domain = {LINE}}} : () -> tensor<4xf64>',
     "'tad.map' op region argument #0 must be of type index, got f64"),
    (f'%0 = "tad.map"() ({{ ^bb0(%k: index): {YIELD} \n ^bb1: {YIELD} }}) {{domain = {LINE}}}'
     " : () -> tensor<4xf64>",
     "'tad.map' op expects exactly one block in each region"),
    (f'%0 = "tad.map"() {{domain = {LINE}}} : () -> tensor<4xf64>',
     "'tad.map' op unexpected number of regions: expected 1 but got 0"),
    (f'%0 = "tad.sum"() {WHOLE} {{domain = {LINE}}} : () -> i32',
     "'tad.sum' op result must be f16, bf16, f32 or f64, got i32"),
    (f'%0 = "tad.sum"(%i) {BODY} {{domain = {LINE}}} : (index) -> f64',
     "'tad.sum' op set has 0 symbols, but 1 index operands are given"),
    (f'%0 = "tad.sum"() ({{ {YIELD} }}) {{domain = affine_set<() : ()>}} : () -> f64',
     "'tad.sum' op must bind at least one index"),
    (f'%0 = "tad.sum"() ({{ {YIELD} }}) {{domain = {LINE}}} : () -> f64',
     "'tad.sum' op region must have 1 index arguments, got 0"),
    (f'%0 = "tad.sum"(%x) {BODY} {{domain = affine_set<(d0)[s0] : (s0 >= 0)>}} : (f64) -> f64',
     "expected base type 'builtin.index' but got 'builtin.f64'"),
    (f'%0 = "tad.sum"() ({{ ^bb0(%k: index): llvm.unreachable }}) {{domain = {LINE}}} : () -> f64',
     "'tad.sum' op region must end with 'tad.yield'"),
    (f'%0 = "tad.reduce"() {BODY} {{domain = {LINE}}} : () -> f64',
     "'tad.reduce' op attribute \"kind\" is expected but not provided"),
    (f'%0 = "tad.reduce"() {BODY} {{domain = {LINE}, kind = "sum"}} : () -> f64',
     f"'tad.reduce' op unknown kind 'sum'; has: {REDUCED}"),
    (f'%0 = "tad.reduce"() {BODY} {{domain = {LINE}, kind = 3 : i64}} : () -> f64',
     "expected base attribute 'builtin.string' but got 'builtin.integer'"),
    (f'%0 = "tad.reduce"(%i) {BODY} {{domain = {LINE}, kind = "max"}} : (index) -> f64',
     "'tad.reduce' op set has 0 symbols, but 1 index operands are given"),
    (f'%0 = "tad.reduce"() ({{ {YIELD} }}) {{domain = affine_set<() : ()>, kind = "min"}} : () -> f64',
     "'tad.reduce' op must bind at least one index"),
    (f'%0 = "tad.guard"() {SIDES} {{where = {LINE}}} : () -> f64',
     "'tad.guard' op set must have 0 dimensions and no symbols, as many as index operands"),
    (f'%0 = "tad.guard"(%i) {SIDES} {{where = affine_set<(d0)[s0] : (s0 >= 0)>}} : (index) -> f64',
     "'tad.guard' op set must have 1 dimensions and no symbols, as many as index operands"),
    (f'%0 = "tad.guard"(%i) ({{ {GIVE} }}, {{ {GIVE} }}) {{where = {LINE}}} : (index) -> i32',
     "'tad.guard' op result must be f16, bf16, f32 or f64, got i32"),
    (f'%0 = "tad.guard"(%i) ({{ {YIELD} }}, {BODY[1:-1]}) {{where = {LINE}}} : (index) -> f64',
     "'tad.guard' op region must have 0 index arguments, got 1"),
    (f'%0 = "tad.guard"(%i) ({{ {YIELD} }}, {{}}) {{where = {LINE}}} : (index) -> f64',
     "'tad.guard' op expects exactly one block in each region"),
    (f'%0 = "tad.guard"(%i) ({{ {YIELD} }}) {{where = {LINE}}} : (index) -> f64',
     "'tad.guard' op unexpected number of regions: expected 2 but got 1"),
    ('%0 = "tad.read"(%a, %i) {at = affine_map<(d0, d1) -> (d0)>} : (tensor<4xf64>, index) -> f64',
     "'tad.read' op map must take the 1 indices given as its dimensions"),
    ('%0 = "tad.read"(%a, %i) {at = affine_map<(d0) -> (d0, d0)>} : (tensor<4xf64>, index) -> f64',
     "'tad.read' op map yields 2 subscripts but tensor<4xf64> has rank 1"),
    ('%0 = "tad.read"(%a, %i) {at = affine_map<(d0) -> (d0)>} : (tensor<4xf64>, index) -> f32',
     "'tad.read' op result must be f64, got f32"),
    ('%0 = "tad.read"(%x, %i) {at = affine_map<(d0) -> (d0)>} : (f64, index) -> f64',
     "expected base type 'builtin.tensor' but got 'builtin.f64'"),
    ('%0 = "tad.read"(%a, %i) : (tensor<4xf64>, index) -> f64',
     "'tad.read' op attribute \"at\" is expected but not provided"),
    ('%0 = "tad.read"() {at = affine_map<() -> (0)>} : () -> f64',
     "op expects at least 1 operands, but got 0"),
    ('%0 = "tad.index"(%i) {at = affine_map<(d0) -> (d0, 1)>} : (index) -> index',
     "'tad.index' op map must take the 1 indices given and yield one index"),
    ('%0 = "tad.index"(%i) {at = affine_map<(d0) -> (d0)>} : (index) -> i64',
     "expected base type 'builtin.index' but got 'builtin.integer'"),
    ('%0 = "tad.index"(%i) {at = affine_map<(d0) -> (d0 floordiv 0)>} : (index) -> index',
     "'tad.index' op an index expression needs a positive constant beside 'floordiv'"),
    (f'%0 = "tad.sum"(%i) {BODY} {{domain = affine_set<(d0)[s0] : (d0 * s0 >= 0)>}} : (index) -> f64',
     "'tad.sum' op an index expression needs a constant beside '*'"),
    ('%0 = "tad.value_of"(%i) : (index) -> i32',
     "'tad.value_of' op result must be f16, bf16, f32 or f64, got i32"),
    ('%0 = "tad.value_of"(%x) : (f64) -> f64', "expected base type 'builtin.index' but got 'builtin.f64'"),
    ('%0 = "tad.apply"(%x) {fn = "sigmoyd"} : (f64) -> f64',
     f"'tad.apply' op unknown function 'sigmoyd'; has: {APPLIED}"),
    ('%0 = "tad.apply"(%x) {fn = "mod"} : (f64) -> f64', "'tad.apply' op 'mod' takes 2 operands, got 1"),
    ('%0 = "tad.apply"(%x, %y) {fn = "mod"} : (f64, f32) -> f64', "expected 'f64' but got 'f32'"),
    ('%0 = "tad.apply"(%y, %y) {fn = "mod"} : (f32, f32) -> f64',
     "'tad.apply' op operands must be f64, got f32"),
    ('%0 = "tad.apply"(%i) {fn = "relu"} : (index) -> index',
     "'tad.apply' op result must be f16, bf16, f32 or f64, got index"),
    ('%0 = "tad.apply"(%x) {fn = 3} : (f64) -> f64',
     "expected base attribute 'builtin.string' but got 'builtin.integer'"),
    ('"tad.yield"(%x) : (f64) -> ()', "'tad.yield' op must be the last operation in the parent block"),
    ('%0 = "tad.unknown"() : () -> f64',
     "unregistered operation 'tad.unknown' found in dialect ('tad') that does not allow unknown operations"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "label"), GENERIC, ids=[label[:40] for _, label in GENERIC])
def test_generic_form(line: str, label: str) -> None:
    found = problem(module(line))
    start = line.index('"tad')
    name = line[start : line.index('"', start + 1) + 1]
    assert (found.at, found.label) == (f"2:{start + 1} {name}", label)


READABLE = [
    ("%0 = tad.map (%k) -> tensor<?xf64> {tad.yield %x : f64}", "6 tad.map",
     "'tad.map' op domain must be the box of its shape, tensor<?xf64>"),
    ("%0 = tad.map (%k) -> tensor<4x4xf64> {tad.yield %x : f64}", "6 tad.map",
     "'tad.map' op region must have 2 index arguments, got 1"),
    ("%0 = tad.sum () in {%i >= 0} -> f64 {tad.yield %x : f64}", "6 tad.sum",
     "'tad.sum' op must bind at least one index"),
    ("%0 = tad.sum (%k) in {%k == %i} -> f64 {}", "6 tad.sum", "empty block: expect at least a terminator"),
    ("%0 = tad.sum (%k) in {%k == %i} -> f64 {tad.yield %y : f32}", "41 tad.yield",
     "'tad.yield' op yields f32 but 'tad.sum' needs f64"),
    ("%0 = tad.guard [%i] where affine_set<(d0)[s0] : (s0 >= 0)> -> f64 "
     "{tad.yield %x : f64} else {tad.yield %x : f64}",
     "6 tad.guard", "'tad.guard' op set must have 1 dimensions and no symbols, as many as index operands"),
    ("%0 = tad.guard where {%i >= 0} -> f64 {tad.yield %x : f64} else {tad.yield %y : f32}", "66 tad.yield",
     "'tad.yield' op yields f32 but 'tad.guard' needs f64"),
    ("%0 = tad.read %a[%i, 2] : tensor<4xf64>", "6 tad.read",
     "'tad.read' op map yields 2 subscripts but tensor<4xf64> has rank 1"),
    ("%0 = tad.value_of %i : i32", "6 tad.value_of",
     "'tad.value_of' op result must be f16, bf16, f32 or f64, got i32"),
    ('%0 = tad.apply "sinus"(%x) : f64', "6 tad.apply",
     f"'tad.apply' op unknown function 'sinus'; has: {APPLIED}"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "at", "label"), READABLE, ids=[label[:40] for _, _, label in READABLE])
def test_readable_form(line: str, at: str, label: str) -> None:
    found = problem(module(line))
    assert (found.code, found.at, found.label) == ("TAD0602", f"2:{at}", label)


def test_yield_outside() -> None:
    found = problem("func.func @f(%x: f64) {\ntad.yield %x : f64\n}")
    assert (
        found.label == "'tad.yield' op expects a parent of tad.map, tad.scan, tad.sum, tad.reduce, tad.guard"
    )
