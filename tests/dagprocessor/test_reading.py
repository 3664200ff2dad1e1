"""What a file reads while it is imported is known, and what it writes does not count."""

import subprocess
import sys
from pathlib import Path

import pytest

# A hook stays for the life of its process, so each is tried in a process of its own.
PROGRAM = """
import io, os, pathlib, sys
from bide.children.reading import Reading
root = sys.argv[1]
os.chdir(root)
reading = Reading(root)
reading.start()
{code}
found = reading.stop()
open("later.txt", "w").close()
print(*sorted(os.path.relpath(path, root) for path in found))
"""


@pytest.mark.parametrize(
    ("code", "read"),
    [
        ("open('a.txt')", "a.txt"),
        ("open(b'a.txt', 'rb')", "a.txt"),
        ("pathlib.Path(root, 'sub', 'b.txt').read_text()", "sub/b.txt"),
        ("io.open('sub/../a.txt')", "a.txt"),
        ("os.close(os.open('a.txt', os.O_RDONLY))", "a.txt"),
        ("os.listdir()", "."),
        ("os.listdir('sub')", "sub"),
        ("list(os.scandir('sub'))", "sub"),
        ("list(pathlib.Path('sub').glob('*.txt'))", "sub"),
        ("open('a.txt'); open('a.txt', 'a')", ""),
        ("open('a.txt', 'r+')", ""),
        ("os.close(os.open('c.txt', os.O_WRONLY | os.O_CREAT))", ""),
        ("os.listdir(); open('c.txt', 'w')", ""),
        ("os.listdir('sub'); open('c.txt', 'w')", "sub"),
        ("open(os.devnull); os.listdir('/'); open(0, closefd=False)", ""),
        ("sys.path.insert(0, root); import mod", ""),
        ("try: open('nothing.txt')\nexcept OSError: pass", "nothing.txt"),
    ],
)
def test_what_is_read_below_the_folder_is_told(tmp_path: Path, code: str, read: str) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "sub/b.txt").write_text("b")
    (tmp_path / "mod.py").write_text("x = 1")
    program = [sys.executable, "-B", "-W", "ignore", "-c", PROGRAM.format(code=code), str(tmp_path)]
    assert subprocess.run(program, check=True, capture_output=True, text=True).stdout.strip() == read
