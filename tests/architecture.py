"""Search the app's syntax trees for violations of its architecture rules.

`tests/test_architecture.py` runs these checks and tests them. Imports must point downwards,
frameworks must stay in their packages, no module may run data as code, and no module may keep
state.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[1]

_ROW = re.compile(r"^\| (\d+) \| ([^|]+) \|", re.MULTILINE)
"""A row of the table of floors: the floor, and the names of its rooms."""


def read_floors() -> Mapping[str, int]:
    """Return the floor of every room by its dotted name, from the table in docs/architecture.md."""
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8").partition("## Floors")[2]
    floors = {"areaviz": 0}  # the package itself only names what it exports
    for row in _ROW.finditer(text.partition("\n## ")[0]):
        for name in re.findall(r"`([\w./]+)`", row[2]):
            file = name.removesuffix(".py").replace("/", ".")
            outside = (ROOT / name).exists() and not (ROOT / "areaviz" / name).exists()
            floors[file if outside else f"areaviz.{file}"] = int(row[1])
    return floors


FLOORS = read_floors()
OPTIONAL: Mapping[str, tuple[str, ...]] = {
    "areaviz.lab": (),
    "areaviz.sets": ("pages.analyse", "areaviz.lab"),
}
"""Rooms that come in through entry points, and the only places outside that may import them."""

_TORCH = (
    *("areaviz.attention", "areaviz.models", "areaviz.adapters", "areaviz.lab"),
    *("areaviz.measures.faithfulness", "areaviz.backend.local"),
    *("areaviz.media", "areaviz.samples"),
)
PLACES: Mapping[str, tuple[str, ...]] = {
    "torch": _TORCH,
    "safetensors.torch": _TORCH,
    "transformers": ("areaviz.adapters",),
    "timm": ("areaviz.adapters",),
    "plotly": ("areaviz.draw", "areaviz.views"),
    "matplotlib": ("areaviz.draw", "areaviz.views"),
    "streamlit": (
        "areaviz.app",
        "areaviz.gateway",
        "areaviz.learn",
        "areaviz.sets.app",
        "app",
        "pages",
    ),
    "uvicorn": ("areaviz.gateway",),
    "httptools": ("areaviz.gateway",),
    "starlette": ("areaviz.gateway", "areaviz.backend"),
    "ray": ("areaviz.backend", "areaviz.sets"),
}
"""The only places that may import each of these packages."""

WHEN_ASKED: Mapping[str, tuple[str, ...]] = {"pandas": ("areaviz.trace",)}
"""Imports that a room may make only inside functions, when a caller needs them."""

FORBIDDEN_IMPORTS: tuple[str, ...] = (
    *("pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"),
    *("matplotlib.pyplot", "matplotlib.pylab", "pylab"),
)
FORBIDDEN_CALLS: tuple[str, ...] = (
    *("eval", "exec", "compile", "__import__", "builtins.eval", "builtins.exec", "os.system"),
    *("torch.jit.load", "torch.hub.load"),
)
FACTORIES: tuple[str, ...] = (
    *("list", "dict", "set", "bytearray", "collections.defaultdict", "collections.deque"),
    *("collections.Counter", "collections.OrderedDict"),
)
CHANGES = (
    "append",
    "extend",
    "insert",
    "add",
    "update",
    "setdefault",
    "pop",
    "popitem",
    "remove",
    "discard",
    "clear",
)

Found = Iterator[tuple[ast.stmt | ast.expr, str]]
"""The violations that a check yields: a syntax node and a description of the problem."""


@dataclass(frozen=True)
class Module:
    """A source file: its dotted name and its syntax tree."""

    name: str
    source: str
    is_package: bool = False

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.source)

    @property
    def is_script(self) -> bool:
        """Whether the module is a page: pages run again for every view, so they keep no state."""
        return not self.name.startswith("areaviz")

    @cached_property
    def typing_only(self) -> set[ast.AST]:
        """The nodes under `if TYPE_CHECKING:`, which never run."""
        found: set[ast.AST] = set()
        for node in self.tree.body:
            if isinstance(node, ast.If) and self.dotted(node.test) == "typing.TYPE_CHECKING":
                for inner in node.body:
                    found.update(ast.walk(inner))
        return found

    @cached_property
    def deferred(self) -> set[ast.AST]:
        """The nodes that an import does not run: function bodies and imports for types."""
        found = set(self.typing_only)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                found.update(ast.walk(node))
        return found

    @cached_property
    def imports(self) -> list[tuple[ast.stmt | ast.expr, str]]:
        """Every imported dotted name, including imports inside functions."""
        found: list[tuple[ast.stmt | ast.expr, str]] = []
        for node in ast.walk(self.tree):
            if self.name == "areaviz" and node in self.typing_only:
                continue  # the public package names its types for editors
            if isinstance(node, ast.Import):
                found += [(node, alias.name) for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                found += [(node, f"{self._base(node)}.{alias.name}") for alias in node.names]
            elif isinstance(node, ast.Call) and self.dotted(node.func) == "importlib.import_module":
                names = [
                    argument.value
                    for argument in node.args[:1]
                    if isinstance(argument, ast.Constant)
                ]
                found += [(node, str(name)) for name in names]
        return found

    @cached_property
    def aliases(self) -> dict[str, str]:
        """Local names and the full names they refer to, according to the file's imports."""
        names: dict[str, str] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                names |= {alias.asname: alias.name for alias in node.names if alias.asname}
            elif isinstance(node, ast.ImportFrom):
                base = self._base(node)
                names |= {
                    alias.asname or alias.name: f"{base}.{alias.name}" for alias in node.names
                }
        return names

    def dotted(self, node: ast.expr) -> str:
        """Return the full name that an expression such as `t.load` refers to, or ""."""
        if isinstance(node, ast.Name):
            return self.aliases.get(node.id, node.id)
        if isinstance(node, ast.Attribute):
            base = self.dotted(node.value)
            return f"{base}.{node.attr}" if base else ""
        return ""

    def _base(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parents = self.name.split(".")
        kept = parents[: len(parents) - node.level + self.is_package]
        return ".".join([*kept, *([node.module] if node.module else [])])


def inside(name: str, places: tuple[str, ...]) -> bool:
    """Return whether a dotted name is one of `places` or inside one of them."""
    return any(name == place or name.startswith(f"{place}.") for place in places)


def room(name: str) -> str | None:
    """Return the room that a module belongs to, or None if the table does not have it."""
    if name == "areaviz":
        return name
    depth = 2 if name.startswith("areaviz.") else 1
    found = ".".join(name.split(".")[:depth])
    if found == "areaviz.old_names":
        return "areaviz"  # which makes the promised paths importable
    return found if found in FLOORS else None


def breaches(module: Module) -> list[str]:
    """Return every rule that the module breaks, as "line: problem"."""
    checks = (floor_breaches, place_breaches, danger_breaches, state_breaches)
    return [
        f"{module.name}:{node.lineno}: {what}" for check in checks for node, what in check(module)
    ]


def floor_breaches(module: Module) -> Found:
    """Find imports that point upwards or sideways, and libraries on the ground floor."""
    here = room(module.name)
    if here is None:
        yield module.tree.body[0], "lies in a room without a floor"
        return
    for node, name in module.imports:
        top = name.split(".")[0]
        if top in ("tests", "benchmarks"):
            yield node, f"imports {name}, which is not part of the package"
        elif top in ("areaviz", "app", "pages"):
            there = _imported_room(name)
            if there is None:
                yield node, f"imports {name}, a room without a floor"
            elif there in (here, "areaviz"):
                continue
            elif FLOORS[there] >= FLOORS[here]:
                yield node, f"imports {name}: floor {FLOORS[there]} from floor {FLOORS[here]}"
            elif not inside(module.name, OPTIONAL.get(there, (module.name,))):
                yield node, f"imports {name}, which may be absent"
        elif top in WHEN_ASKED and here in WHEN_ASKED[top] and node in module.deferred:
            continue
        elif FLOORS[here] == 0 and top not in sys.stdlib_module_names and top != "numpy":
            yield node, f"imports {name}, but floor 0 knows NumPy and the standard library only"


def _imported_room(name: str) -> str | None:
    """Return the package that an import leads to.

    `from areaviz import __version__` leads to `areaviz` itself.
    """
    parts = name.split(".")
    if parts[0] == "areaviz" and (
        len(parts) == 1 or (parts[1].startswith("__") and parts[1] != "__main__")
    ):
        return "areaviz"
    return room(name)


def place_breaches(module: Module) -> Found:
    """Find frameworks that are imported outside their packages."""
    for node, name in module.imports:
        for package, places in PLACES.items():
            if inside(name, (package,)) and not inside(module.name, places):
                yield node, f"imports {name}, which belongs in {', '.join(places)}"


def danger_breaches(module: Module) -> Found:
    """Find data that would run as code, and plots that sessions would share."""
    for node, name in module.imports:
        if inside(name, FORBIDDEN_IMPORTS):
            yield node, f"imports {name}"
    for call in (node for node in ast.walk(module.tree) if isinstance(node, ast.Call)):
        name = module.dotted(call.func)
        if name in FORBIDDEN_CALLS or inside(name, ("matplotlib.pyplot", "matplotlib.pylab")):
            yield call, f"calls {name}"
        if name == "torch.load" and _keyword(call, "weights_only") is not True:
            yield call, "calls torch.load without weights_only=True"
        if _keyword(call, "allow_pickle") not in (None, False) or _keyword(call, "shell") not in (
            None,
            False,
        ):
            yield call, f"calls {name or 'something'} with allow_pickle or shell"


def _keyword(call: ast.Call, name: str) -> object:
    """Return the literal given for a keyword.

    Return None if the keyword is missing, and "?" if its value is not a literal.
    """
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value.value if isinstance(keyword.value, ast.Constant) else "?"
    return None


def state_breaches(module: Module) -> Found:
    """Find module-level state that changes or may grow, because sessions would share it."""
    if module.is_script:
        return
    containers: dict[str | None, ast.stmt] = dict(_containers(module))
    for name, node in containers.items():
        if name and name != name.upper():
            yield (
                node,
                (
                    f"keeps the mutable {name} at module level; make it a constant in capitals or a"
                    " tuple"
                ),
            )
    for inner in ast.walk(module.tree):
        if isinstance(inner, ast.Global):
            yield inner, f"declares {', '.join(inner.names)} global"
        elif isinstance(inner, ast.FunctionDef) and _grows(module, inner):
            yield inner, f"caches {inner.name} without a limit"
        elif isinstance(inner, ast.expr | ast.stmt) and _changed(inner) in containers:
            yield inner, f"changes {_changed(inner)}, which lives at module level"


def _containers(module: Module) -> Iterator[tuple[str, ast.stmt]]:
    """Find module-level names bound to mutable containers.

    Names with two leading underscores belong to Python and are skipped.
    """
    literals = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
    for node in module.tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign):
            continue
        made = isinstance(node.value, ast.Call) and module.dotted(node.value.func) in FACTORIES
        if made or isinstance(node.value, literals):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [target.id for target in targets if isinstance(target, ast.Name)]
            yield from ((name, node) for name in names if not name.startswith("__"))


def _changed(node: ast.expr | ast.stmt) -> str | None:
    """Return the name whose contents a call, an assignment or a deletion changes."""
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in CHANGES
    ):
        return node.func.value.id if isinstance(node.func.value, ast.Name) else None
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign | ast.Delete):
        targets = node.targets
    elif isinstance(node, ast.AugAssign | ast.AnnAssign):
        targets = [node.target]
    for target in targets:
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            return target.value.id
    return None


def _grows(module: Module, function: ast.FunctionDef) -> bool:
    """Return whether a function with parameters caches its results without a limit."""
    if not (function.args.args or function.args.kwonlyargs or function.args.posonlyargs):
        return False
    for decorator in function.decorator_list:
        call = decorator if isinstance(decorator, ast.Call) else None
        name = module.dotted(call.func if call else decorator)
        given = [*call.args, *(keyword.value for keyword in call.keywords)] if call else []
        unbounded = any(isinstance(value, ast.Constant) and value.value is None for value in given)
        if name == "functools.cache" or (name == "functools.lru_cache" and unbounded):
            return True
    return False


def modules() -> list[Module]:
    """Return every source file of the app."""
    paths = [*(ROOT / "areaviz").rglob("*.py"), *(ROOT / "pages").rglob("*.py"), ROOT / "app.py"]
    found = []
    for path in sorted(paths):
        parts = path.relative_to(ROOT).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        found.append(Module(name, path.read_text(encoding="utf-8"), is_package))
    return found
