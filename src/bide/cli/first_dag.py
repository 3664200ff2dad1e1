"""The DAG that a newcomer finds: something to see, to edit and to break."""

from pathlib import Path

from bide.errors import SettingsError

FIRST = '''"""Your first DAG. Change it and save: the new version is live at once."""

from datetime import datetime

from bide import dag, task


@dag(schedule="@once", start_date=datetime(2026, 1, 1), tags=["first"])
def hello():
    @task
    def names():
        return ["Ada", "Grace", "Margaret"]

    @task
    def greet(name: str) -> str:
        print(f"Hello, {name}!")
        return f"{name} was greeted"

    @task
    def report(greetings: list[str]) -> None:
        for greeting in greetings:
            print(greeting)

    report(greet.expand(name=names()))


hello()
'''


def write_if_none(folder: Path) -> Path | None:
    """Write the first DAG where there is no DAG file at all; give its path."""
    if folder.exists() and not folder.is_dir():
        raise SettingsError(
            f"{folder} is no folder: move it away, or set core.dags_dir to the folder of your DAG files."
        )
    if any(folder.rglob("*.py")):
        return None
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "hello.py"
    path.write_text(FIRST, encoding="utf-8")
    return path
