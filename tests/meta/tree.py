"""The files of the repository, as its guards see them."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
TOPS = ("src", "tests", "benchmarks", "docs", ".ci")
BUILT = {"__pycache__", "out"}


def files(*tops: str, suffix: str = "") -> dict[str, str]:
    """Return the text of each file below some top folders, by its path from the root."""
    found = [path for top in tops for path in sorted((ROOT / top).rglob(f"*{suffix}")) if path.is_file()]
    return {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for path in found
        if BUILT.isdisjoint(path.parts) and path.suffix not in {".png", ".pyc"}
    }


def everything() -> dict[str, str]:
    """Return the text of every file that belongs to the repository."""
    # In a worktree `.git` is a file, which says where the repository is on this machine.
    own = [path for path in sorted(ROOT.iterdir()) if path.is_file() and path.name != ".git"]
    return files(*TOPS) | {path.name: path.read_text(encoding="utf-8") for path in own}
