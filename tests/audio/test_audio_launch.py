"""What a training's processes are told by SLURM, and what is said where that doesn't fit."""

import pickle
import time

import pytest

from triptych.audio.training import launching
from triptych.audio.training.launching import has_tasks, launch, rendezvous
from triptych.core.errors import InputError
from triptych.core.stopping import Stopped, StopRequest

# Of task 3 of srun --nodes=2 --ntasks=4 --ntasks-per-node=2 --cpus-per-task=5, SLURM 22.05.
TASK = {
    "SLURM_PROCID": "3",
    "SLURM_NTASKS": "4",
    "SLURM_LOCALID": "1",
    "SLURM_NODEID": "1",
    "SLURM_STEP_NODELIST": "gpu[07-08]",
    "SLURM_CPUS_PER_TASK": "5",
}


@pytest.fixture
def slurm(monkeypatch):
    """A SLURM job for which scontrol answers with so many nodes and tasks."""

    def job(nodes, tasks):
        monkeypatch.setenv("SLURM_JOB_ID", "11")
        answers = {
            ("scontrol", "show", "job", "--oneliner", "11"): "JobId=11 NodeList=gpu[07-08] "
            f"NumNodes={nodes} NumCPUs=20 NumTasks={tasks} CPUs/Task=5\n",
            ("scontrol", "show", "hostnames", "gpu[07-08]"): "gpu07\ngpu08\n",
        }
        monkeypatch.setattr(launching, "_output", lambda *command: answers[command])

    return job


def test_a_task_learns_its_place_and_meets_the_others_on_the_first_node(slurm):
    slurm(2, 4)
    assert rendezvous(TASK, devices=2, port=1234) == {
        **{"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"},
        **{"MASTER_ADDR": "gpu07", "MASTER_PORT": "1234", "OMP_NUM_THREADS": "5"},
    }


@pytest.mark.parametrize(
    ("given", "nodes", "devices", "tasks"),
    [((2, 4), 2, 2, True), ((1, 2), 1, 2, True), ((2, 2), 2, 1, True), ((1, 1), 1, 2, False)],
)
def test_a_job_with_a_task_for_each_device_has_srun_and_one_with_a_single_task_forks(
    slurm, given, nodes, devices, tasks
):
    slurm(*given)
    assert has_tasks(nodes, devices) == tasks


@pytest.mark.parametrize(
    ("given", "nodes", "devices"), [((1, 4), 1, 2), ((1, 1), 2, 1), ((2, 2), 2, 2), ((4, 4), 2, 2)]
)
def test_another_number_of_nodes_or_tasks_is_an_error_that_names_both(slurm, given, nodes, devices):
    slurm(*given)
    with pytest.raises(InputError) as caught:
        has_tasks(nodes, devices)
    assert f"nodes: {nodes}, tasks: {nodes * devices}" in str(caught.value)
    assert "but it has nodes: {}, tasks: {}".format(*given) in str(caught.value)


def test_several_nodes_without_slurm_are_an_error_that_says_what_to_do(monkeypatch):
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    with pytest.raises(InputError, match="profiles/slurm, or set nodes: 1"):
        launch(print, 1, "cpu", StopRequest(), nodes=2)
    assert not has_tasks(1, 4)


def test_the_first_error_counts_and_a_wish_to_stop_only_where_there_is_none():
    first, second = {"error": "process 1 on gpu08: ValueError: no"}, {"error": "process 0: gone"}
    with pytest.raises(RuntimeError, match="process 1 on gpu08: ValueError: no"):
        launching._conclude([{"stopped": "SIGTERM"}, first, second], 1)
    with pytest.raises(Stopped, match="SIGTERM"):
        launching._conclude([{"stopped": "SIGTERM"}], 143)
    with pytest.raises(RuntimeError, match="srun's code is 137"):
        launching._conclude([], 137)
    launching._conclude([], 0)


def test_a_wish_to_stop_keeps_its_time_limit_in_another_process():
    ended = pickle.loads(pickle.dumps(StopRequest(limit_minutes=0.5 / 60)))
    lasting = pickle.loads(pickle.dumps(StopRequest(limit_minutes=60)))
    time.sleep(0.3)
    assert ended.reason == "its time limit" and lasting.reason is None
    assert pickle.loads(pickle.dumps(StopRequest())).reason is None
