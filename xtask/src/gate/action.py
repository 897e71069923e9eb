"""Runs the steps of the GitHub action and of the GitLab template in a repository of tests.

    action.py WORKSPACE FIRSTLIGHT FOLDER

The repository gets commits with boot logs: noise, a regression, the regression again after a
force-push, and stores of two branches that become one. Each push runs the steps that are in
the files, by a local runner that knows what these files use. Prints a line for each check and
exits with 1 if one of them is wrong.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

WORKSPACE, FIRSTLIGHT, FOLDER = (Path(arg).resolve() for arg in sys.argv[1:4])
REGRESSED, FINE, CANNOT_TELL = "regressed", "fine", "cannot_tell"


def shell(script: str, cwd: Path, env: dict[str, str]) -> int:
    """Runs a step as GitHub and GitLab do: bash, ended by the first error."""
    command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script]
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.stderr.write(done.stdout + done.stderr)
    return done.returncode


def github(repository: Path, store: Path, boots: str, commit: str) -> str:
    """The verdict that the composite action gives; a failed step makes it a regression."""
    action = yaml.safe_load((WORKSPACE / "ci/github/action.yml").read_text())
    inputs = {name: str(field.get("default", "")) for name, field in action["inputs"].items()}
    inputs |= {"boots": boots, "history": str(store), "firstlight": str(FIRSTLIGHT)}
    outputs: dict[str, str] = {}

    def filled(text: str) -> str:
        known = {f"inputs.{name}": value for name, value in inputs.items()} | outputs
        return re.sub(r"\$\{\{ *([\w.-]+) *\}\}", lambda m: known[m[1]], text)

    for step in action["runs"]["steps"]:
        if "if" in step:
            name, given = re.fullmatch(r"inputs\.(\w+) != '(.*)'", step["if"]).groups()
            if inputs[name] == given:
                continue
        out = FOLDER / "github-output"
        out.write_text("")
        env = os.environ | {name: filled(value) for name, value in step["env"].items()} | {
            "GITHUB_ACTIONS": "true",
            "GITHUB_ACTION_PATH": str(WORKSPACE / "ci/github"),
            "GITHUB_SHA": commit,
            "GITHUB_OUTPUT": str(out),
            "GITHUB_STEP_SUMMARY": str(FOLDER / "github-summary.md"),
        }
        code = shell(step["run"], repository, env)
        for line in out.read_text().splitlines():
            name, value = line.split("=", 1)
            outputs[f"steps.{step.get('id', '')}.outputs.{name}"] = value
        if code:
            verdict = filled(action["outputs"]["verdict"]["value"])
            return verdict if verdict == REGRESSED else f"step failed: {step['name']}"
    return filled(action["outputs"]["verdict"]["value"])


def gitlab(repository: Path, store: Path, boots: str, commit: str) -> str:
    """The same by the script of the GitLab template, whose job fails or passes."""
    job = yaml.safe_load((WORKSPACE / "ci/gitlab/boot-time.yml").read_text())[".boot-time"]
    env = os.environ | job["variables"] | {
        "STORE": str(store),
        "BOOTS": boots,
        "FIRSTLIGHT": str(FIRSTLIGHT),
        "CI_COMMIT_SHA": commit,
    }
    # A project has the steps in its own folder `ci`.
    shutil.copytree(WORKSPACE / "ci", repository / "ci", dirs_exist_ok=True)
    code = shell("\n".join(job["script"]), repository, env)
    for artifact in [*job["artifacts"]["paths"], job["artifacts"]["reports"]["junit"]]:
        if not (repository / artifact).is_file():
            return f"{artifact} is missing"
    return {0: FINE, 1: REGRESSED}.get(code, f"exit code {code}")


class Repository:
    """A project whose CI runs the steps after each commit."""

    def __init__(self, folder: Path, steps):
        self.folder, self.steps, self.date = folder, steps, 1_700_000_000
        folder.mkdir(parents=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *args: str) -> str:
        date = f"{self.date} +0000"
        env = os.environ | {"GIT_COMMITTER_DATE": date, "GIT_AUTHOR_DATE": date}
        name = ["-c", "user.name=a", "-c", "user.email=a@b"]
        done = subprocess.run(["git", *name, "-C", str(self.folder), *args], env=env, check=True,
                              capture_output=True, text=True)
        return done.stdout.strip()

    def push(self, store: Path, commits: int, userspace_ms: int) -> str:
        """The verdict of the last of some commits with boots of this length."""
        verdict = ""
        for number in range(commits):
            self.date += 60
            self.git("commit", "-q", "--allow-empty", "-m", f"{userspace_ms} {self.date}")
            logs = FOLDER / "boots"
            shutil.rmtree(logs, ignore_errors=True)
            logs.mkdir()
            # Two boots of each commit, with a scatter of some ms.
            for boot in range(2):
                userspace = userspace_ms + (number * 7 + boot * 3 + self.date // 60) % 13
                total = 1200 + userspace
                (logs / f"{boot}.log").write_text(
                    f"Startup finished in 1.200s (kernel) + {userspace / 1e3:.3f}s (userspace) ="
                    f" {total / 1e3:.3f}s\ngraphical.target reached after"
                    f" {userspace / 1e3:.3f}s in userspace.\n")
            verdict = self.steps(self.folder, store, f"{logs}/*.log", self.git("rev-parse", "HEAD"))
        return verdict


def cached(project: Repository, store: Path, commits: int) -> str:
    """The verdict of the last of some slow commits with a cache, which a red job does not save."""
    verdict = ""
    for _ in range(commits):
        saved = store.with_suffix(".saved")
        shutil.copytree(store, saved)
        verdict = project.push(store, 1, 3600)
        if verdict == REGRESSED:
            shutil.rmtree(store)
            saved.rename(store)
        else:
            shutil.rmtree(saved)
    return verdict


def main() -> int:
    wrong = 0

    def check(what: str, verdict: str, *expected: str) -> None:
        nonlocal wrong
        right = verdict in expected
        wrong += not right
        print(f"{'ok' if right else 'WRONG'}  {what}: {verdict}", flush=True)

    for name, steps in [("github", github), ("gitlab", gitlab)]:
        base = FOLDER / name
        shutil.rmtree(base, ignore_errors=True)
        project, store = Repository(base / "project", steps), base / "boots.history"
        check(f"{name}: the first commit", project.push(store, 1, 3000),
              CANNOT_TELL if steps is github else FINE)
        check(f"{name}: noise", project.push(store, 7, 3000), FINE)
        one, other = base / "one.history", base / "other.history"
        for branch in (one, other):
            shutil.copytree(store, branch)
        cache = base / "cache.history"
        shutil.copytree(store, cache)
        check(f"{name}: a cache, the third slow commit", cached(project, cache, 3), REGRESSED)
        check(f"{name}: a cache, the fourth slow commit", cached(project, cache, 1), REGRESSED)
        project.git("reset", "-q", "--hard", "HEAD~4")
        check(f"{name}: a planted regression", project.push(store, 4, 3600), REGRESSED)
        project.git("reset", "-q", "--hard", "HEAD~4")
        check(f"{name}: after a force-push", project.push(store, 4, 3600), REGRESSED)
        project.git("reset", "-q", "--hard", "HEAD~4")
        check(f"{name}: without the regression", project.push(store, 6, 3000), FINE)
        check(f"{name}: one branch", project.push(one, 2, 3000), FINE)
        check(f"{name}: another branch", project.push(other, 4, 3600), REGRESSED)
        shutil.copytree(other, one, dirs_exist_ok=True)
        check(f"{name}: both stores together", project.push(one, 1, 3600), REGRESSED)
    return 1 if wrong else 0


sys.exit(main())
