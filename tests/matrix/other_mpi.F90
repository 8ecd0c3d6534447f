! Collectives, blocking and not, under an MPI that libcoll does not know: right results, none of them served.
program other_mpi
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
  integer, parameter :: n = 7
  integer :: rank, ranks, ierror, i, requests(2)
  integer, asynchronous :: total(n), mine(n)
  integer, allocatable, asynchronous :: sent(:, :), received(:, :)

  call MPI_INIT(ierror)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierror)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierror)
  allocate (sent(n, 0:ranks - 1), received(n, 0:ranks - 1))
  mine = [(rank + i, i=1, n)]
  do i = 0, ranks - 1
    sent(:, i) = 100*rank + i
  end do

  call MPI_ALLREDUCE(mine, total, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  call check_sums(1)
  total = mine
  call MPI_ALLREDUCE(MPI_IN_PLACE, total, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  call check_sums(2)
  call MPI_ALLTOALL(sent, n, MPI_INTEGER, received, n, MPI_INTEGER, MPI_COMM_WORLD, ierror)
  call check_blocks(3)
  total = 0
  received = -1
  call MPI_IALLREDUCE(mine, total, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, requests(1), ierror)
  call MPI_IALLTOALL(sent, n, MPI_INTEGER, received, n, MPI_INTEGER, MPI_COMM_WORLD, requests(2), ierror)
  call MPI_WAIT(requests(2), MPI_STATUS_IGNORE, ierror)
  call MPI_WAITALL(2, requests, MPI_STATUSES_IGNORE, ierror)
  call check_sums(4)
  call check_blocks(5)
  call MPI_BARRIER(MPI_COMM_WORLD, ierror)
  call check(served_calls("allreduce"//c_null_char) + served_calls("alltoall"//c_null_char) == 0, 6)
  call check(served_calls("iallreduce"//c_null_char) + served_calls("ialltoall"//c_null_char) == 0, 7)
  call MPI_FINALIZE(ierror)

contains

  include 'check.inc'

  subroutine check_sums(number)
    integer, intent(in) :: number
    call check(all(total == [(ranks*(ranks - 1)/2 + ranks*i, i=1, n)]), number)
  end subroutine

  subroutine check_blocks(number)
    integer, intent(in) :: number
    integer :: from
    do from = 0, ranks - 1
      call check(all(received(:, from) == 100*from + rank), number)
    end do
  end subroutine
end program
