"""The `bide` command. `main` is where it begins and ends; each other module holds the commands of its name."""
