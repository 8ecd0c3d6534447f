! Nonblocking collectives from Fortran: with handles of mpi_f08 (F08 defined) or of the mpi module.
program nonblocking
  use, intrinsic :: iso_c_binding
#ifdef F08
  use mpi_f08
#else
  use mpi
#endif
  implicit none
#ifdef F08
#define REQUEST_TYPE type(MPI_Request)
#define STATUS_TYPE type(MPI_Status)
#else
#define REQUEST_TYPE integer
#define STATUS_TYPE integer, dimension(MPI_STATUS_SIZE)
#endif
  interface
    function served_calls(collective) bind(c) result(calls)
      import :: c_char, c_long
      character(kind=c_char), intent(in) :: collective(*)
      integer(c_long) :: calls
    end function
  end interface
  integer, parameter :: n = 11
#ifdef INDICES_FROM_ZERO
  integer, parameter :: offset = 1  ! a fault of this MPI's mpi_f08
#else
  integer, parameter :: offset = 0
#endif
  integer :: rank, ranks, ierror, i, r, index, indices(12)
  logical :: done
  integer, asynchronous :: whole(n), total(n), in_place(n), broadcast(n), reduced(n), scattered(2), part(n)
  integer :: message, answer
  REQUEST_TYPE :: requests(12)
  STATUS_TYPE :: status
  integer, allocatable, asynchronous :: mine(:), gathered(:, :), collected(:), sent(:, :), received(:, :), &
                                        exchanged(:), given(:, :)
  integer, allocatable :: counts(:), places(:), twos(:), pairs(:), eleven(:), elevens(:)

  call MPI_INIT(ierror)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierror)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierror)
  allocate (mine(n), gathered(n, 0:ranks - 1), collected(2*ranks), sent(n, 0:ranks - 1), received(n, 0:ranks - 1))
  allocate (exchanged(n*ranks), given(n, 0:ranks - 1), counts(0:ranks - 1), places(0:ranks - 1), twos(0:ranks - 1))
  allocate (pairs(2*ranks), eleven(0:ranks - 1), elevens(0:ranks - 1))

  ! The ranks agree in the barrier.
  requests(:) = MPI_REQUEST_NULL
  mine = rank
  pairs = 1
  sent = rank
  call MPI_IALLREDUCE(mine, total, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, requests(1), ierror)
  call MPI_IALLGATHER(mine, n, MPI_INTEGER, gathered, n, MPI_INTEGER, MPI_COMM_WORLD, requests(2), ierror)
  call MPI_IALLTOALL(sent, n, MPI_INTEGER, received, n, MPI_INTEGER, MPI_COMM_WORLD, requests(3), ierror)
  call MPI_IREDUCE_SCATTER_BLOCK(pairs, scattered, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, requests(4), ierror)
  call MPI_WAITALL(4, requests, MPI_STATUSES_IGNORE, ierror)
  call check(all(total == ranks*(ranks - 1)/2) .and. all(scattered == ranks), 1)
  call check(served_calls("iallreduce"//c_null_char) == 0, 2)
  call MPI_BARRIER(MPI_COMM_WORLD, ierror)

  counts = [(mod(r, 3), r=0, ranks - 1)]
  places = [(sum(counts(0:r - 1)), r=0, ranks - 1)]
  twos = 2
  eleven = n
  elevens = [(n*r, r=0, ranks - 1)]
  whole = [(i*(rank + 1), i=1, n)]
  in_place = whole
  mine = [(rank*100 + i, i=1, n)]
  pairs = [(i*(rank + 1), i=1, 2*ranks)]
  do r = 0, ranks - 1
    sent(:, r) = [(rank*10000 + r*100 + i, i=1, n)]
  end do
  given = sent
  broadcast = -1
  if (rank == ranks - 1) broadcast = mine
  collected = -1
  reduced = -1
  part = -1
  answer = -1
  message = rank

  call MPI_IALLREDUCE(whole, total, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, requests(1), ierror)
  call check(ierror == MPI_SUCCESS, 3)
  call MPI_IALLREDUCE(MPI_IN_PLACE, in_place, n, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, requests(2), ierror)
  call MPI_IALLGATHER(mine, n, MPI_INTEGER, gathered, n, MPI_INTEGER, MPI_COMM_WORLD, requests(3), ierror)
  call MPI_IALLGATHERV(mine, counts(rank), MPI_INTEGER, collected, counts, places, MPI_INTEGER, MPI_COMM_WORLD, &
                       requests(4), ierror)
  call MPI_IALLTOALL(sent, n, MPI_INTEGER, received, n, MPI_INTEGER, MPI_COMM_WORLD, requests(5), ierror)
  call MPI_IALLTOALLV(given, eleven, elevens, MPI_INTEGER, exchanged, eleven, elevens, MPI_INTEGER, MPI_COMM_WORLD, &
                      requests(6), ierror)
  call MPI_IBCAST(broadcast, n, MPI_INTEGER, ranks - 1, MPI_COMM_WORLD, requests(7), ierror)
  call MPI_IREDUCE(whole, reduced, n, MPI_INTEGER, MPI_SUM, 1, MPI_COMM_WORLD, requests(8), ierror)
  call MPI_IREDUCE_SCATTER_BLOCK(pairs, scattered, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, requests(9), ierror)
  call MPI_IREDUCE_SCATTER(pairs, part, twos, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, requests(10), ierror)
  call MPI_IRECV(answer, 1, MPI_INTEGER, modulo(rank - 1, ranks), 3, MPI_COMM_WORLD, requests(11), ierror)
  call MPI_ISEND(message, 1, MPI_INTEGER, modulo(rank + 1, ranks), 3, MPI_COMM_WORLD, requests(12), ierror)

  ! One by one, then whichever comes, then the rest.
  call MPI_WAIT(requests(2), status, ierror)
  call check(ierror == MPI_SUCCESS .and. requests(2) == MPI_REQUEST_NULL, 4)
  done = .false.
  do while (.not. done)
    call MPI_TEST(requests(5), done, status, ierror)
  end do
  done = .false.
  do while (.not. done)
    call MPI_REQUEST_GET_STATUS(requests(3), done, status, ierror)
  end do
  call check(requests(3) /= MPI_REQUEST_NULL, 5)
  call MPI_WAITANY(12, requests, index, status, ierror)
  call check(index /= MPI_UNDEFINED, 6)
  call check(requests(index + offset) == MPI_REQUEST_NULL, 7)
  done = .false.
  do while (.not. done)
    call MPI_TESTANY(12, requests, index, done, status, ierror)
  end do
  call check(index /= MPI_UNDEFINED, 9)
  call check(requests(index + offset) == MPI_REQUEST_NULL, 10)
  call MPI_WAITSOME(12, requests, index, indices, MPI_STATUSES_IGNORE, ierror)
  call check(index >= 1, 23)
  call check(all([(requests(indices(i) + offset) == MPI_REQUEST_NULL, i=1, index)]), 24)
  call MPI_WAITALL(12, requests, MPI_STATUSES_IGNORE, ierror)
  call check(ierror == MPI_SUCCESS, 8)

  call check(all(total == [(i*(ranks*(ranks + 1)/2), i=1, n)]), 11)
  call check(all(in_place == [(i*ranks, i=1, n)]), 12)
  do r = 0, ranks - 1
    call check(all(gathered(:, r) == [(r*100 + i, i=1, n)]), 13)
    call check(all(collected(places(r) + 1:places(r) + counts(r)) == [(r*100 + i, i=1, counts(r))]), 14)
    call check(all(received(:, r) == [(r*10000 + rank*100 + i, i=1, n)]), 15)
    call check(all(exchanged(n*r + 1:n*r + n) == received(:, r)), 16)
  end do
  call check(all(broadcast == [((ranks - 1)*100 + i, i=1, n)]), 17)
  if (rank == 1) call check(all(reduced == total), 18)
  if (rank /= 1) call check(all(reduced == -1), 19)
  call check(all(scattered == [((2*rank + i)*(ranks*(ranks + 1)/2), i=1, 2)]), 20)
  call check(all(part(:2) == [((2*rank + i)*ranks, i=1, 2)]) .and. all(part(3:) == -1), 21)
  call check(answer == modulo(rank - 1, ranks), 22)
  call check(served_calls("iallreduce"//c_null_char) == 2, 31)
  call check(served_calls("iallgather"//c_null_char) == 1, 32)
  call check(served_calls("iallgatherv"//c_null_char) == 1, 33)
  call check(served_calls("ialltoall"//c_null_char) == 1, 34)
  call check(served_calls("ialltoallv"//c_null_char) == 1, 35)
  call check(served_calls("ibcast"//c_null_char) == 1, 36)
  call check(served_calls("ireduce"//c_null_char) == 1, 37)
  call check(served_calls("ireduce_scatter_block"//c_null_char) == 1, 38)
  call check(served_calls("ireduce_scatter"//c_null_char) == 1, 39)

  ! It goes on, and completes, although its request is freed: seen by its result alone.
  in_place = whole
  call MPI_IALLREDUCE(MPI_IN_PLACE, in_place, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, requests(1), ierror)
  call check(served_calls("iallreduce"//c_null_char) == 3, 41)
  call MPI_REQUEST_FREE(requests(1), ierror)
  call check(requests(1) == MPI_REQUEST_NULL, 42)
  i = 0
  do while (any(in_place /= total))
    call MPI_IPROBE(MPI_ANY_SOURCE, 12345, MPI_COMM_WORLD, done, status, ierror)
    i = i + 1
    call check(i < 100000000, 43)
  end do
  call MPI_FINALIZE(ierror)

contains
  include 'check.inc'
end program
