! Collectives through the mpi_f08 module, without ierror but where it is looked at.
program fortran_f08
  use, intrinsic :: iso_c_binding
  use mpi_f08
  implicit none
  interface
    function served_calls(collective) bind(c) result(calls)
      import :: c_char, c_long
      character(kind=c_char), intent(in) :: collective(*)
      integer(c_long) :: calls
    end function
  end interface
  integer, parameter :: n = 11
  integer :: rank, ranks, ierror, i, r
  integer :: whole(n), total(n)
  double precision :: real_numbers(n), located(2, n), best(2, n)
  logical :: flags(n), all_flags(n)
  integer, allocatable :: blocks(:, :), received(:, :)
  integer, allocatable :: counts(:), places(:), sent(:), gathered(:), sent_counts(:), sent_places(:)

  call MPI_INIT()
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks)
  allocate (blocks(n, 0:ranks - 1), received(n, 0:ranks - 1))

  whole = [(i*(rank + 1), i=1, n)]
  call MPI_ALLREDUCE(whole, total, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  call check(ierror == MPI_SUCCESS .and. all(total == [(i*(ranks*(ranks + 1)/2), i=1, n)]), 11)
  call MPI_ALLREDUCE(MPI_IN_PLACE, whole, n, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, ierror)
  call check(ierror == MPI_SUCCESS .and. all(whole == [(i*ranks, i=1, n)]), 12)
  real_numbers = [(0.5d0*i + rank, i=1, n)]
  call MPI_ALLREDUCE(MPI_IN_PLACE, real_numbers, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
  call check(all(abs(real_numbers - [(0.5d0*i*ranks + ranks*(ranks - 1)/2, i=1, n)]) <= 0d0), 13)
  flags = [(mod(i, 2) == 0 .or. mod(i, ranks) /= rank, i=1, n)]
  call MPI_ALLREDUCE(flags, all_flags, n, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD)
  call check(all(all_flags .eqv. [(mod(i, 2) == 0, i=1, n)]), 14)
  do i = 1, n
    located(:, i) = [dble(mod(rank + i, ranks)), dble(rank)]
  end do
  call MPI_ALLREDUCE(located, best, n, MPI_2DOUBLE_PRECISION, MPI_MAXLOC, MPI_COMM_WORLD)
  do i = 1, n
    r = modulo(ranks - 1 - i, ranks)
    call check(nint(best(1, i)) == ranks - 1 .and. nint(best(2, i)) == r, 15)
  end do
  call check(served_calls("allreduce"//c_null_char) == 5, 16)

  blocks = -1
  blocks(:, rank) = [(rank*100 + i, i=1, n)]
  call MPI_ALLGATHER(blocks(1, rank), n, MPI_INTEGER, received, n, MPI_INTEGER, MPI_COMM_WORLD)
  call MPI_ALLGATHER(MPI_IN_PLACE, n, MPI_INTEGER, blocks, n, MPI_INTEGER, MPI_COMM_WORLD)
  do r = 0, ranks - 1
    call check(all(blocks(:, r) == [(r*100 + i, i=1, n)]) .and. all(received(:, r) == blocks(:, r)), 21)
  end do
  call check(served_calls("allgather"//c_null_char) == 2, 22)

  do r = 0, ranks - 1
    blocks(:, r) = [(rank*10000 + r*100 + i, i=1, n)]
  end do
  call MPI_ALLTOALL(blocks, n, MPI_INTEGER, received, n, MPI_INTEGER, MPI_COMM_WORLD)
  call MPI_ALLTOALL(MPI_IN_PLACE, n, MPI_INTEGER, blocks, n, MPI_INTEGER, MPI_COMM_WORLD)
  do r = 0, ranks - 1
    call check(all(blocks(:, r) == [(r*10000 + rank*100 + i, i=1, n)]) .and. all(received(:, r) == blocks(:, r)), 31)
  end do
  call check(served_calls("alltoall"//c_null_char) == 2, 32)

  ! Unequal blocks, empty ones among them: rank r has mod(r, 3) numbers.
  allocate (counts(0:ranks - 1), places(0:ranks - 1), sent_counts(0:ranks - 1), sent_places(0:ranks - 1))
  allocate (sent(2*ranks), gathered(2*ranks))
  counts = [(mod(r, 3), r=0, ranks - 1)]
  places = [(sum(counts(0:r - 1)), r=0, ranks - 1)]
  sent = [(rank*100 + i, i=1, 2*ranks)]
  gathered = -1
  call MPI_ALLGATHERV(sent, counts(rank), MPI_INTEGER, gathered, counts, places, MPI_INTEGER, MPI_COMM_WORLD)
  do r = 0, ranks - 1
    call check(all(gathered(places(r) + 1:places(r) + counts(r)) == [(r*100 + i, i=1, counts(r))]), 41)
  end do
  gathered(:places(rank)) = -1
  gathered(places(rank) + counts(rank) + 1:) = -1
  call MPI_ALLGATHERV(MPI_IN_PLACE, 0, MPI_INTEGER, gathered, counts, places, MPI_INTEGER, MPI_COMM_WORLD)
  do r = 0, ranks - 1
    call check(all(gathered(places(r) + 1:places(r) + counts(r)) == [(r*100 + i, i=1, counts(r))]), 42)
  end do
  call check(served_calls("allgatherv"//c_null_char) == 2, 43)

  ! Rank s has mod(s + 2*d, 3) numbers for rank d.
  counts = [(mod(r + 2*rank, 3), r=0, ranks - 1)]
  places = [(sum(counts(0:r - 1)), r=0, ranks - 1)]
  sent_counts = [(mod(rank + 2*r, 3), r=0, ranks - 1)]
  sent_places = [(2*r, r=0, ranks - 1)]
  do r = 0, ranks - 1
    sent(2*r + 1:2*r + 2) = [(rank*1000 + r*10 + i, i=1, 2)]
  end do
  call MPI_ALLTOALLV(sent, sent_counts, sent_places, MPI_INTEGER, gathered, counts, places, MPI_INTEGER, &
                     MPI_COMM_WORLD)
  do r = 0, ranks - 1
    call check(all(gathered(places(r) + 1:places(r) + counts(r)) == [(r*1000 + rank*10 + i, i=1, counts(r))]), 51)
  end do
  call check(served_calls("alltoallv"//c_null_char) == 1, 52)

  ! Every root.
  do r = 0, ranks - 1
    whole = [(rank*100 + i, i=1, n)]
    call MPI_BCAST(whole, n, MPI_INTEGER, r, MPI_COMM_WORLD)
    call check(all(whole == [(r*100 + i, i=1, n)]), 61)
    whole = [(i*(rank + 1), i=1, n)]
    total = -1
    if (rank == r .and. mod(r, 2) == 0) then
      total = whole
      call MPI_REDUCE(MPI_IN_PLACE, total, n, MPI_INTEGER, MPI_SUM, r, MPI_COMM_WORLD)
    else
      call MPI_REDUCE(whole, total, n, MPI_INTEGER, MPI_SUM, r, MPI_COMM_WORLD)
    end if
    if (rank == r) call check(all(total == [(i*(ranks*(ranks + 1)/2), i=1, n)]), 62)
    if (rank /= r) call check(all(total == -1), 63)
  end do
  call check(served_calls("bcast"//c_null_char) == ranks, 64)
  call check(served_calls("reduce"//c_null_char) == ranks, 65)

  counts = [(mod(r + 1, 3), r=0, ranks - 1)]
  places = [(sum(counts(0:r - 1)), r=0, ranks - 1)]
  sent = [(i*(rank + 1), i=1, 2*ranks)]
  call MPI_REDUCE_SCATTER(sent, total, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call check(all(total(:counts(rank)) == [((places(rank) + i)*(ranks*(ranks + 1)/2), i=1, counts(rank))]), 71)
  gathered = sent
  call MPI_REDUCE_SCATTER(MPI_IN_PLACE, gathered, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call check(all(gathered(:counts(rank)) == total(:counts(rank))), 72)
  call check(served_calls("reduce_scatter"//c_null_char) == 2, 73)
  call MPI_REDUCE_SCATTER_BLOCK(sent, total, 2, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD)
  call check(all(total(:2) == [((2*rank + i)*ranks, i=1, 2)]), 81)
  call MPI_REDUCE_SCATTER_BLOCK(MPI_IN_PLACE, sent, 2, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD)
  call check(all(sent(:2) == total(:2)), 82)
  call check(served_calls("reduce_scatter_block"//c_null_char) == 2, 83)
  call MPI_FINALIZE()

contains
  subroutine check(good, code)
    logical, intent(in) :: good
    integer, intent(in) :: code
    if (good) return
    print *, 'rank', rank, 'check', code, 'failed'
    error stop 1
  end subroutine
end program
