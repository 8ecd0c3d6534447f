! Collectives through the mpi module.
program fortran_use_mpi
  use, intrinsic :: iso_c_binding
  use mpi
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

  call MPI_INIT(ierror)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierror)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierror)
  allocate (blocks(n, 0:ranks - 1), received(n, 0:ranks - 1))

  whole = [(i*(rank + 1), i=1, n)]
  call MPI_ALLREDUCE(whole, total, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  call check(ierror == MPI_SUCCESS .and. all(total == [(i*(ranks*(ranks + 1)/2), i=1, n)]), 11)
  call MPI_ALLREDUCE(MPI_IN_PLACE, whole, n, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, ierror)
  call check(ierror == MPI_SUCCESS .and. all(whole == [(i*ranks, i=1, n)]), 12)
  real_numbers = [(0.5d0*i + rank, i=1, n)]
  call MPI_ALLREDUCE(MPI_IN_PLACE, real_numbers, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierror)
  call check(all(abs(real_numbers - [(0.5d0*i*ranks + ranks*(ranks - 1)/2, i=1, n)]) <= 0d0), 13)
  flags = [(mod(i, 2) == 0 .or. mod(i, ranks) /= rank, i=1, n)]
  call MPI_ALLREDUCE(flags, all_flags, n, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, ierror)
  call check(all(all_flags .eqv. [(mod(i, 2) == 0, i=1, n)]), 14)
  do i = 1, n
    located(:, i) = [dble(mod(rank + i, ranks)), dble(rank)]
  end do
  call MPI_ALLREDUCE(located, best, n, MPI_2DOUBLE_PRECISION, MPI_MAXLOC, MPI_COMM_WORLD, ierror)
  do i = 1, n
    r = modulo(ranks - 1 - i, ranks)
    call check(nint(best(1, i)) == ranks - 1 .and. nint(best(2, i)) == r, 15)
  end do
  call check(served_calls("allreduce"//c_null_char) == 5, 16)

  blocks = -1
  blocks(:, rank) = [(rank*100 + i, i=1, n)]
  call MPI_ALLGATHER(blocks(1, rank), n, MPI_INTEGER, received, n, MPI_INTEGER, MPI_COMM_WORLD, ierror)
  call MPI_ALLGATHER(MPI_IN_PLACE, n, MPI_INTEGER, blocks, n, MPI_INTEGER, MPI_COMM_WORLD, ierror)
  do r = 0, ranks - 1
    call check(all(blocks(:, r) == [(r*100 + i, i=1, n)]) .and. all(received(:, r) == blocks(:, r)), 21)
  end do
  call check(served_calls("allgather"//c_null_char) == 2, 22)

  do r = 0, ranks - 1
    blocks(:, r) = [(rank*10000 + r*100 + i, i=1, n)]
  end do
  call MPI_ALLTOALL(blocks, n, MPI_INTEGER, received, n, MPI_INTEGER, MPI_COMM_WORLD, ierror)
  call MPI_ALLTOALL(MPI_IN_PLACE, n, MPI_INTEGER, blocks, n, MPI_INTEGER, MPI_COMM_WORLD, ierror)
  do r = 0, ranks - 1
    call check(all(blocks(:, r) == [(r*10000 + rank*100 + i, i=1, n)]) .and. all(received(:, r) == blocks(:, r)), 31)
  end do
  call check(served_calls("alltoall"//c_null_char) == 2, 32)
  call MPI_FINALIZE(ierror)

contains
  subroutine check(good, code)
    logical, intent(in) :: good
    integer, intent(in) :: code
    if (good) return
    print *, 'rank', rank, 'check', code, 'failed'
    error stop 1
  end subroutine
end program
