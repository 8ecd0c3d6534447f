"""Who runs: libcoll with one of its planners, and every way in which native Open MPI could have been run."""

from dataclasses import dataclass, field

ALGORITHMS = {  # of coll_tuned; 0 is its own choice
    "alltoall": {1: "linear", 2: "pairwise", 3: "bruck", 4: "linear_sync", 5: "two_proc"},
    "allgather": {1: "linear", 2: "bruck", 3: "recursive_doubling", 4: "ring", 5: "neighbor", 6: "two_proc"},
    "reduce_scatter": {1: "non-overlapping", 2: "recursive_halving", 3: "ring", 4: "butterfly"},
    "reduce_scatter_block": {1: "linear", 2: "recursive_doubling", 3: "recursive_halving", 4: "butterfly"},
    "allreduce": {
        1: "linear",
        2: "nonoverlapping",
        3: "recursive_doubling",
        4: "ring",
        5: "segmented_ring",
        6: "rabenseifner",
    },
    "bcast": {
        1: "linear",
        2: "chain",
        3: "pipeline",
        4: "split_binary_tree",
        5: "binary_tree",
        6: "binomial",
        7: "knomial",
        8: "scatter_allgather",
        9: "scatter_allgather_ring",
    },
    "reduce": {
        1: "linear",
        2: "chain",
        3: "pipeline",
        4: "binary",
        5: "binomial",
        6: "in-order_binary",
        7: "rabenseifner",
    },
}

# What the user can have of Open MPI: mpirun's options and the environment.
TRANSPORTS = {
    "ob1": (["--mca", "pml", "ob1"], {}),
    "ucx": (["--mca", "pml", "ucx", "--mca", "osc", "ucx"], {"UCX_RNDV_THRESH": "inf"}),
    "ucx-rndv": (["--mca", "pml", "ucx", "--mca", "osc", "ucx"], {"UCX_RNDV_THRESH": "auto"}),
}


@dataclass(frozen=True)
class Contestant:
    name: str
    native: bool
    collective: str  # what the program is told to call
    default_routes: str
    algorithm: str = ""  # ours: name of the planner
    options: tuple = ()  # of mpirun
    environment: dict = field(default_factory=dict, hash=False)

    @property
    def route_set(self):
        """Which routes its messages take: a planner's, or the default ones."""
        return f"default {self.default_routes}" if self.native else self.algorithm


def possible(collective, algorithm, ranks):
    """Open MPI falls back, fails or refuses where an algorithm does not fit the number of ranks."""
    name = ALGORITHMS[collective][algorithm]
    if name == "two_proc":
        return ranks == 2
    if name == "neighbor":
        return ranks % 2 == 0
    if name == "recursive_doubling" and collective == "allgather":
        return ranks & (ranks - 1) == 0
    return True


def native_contestants(collectives, ranks, default_routes, transports):
    result = []
    for routes in default_routes:
        for transport in transports:
            options, environment = TRANSPORTS[transport]
            for collective in collectives:
                kind = f" {collective}" if len(collectives) > 1 else ""
                base = f"native {routes} {transport}{kind}"
                result.append(
                    Contestant(f"{base} default", True, collective, routes, "", tuple(options), environment)
                )
                for number, name in ALGORITHMS[collective].items():
                    if not possible(collective, number, ranks):
                        continue
                    forced = ["--mca", "coll_tuned_use_dynamic_rules", "1"]
                    forced += ["--mca", f"coll_tuned_{collective}_algorithm", str(number)]
                    result.append(
                        Contestant(
                            f"{base} {name}", True, collective, routes, "", tuple(options + forced), environment
                        )
                    )
    return result


unpaced_suffix = " unpaced"  # the same plan without injection rate control, which fabrics switch on


chosen_name = "libcoll chosen"  # no planner by name: the cost model chooses by size, and may leave calls to MPI


def our_contestants(collective, algorithms, default_routes, unpaced_too=False, chosen_too=False):
    settings = {name: f"LIBCOLL_{name.upper()}" for name in ("alltoall", "allgather", "allreduce", "reduce_scatter")}
    settings |= {"bcast": "LIBCOLL_ALLGATHER", "reduce": "LIBCOLL_REDUCE_SCATTER"}  # whose plans they go by
    calls = {"reduce_scatter": "reduce_scatter_block"}
    result = []
    for algorithm in algorithms:
        environment = {settings[collective]: algorithm} if collective in settings else {}
        program = calls.get(collective, collective)
        result.append(
            Contestant(f"libcoll {algorithm}", False, program, default_routes[0], algorithm, (), environment)
        )
        if unpaced_too:
            name = f"libcoll {algorithm}{unpaced_suffix}"
            environment = {**environment, "LIBCOLL_PACING": "no"}
            result.append(Contestant(name, False, program, default_routes[0], algorithm, (), environment))
    if chosen_too and algorithms:
        program = calls.get(collective, collective)
        result.append(Contestant(chosen_name, False, program, default_routes[0], algorithms[0], (), {}))
    return result
