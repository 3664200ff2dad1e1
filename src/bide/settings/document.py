"""Write docs/configuration.md from the declaration, so that the page cannot differ from the program."""

from bide.settings.declared import SECTIONS, Section, Setting, settings_in, shown_value
from bide.settings.value import IN_WORDS

INTRODUCTION = """\
# Configuration

<!-- Generated from src/bide/settings/declared.py by `make docs`; edit that file instead. -->

Bide runs without any configuration. What you want different, set in one of three places; the later one wins:

| place | looks like |
|---|---|
| the file `bide.toml` in the folder you start Bide in | `[triggerer]`, and below it `capacity = 2000` |
| the environment | `BIDE_TRIGGERER__CAPACITY=2000` (two underscores between section and key) |
| the command line | `bide --set triggerer.capacity=2000 …` (as often as you like) |

`bide config` shows every setting with its value and where the value came from; passwords and keys are masked, so its
output can be shared. A name that does not exist, a value of the wrong type and a number outside its limits are refused
when Bide starts, never ignored.

In the environment and on the command line, `true`, `yes`, `on`, `1` and `false`, `no`, `off`, `0` are understood, and
lists are separated by commas. Relative paths start at the folder you start Bide in. The database's address may also be
given as `BIDE_DATABASE_URL`. Keep secrets in the environment rather than in the file or on the command line, where
others may read them.

A `bide.toml` may look like this:

```toml
[core]
dags_dir = "pipelines"

[triggerer]
capacity = 2000
queues_enabled = true
queues = ["default", "reports"]
```
"""


def document() -> str:
    """Return the whole page."""
    return "\n".join([INTRODUCTION, *(documented(name, section) for name, section in SECTIONS.items())])


def documented(name: str, section: type[Section]) -> str:
    """Return the part of the page about one section."""
    rows = "".join(row(setting) for setting in settings_in(section).values())
    return (
        f"## [{name}]\n\n{section.__doc__}\n\n| setting | default | takes | what it is for |\n|---|---|---|---|\n{rows}"
    )


def row(setting: Setting) -> str:
    """Return the table row of one setting."""
    secret = " (secret)" if setting.about.secret else ""
    return f"| `{setting.key}` | {default(setting)} | {takes(setting)}{secret} | {setting.about.doc} |\n"


def default(setting: Setting) -> str:
    """Say the default as one would write it in bide.toml."""
    if setting.about.default_in_words:
        return setting.about.default_in_words
    value = shown_value(setting, setting.default)
    if value in ("", []):
        return "empty"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def takes(setting: Setting) -> str:
    """Say which values are taken."""
    about = setting.about
    if about.choices:
        return ", ".join(f"`{choice}`" for choice in about.choices)
    limits = "" if about.least is None else f", {about.least:,} to {about.most:,}"
    return IN_WORDS[setting.kind] + limits
