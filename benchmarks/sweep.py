"""One run of collective_sweep under mpirun, for the programs that run it over and over."""

import os
import subprocess
import sys


def mpirun(ranks, program):
    return ["mpirun", "--oversubscribe", "-n", str(ranks), *program]


def sweep_program(build, collective, size, calls):
    """Bytes as collective_sweep counts them; a tenth of the calls come before, not timed."""
    program = [str(build / "bin" / "collective_sweep"), collective, "-m", f"{size}:{size}"]
    return [*program, "-i", str(calls), "-x", str(max(1, calls // 10))]


def with_libcoll(build, topology, launch):
    return [str(build / "bin" / "libcoll"), "run", "--topology", topology, "--", *launch]


def only_row(command, settings, cache, what):
    """The one row of its table, as words; ends the program where there is none. No setting of the user's counts."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LIBCOLL_")}
    environment |= {"LIBCOLL_CACHE_DIR": cache, "LIBCOLL_BACKGROUND_PLANNING": "no"} | settings
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    rows = [line.split() for line in ran.stdout.splitlines() if line[:1].isdigit()]  # UCX may say something, too
    if ran.returncode != 0 or len(rows) != 1:
        sys.exit(f"{what} ended with exit code {ran.returncode}\n{ran.stdout}{ran.stderr}")
    return rows[0]
