"""A plug-in: a pass that puts a prefix before the names of functions."""

from dataclasses import dataclass

import tadc
from tadc.dialect.mlir import ir
from tadc.embed import UnsupportedIR, word_option


@tadc.register_pass("my-prefix", "the names of functions begin with a prefix")
@dataclass
class Prefix(tadc.Pass):
    """Names with a prefix."""

    prefix: str = word_option("my_", "what they begin with")

    def run(self, module):
        """Rename every function; raises UnsupportedIR for an empty prefix."""
        if not self.prefix.isidentifier():
            raise UnsupportedIR(f"`{self.prefix}` cannot begin a name", module.location)
        for function in module.regions[0].blocks[0].operations:
            name = ir.StringAttr(function.attributes["sym_name"]).value
            function.attributes["sym_name"] = ir.StringAttr.get(self.prefix + name, module.context)
