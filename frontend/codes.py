"""Every code of a diagnostic, with its title and its page."""

from __future__ import annotations

from pathlib import Path

CODES: dict[str, str] = {
    # Syntax.
    "TAD0101": "an unclosed bracket",
    "TAD0102": "text that cannot stand where it stands",
    "TAD0103": "a number that cannot be used",
    "TAD0104": "an unknown character or operator",
    "TAD0105": "an `if` without `then` or `else`",
    "TAD0106": "a reserved word as a name",
    "TAD0107": "an expression nested too deeply",
    "TAD0108": "a bracket that closes nothing",
    "TAD0109": "an unknown element type",
    "TAD0110": "wrong number of arguments of a function",
    "TAD0111": "the range of a sum stated badly",
    "TAD0112": "more indices or divisions than can be compiled",
    "TAD0113": "a program that is too large",
    # Names.
    "TAD0201": "an unknown function",
    "TAD0202": "an index that nothing binds",
    "TAD0203": "an index bound twice in one list",
    "TAD0204": "an unknown name",
    "TAD0205": "a name defined twice",
    "TAD0206": "a name used before its definition",
    "TAD0207": "an index with the name of a tensor or size",
    "TAD0208": "a tensor or size whose name starts with `_`",
    "TAD0209": "a size that nothing tells",
    "TAD0210": "an intermediate that is declared",
    "TAD0211": "a name used as what it is not",
    "TAD0212": "a size that needs a value",
    "TAD0213": "an index array that cannot be one",
    "TAD0214": "a sparse tensor where it cannot stand",
    "TAD0215": "a type parameter that needs a type",
    # Shapes, ranges and index maps.
    "TAD0301": "wrong number of indices",
    "TAD0302": "a read out of range",
    "TAD0303": "an index expression that is not linear",
    "TAD0304": "an index expression that may be fractional",
    "TAD0305": "ranges that disagree",
    "TAD0306": "an index without a range",
    "TAD0307": "a value inside an index expression",
    "TAD0308": "not a size",
    "TAD0309": "beyond 64 bits",
    "TAD0310": "not a divisor of an index expression",
    "TAD0311": "floor division of values",
    "TAD0312": "a read with too many cases to prove",
    "TAD0314": "an `if` with too many conditions",
    "TAD0315": "an index set with too many bounds",
    "TAD0316": "a recurrence that reads what is not computed earlier",
    "TAD0317": "an order of a recurrence that is not affine",
    "TAD0318": "a program that takes too much work",
    # Differentiation.
    "TAD0401": "a name that one cannot differentiate by",
    "TAD0402": "a gradient that is zero almost everywhere",
    "TAD0403": "a gradient of what is not one scalar",
    "TAD0404": "an argument asked for twice",
    "TAD0405": "a program without an output",
    "TAD0406": "a check at inputs without a value",
    # Programs that are unlikely to be meant.
    "TAD0407": "a size that cannot be large",
    "TAD0408": "what nothing reads",
    "TAD0410": "steps of a recurrence that cannot be taken backwards",
    "TAD0411": "rows that may overlap",
    "TAD0412": "a derivative that may be NaN",
    # Arrays at a call.
    "TAD0501": "an argument that is missing",
    "TAD0502": "an argument that is unknown, given twice or one too many",
    "TAD0503": "an array of the wrong shape",
    "TAD0504": "an array whose elements would change when converted",
    "TAD0505": "an `out=` that cannot be written",
    "TAD0506": "too little memory",
    "TAD0507": "sizes for which the program has no meaning",
    "TAD0508": "a value that is no size",
    "TAD0509": "what is no number of threads",
    "TAD0510": "what a function of tadc does not take",
    "TAD0511": "an element of an index array that is out of range or out of order",
    "TAD0512": "arrays of several types for one type parameter",
    "TAD0513": "what cannot be imported",
    "TAD0514": "a result that is not a number",
    # IR, passes and pipelines.
    "TAD0601": "a text that is no IR",
    "TAD0602": "a module that is no valid IR",
    "TAD0603": "an index coefficient beyond 64 bits",
    "TAD0604": "a pipeline that cannot be built",
    "TAD0605": "a pass that failed",
    "TAD0606": "a stage that this IR does not reach",
    "TAD0607": "a read of a module that is out of range",
    "TAD0608": "a plug-in that cannot be loaded",
    "TAD0609": "diagnostics that are not those expected",
    "TAD0610": "a text that is no loop nest",
    "TAD0611": "a text that is no schedule",
    "TAD0612": "a step of a schedule that does not fit",
    "TAD0613": "a loop nest that is wrong",
    "TAD0614": "a function that a pass leaves as it is",
    # Code generation.
    "TAD0701": "an operation without a translation to LLVM IR",
    "TAD0702": "a scalar function without device code",
    "TAD0703": "a kernel that ptxas rejects",
    "TAD0704": "no ptxas",
    "TAD0705": "an unknown target",
    "TAD0706": "a target that cannot be run here",
    "TAD0707": "a call of the GPU's driver that failed",
    "TAD0708": "a kernel that does what it may not do",
    "TAD0709": "an instruction of PTX that the emulator does not know",
    "TAD0710": "what is no bundle",
    "TAD0711": "no linker for a shared library",
    # Files of the command.
    "TAD0801": "a file that cannot be read or written",
    # Pictures.
    "TAD0802": "a package that is not installed",
    "TAD0803": "nothing that can be drawn",
    "TAD0804": "another package that is imported as `tadc`",
    # Uncertainty.
    "TAD0901": "an uncertainty of what has none",
    "TAD0902": "what is no uncertainty",
    "TAD0903": "uncertainties that do not fit the values",
    "TAD0904": "a correlation outside of [-1, 1]",
    "TAD0905": "covariances that no quantities have",
    "TAD0906": "what is no number of degrees of freedom",
    "TAD0907": "a branch that an interval does not decide",
    "TAD0908": "a function without bounds over an interval",
    "TAD0909": "what a method cannot take into account",
    # Inverses.
    "TAD0910": "a Jacobian that is not square",
    "TAD0911": "a Jacobian that is singular whatever the values are",
    "TAD0912": "a step that cannot be inverted",
    "TAD0913": "a step that can hardly be inverted",
    "TAD0914": "a system that is too large",
    "TAD0915": "a product that is no program",
    # Blocks.
    "TAD1001": "an index that is not divided",
    "TAD1002": "a recurrence along an index that is divided",
    "TAD1003": "a chunk that many blocks need",
    "TAD1004": "an array that is gathered on each device",
}

#: What is reported though the program compiles; `--allow` leaves it out.
WARNINGS = ("TAD0402", "TAD0407", "TAD0408", "TAD0411", "TAD0412", "TAD0614", "TAD0804", "TAD1003", "TAD1004")

#: A page for each code, in Markdown.
PAGES = Path(__file__).with_name("explanations")


def explanation(code: str) -> str:
    """The page of a code: the rule, why it exists, something wrong and the same put right."""
    return (PAGES / f"{code}.md").read_text(encoding="utf-8")
