"""`bide demo`: a DAG with branches, retries, mapping and 200 waits runs before one's eyes, in a folder of its own."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from importlib.resources import files
from pathlib import Path

import typer
from rich.console import Console

from bide.cli import watching, words
from bide.cli.finding import find_run
from bide.cli.session import Session, opened
from bide.control import launching
from bide.control.savings import saved
from bide.errors import Refusal
from bide.model.states import RunState
from bide.settings import load
from bide.store import control
from bide.store.database import Database
from bide.store.jobs import JobType, jobs_at_work
from bide.store.wake import Channel

app = typer.Typer(add_completion=False)
DAG_ID = "demo"
READY = "Bide is up"
LOOK_EVERY_SEC = 0.05
PARSED_WITHIN_SEC = 60.0
LEAVES_WITHIN_SEC = 30.0
console = Console(highlight=False)


@app.command(epilog="Example: bide demo")
def demo(context: typer.Context) -> None:
    """Start everything, run a DAG with branches, retries, mapping and 200 waits, say what was saved, and stop again."""
    folder = load(overrides=context.obj).core.data_dir / "demo"
    dags = folder / "dags"
    dags.mkdir(parents=True, exist_ok=True)
    (dags / "demo.py").write_text(files("bide.cli").joinpath("demo_dag.txt").read_text(encoding="utf-8"))
    overrides = {**context.obj, "core.data_dir": str(folder), "core.dags_dir": str(dags)}
    console.print("Starting Bide with the database that it brings along …")
    with services(overrides):
        context.obj = overrides
        with opened(context) as session:
            ended = run_it(session)
            say_savings(session)
    where = f"bide --set core.data_dir={folder} --set core.dags_dir={dags}"
    console.print(f"\nThe DAG file is {dags / 'demo.py'}. To go on with it: [bold]{where} up[/bold]")
    raise typer.Exit(0 if ended is RunState.SUCCESS else 1)


def run_it(session: Session) -> RunState:
    """Launch a run and watch it."""
    session.run(until_parsed(session.db))
    launched = session.run(launching.launch(session.db, session.who, DAG_ID))
    if launched is None:
        raise Refusal("There is a run of this very moment already; try again.")
    session.hint(Channel.SCHEDULER)
    run = session.run(find_run(session.db, DAG_ID, launched.run_id))
    return watching.watch(session, run, console)


def say_savings(session: Session) -> None:
    """Tell for how long tasks have waited without a worker."""
    now = session.run(jobs_at_work(session.db, JobType.SCHEDULER)).now
    total = session.run(saved(session.db, now - timedelta(hours=1), now, 0.0)).total
    console.print(
        f"\n[bold]{total.waits} waits[/bold] have held no worker: together they waited "
        f"[bold]{words.duration(total.waited)}[/bold] that would have kept one busy. `bide savings` adds it up."
    )


async def until_parsed(db: Database) -> None:
    """Wait until the DAG processor has read the file."""
    async with asyncio.timeout(PARSED_WITHIN_SEC):
        while True:
            if await control.current_version(db, DAG_ID) is not None:
                return
            await asyncio.sleep(LOOK_EVERY_SEC)


@contextmanager
def services(overrides: Mapping[str, str]) -> Iterator[None]:
    """Run `bide up` in a process of its own; whatever happens, it is stopped at the end."""
    given = [part for name, value in overrides.items() for part in ("--set", f"{name}={value}")]
    program = [sys.executable, "-c", "from bide.cli.main import main; main()", *given, "up"]
    log = Path(overrides["core.data_dir"]) / "services.log"
    with log.open("w", encoding="utf-8") as written:
        # In a session of its own, so that Ctrl-C reaches this process alone, which then stops the other in order.
        process = subprocess.Popen(
            program,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            stdout=written,
            start_new_session=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            text=True,
        )
        try:
            wait_until_ready(process)
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                _, rest = process.communicate(timeout=LEAVES_WITHIN_SEC)
                written.write(rest)
            except subprocess.TimeoutExpired:
                process.kill()


def wait_until_ready(process: "subprocess.Popen[str]") -> None:
    """Wait until everything runs, or say why it does not."""
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line.strip())
        if READY in line:
            return
    raise Refusal(f"Bide did not start: {said[-1] if said else 'it said nothing'}")
