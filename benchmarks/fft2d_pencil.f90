! A three-dimensional FFT on pencils: every rank of a p1×p2 grid has whole lines along one axis at a time. Lines along x
! become lines along y by an exchange inside the rows of the grid, and those lines along z by one inside its columns:
! MPI_Alltoall on two sub-communicators, through the mpi_f08 module. Forward and backward transforms of plane waves,
! checked against the known spectrum, Parseval's theorem and the field itself.
!
!   fft2d_pencil [N [REPETITIONS]]      an N×N×N box, 48 and 10 by default; both sides of the grid must divide N
program fft2d_pencil
  use, intrinsic :: iso_c_binding
  use mpi_f08
  implicit none
  include 'fftw3.f03'

  integer, parameter :: waves = 4
  ! X(k) = N³·amplitude at these k, taken modulo N, and 0 elsewhere.
  integer, parameter :: wave_numbers(3, waves) = reshape([0, 0, 0, 1, 2, 3, -1, 5, 2, 7, 0, -4], [3, waves])
  integer, parameter :: amplitudes(waves) = [2, 3, -1, 5]

  integer :: n, repetitions, rank, ranks, grid(2), place(2), rows, columns, repetition
  type(MPI_Comm) :: cartesian, row, column
  ! Axes in the order they lie in memory: (x, y, z), (y, z, x), (z, x, y).
  complex(c_double_complex), allocatable :: along_x(:, :, :), along_y(:, :, :), along_z(:, :, :)
  complex(c_double_complex), allocatable :: roots(:)
  real(c_double) :: error, seconds, squares(2)
  integer(c_int64_t) :: digest

  call MPI_Init()
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  n = argument(1, 48)
  repetitions = argument(2, 10)
  grid = 0
  call MPI_Dims_create(ranks, 2, grid)
  call MPI_Cart_create(MPI_COMM_WORLD, 2, grid, [.true., .true.], .false., cartesian)
  call MPI_Comm_rank(cartesian, rank)
  call MPI_Cart_coords(cartesian, rank, 2, place)
  call MPI_Cart_sub(cartesian, [.true., .false.], row)
  call MPI_Cart_sub(cartesian, [.false., .true.], column)
  if (n < 1 .or. repetitions < 1 .or. mod(n, grid(1)) /= 0 .or. mod(n, grid(2)) /= 0) then
    call give_up('N must be a multiple of both sides of the grid of ranks')
  end if
  rows = n/grid(1)
  columns = n/grid(2)
  allocate (along_x(0:n - 1, 0:rows - 1, 0:columns - 1), along_y(0:n - 1, 0:columns - 1, 0:rows - 1), &
            along_z(0:n - 1, 0:rows - 1, 0:columns - 1))
  call make_roots()

  error = 0
  seconds = 0
  do repetition = 1, repetitions
    call fill_field()
    squares(1) = sum_of_squares(along_x)*real(n, c_double)**3
    call MPI_Barrier(MPI_COMM_WORLD)
    seconds = seconds - MPI_Wtime()
    call transform(along_x, FFTW_FORWARD)
    call turn(along_x, along_y, row, grid(1))
    call transform(along_y, FFTW_FORWARD)
    call turn(along_y, along_z, column, grid(2))
    call transform(along_z, FFTW_FORWARD)
    seconds = seconds + MPI_Wtime()
    squares(2) = sum_of_squares(along_z)
    error = max(error, abs(squares(2)/squares(1) - 1), error_of_spectrum())
    digest = digest_of_spectrum()
    seconds = seconds - MPI_Wtime()
    call transform(along_z, FFTW_BACKWARD)
    call turn_back(along_z, along_y, column, grid(2))
    call transform(along_y, FFTW_BACKWARD)
    call turn_back(along_y, along_x, row, grid(1))
    call transform(along_x, FFTW_BACKWARD)
    seconds = seconds + MPI_Wtime()
    error = max(error, error_of_field())
  end do
  call MPI_Allreduce(MPI_IN_PLACE, error, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD)
  call MPI_Allreduce(MPI_IN_PLACE, seconds, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD)
  if (rank == 0) then
    print '(a,i0,a,i0,a)', '# Grid: ', grid(1), ' by ', grid(2), ' ranks'
    print '(a,es9.2,a,es9.2)', '# Error: ', error, ', accepted: ', tolerance()
    print '(a,f0.6,a)', '# Time: ', seconds/repetitions, ' s per pair of transforms'
    print '(a,z16.16)', '# Checksum: ', digest
  end if
  if (error > tolerance()) call give_up('the transform is wrong')
  call MPI_Comm_free(row)
  call MPI_Comm_free(column)
  call MPI_Comm_free(cartesian)
  call MPI_Finalize()

contains

  integer function argument(position, otherwise)
    integer, intent(in) :: position, otherwise
    character(32) :: text
    integer :: status
    argument = otherwise
    if (command_argument_count() < position) return
    call get_command_argument(position, text)
    read (text, *, iostat=status) argument
    if (status /= 0) argument = 0
  end function

  subroutine give_up(reason)
    character(*), intent(in) :: reason
    if (rank == 0) print '(2a)', 'fft2d_pencil: ', reason
    call MPI_Abort(MPI_COMM_WORLD, 2)
  end subroutine

  subroutine make_roots()
    real(c_double), parameter :: pi = acos(-1d0)
    integer :: i
    allocate (roots(0:n - 1))
    roots = [(exp(cmplx(0d0, 2*pi*i/n, c_double_complex)), i=0, n - 1)]
  end subroutine

  ! The root mean square error of an FFT grows like ε·sqrt(log N) (Gentleman and Sande 1966); this leaves ample room.
  real(c_double) function tolerance()
    tolerance = epsilon(1d0)*3*(log(real(n, c_double))/log(2d0) + 1)*sum(abs(amplitudes))
  end function

  complex(c_double_complex) function field(x, y, z)
    integer, intent(in) :: x, y, z
    integer :: w
    field = 0
    do w = 1, waves
      field = field + amplitudes(w)*roots(modulo(dot_product(wave_numbers(:, w), [x, y, z]), n))
    end do
  end function

  integer function spectrum(x, y, z)
    integer, intent(in) :: x, y, z
    integer :: w
    spectrum = 0
    do w = 1, waves
      if (all(modulo(wave_numbers(:, w), n) == [x, y, z])) spectrum = spectrum + amplitudes(w)
    end do
  end function

  subroutine fill_field()
    integer :: x, y, z
    do z = 0, columns - 1
      do y = 0, rows - 1
        do x = 0, n - 1
          along_x(x, y, z) = field(x, place(1)*rows + y, place(2)*columns + z)
        end do
      end do
    end do
  end subroutine

  ! What came back, N³ times too large.
  real(c_double) function error_of_field()
    integer :: x, y, z
    error_of_field = 0
    do z = 0, columns - 1
      do y = 0, rows - 1
        do x = 0, n - 1
          error_of_field = max(error_of_field, abs(along_x(x, y, z)/real(n, c_double)**3 - &
                                                   field(x, place(1)*rows + y, place(2)*columns + z)))
        end do
      end do
    end do
  end function

  ! By now a rank has x of its row and y of its column, and every z.
  real(c_double) function error_of_spectrum()
    integer :: x, y, z
    error_of_spectrum = 0
    do y = 0, columns - 1
      do x = 0, rows - 1
        do z = 0, n - 1
          error_of_spectrum = max(error_of_spectrum, abs(along_z(z, x, y)/real(n, c_double)**3 - &
                                                         spectrum(place(1)*rows + x, place(2)*columns + y, z)))
        end do
      end do
    end do
  end function

  ! Of values rounded to integers, which they are but for rounding, each with its place.
  integer(c_int64_t) function digest_of_spectrum()
    integer(c_int64_t) :: mine, at
    integer :: x, y, z
    mine = 0
    do y = 0, columns - 1
      do x = 0, rows - 1
        do z = 0, n - 1
          at = (int(place(1)*rows + x, c_int64_t)*n + place(2)*columns + y)*n + z
          mine = ieor(mine, (at + 1)*nint(real(along_z(z, x, y))/real(n, c_double)**3, c_int64_t))
        end do
      end do
    end do
    call MPI_Allreduce(mine, digest_of_spectrum, 1, MPI_INTEGER8, MPI_BXOR, MPI_COMM_WORLD)
  end function

  real(c_double) function sum_of_squares(values)
    complex(c_double_complex), intent(in) :: values(:, :, :)
    real(c_double) :: mine
    mine = sum(real(values)**2 + aimag(values)**2)
    call MPI_Allreduce(mine, sum_of_squares, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
  end function

  ! All lines along the first axis.
  subroutine transform(values, direction)
    complex(c_double_complex), intent(inout) :: values(:, :, :)
    integer(c_int), intent(in) :: direction
    complex(c_double_complex), allocatable :: from(:, :, :), to(:, :, :)
    type(c_ptr) :: plan
    integer(c_int) :: length(1), lines
    allocate (from, source=values)
    allocate (to, mold=from)
    length = int(n, c_int)
    lines = int(size(values)/n, c_int)
    plan = fftw_plan_many_dft(1, length, lines, from, length, 1, length(1), to, length, 1, length(1), direction, &
                              FFTW_ESTIMATE)
    call fftw_execute_dft(plan, from, to)
    call fftw_destroy_plan(plan)
    values = to
  end subroutine

  ! From axes (a, b, c), of which b is spread over the ranks, to (b, c, a), of which a is.
  subroutine turn(from, to, comm, members)
    complex(c_double_complex), intent(in) :: from(0:, 0:, 0:)
    complex(c_double_complex), intent(out) :: to(0:, 0:, 0:)
    type(MPI_Comm), intent(in) :: comm
    integer, intent(in) :: members
    complex(c_double_complex), allocatable :: sent(:, :, :, :), received(:, :, :, :)
    integer :: a, b, c, peer, length
    length = n/members
    allocate (sent(0:size(from, 2) - 1, 0:size(from, 3) - 1, 0:length - 1, 0:members - 1))
    allocate (received, mold=sent)
    do peer = 0, members - 1
      do a = 0, length - 1
        do c = 0, size(from, 3) - 1
          do b = 0, size(from, 2) - 1
            sent(b, c, a, peer) = from(peer*length + a, b, c)
          end do
        end do
      end do
    end do
    call MPI_Alltoall(sent, size(sent)/members, MPI_DOUBLE_COMPLEX, received, size(sent)/members, MPI_DOUBLE_COMPLEX, &
                      comm)
    do peer = 0, members - 1
      to(peer*size(from, 2):(peer + 1)*size(from, 2) - 1, :, :) = received(:, :, :, peer)
    end do
  end subroutine

  ! From axes (b, c, a), of which a is spread over the ranks, to (a, b, c), of which b is.
  subroutine turn_back(from, to, comm, members)
    complex(c_double_complex), intent(in) :: from(0:, 0:, 0:)
    complex(c_double_complex), intent(out) :: to(0:, 0:, 0:)
    type(MPI_Comm), intent(in) :: comm
    integer, intent(in) :: members
    complex(c_double_complex), allocatable :: sent(:, :, :, :), received(:, :, :, :)
    integer :: a, b, c, peer, length
    length = n/members
    allocate (sent(0:length - 1, 0:size(from, 2) - 1, 0:size(from, 3) - 1, 0:members - 1))
    allocate (received, mold=sent)
    do peer = 0, members - 1
      sent(:, :, :, peer) = from(peer*length:(peer + 1)*length - 1, :, :)
    end do
    call MPI_Alltoall(sent, size(sent)/members, MPI_DOUBLE_COMPLEX, received, size(sent)/members, MPI_DOUBLE_COMPLEX, &
                      comm)
    do peer = 0, members - 1
      do a = 0, size(from, 3) - 1
        do c = 0, size(from, 2) - 1
          do b = 0, length - 1
            to(peer*size(from, 3) + a, b, c) = received(b, c, a, peer)
          end do
        end do
      end do
    end do
  end subroutine
end program
