"""What shells complete: the printed script is read by a real one."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commands import here  # noqa: F401 (`here` acts on every test)

from pdanon.cli.main import main
from pdanon.cli.parser import parser_of

BASH = shutil.which("bash")


@pytest.fixture
def script(capsys):
    def printed(shell):
        pytest.importorskip("shtab")
        with pytest.raises(SystemExit) as ended:
            main(["--print-completion", shell])
        assert ended.value.code == 0
        return capsys.readouterr().out

    return printed


def completed(script, *words):
    """What bash offers for the last word of a command line that is being typed."""
    Path("complete.sh").write_text(script)
    lines = [
        "source complete.sh",
        f"COMP_WORDS=({' '.join(repr(word) for word in ('pdanon', *words))})",
        f"COMP_CWORD={len(words)}",
        "$(complete -p pdanon | sed 's/.*-F \\([^ ]*\\) .*/\\1/')",
        'printf "%s\\n" "${COMPREPLY[@]}"',
    ]
    done = subprocess.run(
        [BASH, "--norc", "-c", "\n".join(lines)], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


@pytest.mark.skipif(BASH is None, reason="there is no bash")
def test_bash_completes_commands_options_values_and_files(script):
    for name in ("in.txt", "page.html", "policy.toml", "lines.csv.gz"):
        Path(name).touch()
    Path("folder").mkdir()
    text = script("bash")
    offered = {
        ("ano",): {"anonymize"},
        ("a",): {"anonymize", "audit", "assess", "algorithms"},
        ("anonymize", "--algorithm", "pc"): {"pcta"},
        ("anonymize", "in.parquet", "out.parquet", "-k", "5", "--algorithm", "pc"): {"pcta"},
        ("anonymize", "--algor"): {"--algorithm"},
        ("audit", "--thr"): {"--threats"},
        ("algorithms", "up"): {"upcta"},
        ("profile", "in.csv", "--conflicts", ""): {"refuse", "first"},
        ("risk", "in"): {"in.parquet", "in.csv"},
        ("risk", "lin"): {"lines.csv.gz"},
        ("run", ""): {"policy.toml", "folder"},
        ("anonymize", "in.csv", "o.csv", "--report", ""): {"page.html", "folder"},
        ("anonymize", "in.csv", "o.csv", "--hierarchy", "i"): {"in.csv"},
        ("--print-completion", "f"): {"fish"},
    }
    assert {words: completed(text, *words) for words in offered} == offered


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_have_scripts_with_all_commands_and_suffixes(script, shell):
    text = script(shell)
    for word in (
        "anonymize",
        "algorithms",
        "--time-limit" if shell == "zsh" else "time-limit",
        "pcta",
        "toml",
    ):
        assert word in text
    program = shutil.which(shell)
    if program is not None:
        Path("script").write_text(text)
        subprocess.run([program, "--no-execute" if shell == "fish" else "-n", "script"], check=True)


def test_files_are_completed_wherever_one_is_named():
    from pdanon.cli.main import _COMMANDS
    from pdanon.cli.parser import _SUFFIXES

    commands = next(
        each for each in parser_of(_COMMANDS, [])._actions if each.choices and each.dest == "==SUPPRESS=="
    )
    named = {
        action.dest
        for command in commands.choices.values()
        for action in command._actions
        if "FILE" in str(action.metavar) or action.metavar in ("IN", "OUT", "RELEASED", "POLICY")
    }
    assert named == set(_SUFFIXES)


def test_without_the_package_it_is_said_how_to_get_it(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["--print-completion", "bash"]) == 2
    assert "pip install shtab" in capsys.readouterr().err


def test_a_shell_that_is_not_known_is_told_the_nearest(capsys):
    assert main(["--print-completion", "bsh"]) == 2
    assert "did you mean 'bash'?" in capsys.readouterr().err
