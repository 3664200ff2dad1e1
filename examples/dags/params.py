"""Params: what may be said about a single run when somebody launches it, with a schema that checks it."""

from typing import Unpack

from bide import DAG, Context, Param, task

with DAG(
    "params",
    schedule=None,
    params={
        "name": "World",
        "times": Param(2, type="integer", minimum=1, maximum=10, description="How often to greet."),
        "language": Param("en", enum=["en", "de", "fr"]),
        "until": Param(None, type=["null", "string"], format="date"),
    },
    tags=["example"],
):

    @task
    def greet(**context: Unpack[Context]) -> list[str]:
        params = context["params"]
        word = {"en": "Hello", "de": "Hallo", "fr": "Salut"}[params["language"]]
        return [f"{word}, {params['name']}!"] * params["times"]

    @task(params={"name": "nobody in particular"})
    def whisper(text: str) -> str:
        return text.lower()

    greet() >> whisper("Psst, {{ params.name }}")
