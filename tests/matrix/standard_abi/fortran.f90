! Fortran's procedures over MPI's standard binary interface are served, because they call C.
program fortran
  use, intrinsic :: iso_c_binding
  implicit none
  ! Of the standard's table.
  integer, parameter :: comm_world = int(z'101'), mpi_sum = int(z'21'), mpi_integer4 = int(z'2d1')
  integer, parameter :: count = 5000
  integer(4), allocatable :: send(:), receive(:)
  integer :: rank, ranks, error, i

  interface
    subroutine expect_call(collective, served, what) bind(c)
      import
      character(kind=c_char), intent(in) :: collective(*), what(*)
      integer(c_int), value :: served
    end subroutine
    subroutine begin_case() bind(c)
    end subroutine
  end interface

  call mpi_init(error)
  call mpi_comm_rank(comm_world, rank, error)
  call mpi_comm_size(comm_world, ranks, error)
  call begin_case()

  allocate (send(count * ranks), receive(count * ranks))
  send = [(rank + i, i=1, count * ranks)]
  call mpi_allreduce(send, receive, count * ranks, mpi_integer4, mpi_sum, comm_world, error)
  if (error /= 0) error stop 'allreduce fails'
  if (any(receive /= [(ranks * (ranks - 1) / 2 + ranks * i, i=1, count * ranks)])) error stop 'allreduce is wrong'
  call expect_call('allreduce' // c_null_char, 1, 'of Fortran' // c_null_char)

  call mpi_alltoall(send, count, mpi_integer4, receive, count, mpi_integer4, comm_world, error)
  if (error /= 0) error stop 'alltoall fails'
  do i = 0, ranks - 1
    if (any(receive(count * i + 1:count * (i + 1)) /= send(count * rank + 1:count * (rank + 1)) - rank + i)) &
      error stop 'alltoall is wrong'
  end do
  call expect_call('alltoall' // c_null_char, 1, 'of Fortran' // c_null_char)
  call mpi_finalize(error)
end program
