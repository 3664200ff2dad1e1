"""The code of a task finds no secret of the engine: not in its environment, its memory, its descriptors or its parents.

The task writes down all that it can read, and the test looks for the secrets in it: whoever knows what to look for has
it in memory already.
"""

import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from bide.process.spawn import environment
from tests.process.command import ran
from tests.worker.stage import KEY, Stage

SPY = """
    import json, os, re
    from pathlib import Path

    MARK = "this stands in the memory of the task"
    FOLDER = Path({folder!r})

    def _read(path):
        try:
            return Path(path).read_bytes()
        except OSError as error:
            return str(error.strerror).encode()

    def _memory(pid):
        found = []
        try:
            maps = Path(f"/proc/{{pid}}/maps").read_text().splitlines()
            with open(f"/proc/{{pid}}/mem", "rb") as memory:
                for line in maps:
                    begin, end, rights = re.match("(\\\\w+)-(\\\\w+) (\\\\S+)", line).groups()
                    if rights.startswith("r") and "[v" not in line:
                        try:
                            memory.seek(int(begin, 16))
                            found.append(memory.read(int(end, 16) - int(begin, 16)))
                        except OSError:
                            pass
        except OSError as error:
            return str(error.strerror).encode()
        return b"".join(found)

    def spy(leg, port):
        warm = os.getppid()
        worker = int(Path(f"/proc/{{warm}}/stat").read_text().rpartition(")")[2].split()[1])
        for name, pid in dict(own=os.getpid(), warm=warm, worker=worker).items():
            for file in ("environ", "cmdline", "auxv"):
                (FOLDER / f"{{name}}.{{file}}").write_bytes(_read(f"/proc/{{pid}}/{{file}}"))
            (FOLDER / f"{{name}}.memory").write_bytes(_memory(pid))
        (FOLDER / "own.variables").write_text(json.dumps(dict(os.environ)))
        links = [os.readlink(f"/proc/self/fd/{{fd}}") for fd in os.listdir("/proc/self/fd")
                 if os.path.islink(f"/proc/self/fd/{{fd}}")]
        for fd in range(50):
            try:
                links.append("the worker's " + os.readlink(f"/proc/{{worker}}/fd/{{fd}}"))
            except OSError:
                pass
        status = Path("/proc/self/status").read_text()
        return dict(links=links, bounding=int(re.search("CapBnd:\\\\s*(\\\\w+)", status)[1], 16),
                    permitted=int(re.search("CapPrm:\\\\s*(\\\\w+)", status)[1], 16), root=os.geteuid() == 0)
"""
SYS_PTRACE = 19


async def test_a_task_finds_no_secret_of_the_engine(stage: Stage, tmp_path: Path) -> None:
    spied = tmp_path / "spied"
    spied.mkdir()
    password = urlsplit(stage.url).password
    assert password
    worker = await stage.worker_process(
        PGPASSWORD=password, SOME_DATABASE_URL=stage.url, COPIED=f"see {stage.url}", AWS_REGION="somewhere"
    )
    await stage.launch(SPY.format(folder=str(spied)), "spy")
    assert await stage.ends("spy") == {"spy": "success"}, await stage.log("spy")
    worker.terminate()
    await worker.wait()
    seen = {path.name: path.read_bytes() for path in spied.iterdir()}
    for name, content in seen.items():
        assert password.encode() not in content, name
        assert KEY.encode() not in content, name
    # It did look, and what is its own to know is there.
    assert b"this stands in the memory of the task" in seen["own.memory"]
    assert b"this stands in the memory of the task" in seen["warm.memory"]
    assert json.loads(seen["own.variables"])["AWS_REGION"] == "somewhere"
    told = [name for name in json.loads(seen["own.variables"]) if name.startswith(("BIDE", "PG"))]
    assert told == ["BIDE_OPERATORS__DEFAULT_DEFERRABLE"]
    assert seen["worker.environ"] == seen["worker.memory"] == b"Permission denied"
    found = json.loads(str(await stage.xcom("spy")))
    kinds = sorted(link.partition(":")[0] for link in found["links"])
    assert kinds == ["/dev/null", "pipe", "pipe", "socket"]
    if found["root"]:
        assert not found["permitted"] >> SYS_PTRACE & 1
        assert not found["bounding"] >> SYS_PTRACE & 1


@pytest.mark.parametrize("command", ["up", "worker", "triggerer", "dag-processor", "scheduler"])
def test_a_service_takes_no_secret_from_its_command_line_which_everybody_can_read(tmp_path: Path, command: str) -> None:
    code, _, complained = ran(tmp_path, "--set", "database.url=postgresql://u:secret@localhost/x", command)
    assert code == 1
    assert complained == (
        "Error: database.url is secret, and tasks can read the command line of this process: give it as "
        "BIDE_DATABASE__URL in the environment.\n"
    )


@pytest.mark.parametrize(
    ("name", "value", "passes"),
    [
        ("PATH", "/usr/bin", True),
        ("HOME", "here", True),
        ("AWS_SECRET_ACCESS_KEY", "the user's own", True),
        ("PAGER", "less", True),
        ("BIDE_DATABASE_URL", "x", False),
        ("bide_worker__slots", "4", False),
        ("PGPASSWORD", "x", False),
        ("DATABASE_URL", "x", False),
        ("OTHER_DATABASE_URL_OLD", "x", False),
        ("INNOCENT", "it holds the secret too", False),
    ],
)
def test_what_children_see_of_the_environment(name: str, value: str, passes: bool) -> None:
    assert (name in environment({name: value}, ["", "the secret"])) is passes


READS_AT_THE_TOP = """
    from bide.model.questions import GetVariable
    token = port.ask(GetVariable("api_token"))

    def tells(order, port):
        print("it is", token)
"""


async def test_what_a_file_reads_at_its_top_its_tasks_do_not_tell(stage: Stage) -> None:
    async with stage.working(environ={"BIDE_VAR_API_TOKEN": "open-sesame"}):
        await stage.launch(READS_AT_THE_TOP, "tells")
        assert await stage.ends("tells") == {"tells": "success"}
        assert "it is ***" in await stage.log("tells")
        await stage.launch(READS_AT_THE_TOP + "\n    raise ValueError(token)\n", "tells")
        assert await stage.ends("tells") == {"tells": "failed"}
        assert "ValueError: ***" in await stage.log("tells")
        assert "open-sesame" not in await stage.log("tells") + await stage.why("tells")
