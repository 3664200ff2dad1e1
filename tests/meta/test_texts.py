"""The texts agree with the code, lead somewhere, and hold nothing that is only true on one machine."""

import subprocess
import sys
from pathlib import Path

import pytest

import bide
from bide.model.transitions import Fence
from docs import generate
from tests.meta import guards
from tests.meta.tree import ROOT, everything

TEXTS = everything()
PAGES = {path: text for path, text in TEXTS.items() if path.endswith(".md")}
MAKEFILE = TEXTS["Makefile"]


def test_generated_pages_are_up_to_date() -> None:
    assert generate.out_of_date(generate.HERE) == [], "run `make docs`"


def test_a_stale_and_a_missing_page_are_found(tmp_path: Path) -> None:
    for name, text in generate.pages().items():
        (tmp_path / name).write_text(text)
    assert generate.out_of_date(tmp_path) == []
    (tmp_path / "states.md").write_text("of yesterday")
    (tmp_path / "configuration.md").unlink()
    assert generate.out_of_date(tmp_path) == ["states.md", "configuration.md"]


def test_the_generator_can_be_run_to_check() -> None:
    run = subprocess.run([sys.executable, "-m", "docs.generate", "--check"], cwd=ROOT, check=False, capture_output=True)
    assert run.returncode == 0, run.stderr.decode()


def test_every_fence_is_explained_in_the_pages() -> None:
    assert all(meaning for _, meaning in generate.remarks(Fence))


def test_the_changelog_knows_this_version() -> None:
    assert f"## [{bide.__version__}]" in TEXTS["CHANGELOG.md"]


def test_nothing_of_one_machine_or_registry_is_named() -> None:
    assert [finding for path, text in TEXTS.items() for finding in guards.private_traces(path, text)] == []


def test_no_merge_is_left_half_done() -> None:
    assert [finding for path, text in TEXTS.items() for finding in guards.merge_marks(path, text)] == []


def test_half_a_merge_is_found() -> None:
    mark = "<" * 7 + " HEAD"
    assert list(guards.merge_marks("a.md", f"first\n{mark}\nsecond\n")) == [f"a.md:2: {mark}"]


# The braces keep the examples themselves from being traces.
@pytest.mark.parametrize("text", ["see /{}work/main", "cd /{}home/me", "https://{}pypi.{}org/simple", "index{}-url=x"])
def test_a_private_trace_is_found(text: str) -> None:
    trace = text.format("", "")
    assert list(guards.private_traces("a.md", f"first\n{trace}\n")) == [f"a.md:2: {trace}"]


def test_every_make_target_is_described() -> None:
    assert list(guards.undescribed_targets(MAKEFILE)) == []


def test_an_undescribed_make_target_is_found() -> None:
    bad = ".PHONY: test gone\ntest: ready\n\tpytest\nclean: ## Tidy up\n"
    assert sorted(guards.undescribed_targets(bad)) == [
        "clean is only a target or only declared phony",
        "gone is only a target or only declared phony",
        "make test has no description",
    ]


def test_pages_speak_only_of_make_targets_that_exist() -> None:
    assert [finding for path, text in PAGES.items() for finding in guards.unknown_targets(path, text, MAKEFILE)] == []


def test_an_unknown_make_target_is_found() -> None:
    text = "Run `make test`, then `make coffee`:\n\n    make tea\n"
    assert sorted(guards.unknown_targets("a.md", text, "test: ## Run\n")) == [
        "a.md speaks of make coffee, which does not exist",
        "a.md speaks of make tea, which does not exist",
    ]


def test_every_link_leads_somewhere() -> None:
    assert [finding for path, text in PAGES.items() for finding in guards.dead_ends(path, text, TEXTS)] == []


def test_a_dead_end_is_found() -> None:
    text = "[a](../src/a.py) `src/b.py` [c](c.md#top) [out](https://example.org) `src/` [up](../gone.md) `src/gone.py`"
    assert list(guards.dead_ends("docs/a.md", text, ["src/a.py", "src/b.py", "docs/c.md"])) == [
        "docs/a.md leads to ../gone.md, which does not exist",
        "docs/a.md leads to src/gone.py, which does not exist",
    ]
