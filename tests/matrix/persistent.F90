! Persistent collectives from Fortran: with handles of mpi_f08 (F08 defined) or of the mpi module.
program persistent
  use, intrinsic :: iso_c_binding
#ifdef F08
  use mpi_f08
#else
  use mpi
#endif
#ifndef STANDARD_NAMES
#ifdef F08
  use mpi_f08_ext
#else
  use mpi_ext
#endif
#endif
  implicit none
#ifdef STANDARD_NAMES
#define MPIX_ALLREDUCE_INIT MPI_ALLREDUCE_INIT
#define MPIX_ALLGATHER_INIT MPI_ALLGATHER_INIT
#define MPIX_ALLGATHERV_INIT MPI_ALLGATHERV_INIT
#define MPIX_ALLTOALL_INIT MPI_ALLTOALL_INIT
#define MPIX_ALLTOALLV_INIT MPI_ALLTOALLV_INIT
#define MPIX_BCAST_INIT MPI_BCAST_INIT
#define MPIX_REDUCE_INIT MPI_REDUCE_INIT
#define MPIX_REDUCE_SCATTER_BLOCK_INIT MPI_REDUCE_SCATTER_BLOCK_INIT
#define MPIX_REDUCE_SCATTER_INIT MPI_REDUCE_SCATTER_INIT
#endif
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
  integer, parameter :: n = 11, calls = 10, rounds = 8
#ifdef INDICES_FROM_ZERO
  integer, parameter :: offset = 1  ! a fault of this MPI's mpi_f08
#else
  integer, parameter :: offset = 0
#endif
  integer :: rank, ranks, ierror, i, r, round, index, number
  integer :: indices(calls + 1)
  logical :: done
  integer, asynchronous :: whole(n), total(n), in_place(n), broadcast(n), reduced(n), scattered(2), part(n)
  integer, asynchronous :: message, answer
  REQUEST_TYPE :: requests(calls + 1), before(calls + 1), answer_request
  STATUS_TYPE :: status
  integer, allocatable, asynchronous :: mine(:), gathered(:, :), collected(:), sent(:, :), received(:, :), &
                                        exchanged(:), pairs(:)
  integer, allocatable :: counts(:), places(:), twos(:), eleven(:), elevens(:)

  call MPI_INIT(ierror)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierror)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierror)
  allocate (mine(n), gathered(n, 0:ranks - 1), collected(2*ranks), sent(n, 0:ranks - 1), received(n, 0:ranks - 1))
  allocate (exchanged(n*ranks), counts(0:ranks - 1), places(0:ranks - 1), twos(0:ranks - 1), pairs(2*ranks))
  allocate (eleven(0:ranks - 1), elevens(0:ranks - 1))
  counts = [(mod(r, 3), r=0, ranks - 1)]
  places = [(sum(counts(0:r - 1)), r=0, ranks - 1)]
  twos = 2
  eleven = n
  elevens = [(n*r, r=0, ranks - 1)]

  call MPIX_ALLREDUCE_INIT(whole, total, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, requests(1), ierror)
  call check(ierror == MPI_SUCCESS, 1)
  call MPIX_ALLREDUCE_INIT(MPI_IN_PLACE, in_place, n, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, MPI_INFO_NULL, &
                           requests(2), ierror)
  call MPIX_ALLGATHER_INIT(mine, n, MPI_INTEGER, gathered, n, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, &
                           requests(3), ierror)
  call MPIX_ALLGATHERV_INIT(mine, counts(rank), MPI_INTEGER, collected, counts, places, MPI_INTEGER, MPI_COMM_WORLD, &
                            MPI_INFO_NULL, requests(4), ierror)
  call MPIX_ALLTOALL_INIT(sent, n, MPI_INTEGER, received, n, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, &
                          requests(5), ierror)
  call MPIX_ALLTOALLV_INIT(sent, eleven, elevens, MPI_INTEGER, exchanged, eleven, elevens, MPI_INTEGER, &
                           MPI_COMM_WORLD, MPI_INFO_NULL, requests(6), ierror)
  call MPIX_BCAST_INIT(broadcast, n, MPI_INTEGER, ranks - 1, MPI_COMM_WORLD, MPI_INFO_NULL, requests(7), ierror)
  call MPIX_REDUCE_INIT(whole, reduced, n, MPI_INTEGER, MPI_SUM, 1, MPI_COMM_WORLD, MPI_INFO_NULL, requests(8), ierror)
  call MPIX_REDUCE_SCATTER_BLOCK_INIT(pairs, scattered, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &
                                      requests(9), ierror)
  call MPIX_REDUCE_SCATTER_INIT(pairs, part, twos, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, MPI_INFO_NULL, &
                                requests(10), ierror)
  call MPI_SEND_INIT(message, 1, MPI_INTEGER, modulo(rank + 1, ranks), 3, MPI_COMM_WORLD, requests(11), ierror)
  before = requests

  do round = 1, rounds
    whole = [(i*(rank + round), i=1, n)]
    in_place = whole
    mine = [(rank*100 + round*10000 + i, i=1, n)]
    pairs = [(i*(rank + round), i=1, 2*ranks)]
    do r = 0, ranks - 1
      sent(:, r) = [(rank*10000 + r*100 + i + round, i=1, n)]
    end do
    broadcast = -1
    if (rank == ranks - 1) broadcast = mine
    collected = -1
    reduced = -1
    part = -1
    answer = -1
    message = rank + round
    call MPI_IRECV(answer, 1, MPI_INTEGER, modulo(rank - 1, ranks), 3, MPI_COMM_WORLD, answer_request, ierror)

    ! Together, or in another order on every rank.
    if (mod(round, 2) == 0) then
      call MPI_STARTALL(calls + 1, requests, ierror)
      call check(ierror == MPI_SUCCESS, 2)
    else
      do i = 0, calls
        call MPI_START(requests(1 + modulo(i + rank*round, calls + 1)), ierror)
        call check(ierror == MPI_SUCCESS, 3)
      end do
    end if

    done = .false.
    select case (round)
    case (1)
      call MPI_WAITALL(calls + 1, requests, MPI_STATUSES_IGNORE, ierror)
      call check(ierror == MPI_SUCCESS, 4)
    case (2)
      do i = 1, calls + 1
        done = .false.
        do while (.not. done)
          call MPI_REQUEST_GET_STATUS(requests(i), done, status, ierror)
        end do
        call MPI_WAIT(requests(i), status, ierror)
      end do
    case (3)
      number = 0
      do while (number < calls + 1)
        call MPI_WAITANY(calls + 1, requests, index, status, ierror)
        index = index + offset
        call check(index >= 1 .and. index <= calls + 1, 5)
        number = number + 1
      end do
    case (4, 7)
      number = 0
      do while (number < calls + 1)
        if (round == 4) call MPI_TESTSOME(calls + 1, requests, index, indices, MPI_STATUSES_IGNORE, ierror)
        if (round == 7) call MPI_WAITSOME(calls + 1, requests, index, indices, MPI_STATUSES_IGNORE, ierror)
        call check(index >= merge(0, 1, round == 4), 9)
        indices = indices + offset
        if (index > 0) call check(all(indices(:index) >= 1 .and. indices(:index) <= calls + 1), 6)
        number = number + index
      end do
    case (5)
      do while (.not. done)
        call MPI_TESTALL(calls + 1, requests, done, MPI_STATUSES_IGNORE, ierror)
      end do
    case (6)
      number = 0
      do while (number < calls + 1)
        call MPI_TESTANY(calls + 1, requests, index, done, status, ierror)
        if (.not. done) cycle
        index = index + offset
        call check(index >= 1 .and. index <= calls + 1, 8)
        number = number + 1
      end do
    case default
      do i = 1, calls + 1
        done = .false.
        do while (.not. done)
          call MPI_TEST(requests(i), done, status, ierror)
        end do
      end do
    end select
    do i = 1, calls + 1
      call check(requests(i) == before(i), 7)
    end do
    call MPI_WAIT(answer_request, status, ierror)

    call check(all(total == [(i*(ranks*(ranks - 1)/2 + ranks*round), i=1, n)]), 11)
    call check(all(in_place == [(i*(ranks - 1 + round), i=1, n)]), 12)
    do r = 0, ranks - 1
      call check(all(gathered(:, r) == [(r*100 + round*10000 + i, i=1, n)]), 13)
      call check(all(collected(places(r) + 1:places(r) + counts(r)) == gathered(:counts(r), r)), 14)
      call check(all(received(:, r) == [(r*10000 + rank*100 + i + round, i=1, n)]), 15)
      call check(all(exchanged(n*r + 1:n*r + n) == received(:, r)), 16)
    end do
    call check(all(broadcast == [((ranks - 1)*100 + round*10000 + i, i=1, n)]), 17)
    if (rank == 1) call check(all(reduced == total), 18)
    if (rank /= 1) call check(all(reduced == -1), 19)
    call check(all(scattered == [((2*rank + i)*(ranks*(ranks - 1)/2 + ranks*round), i=1, 2)]), 20)
    call check(all(part(:2) == [((2*rank + i)*(ranks - 1 + round), i=1, 2)]) .and. all(part(3:) == -1), 21)
    call check(answer == modulo(rank - 1, ranks) + round, 22)
  end do

  do i = 1, calls + 1
    call MPI_REQUEST_FREE(requests(i), ierror)
    call check(requests(i) == MPI_REQUEST_NULL, 23)
  end do
  call check(served_calls("allreduce_init"//c_null_char) == 2*rounds, 31)
  call check(served_calls("allgather_init"//c_null_char) == rounds, 32)
  call check(served_calls("allgatherv_init"//c_null_char) == rounds, 33)
  call check(served_calls("alltoall_init"//c_null_char) == rounds, 34)
  call check(served_calls("alltoallv_init"//c_null_char) == rounds, 35)
  call check(served_calls("bcast_init"//c_null_char) == rounds, 36)
  call check(served_calls("reduce_init"//c_null_char) == rounds, 37)
  call check(served_calls("reduce_scatter_block_init"//c_null_char) == rounds, 38)
  call check(served_calls("reduce_scatter_init"//c_null_char) == rounds, 39)
  call MPI_FINALIZE(ierror)

contains
  include 'check.inc'
end program
