"""What the repository does not allow itself, as functions from a text to what is wrong with it."""

import ast
import gc
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from bide.sql import Statement

FILE_AIM, FILE_LIMIT = 300, 400
FUNCTION_AIM, FUNCTION_LIMIT = 50, 70

_THINGS = "table|index|view|function|type|trigger|schema|database|role|user|sequence|extension|system"
# How statements begin, once their white space is single blanks.
_SQL = re.compile(
    "|".join(
        [
            r"select .+ from ",
            r"select (\d|\w+\(|current_|\$|\*)",
            r"insert into ",
            r"update \S+ (\w+ )?set ",
            r"delete from ",
            r"with (recursive )?\w+( ?\([\w, ]*\))? as (not )?(materialized )?\(",
            rf"(create|alter|drop) ((or replace|unique|temp\w*|unlogged|materialized) )?({_THINGS}) ",
            r"(truncate( table)?|listen|unlisten|notify|reindex|lock table) [\w\"]+;?$",
            r"set (local|session) |set [\w.]+ = ",
            r"(?-i:BEGIN|COMMIT|ROLLBACK|VACUUM|CHECKPOINT)\b",
        ]
    ),
    re.IGNORECASE,
)
_SQL_REMARK = re.compile(r"--[^\n]*\n")
# A folder of one machine, or the address of a package registry. Neither belongs into a repository.
_PRIVATE = re.compile(
    r"(?<![\w.~-])/(work|home|root|opt|Users|mnt)/\w|pypi\.org|python[h]osted|index[-_]url|find[-]links|trusted[-]host",
    re.IGNORECASE,
)
_TARGET = re.compile(r"^([a-z][\w-]*):(?!=)(.*)$", re.MULTILINE)
_MAKE = re.compile(r"`make ([a-z]+)|^\s*make ([a-z]+)", re.MULTILINE)
_LINK = re.compile(r"\]\(([^)#\s]+)")
_PATH = re.compile(r"`((?:src|tests|docs|benchmarks|examples|\.ci)/[\w./-]+)`")


def parsed(source: str) -> ast.Module:
    """Read a file. Python 3.11 loses count of its depth when the collector has other code run meanwhile."""
    gc.disable()
    try:
        return ast.parse(source)
    finally:
        gc.enable()


def long_files(texts: Mapping[str, str], allowed: Mapping[str, int], aim: int = FILE_AIM) -> Iterator[str]:
    """Find files over the aim, or over what they are allowed, and allowances that nobody needs."""
    lines = {path: text.count("\n") for path, text in texts.items()}
    for path, count in lines.items():
        if count > min(allowed.get(path, aim), FILE_LIMIT):
            yield f"{path} has {count} lines"
    for path in allowed:
        if lines.get(path, 0) <= aim:
            yield f"{path} needs no allowance any more: take it off the list"


def long_functions(path: str, source: str, limit: int) -> Iterator[str]:
    """Find functions with more lines than the limit."""
    for function in functions(source):
        lines = (function.end_lineno or 0) - function.lineno + 1
        if lines > limit:
            yield f"{path}: {function.name} has {lines} lines"


def functions(source: str) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Return every function of a module, methods and inner ones too."""
    return [node for node in ast.walk(parsed(source)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def stray_sql(path: str, source: str) -> Iterator[str]:
    """Find texts that look like SQL; docstrings may speak of it."""
    tree = parsed(source)
    spoken = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if id(node) in spoken:
            continue
        if isinstance(node, ast.JoinedStr):
            # What stands in the braces of an f-string may be any name.
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            continue
        flat = " ".join(_SQL_REMARK.sub("", text).split())
        if _SQL.match(flat):
            yield f"{path}:{node.lineno} holds SQL, which belongs into src/bide/sql/: {flat[:60]!r}"


def unpaired(statements: Iterable[Statement], performed: Iterable[str], verbs: Iterable[str]) -> Iterator[str]:
    """Find verbs without a statement, and statements that have not exactly one function of the same name.

    A verb that only happens as a part of another one has no statement of its own; then the statement of the other one
    writes its name into the history.
    """
    known = list(statements)
    named, functions_named = Counter(statement.name for statement in known), Counter(performed)
    for statement in known:
        if not statement.purpose:
            yield f"statement {statement.name} does not say what it is for"
    for name, count in named.items():
        if count > 1:
            yield f"there are {count} statements named {name}"
        if functions_named[name] != 1:
            yield f"statement {name} has {functions_named[name]} functions in the store"
    for verb in verbs:
        if verb not in named and not any(f"'{verb}'" in statement.text for statement in known):
            yield f"verb {verb} has no statement"


def performed(source: str) -> list[str]:
    """Return the names of the functions that run the statement of their own name."""
    return [
        function.name
        for function in functions(source)
        if any(isinstance(node, ast.Constant) and node.value == function.name for node in ast.walk(function))
    ]


def private_traces(path: str, text: str) -> Iterator[str]:
    """Find paths of somebody's machine and addresses of package registries."""
    for number, line in enumerate(text.splitlines(), start=1):
        if _PRIVATE.search(line):
            yield f"{path}:{number}: {line.strip()[:100]}"


def merge_marks(path: str, text: str) -> Iterator[str]:
    """Find what a merge has left for somebody to decide."""
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith(("<" * 7 + " ", ">" * 7 + " ")):
            yield f"{path}:{number}: {line}"


def undescribed_targets(makefile: str) -> Iterator[str]:
    """Find targets that `make help` does not explain, or that are not declared phony."""
    targets = dict(_TARGET.findall(makefile))
    phony = set(re.findall(r"^\.PHONY:(.*)$", makefile, re.MULTILINE)[0].split())
    for name, rest in targets.items():
        if "## " not in rest:
            yield f"make {name} has no description"
    for name in phony ^ targets.keys():
        yield f"{name} is only a target or only declared phony"


def unknown_targets(path: str, text: str, makefile: str) -> Iterator[str]:
    """Find make commands in a text that the Makefile does not know."""
    targets = dict(_TARGET.findall(makefile))
    for name in {first or second for first, second in _MAKE.findall(text)} - targets.keys():
        yield f"{path} speaks of make {name}, which does not exist"


def dead_ends(path: str, text: str, existing: Iterable[str]) -> Iterator[str]:
    """Find links and paths in a page that lead to no file of the repository."""
    known = set(existing)
    folder = path.rpartition("/")[0]
    named = [(target, resolved(folder, target)) for target in _LINK.findall(text) if "://" not in target]
    named += [(target, target.rstrip("/")) for target in _PATH.findall(text)]
    for target, place in named:
        if place not in known and not any(file.startswith(f"{place}/") for file in known):
            yield f"{path} leads to {target}, which does not exist"


def resolved(folder: str, target: str) -> str:
    """Return the path from the root of a link that stands in a file of a folder."""
    parts = folder.split("/") if folder else []
    for step in target.rstrip("/").split("/"):
        if step == "..":
            parts.pop()
        elif step != ".":
            parts.append(step)
    return "/".join(parts)


def inner_imports(path: str, source: str, public: Iterable[str]) -> Iterator[str]:
    """Find what a battery imports of Bide beside the public names of authoring and the exceptions of tasks."""
    known = set(public)
    for node in ast.walk(parsed(source)):
        modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        modules += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for module in modules:
            if module.split(".")[0] != "bide" or module in ("bide.exceptions", "bide.authoring"):
                continue
            if not module.startswith(("bide.operators.", "bide.sensors.", "bide.triggers.")):
                yield f"{path} imports {module}"
        if isinstance(node, ast.ImportFrom) and node.module == "bide.authoring":
            yield from (f"{path} imports {alias.name}" for alias in node.names if alias.name not in known)
