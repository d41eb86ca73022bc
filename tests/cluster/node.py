"""A Slurm cluster of one node on this machine: started by hand, stopped by process id.

Needs root, since Slurm does. A Slurm that somebody else configured here is left alone.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

#: Where the commands of a job look for the configuration: the plugin removes SLURM_CONF from them.
CONF = Path("/etc/slurm/slurm.conf")
MARK = "# written by tests/cluster of kgl, and removed by it"
MUNGE = Path("/run/munge")
PROGRAMS = ("munged", "munge", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "sinfo")
PACKAGES = ("slurm-wlm", "munge")
#: Another installation may be under way: apt-get waits for it, at most this many seconds.
PATIENT = ("--option", "DPkg::Lock::Timeout=600")
#: Seconds to wait for a daemon: the machine may be busy.
LIMIT = 120


class Unavailable(RuntimeError):
    """No cluster can be started here; the message names what is missing."""


def missing() -> list[str]:
    """Return the programs that are not installed."""
    where = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    return [name for name in PROGRAMS if shutil.which(name, path=where) is None]


def install() -> None:
    """Install Debian's Slurm and munge where they are missing and that is allowed."""
    if os.name != "posix" or not Path("/proc/self").exists():
        raise Unavailable("Slurm runs on Linux; this is another system")
    if os.geteuid() != 0:
        raise Unavailable("daemons of Slurm are started as root: run this as root, in a container")
    if not missing():
        return
    remedy = f"install {' and '.join(PACKAGES)} (Debian's names) and run this again"
    if shutil.which("apt-get") is None:
        raise Unavailable(f"{', '.join(missing())} missing and there is no apt-get; {remedy}")
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for step in (["update"], ["install", "--yes", "--no-install-recommends", *PACKAGES]):
        done = subprocess.run(
            ["apt-get", "--quiet", "--quiet", *PATIENT, *step],
            env=quiet, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            told = (done.stderr or done.stdout).strip().splitlines()[-1:]
            raise Unavailable(f"apt-get {step[0]} failed ({' '.join(told)}); {remedy}")
    if missing():
        raise Unavailable(f"{', '.join(missing())} still missing after apt-get; {remedy}")


def configuration(root: Path, partition: str, cpus: int, memory_mb: int, ports: list[int]) -> str:
    """Return a slurm.conf: one node, one partition, no accounting, nothing outside ``root``."""
    return f"""{MARK}
ClusterName=kgl
SlurmctldHost=localhost(127.0.0.1)
SlurmUser=root
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthType=auth/munge
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
MinJobAge=3600
# a dead node is noticed soon; a busy one answers late
SlurmdTimeout=40
MessageTimeout=60
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/spool
SlurmctldPidFile={root}/slurmctld.pid
SlurmdPidFile={root}/slurmd.pid
NodeName=localhost NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory_mb} State=UNKNOWN
PartitionName={partition} Nodes=localhost Default=YES MaxTime=INFINITE State=UP
"""


def wait_until(ready: Callable[[], bool], what: str, limit: float = LIMIT) -> None:
    """Wait for something, and name it if it does not come."""
    end = time.monotonic() + limit
    while not ready():
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not after {limit:.0f} s")
        time.sleep(0.5)


def prints(*command: str) -> str:
    """Return what a command prints; nothing if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT)
    return done.stdout if done.returncode == 0 else ""


def _state() -> str:
    return prints("sinfo", "--noheader", "--format", "%T").strip()


class Node:
    """The daemons that were started here, by name."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.daemons: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, *command: str, user: str | None = None) -> None:
        """Start a daemon in the foreground, its output in a file."""
        groups: list[int] | None = None if user is None else []
        with (self.root / f"{name}.log").open("ab") as log:
            self.daemons[name] = subprocess.Popen(
                [name, *command], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/",
                start_new_session=True, user=user, group=user, extra_groups=groups,
                env={**os.environ, "PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"},
            )  # fmt: skip

    def start_slurmd(self) -> None:
        """Start the daemon of the node, and wait until the node takes jobs."""
        self.start("slurmd", "-D", "-N", "localhost")
        wait_until(self.is_up, f"the node does not come up, see {self.root}/slurmd.log")

    def is_up(self) -> bool:
        """Whether the controller sees the node at work or ready for it."""
        return _state() in ("idle", "mixed", "allocated", "completing")

    def is_down(self) -> bool:
        """Whether the controller sees that the node is gone; it has given its jobs back then."""
        return _state() == "down*"

    def lose(self) -> int:
        """Kill the node's daemon and all jobs on it, as a power failure does; return how many."""
        slurmd = self.daemons.pop("slurmd")
        steps = self._steps(slurmd.pid)
        for pid in [slurmd.pid, *steps]:
            _signal(pid, signal.SIGKILL)
        slurmd.wait()
        return len(steps)

    def _steps(self, slurmd: int) -> list[int]:
        """Return the processes of jobs: the steps that slurmd started, with all below them."""
        parents = {int(p.name): _parent(p) for p in Path("/proc").iterdir() if p.name.isdigit()}
        # a step detaches from slurmd: it is found by its name, and is of our spool directory
        roots = {pid for pid in parents if pid == slurmd or _is_step(pid)}
        found: set[int] = set()
        while new := {pid for pid, above in parents.items() if above in roots | found} - found:
            found |= new
        return sorted((found | roots) - {slurmd})

    def stop(self) -> None:
        """End everything that was started, the last first."""
        prints("scancel", "--user", "root")
        for pid in self._steps(-1):
            _signal(pid, signal.SIGTERM)
        for process in reversed(self.daemons.values()):
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for pid in self._steps(-1):
            _signal(pid, signal.SIGKILL)


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def _parent(process: Path) -> int:
    try:
        # the second field, a name in brackets, may hold spaces
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return 0


def _is_step(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"slurmstepd: [")
    except OSError:
        return False


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def _check_free() -> None:
    """Refuse to replace a Slurm that is not ours."""
    if CONF.exists() and not CONF.read_text(encoding="utf-8").startswith(MARK):
        raise Unavailable(f"a Slurm is configured here ({CONF}), which this test would replace")
    for path in Path("/proc").glob("[0-9]*/comm"):
        try:
            name = path.read_text().strip()
        except OSError:
            continue
        if name in ("slurmctld", "slurmd", "slurmstepd"):
            raise Unavailable(f"a {name} runs here already (process {path.parent.name}); end it")


@contextmanager
def one_node(root: Path, partition: str) -> Iterator[Node]:
    """Give a running cluster of this machine; afterwards nothing of it is left."""
    install()
    _check_free()
    for name in ("state", "spool"):
        (root / name).mkdir(parents=True)
    node = Node(root)
    ours = not MUNGE.joinpath("munge.socket.2").is_socket() or not prints("munge", "--no-input")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    text = configuration(root, partition, os.cpu_count() or 1, int(0.9 * memory), _free_ports(2))
    CONF.parent.mkdir(exist_ok=True)
    CONF.write_text(text, encoding="utf-8")
    try:
        if ours:
            MUNGE.mkdir(exist_ok=True)
            shutil.chown(MUNGE, "munge", "munge")
            if not Path("/etc/munge/munge.key").exists():
                subprocess.run(["mungekey", "--create"], user="munge", check=True)
            node.start("munged", "--foreground", "--force", user="munge")
            wait_until(lambda: bool(prints("munge", "--no-input")), "munged does not answer")
        node.start("slurmctld", "-D", "-i")
        wait_until(lambda: bool(prints("sinfo", "--noheader")), "slurmctld does not answer")
        node.start_slurmd()
        yield node
    finally:
        node.stop()
        CONF.unlink(missing_ok=True)
