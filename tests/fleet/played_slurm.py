#!/usr/bin/env python3
"""Slurm's commands, played: what `deepgap fleet --scheduler slurm` calls, with the limits that a site sets (MaxArraySize, MaxSubmitJobs of a
user, MaxJobCount of the controller) and no daemon. Time passes when the queue is asked for: what ran has ended, and as much as nodes are there
begins. A task is run by its script, or by a program that makes its result up.

    from played_slurm import PlayedSlurm
    slurm = PlayedSlurm(folder, nodes=16, max_array=1001, max_submit=500)     # and slurm.environment for whoever calls

The same file is the commands: links by their names lie in the folder, which is first in PATH.
"""
import fcntl
import json
import os
import re
import resource
import subprocess
import sys

NAMES = ("sinfo", "scontrol", "squeue", "sbatch", "scancel")


class PlayedSlurm:
    def __init__(self, folder, nodes=16, max_array=1001, max_submit=0, max_jobs=10_000, made_up_by=None):
        """max_submit: 0: as many as one likes. made_up_by: a command that is given the fleet's folder, the number of nodes and tasks."""
        os.makedirs(folder + "/bin")
        for name in NAMES:
            os.symlink(os.path.abspath(__file__), f"{folder}/bin/{name}")
        self.folder = folder
        self.environment = {**os.environ, "PLAYED_SLURM": folder, "PATH": f"{folder}/bin:{os.environ['PATH']}"}
        with open(folder + "/slurm.json", "w") as file:
            json.dump({"nodes": nodes, "max_array": max_array, "max_submit": max_submit, "max_jobs": max_jobs, "made_up_by": made_up_by,
                       "next": 1, "jobs": [], "most": 0, "largest_array": 0, "refused": 0, "accepted": 0, "ended": 0, "asked": 0, "cpu_s": 0, "failed": []}, file)

    def told(self):
        with open(self.folder + "/slurm.json") as file:
            return json.load(file)


def indices_of(text):
    indices = []
    for part in text.split("%")[0].split(","):
        first, _, last = part.partition("-")
        indices += range(int(first), int(last or first) + 1)
    return indices


def waiting_tasks(state):
    return sum(len(job["waiting"]) + len(job["running"]) for job in state["jobs"])


def sbatch(state, arguments):
    after = next((a.split("afterok:")[1] for a in arguments if a.startswith("--dependency=afterok:")), None)
    with open(arguments[-1]) as file:
        flags = dict(re.findall(r"^#SBATCH --([a-z-]+)=(.*)$", file.read(), re.MULTILINE))
    if "exclude" in flags and not re.fullmatch(r"n\d+", flags["exclude"]):
        return 1, "", "sbatch: error: Batch job submission failed: Invalid node name specified\n"
    if "--test-only" in arguments:
        return 0, "", f"sbatch: Job {state['next']} to start at 2026-01-02T03:04:05 using 1 processors on nodes n0 in partition main\n"
    indices = indices_of(flags["array"]) if "array" in flags else [None]
    if indices[-1] is not None and indices[-1] >= state["max_array"]:
        return 1, "", "sbatch: error: Batch job submission failed: Invalid job array specification\n"
    there = waiting_tasks(state)
    if state["max_submit"] and there + len(indices) > state["max_submit"]:
        state["refused"] += 1
        return 1, "", ("sbatch: error: AssocMaxSubmitJobLimit\nsbatch: error: Batch job submission failed: Job violates accounting/QOS policy "
                       "(job submit limit, user's size and/or time limits)\n")
    if there + len(indices) > state["max_jobs"]:
        state["refused"] += 1
        return 1, "", ("sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying\n"
                       "sbatch: error: Batch job submission failed: Resource temporarily unavailable\n")
    job = {"id": state["next"], "name": flags["job-name"], "script": os.path.abspath(arguments[-1]), "waiting": indices, "running": [],
           "after": int(after) if after else None, "log": flags["output"].replace("%j", str(state["next"]))}
    state["next"] += 1
    state["jobs"].append(job)
    state["accepted"] += 1
    state["most"] = max(state["most"], there + len(indices))
    state["largest_array"] = max(state["largest_array"], len(indices))
    return 0, f"{job['id']}\n", ""


def run_script(job, index, node):
    environment = {**os.environ, "SLURM_JOB_ID": str(job["id"]), "SLURMD_NODENAME": f"n{node}"}
    if index is not None:
        environment.update(SLURM_ARRAY_JOB_ID=str(job["id"]), SLURM_ARRAY_TASK_ID=str(index))
    with open(os.devnull if "%" in job["log"] else job["log"], "a") as log:
        return subprocess.run(["bash", job["script"]], env=environment, stdout=log, stderr=log, check=False).returncode


def make_up(state, ended):
    """All that ended, by one call a fleet."""
    tasks = {}
    for job, index in ended:
        if index is not None:
            folder = os.path.dirname(os.path.dirname(job["script"]))
            tasks.setdefault(folder, []).append(int(job["name"].rsplit("-", 1)[1]) + index)
    for folder, list_of in tasks.items():
        subprocess.run([*state["made_up_by"], folder, str(state["nodes"]), *map(str, list_of)], check=True, stdout=subprocess.DEVNULL)


def pass_time(state):
    ended = [(job, index) for job in state["jobs"] for index in job["running"]]
    if state["made_up_by"]:
        make_up(state, ended)
    else:
        for node, (job, index) in enumerate(ended):
            if run_script(job, index, node) != 0 and index is None:
                state["failed"].append(job["id"])
    state["ended"] += sum(1 for _, index in ended if index is not None)
    for job in state["jobs"]:
        job["running"] = []
    state["jobs"] = [job for job in state["jobs"] if job["waiting"]]
    free = state["nodes"]
    there = {job["id"] for job in state["jobs"]}
    for job in state["jobs"]:
        if job["after"] not in there and job["after"] not in state["failed"] and free > 0:
            job["running"], job["waiting"] = job["waiting"][:free], job["waiting"][free:]
            free -= len(job["running"])


def why_it_waits(state, job):
    return "DependencyNeverSatisfied" if job["after"] in state["failed"] else "Dependency" if job["after"] else "Resources"


def squeue(state, arguments):
    form = arguments[arguments.index("-o") + 1]
    state["asked"] += 1
    if form != "%j|%F":
        pass_time(state)
    lines = []
    for job in state["jobs"]:
        for status, indices in (("RUNNING", job["running"]), ("PENDING", job["waiting"])):
            for at, index in enumerate(indices):
                values = {"%j": job["name"], "%F": job["id"], "%K": "N/A" if index is None else index, "%T": status,
                          "%N": f"n{at}" if status == "RUNNING" else "", "%r": why_it_waits(state, job)}
                lines.append("|".join(str(values[word]) for word in form.split("|")))
    return 0, "".join(line + "\n" for line in lines), ""


def answer(state, name, arguments):
    if name == "sinfo":
        return 0, "main*|1-00:00:00|1|(null)|(null)|up\n", ""
    if name == "scontrol":
        return 0, f"MaxArraySize            = {state['max_array']}\nMaxJobCount             = {state['max_jobs']}\n", ""
    if name == "scancel":
        state["jobs"] = [job for job in state["jobs"] if str(job["id"]) != arguments[-1]]
        return 0, "", ""
    return sbatch(state, arguments) if name == "sbatch" else squeue(state, arguments)


def main():
    folder = os.environ["PLAYED_SLURM"]
    with open(folder + "/lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with open(folder + "/slurm.json") as file:
            state = json.load(file)
        code, output, error = answer(state, os.path.basename(sys.argv[0]), sys.argv[1:])
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):  # what playing takes
            used = resource.getrusage(who)
            state["cpu_s"] += used.ru_utime + used.ru_stime
        with open(folder + "/slurm.json.new", "w") as file:
            json.dump(state, file)
        os.rename(folder + "/slurm.json.new", folder + "/slurm.json")
    sys.stdout.write(output)
    sys.stderr.write(error)
    sys.exit(code)


if __name__ == "__main__":
    main()
