"""What does not read as IR is shown where it stands."""

import pytest

from tadc.dialect.mlir import ir
from tadc.dialect.ops import load_dialect
from tadc.dialect.text import parse_module, verify
from tadc.frontend.diagnostics import CompileError
from tadc.frontend.source import Source
from tests.dialect.support import problem

GOOD = """\
func.func @f(%a: tensor<3x8xf64>) -> tensor<3x4xf64> {
  %f = tad.map (%i, %j) -> tensor<3x4xf64> {
    %0 = tad.sum (%k) in {0 <= %k <= 4} -> f64 {
      %1 = tad.read %a[%i, %k] : tensor<3x8xf64>
      tad.yield %1 : f64
    }
    %2 = tad.guard where {%i == 2} -> f64 {
      tad.yield %0 : f64
    } else {
      %3 = tad.index %i + %j : index
      %4 = tad.value_of %3 : f64
      %5 = tad.apply "sigmoid"(%4) : f64
      tad.yield %5 : f64
    }
    tad.yield %2 : f64
  }
  return %f : tensor<3x4xf64>
}
"""

UNREADABLE = [
    ("[%i, %k]", "[%i, %zz]", "4:28 %zz", "use of undeclared SSA value name"),
    ("[%i, %k]", "[%i %k]", "4:27 %k", "expected `,`, found `%k`"),
    ("[%i, %k]", "[%i, 1.5]", "4:28 1.5", "expected an index such as `%i` or a number, found `1.5`"),
    ("[%i, %k]", "[%i, %k * %i]", "4:31 *", "an index can be multiplied by a number only"),
    ("[%i, %k]", "[%i, %k mod -2]", "4:31 mod", "`mod` needs a positive number on its right"),
    ("[%i, %k]", "[%i, %k", "4:37 :", "expected `,`, found `:`"),
    (": tensor<3x8xf64>\n", ": f64\n", "4:34 f64", "expected a tensor type such as `tensor<3x4xf64>`"),
    ("in {0 <= %k <= 4}", "[%i] in {%j <= %k}", "3:32 %j", "`%j` is not among the indices listed"),
    ("in {0 <= %k <= 4}", "{0 <= %k}", "3:23 {", "expected `in`, found `{`"),
    ("%k <= 4", "%k <= 4 <= 5", "3:40 <=", "expected `,`, found `<=`"),
    ("0 <= %k <= 4", "%k", "3:29 }", "expected one of `<=`, `<`, `>=`, `>`, `==`, found `}`"),
    ("0 <= %k <= 4", "0 <= %k == 4", "3:35 ==", "expected one of `<`, `<=`, found `==`"),
    ("{0 <= %k <= 4}", "affine_map<(d0) -> (d0)>", "3:26 affine_map", "expected `affine_set`, found `affine_map`"),
    ("(%i, %j) ->", "(%i, 3) ->", "2:21 3", "expected an index such as `%i`, found `3`"),
    ("(%i, %j) ->", "(%i, %i) ->", "2:21 %i", "redefinition of SSA value '%i'"),
    ("} else {", "} otherwise {", "9:7 otherwise", "expected `else`, found `otherwise`"),
    ("tad.value_of %3", "tad.value_of 3", "11:25 3", "expected an index such as `%i`, found `3`"),
    ("tad.value_of", "tad.value", "11:12 tad.value", "custom op 'tad.value' is unknown"),
    ('"sigmoid"', "sigmoid", "12:22 sigmoid", 'expected a function such as `"sigmoid"`, found `sigmoid`'),
    ('"sigmoid"(', '"sigmoid(', '12:22 "', 'expected a function such as `"sigmoid"`, found `"`'),
    ("tad.yield %5 : f64", "tad.yield %5", "14:5 }", "expected `:`, found `}`"),
    ("tad.yield %5 : f64", "tad.yield %5 : index", "13:17 %5",
     "use of value '%5' expects different type than prior uses: 'index' vs 'f64'"),
    ("return %f : tensor<3x4xf64>\n}\n", "", "17:3 ", ""),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "at", "label"), UNREADABLE[:-1])
def test_unreadable(old: str, new: str, at: str, label: str) -> None:
    assert GOOD.count(old) >= 1
    found = problem(GOOD.replace(old, new, 1))
    assert (found.code, found.at, found.label) == ("TAD0601", at, label)
