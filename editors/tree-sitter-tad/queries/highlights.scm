(comment) @comment
(number) @number
(pi) @constant.builtin
(type) @type
"index" @type
["let" "size" "if" "then" "else" "and" "scan" "in" "increasing" "at"] @keyword
["sum" "select"] @function.builtin
(call function: (_) @function.builtin)
(reduction kind: (identifier) @function.builtin)
(reduction kind: ["max" "min"] @function.builtin)
(limits ["max" "min"] @function.builtin)
(definition name: (identifier) @variable)
(declaration name: (identifier) @variable)
(index name: (identifier) @variable.parameter)
["+" "-" "*" "/" "//" "%" "**" "=" "!=" "<" "<=" ">" ">=" "_" "^"] @operator
["(" ")" "[" "]" "{" "}" "," ";" ":"] @punctuation
