"""The parts of examples/debian_packages that need no apt."""

import importlib.util
import subprocess
import sys

import numpy as np
import pytest
from conftest import ROOT


def script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples/debian_packages" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_an_edge_leads_to_every_package_that_is_named_or_provides_the_name():
    packages = {
        "mutt": {"Depends": "libc6 (>= 2.34), libssl3:any", "Recommends": "mail-transport-agent | msmtp"},
        "exim4": {"Provides": "mail-transport-agent"},
        "postfix": {"Provides": "mail-transport-agent (= 1), smtp", "Suggests": "mail-transport-agent, gone"},
        "libc6": {},
        "msmtp": {"Pre-Depends": "libc6"},
    }
    pairs = list(script("build").edges(packages))
    mutt = [("mutt", other) for other in ("exim4", "libc6", "msmtp", "postfix")]
    assert pairs == [*mutt, ("postfix", "exim4"), ("msmtp", "libc6")]


def test_rows_are_tf_idf_of_length_one():
    texts = ["search text"] * 20 + ["play music, play music!"] * 25 + ["rare"] + [""] * 454
    x = script("build").bags_of_words(texts).toarray()
    music, play, search, _ = x.T  # sorted; 'rare' is too rare
    assert np.allclose(search[:20], np.sqrt(0.5)) and np.allclose(play[20:45], np.sqrt(0.5))
    assert x[45:].sum() == 0 and np.allclose((x[:45] ** 2).sum(1), 1) and np.allclose(music, play)


def test_the_judged_list_is_of_50_packages_that_are_not_their_own_alternatives():
    judge = script("judge")
    lines = [line.split(":") for line in judge.JUDGED.read_text().splitlines() if not line.startswith("#")]
    names = {name for package, others in lines for name in [package, *others.split()]}
    judged = judge.alternatives(names)
    assert len(judged) == 50 and sum(map(len, judged.values())) == 334
    assert all(package not in others for package, others in judged.items())
    assert judge.alternatives({"ripgrep", "ack", "vlc"}) == {"ripgrep": {"ack"}}

    lists = {"ripgrep": ["ack", "fd-find"], "vlc": [f"vlc-plugin-{n}" for n in range(49)] + ["mpv"]}
    assert judge.rates({"ripgrep": {"ack"}, "vlc": {"mpv", "totem"}}, lists) == [0.5, 0.5, 0.75]


@pytest.mark.parametrize("name", ["build", "judge"])
def test_without_arguments_the_usage_is_printed(name):
    said = subprocess.run([sys.executable, script(name).__file__], capture_output=True, text=True)
    assert said.returncode == 1 and "usage:" in said.stderr
