"""A domain written as typed Python functions: one file of a user's own gives the language, the reader and the examples.

robots = FunctionDomain("robots", "Orders for a robot.")

@robots.relation
def walk(route: Route, steps: int) -> Route: ...
"""

from tpn2f.functions.budget import Limits as Limits
from tpn2f.functions.function_domain import FunctionDomain as FunctionDomain
from tpn2f.functions.kinds import Kind as Kind
from tpn2f.functions.mentions import Mention as Mention
