! Collectives from Fortran with 2^20 elements and with more than 2^31 bytes in a buffer, in place to save memory. Compiled
! once for each binding: MPIF, USE_MPI or MPI_F08 is defined. For two ranks.
program large_messages_fortran
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64
#if defined(USE_MPI)
  use mpi
#elif defined(MPI_F08)
  use mpi_f08
#endif
  implicit none
#ifdef MPIF
  include 'mpif.h'
#endif
  interface
    function served_calls(collective) bind(c) result(calls)
      import :: c_char, c_long
      character(kind=c_char), intent(in) :: collective(*)
      integer(c_long) :: calls
    end function
  end interface
  integer, parameter :: sizes(2) = [2**20, 2**28 + 6]  ! elements of eight bytes in the buffer
  integer(int64), allocatable :: values(:)
  integer :: rank, ranks, ierror, i, n, block

  call MPI_INIT(ierror)
  call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierror)
  call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierror)
  do i = 1, size(sizes)
    n = sizes(i)
    block = n/ranks
    allocate (values(n))
    call put(1, n, rank)
    call MPI_ALLREDUCE(MPI_IN_PLACE, values, n, MPI_INTEGER8, MPI_SUM, MPI_COMM_WORLD, ierror)
    call look(1, n, 0, ranks, 10*i + 1)
    call put(1, n, rank)
    call MPI_BCAST(values, n, MPI_INTEGER8, ranks - 1, MPI_COMM_WORLD, ierror)
    call look(1, n, ranks - 1, 1, 10*i + 2)
    call put(rank*block + 1, block, rank)
    call MPI_ALLGATHER(MPI_IN_PLACE, 0, MPI_INTEGER8, values, block, MPI_INTEGER8, MPI_COMM_WORLD, ierror)
    call look_at_blocks(10*i + 3)
    call put(1, n, rank)
    call MPI_ALLTOALL(MPI_IN_PLACE, 0, MPI_INTEGER8, values, block, MPI_INTEGER8, MPI_COMM_WORLD, ierror)
    call look_at_blocks(10*i + 4)
    deallocate (values)
  end do
  call check(served_calls("allreduce"//c_null_char) == size(sizes), 91)
  call check(served_calls("bcast"//c_null_char) == size(sizes), 92)
  call check(served_calls("allgather"//c_null_char) == size(sizes), 93)
  call check(served_calls("alltoall"//c_null_char) == size(sizes), 94)
  call MPI_FINALIZE(ierror)

contains
  include 'check.inc'

  ! Element j of a block or vector of a rank's; sums over ranks do not overflow.
  pure integer(int64) function element(j, of_rank)
    integer, intent(in) :: j, of_rank
    element = 1000003_int64*j + 17_int64*of_rank
  end function

  subroutine put(first, number, of_rank)
    integer, intent(in) :: first, number, of_rank
    integer :: j
    do j = 1, number
      values(first + j - 1) = element(j, of_rank)
    end do
  end subroutine

  ! What `of_rank` has, or the sum over it and the ranks after it, `terms` in all.
  subroutine look(first, number, of_rank, terms, code)
    integer, intent(in) :: first, number, of_rank, terms, code
    integer :: j
    logical :: good
    good = .true.
    do j = 1, number
      good = good .and. values(first + j - 1) == terms*element(j, of_rank) + 17*terms*(terms - 1)/2
    end do
    call check(good, code)
  end subroutine

  ! Block r came from rank r: after an allgather its only block, after an all-to-all the one for this rank.
  subroutine look_at_blocks(code)
    integer, intent(in) :: code
    integer :: r, j, offset
    logical :: good
    good = .true.
    do r = 0, ranks - 1
      offset = 0
      if (mod(code, 10) == 4) offset = rank*block
      do j = 1, block
        good = good .and. values(r*block + j) == element(offset + j, r)
      end do
    end do
    call check(good, code)
  end subroutine
end program
