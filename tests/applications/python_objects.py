"""Collectives as a Python program uses them: arrays of numbers without copies, objects pickled, on all ranks and on
some. Prints a digest of everything that rank 0 to N-1 received; fails by itself where a result is wrong."""

import hashlib
import pickle
import sys

import numpy
from mpi4py import MPI


def expect(condition, what):
    if not condition:
        print(f"rank {MPI.COMM_WORLD.rank}: {what}", file=sys.stderr, flush=True)
        MPI.COMM_WORLD.Abort(1)


def numbers(rank, count, kind):
    """What `rank` has: whole numbers, whose sums are exact in any order."""
    return ((numpy.arange(count) * 7 + rank * 13) % 101).astype(kind)


def displacements(counts):
    return numpy.concatenate(([0], numpy.cumsum(counts)[:-1])).astype(int)


def reductions(comm, count, digest):
    every = [numbers(rank, count, float) for rank in range(comm.size)]
    total = numpy.empty(count)
    comm.Allreduce(every[comm.rank], total)
    expect((total == sum(every)).all(), "Allreduce")
    in_place = every[comm.rank].copy()
    comm.Allreduce(MPI.IN_PLACE, in_place, op=MPI.MAX)
    expect((in_place == numpy.max(every, axis=0)).all(), "Allreduce in place")
    root = comm.size - 1
    reduced = numpy.empty(count) if comm.rank == root else None
    comm.Reduce(every[comm.rank], reduced, op=MPI.MIN, root=root)
    expect(comm.rank != root or (reduced == numpy.min(every, axis=0)).all(), "Reduce")

    block = 5
    spread = [numbers(rank, block * comm.size, numpy.int64) for rank in range(comm.size)]
    share = numpy.empty(block, numpy.int64)
    comm.Reduce_scatter_block(spread[comm.rank], share)
    expect((share == sum(spread)[comm.rank * block:][:block]).all(), "Reduce_scatter_block")
    counts = numpy.arange(comm.size) % 3
    first = displacements(counts)
    unequal = numpy.empty(counts[comm.rank], numpy.int64)
    comm.Reduce_scatter(spread[comm.rank][:counts.sum()].copy(), unequal, recvcounts=counts)
    expect((unequal == sum(spread)[first[comm.rank]:][:counts[comm.rank]]).all(), "Reduce_scatter")
    for part in (total, in_place, share, unequal):
        digest.update(part.tobytes())


def exchanges(comm, count, digest):
    gathered = numpy.empty((comm.size, count), "i")
    comm.Allgather(numbers(comm.rank, count, "i"), gathered)
    expect(all((gathered[rank] == numbers(rank, count, "i")).all() for rank in range(comm.size)), "Allgather")

    counts = (numpy.arange(comm.size) * 3 + 1) % 5
    first = displacements(counts)
    unequal = numpy.empty(counts.sum(), "d")
    comm.Allgatherv(numbers(comm.rank, counts[comm.rank], "d"), [unequal, counts, first, MPI.DOUBLE])
    expect(all((unequal[first[rank]:][:counts[rank]] == numbers(rank, counts[rank], "d")).all()
               for rank in range(comm.size)), "Allgatherv")

    sent = numpy.array([numbers(comm.rank * comm.size + peer, count, "f") for peer in range(comm.size)])
    received = numpy.empty_like(sent)
    comm.Alltoall(sent, received)
    expect(all((received[peer] == numbers(peer * comm.size + comm.rank, count, "f")).all()
               for peer in range(comm.size)), "Alltoall")

    # Rank s has (s + 2d) mod 4 numbers for rank d.
    to = numpy.array([(comm.rank + 2 * peer) % 4 for peer in range(comm.size)])
    of = numpy.array([(peer + 2 * comm.rank) % 4 for peer in range(comm.size)])
    outgoing = numpy.concatenate([numbers(comm.rank + peer, to[peer], "q") for peer in range(comm.size)])
    incoming = numpy.empty(of.sum(), "q")
    comm.Alltoallv([outgoing, to, displacements(to), MPI.INT64_T], [incoming, of, displacements(of), MPI.INT64_T])
    expected = numpy.concatenate([numbers(peer + comm.rank, of[peer], "q") for peer in range(comm.size)])
    expect((incoming == expected).all(), "Alltoallv")

    # Blocks of columns go to those who have these rows: a subarray for every peer, as pencil FFTs in Python have it.
    side = 3 * comm.size
    rows = [numbers(rank, 3 * side, "d").reshape(3, side) for rank in range(comm.size)]
    turned = numpy.empty((side, 3))
    columns = [MPI.DOUBLE.Create_subarray((3, side), (3, 3), (0, 3 * peer)).Commit() for peer in range(comm.size)]
    places = [MPI.DOUBLE.Create_subarray((side, 3), (3, 3), (3 * peer, 0)).Commit() for peer in range(comm.size)]
    comm.Alltoallw([rows[comm.rank], columns], [turned, places])
    expect((turned == numpy.concatenate([part[:, 3 * comm.rank:][:, :3] for part in rows])).all(), "Alltoallw")
    for datatype in columns + places:
        datatype.Free()

    spread = numbers(comm.rank, count, complex)
    comm.Bcast(spread, root=comm.size // 2)
    expect((spread == numbers(comm.size // 2, count, complex)).all(), "Bcast")
    for part in (gathered, unequal, received, incoming, turned, spread):
        digest.update(part.tobytes())


def objects(comm, digest):
    """Pickles of several lengths: mpi4py gathers their sizes first."""
    mine = {"rank": comm.rank, "words": ["word"] * (3 * comm.rank), "set": {comm.rank, None}}
    everybody = comm.allgather(mine)
    expect([each["rank"] for each in everybody] == list(range(comm.size)), "allgather of objects")
    expect(everybody[comm.rank] == mine, "its own object")
    expect(comm.alltoall([(comm.rank, peer, "x" * peer) for peer in range(comm.size)])
           == [(peer, comm.rank, "x" * comm.rank) for peer in range(comm.size)], "alltoall of objects")
    expect(comm.allreduce([comm.rank], op=MPI.SUM) == list(range(comm.size)), "allreduce of lists, in order")
    expect(comm.bcast(mine if comm.rank == 0 else None) == everybody[0], "bcast of an object")
    total = comm.reduce(comm.rank + 0.5, root=0)
    expect(comm.rank != 0 or total == comm.size * comm.size / 2, "reduce of an object")
    digest.update(pickle.dumps([sorted(each["words"]) for each in everybody], protocol=4))


def every_call(comm, digest):
    for count in (1, 3, comm.size, 1000, 30011):
        reductions(comm, count, digest)
        exchanges(comm, count, digest)
    objects(comm, digest)


def main():
    world = MPI.COMM_WORLD
    digest = hashlib.sha256()
    every_call(world, digest)
    duplicate = world.Dup()
    every_call(duplicate, digest)
    duplicate.Free()
    for key in (world.rank, -world.rank):
        half = world.Split(world.rank % 2, key)
        every_call(half, digest)
        half.Free()
    grid = world.Create_cart(MPI.Compute_dims(world.size, 2), periods=[True, False])
    row = grid.Sub([False, True])
    every_call(grid, digest)
    every_call(row, digest)
    every_call(MPI.COMM_SELF, digest)
    for rank, found in enumerate(world.gather(digest.hexdigest()) or []):
        print(f"rank {rank} received {found}")


main()
