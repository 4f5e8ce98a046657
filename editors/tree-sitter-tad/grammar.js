// Programs of tadc, for editors that parse by tree-sitter. `frontend/parser.py` says what a program is; a test compares
// what both read, and the words here with the tables there.

const WORDS = {
  types: ["f16", "bf16", "f32", "f64"],
  functions: [
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "cos", "cosh", "erf", "erfc",
    "exp", "exp2", "expm1", "floor", "log", "log10", "log1p", "log2", "max", "min", "pow", "relu", "sgn", "sigmoid",
    "sign", "sin", "sinh", "sqrt", "tan", "tanh",
  ],
  relations: ["=", "!=", "<", "<=", ">", ">="],
};

const PRECEDENCE = { add: 1, multiply: 2, sign: 3, power: 4, name: 5 };

const list = (separator, rule) => seq(rule, repeat(seq(separator, rule)));
const comma = choice(",", ";");

module.exports = grammar({
  name: "tad",
  word: ($) => $.identifier,
  // In brackets a line goes on: there the end of one is a blank.
  extras: ($) => [/\s/, $.comment],
  // In `sum{e: dst[e] = n}` what stands behind the colon tells whether it is the size of e or a condition.
  conflicts: ($) => [[$.index]],

  rules: {
    program: ($) => seq(repeat(choice(seq($._statement, choice("\n", ";")), ";")), optional($._statement)),

    // Words that are names elsewhere: `at` in brackets is one unless an element stands behind it, as in `[at - 1]`.
    _name: ($) => choice($.identifier, prec(PRECEDENCE.name, alias(choice("at", "scan"), $.identifier))),

    comment: () => token(seq("#", /[^\n]*/)),
    identifier: () => /[A-Za-z][A-Za-z0-9_]*|_[A-Za-z0-9_]+/,
    number: () => /([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?/,

    _statement: ($) => choice($.declaration, $.size, $.definition),

    declaration: ($) =>
      seq(
        field("name", $._name),
        ":",
        choice(
          seq($.type, optional($.sizes), optional($.places)),
          seq("index", optional($.sizes), "in", $._expression, optional("increasing")),
          $.places,
        ),
      ),
    type: ($) => choice(...WORDS.types, $.type_parameter),
    type_parameter: () => /[A-Z][0-9]?/,
    sizes: ($) => seq("[", list(comma, $._expression), "]"),
    places: ($) => seq("at", choice($.identifier, seq("(", list(",", $.identifier), ")"))),

    size: ($) => seq("size", field("name", $.identifier), optional(seq("=", $.number))),

    definition: ($) =>
      seq(
        optional("let"),
        optional($.order),
        field("name", $._name),
        optional(seq("[", optional("at"), list(comma, $.index), "]")),
        optional(seq(":", $.type)),
        "=",
        field("body", $._expression),
      ),
    order: ($) => seq("scan", "{", $._expression, "}"),
    index: ($) => seq(field("name", $._name), optional(seq(":", field("size", $._expression)))),

    _expression: ($) => choice($.binary, $._signed),
    binary: ($) =>
      choice(
        prec.left(PRECEDENCE.add, seq($._expression, choice("+", "-"), $._expression)),
        prec.left(PRECEDENCE.multiply, seq($._expression, choice("*", "/", "//", "%"), $._expression)),
      ),
    _signed: ($) => choice($.negative, $.power, $._primary),
    negative: ($) => prec(PRECEDENCE.sign, seq("-", $._signed)),
    power: ($) => prec.right(PRECEDENCE.power, seq($._primary, "**", $._signed)),

    _primary: ($) => choice($.parenthesized, $._bare),
    parenthesized: ($) => seq("(", $._expression, ")"),
    pi: () => "pi",
    _bare: ($) =>
      choice($.number, $.pi, $._name, $.element, $.call, $.reduction, $.conditional, $.selection),

    element: ($) =>
      seq(field("tensor", $._name), "[", optional("at"), list(comma, $._expression), "]"),
    call: ($) =>
      choice(
        seq(field("function", alias(choice(...WORDS.functions), $.function)), choice($.arguments, $._bare)),
        seq(field("function", $.identifier), $.arguments),
      ),
    arguments: ($) => seq("(", list(",", $._expression), ")"),

    reduction: ($) =>
      seq(
        // Names of reductions that are not reserved are names elsewhere.
        field("kind", choice("sum", "max", "min", $.identifier)),
        "{",
        list(comma, $.index),
        optional(seq(":", $._conditions)),
        "}",
        optional(seq("_", $._bound, "^", $._bound)),
        $.parenthesized,
      ),
    _bound: ($) =>
      choice($.number, seq("-", $.number), $.identifier, $.parenthesized, seq("(", $.limits, ")")),
    limits: ($) => seq(choice("max", "min"), "[", list(comma, $._expression), "]"),
    _conditions: ($) => list("and", $.relation),
    relation: ($) => seq($._expression, choice(...WORDS.relations), $._expression),

    conditional: ($) =>
      seq("if", "{", $._conditions, "}", "then", $.parenthesized, "else", $.parenthesized),
    selection: ($) =>
      seq("select", "(", $.relation, ",", $._expression, ",", $._expression, ")"),
  },
});
