"""The compiler as one function: specs and what stood there before in, the new tree out.

    load → link → releases → plan → fold with the ledgers → overlays → tree

Pure: the same specs on the same snapshot give the same bytes. Units of other sources, environments
that the project does not name and everything outside our folders stay as they are.
"""

from gati_gitops.compiler.compile import Compilation, compile_specs
from gati_gitops.compiler.run import Narrowed, Placed

__all__ = ["Compilation", "Narrowed", "Placed", "compile_specs"]
