"""What a config may say of its tasks, and which of D4RL's files it asks for by that."""

import pytest

from triptych.core.config import ConfigError
from triptych.rl.tasks.config import check_tasks, d4rl_file, data_source, units_of

FILES = {"hopper_expert-v2", "hopper_medium_replay-v2", "ant_medium-v2"}
REPLAY = {"source": "d4rl", "quality": "medium-replay"}


def test_the_quality_is_that_of_the_paper_unless_config_says_another():
    assert d4rl_file("hopper", {"source": "d4rl"}) == "hopper_expert-v2"
    assert d4rl_file("hopper", REPLAY) == "hopper_medium_replay-v2"
    assert (data_source({"source": "d4rl"}), data_source(REPLAY)) == ("d4rl", "d4rl medium-replay")


def test_two_qualities_of_a_task_stand_in_one_config():
    other = {**REPLAY, "environment": "Hopper-v4"}
    assert d4rl_file("replayed", other) == "hopper_medium_replay-v2"
    tables = {"hopper": {"source": "d4rl"}, "replayed": other}
    check_tasks(tables, FILES)
    assert units_of(tables) == {}  # it has the paper's references


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            {"source": "d4rl", "quality": "best"},
            "hopper_best-v2; D4RL's files are ant_medium",
        ),
        ({"source": "collected", "quality": "expert"}, "quality belongs to source d4rl"),
        ({"source": "path", "path": "a", "dataset": "b"}, "dataset belongs to source minari"),
    ],
)
def test_what_does_not_go_together_is_refused_by_name(table, message):
    with pytest.raises(ConfigError, match=rf"rl\.tasks\.hopper.*{message}"):
        check_tasks({"hopper": table}, FILES)


def test_only_the_papers_tasks_have_experts():
    with pytest.raises(ConfigError, match=r"rl\.tasks\.ant\.source.*hopper, walker2d, halfcheetah"):
        check_tasks({"ant": {"source": "collected", "environment": "Ant-v5"}}, FILES)


def test_a_reference_rises():
    table = {"source": "path", "path": "a", "environment": "Ant-v5", "reference": [3, 3]}
    with pytest.raises(ConfigError, match=r"rl\.tasks\.ant\.reference is \[3, 3\]"):
        check_tasks({"ant": table}, FILES)
