"""Debian's Slurm on the hosts of hosts.py: a controller on the first host and a daemon on each, without
accounting, authentication and control groups. It ends with the hosts."""
import os
import shutil

import harness
from harness import expect, finish, wait_for

CPUS = 8  # of each host, as in Slurm's configuration
CONFIGURATION = """ClusterName=hosts
SlurmctldHost={first}
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmUser=root
SlurmdUser=root
StateSaveLocation=/run/slurmctld
SlurmdSpoolDir=/run/slurmd
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmctldLogFile=/run/slurmctld.log
SlurmdLogFile=/run/slurmd.log
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=5
NodeName={names} CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def is_there():
    return all(shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin") for name in ("slurmctld", "slurmd", "srun", "sbatch"))


class Slurm:
    def __init__(self, hosts):
        self.hosts = hosts
        os.makedirs("slurm", exist_ok=True)
        with open("slurm/slurm.conf", "w") as configuration:
            configuration.write(CONFIGURATION.format(first=hosts[0].name, names=",".join(host.name for host in hosts), cpus=CPUS))
        with open("slurm/cgroup.conf", "w") as configuration:
            configuration.write("CgroupPlugin=cgroup/v1\n")  # unused, but required
        self.variables = {**hosts.environment(), "SLURM_CONF": os.path.abspath("slurm/slurm.conf")}
        for host in hosts:
            for name in ["slurmctld"] * (host is hosts[0]) + ["slurmd"]:
                os.makedirs(host.path("/run/" + name))
                self.call(host, name)
        wait_for(lambda: self.call(hosts[0], "sinfo", "--noheader", "--states=idle", "--format=%D").out.strip() == str(len(hosts)), "all hosts to be idle")

    def start(self, host, *command):
        return harness.start(*host.command(*command), environment=self.variables)

    def call(self, host, *command, status=0):
        return finish(self.start(host, *command), status)

    def batch(self, script, *options, statuses=(0,)):
        """Runs a script as a job, and returns its output. The script must print \"status N\" at its end."""
        with open("job.sh", "w") as job:
            job.write("#!/bin/sh\n" + script)
        self.call(self.hosts[0], "sbatch", "--wait", "--output=job.out", *options, "job.sh", status=None)
        with open("job.out") as output:
            text = output.read()
        print(text, flush=True)
        ended = text.rstrip().splitlines()[-1] if text.strip() else ""
        expect(ended in [f"status {status}" for status in statuses], f"the job ended with '{ended}', expected status {statuses}")
        return text
