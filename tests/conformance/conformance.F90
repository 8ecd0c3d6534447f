! Collectives from Fortran: types, operations, counts and communicators, in place and not, blocking and not. Compiled
! once for each binding: MPIF, USE_MPI or MPI_F08 is defined. With mpi_f08 the last argument is optional.
#ifdef MPI_F08
#define HANDLE_OF(kind) type(kind)
#define OPTIONAL_ERROR
#else
#define HANDLE_OF(kind) integer
#define OPTIONAL_ERROR , ierror
#endif
program conformance_fortran
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64, real128
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
    subroutine begin_fortran_calls() bind(c)
    end subroutine
    subroutine count_fortran_call(name, ranks, is_own, nothing) bind(c)
      import :: c_char, c_int
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: ranks, is_own, nothing
    end subroutine
    function serves_fortran_call(name, ranks) bind(c) result(serves)
      import :: c_char, c_int
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: ranks
      integer(c_int) :: serves
    end function
  end interface
  external :: add_modulo, compose, sync_registers
  integer, parameter :: shapes = 6, everyone = 99
  character(9), parameter :: shape_names(shapes) = [character(9) :: 'world', 'duplicate', 'reversed', 'grid', 'half', &
                                                     'self']
  HANDLE_OF(MPI_Comm) :: communicators(shapes), comm
  integer :: shape, rank, ranks, count, choice, ierror

  call MPI_INIT(ierror)
  call begin_fortran_calls()
  call make_communicators()
  do shape = 1, shapes
    comm = communicators(shape)
    call MPI_COMM_RANK(comm, rank, ierror)
    call MPI_COMM_SIZE(comm, ranks, ierror)
    do choice = 1, 6
      count = count_of(choice)
      call check_blocks()
      call check_unequal_blocks()
      call check_broadcast()
      call check_reductions()
      call check_logicals()
      call check_pairs()
      call check_own_operations()
      call check_nonblocking()
    end do
    call check_types()
    call check_layouts()
  end do
  do shape = 2, shapes - 1
    call MPI_COMM_FREE(communicators(shape) OPTIONAL_ERROR)
  end do
  call MPI_FINALIZE(ierror)

contains

  ! ---- what all share

  subroutine make_communicators()
    integer :: sides(2), world_rank, world_ranks
    call MPI_COMM_RANK(MPI_COMM_WORLD, world_rank OPTIONAL_ERROR)
    call MPI_COMM_SIZE(MPI_COMM_WORLD, world_ranks OPTIONAL_ERROR)
    sides = 0
    call MPI_DIMS_CREATE(world_ranks, 2, sides, ierror)
    communicators(1) = MPI_COMM_WORLD
    call MPI_COMM_DUP(MPI_COMM_WORLD, communicators(2), ierror)
    call MPI_COMM_SPLIT(MPI_COMM_WORLD, 0, -world_rank, communicators(3), ierror)
    call MPI_CART_CREATE(MPI_COMM_WORLD, 2, sides, [.true., .false.], .true., communicators(4), ierror)
    call MPI_COMM_SPLIT(MPI_COMM_WORLD, mod(world_rank, 2), world_rank, communicators(5), ierror)
    communicators(6) = MPI_COMM_SELF
  end subroutine

  integer function count_of(which)
    integer, intent(in) :: which
    integer :: counts(6)
    counts = [0, 1, ranks - 1, ranks, ranks + 1, 500]
    count_of = counts(which)
  end function

  subroutine counted(name, nothing, is_own)
    character(*), intent(in) :: name
    logical, intent(in) :: nothing
    logical, intent(in), optional :: is_own
    integer(c_int) :: own
    own = 0
    if (present(is_own)) own = merge(1, 0, is_own)
    call expect(ierror == MPI_SUCCESS, name)
    call count_fortran_call(name//c_null_char, int(ranks, c_int), own, merge(1_c_int, 0_c_int, nothing))
  end subroutine

  logical function is_ours(name)
    character(*), intent(in) :: name
    is_ours = serves_fortran_call(name//c_null_char, int(ranks, c_int)) /= 0
  end function

  subroutine expect(good, what)
    logical, intent(in) :: good
    character(*), intent(in) :: what
    if (good) return
    print *, 'rank', rank, 'of ', trim(shape_names(shape)), ', count', count, ': ', what
    call MPI_ABORT(MPI_COMM_WORLD, 1, ierror)
  end subroutine

  ! What a rank has for another.
  pure function block(source, destination, length) result(values)
    integer, intent(in) :: source, destination, length
    integer :: values(length), i
    values = [(mod(source*7919 + destination*1301 + i*31, 100003), i=1, length)]
  end function

  pure function places_of(counts) result(places)
    integer, intent(in) :: counts(0:)
    integer :: places(0:size(counts) - 1), r
    places = [(sum(counts(:r - 1)), r=0, size(counts) - 1)]
  end function

  ! ---- calls that move blocks

  subroutine check_blocks()
    integer :: sent(count, 0:ranks - 1), received(count, 0:ranks - 1), r
    sent = -1
    sent(:, rank) = block(rank, everyone, count)
    received = -1
    call MPI_ALLGATHER(sent(:, rank), count, MPI_INTEGER, received, count, MPI_INTEGER, comm, ierror)
    call counted('allgather', nothing=count == 0)
    call MPI_ALLGATHER(MPI_IN_PLACE, count, MPI_INTEGER, sent, count, MPI_INTEGER, comm, ierror)
    call counted('allgather', nothing=count == 0)
    do r = 0, ranks - 1
      call expect(all(received(:, r) == block(r, everyone, count)), 'gathered')
      call expect(all(sent(:, r) == block(r, everyone, count)), 'gathered in place')
      sent(:, r) = block(rank, r, count)
    end do
    call MPI_ALLTOALL(sent, count, MPI_INTEGER, received, count, MPI_INTEGER, comm, ierror)
    call counted('alltoall', nothing=count == 0)
    call MPI_ALLTOALL(MPI_IN_PLACE, count, MPI_INTEGER, sent, count, MPI_INTEGER, comm, ierror)
    call counted('alltoall', nothing=count == 0)
    do r = 0, ranks - 1
      call expect(all(received(:, r) == block(r, rank, count)), 'exchanged')
      call expect(all(sent(:, r) == block(r, rank, count)), 'exchanged in place')
    end do
  end subroutine

  ! Rank s has mod(s + 2d, 3)·count/2 numbers for rank d, and as many for everyone as for rank 0.
  subroutine check_unequal_blocks()
    integer, dimension(0:ranks - 1) :: sent_counts, counts, sent_places, places
    HANDLE_OF(MPI_Datatype) :: types(0:ranks - 1)
    integer :: sent(ranks*(count + 1)), received(ranks*(count + 1)), r
    counts = [(mod(r, 3)*count/2, r=0, ranks - 1)]
    places = places_of(counts)
    received = -1
    sent(:counts(rank)) = block(rank, everyone, counts(rank))
    call MPI_ALLGATHERV(sent, counts(rank), MPI_INTEGER, received, counts, places, MPI_INTEGER, comm, ierror)
    call counted('allgatherv', nothing=sum(counts) == 0)
    call expect_blocks(received, counts, places, everyone, 'unequal blocks gathered')
    received(:places(rank)) = -1
    received(places(rank) + counts(rank) + 1:) = -1
    call MPI_ALLGATHERV(MPI_IN_PLACE, 0, MPI_INTEGER, received, counts, places, MPI_INTEGER, comm, ierror)
    call counted('allgatherv', nothing=sum(counts) == 0)
    call expect_blocks(received, counts, places, everyone, 'unequal blocks gathered in place')

    counts = [(mod(r + 2*rank, 3)*count/2, r=0, ranks - 1)]
    places = places_of(counts)
    sent_counts = [(mod(rank + 2*r, 3)*count/2, r=0, ranks - 1)]
    sent_places = [(r*(count + 1), r=0, ranks - 1)]
    do r = 0, ranks - 1
      sent(sent_places(r) + 1:sent_places(r) + sent_counts(r)) = block(rank, r, sent_counts(r))
    end do
    received = -1
    call MPI_ALLTOALLV(sent, sent_counts, sent_places, MPI_INTEGER, received, counts, places, MPI_INTEGER, comm, ierror)
    call counted('alltoallv', nothing=.false.)
    call expect_blocks(received, counts, places, rank, 'unequal blocks exchanged')
    received = -1
    types = MPI_INTEGER
    call MPI_ALLTOALLW(sent, sent_counts, sent_places*4, types, received, counts, places*4, types, comm, ierror)
    call counted('alltoallw', nothing=.false.)
    call expect_blocks(received, counts, places, rank, 'unequal blocks exchanged, a type each')

    ! As many both ways.
    counts = [(mod(r + rank, 3)*count/2, r=0, ranks - 1)]
    places = places_of(counts)
    do r = 0, ranks - 1
      received(places(r) + 1:places(r) + counts(r)) = block(rank, r, counts(r))
    end do
    call MPI_ALLTOALLV(MPI_IN_PLACE, counts, places, MPI_INTEGER, received, counts, places, MPI_INTEGER, comm, ierror)
    call counted('alltoallv', nothing=.false.)
    call expect_blocks(received, counts, places, rank, 'unequal blocks exchanged in place')
    do r = 0, ranks - 1
      received(places(r) + 1:places(r) + counts(r)) = block(rank, r, counts(r))
    end do
    call MPI_ALLTOALLW(MPI_IN_PLACE, counts, places*4, types, received, counts, places*4, types, comm, ierror)
    call counted('alltoallw', nothing=.false.)
    call expect_blocks(received, counts, places, rank, 'unequal blocks exchanged in place, a type each')
  end subroutine

  subroutine expect_blocks(received, counts, places, destination, what)
    integer, intent(in) :: received(:), counts(0:), places(0:), destination
    character(*), intent(in) :: what
    integer :: r
    do r = 0, ranks - 1
      call expect(all(received(places(r) + 1:places(r) + counts(r)) == block(r, destination, counts(r))), what)
    end do
  end subroutine

  subroutine check_broadcast()
    integer :: values(count), root
    do root = 0, ranks - 1
      values = block(rank, everyone, count)
      call MPI_BCAST(values, count, MPI_INTEGER, root, comm, ierror)
      call counted('bcast', nothing=count == 0)
      call expect(all(values == block(root, everyone, count)), 'broadcast')
    end do
  end subroutine

  ! ---- types: bytes of each are moved

  subroutine check_types()
    HANDLE_OF(MPI_Datatype) :: types(24)
    integer :: t
    types = [MPI_INTEGER, MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8, MPI_REAL, MPI_REAL4, MPI_REAL8, &
             MPI_REAL16, MPI_DOUBLE_PRECISION, MPI_COMPLEX, MPI_COMPLEX8, MPI_COMPLEX16, MPI_COMPLEX32, &
             MPI_DOUBLE_COMPLEX, MPI_LOGICAL, MPI_CHARACTER, MPI_BYTE, MPI_2REAL, MPI_2DOUBLE_PRECISION, MPI_2INTEGER, &
             MPI_AINT, MPI_OFFSET, MPI_COUNT]
    count = 3
    do t = 1, size(types)
      call check_bytes(types(t))
    end do
  end subroutine

  subroutine check_bytes(type)
    HANDLE_OF(MPI_Datatype), intent(in) :: type
    character, allocatable :: sent(:), received(:), expected(:)
    integer :: bytes, i, r
    call MPI_TYPE_SIZE(type, bytes, ierror)
    bytes = bytes*count
    allocate (sent(bytes*ranks), received(bytes*ranks), expected(bytes*ranks))
    sent = [((byte_of(rank, r, i), i=1, bytes), r=0, ranks - 1)]
    expected = [((byte_of(r, rank, i), i=1, bytes), r=0, ranks - 1)]
    call MPI_ALLTOALL(sent, count, type, received, count, type, comm, ierror)
    call counted('alltoall', nothing=.false.)
    call expect(all(received == expected), 'bytes exchanged')
    expected = [((byte_of(r, 0, i), i=1, bytes), r=0, ranks - 1)]
    call MPI_ALLGATHER(sent, count, type, received, count, type, comm, ierror)
    call counted('allgather', nothing=.false.)
    call expect(all(received == expected), 'bytes gathered')
    call MPI_BCAST(sent, count*ranks, type, ranks - 1, comm, ierror)
    call counted('bcast', nothing=.false.)
    call expect(all(sent == [((byte_of(ranks - 1, r, i), i=1, bytes), r=0, ranks - 1)]), 'bytes broadcast')
  end subroutine

  pure character function byte_of(source, destination, i)
    integer, intent(in) :: source, destination, i
    byte_of = char(mod(source*89 + destination*37 + i*7, 256))
  end function

  ! Columns of a matrix as rows, an element before its address, absolute addresses.
  subroutine check_layouts()
    HANDLE_OF(MPI_Datatype) :: line, spread, absolute
    integer(MPI_ADDRESS_KIND) :: addresses(2)
    integer, target :: matrix(0:ranks - 1, 4), received(4, 0:ranks - 1), pairs(4, -1:ranks), values(3)
    integer :: i, r
    call MPI_TYPE_VECTOR(4, 1, ranks, MPI_INTEGER, line, ierror)
    call MPI_TYPE_CREATE_RESIZED(line, 0_MPI_ADDRESS_KIND, 4_MPI_ADDRESS_KIND, spread, ierror)
    call MPI_TYPE_COMMIT(spread, ierror)
    do r = 0, ranks - 1
      matrix(r, :) = block(rank, r, 4)
    end do
    call MPI_ALLTOALL(matrix, 1, spread, received, 4, MPI_INTEGER, comm, ierror)
    call counted('alltoall', nothing=.false.)
    do r = 0, ranks - 1
      call expect(all(received(:, r) == block(r, rank, 4)), 'lines of a matrix')
    end do
    call MPI_ALLTOALL(received, 4, MPI_INTEGER, matrix, 1, spread, comm, ierror)
    call counted('alltoall', nothing=.false.)
    do r = 0, ranks - 1
      call expect(all(matrix(r, :) == block(rank, r, 4)), 'back to lines of a matrix')
    end do
    call MPI_TYPE_FREE(spread, ierror)
    call MPI_TYPE_FREE(line, ierror)

    call MPI_TYPE_INDEXED(2, [1, 1], [-1, 2], MPI_INTEGER, line, ierror)
    call MPI_TYPE_CREATE_RESIZED(line, -4_MPI_ADDRESS_KIND, 16_MPI_ADDRESS_KIND, spread, ierror)
    call MPI_TYPE_COMMIT(spread, ierror)
    pairs = -1
    call MPI_ALLGATHER([rank, rank + 100], 2, MPI_INTEGER, pairs(1, 0), 1, spread, comm, ierror)
    call counted('allgather', nothing=.false.)
    ! In the order of memory: behind each pair's first number lie three others.
    call expect(all([(pairs(4, r - 1) == r .and. pairs(3, r) == r + 100, r=0, ranks - 1)]), 'pairs with gaps')
    call expect(all([(pairs(1, r) == -1 .and. pairs(2, r) == -1, r=0, ranks - 1)]), 'gaps')
    call MPI_TYPE_FREE(spread, ierror)
    call MPI_TYPE_FREE(line, ierror)

    values = [rank, -1, rank + 100]
    call MPI_GET_ADDRESS(values(1), addresses(1), ierror)
    call MPI_GET_ADDRESS(values(3), addresses(2), ierror)
    call MPI_TYPE_CREATE_HINDEXED(2, [1, 1], addresses, MPI_INTEGER, absolute, ierror)
    call MPI_TYPE_COMMIT(absolute, ierror)
    call MPI_BCAST(MPI_BOTTOM, 1, absolute, ranks - 1, comm, ierror)
    call counted('bcast', nothing=.false.)
    call sync_registers(values)
    call expect(all([(values(i), i=1, 3)] == [ranks - 1, -1, ranks + 99]), 'absolute addresses')
    call MPI_TYPE_FREE(absolute, ierror)
  end subroutine

  ! ---- calls that reduce

  pure integer function input(of_rank, i)
    integer, intent(in) :: of_rank, i
    input = merge(2, 1, mod(of_rank, 5) == mod(i, 5))
  end function

  pure function inputs(of_rank, length) result(values)
    integer, intent(in) :: of_rank, length
    integer :: values(length), i
    values = [(input(of_rank, i), i=1, length)]
  end function

  pure function sums(length) result(values)
    integer, intent(in) :: length
    integer :: values(length), i, r
    values = [(sum([(input(r, i), r=0, ranks - 1)]), i=1, length)]
  end function

  pure function products(length) result(values)
    integer, intent(in) :: length
    integer :: values(length), i, r
    values = [(product([(input(r, i), r=0, ranks - 1)]), i=1, length)]
  end function

  pure function extremes(length, greatest) result(values)
    integer, intent(in) :: length
    logical, intent(in) :: greatest
    integer :: values(length), i, r
    do i = 1, length
      if (greatest) then
        values(i) = maxval([(input(r, i), r=0, ranks - 1)])
      else
        values(i) = minval([(input(r, i), r=0, ranks - 1)])
      end if
    end do
  end function

  pure function combined_bits(length, how) result(values)
    integer, intent(in) :: length, how
    integer :: values(length), i, r
    values = [(input(0, i), i=1, length)]
    do r = 1, ranks - 1
      do i = 1, length
        if (how == 1) values(i) = ior(values(i), input(r, i))
        if (how == 2) values(i) = iand(values(i), input(r, i))
        if (how == 3) values(i) = ieor(values(i), input(r, i))
      end do
    end do
  end function

  pure function part(values, first, length) result(slice)
    integer, intent(in) :: values(:), first, length
    integer :: slice(length)
    slice = values(first + 1:first + length)
  end function

  subroutine check_reductions()
    call check_integer1()
    call check_integer2()
    call check_integer()
    call check_integer8()
    call check_real()
    call check_double_precision()
    ! Open MPI 4.1.4 has no arithmetic for these.
    if (is_ours('reduce_scatter')) call check_real16()
    call check_complex()
    call check_double_complex()
  end subroutine

#define ORDERED
#define BITS
#define NAME check_integer1
#define NUMBERS integer(int8)
#define HANDLE MPI_INTEGER1
#define CONVERTED(x) int(x, int8)
#include "reductions.inc"
#define NAME check_integer2
#define NUMBERS integer(int16)
#define HANDLE MPI_INTEGER2
#define CONVERTED(x) int(x, int16)
#include "reductions.inc"
#define NAME check_integer
#define NUMBERS integer
#define HANDLE MPI_INTEGER
#define CONVERTED(x) int(x)
#include "reductions.inc"
#define NAME check_integer8
#define NUMBERS integer(int64)
#define HANDLE MPI_INTEGER8
#define CONVERTED(x) int(x, int64)
#include "reductions.inc"
#undef BITS
#define NAME check_real
#define NUMBERS real
#define HANDLE MPI_REAL
#define CONVERTED(x) real(x)
#include "reductions.inc"
#define NAME check_double_precision
#define NUMBERS double precision
#define HANDLE MPI_DOUBLE_PRECISION
#define CONVERTED(x) dble(x)
#include "reductions.inc"
#define NAME check_real16
#define NUMBERS real(real128)
#define HANDLE MPI_REAL16
#define CONVERTED(x) real(x, real128)
#include "reductions.inc"
#undef ORDERED
#define NAME check_complex
#define NUMBERS complex
#define HANDLE MPI_COMPLEX
#define CONVERTED(x) cmplx(x)
#include "reductions.inc"
#define NAME check_double_complex
#define NUMBERS complex(real64)
#define HANDLE MPI_DOUBLE_COMPLEX
#define CONVERTED(x) cmplx(x, kind=real64)
#include "reductions.inc"

  subroutine check_logicals()
    logical :: mine(count), found(count)
    integer :: i
    mine = [(mod(i, 2) == 0 .or. mod(i, ranks) /= rank, i=1, count)]
    call MPI_ALLREDUCE(mine, found, count, MPI_LOGICAL, MPI_LAND, comm, ierror)
    call counted('allreduce', nothing=count == 0)
    call expect(all(found .eqv. [(mod(i, 2) == 0, i=1, count)]), 'all true')
    mine = [(mod(i, 2) == 0 .and. mod(i, ranks) == rank, i=1, count)]
    call MPI_ALLREDUCE(mine, found, count, MPI_LOGICAL, MPI_LOR, comm, ierror)
    call counted('allreduce', nothing=count == 0)
    call expect(all(found .eqv. [(mod(i, 2) == 0, i=1, count)]), 'any true')
    call MPI_ALLREDUCE(MPI_IN_PLACE, mine, count, MPI_LOGICAL, MPI_LXOR, comm, ierror)
    call counted('allreduce', nothing=count == 0)
    call expect(all(mine .eqv. found), 'an odd number true')
  end subroutine

  ! The greatest value of element i is on two ranks, of which the first counts.
  subroutine check_pairs()
    real :: singles(2, count), best(2, count)
    double precision :: doubles(2, count)
    integer :: whole(2, count), expected(2, count), i, r
    do i = 1, count
      whole(:, i) = [mod(rank + i, max(1, ranks/2)), rank]
      expected(:, i) = [-1, 0]
      do r = ranks - 1, 0, -1
        if (mod(r + i, max(1, ranks/2)) >= expected(1, i)) expected(:, i) = [mod(r + i, max(1, ranks/2)), r]
      end do
    end do
    singles = real(whole)
    doubles = -dble(whole)
    doubles(2, :) = rank
    call MPI_ALLREDUCE(singles, best, count, MPI_2REAL, MPI_MAXLOC, comm, ierror)
    call counted('allreduce', nothing=count == 0)
    call expect(all(nint(best) == expected), 'the greatest and where it is')
    call MPI_ALLREDUCE(MPI_IN_PLACE, doubles, count, MPI_2DOUBLE_PRECISION, MPI_MINLOC, comm, ierror)
    call counted('allreduce', nothing=count == 0)
    call expect(all(nint(doubles(1, :)) == -expected(1, :)) .and. all(nint(doubles(2, :)) == expected(2, :)), &
                'the least and where it is')
    call MPI_ALLREDUCE(MPI_IN_PLACE, whole, count, MPI_2INTEGER, MPI_MAXLOC, comm, ierror)
    call counted('allreduce', nothing=count == 0)
    call expect(all(whole == expected), 'the greatest integer and where it is')
  end subroutine

  ! Maps x → a·x + b modulo 1009, one after the other in the order of the ranks, which does not commute; and the sum.
  subroutine check_own_operations()
    HANDLE_OF(MPI_Datatype) :: map
    HANDLE_OF(MPI_Op) :: op
    integer :: mine(2, count), found(2, count), expected(2, count), added(2, count), r
    call MPI_TYPE_CONTIGUOUS(2, MPI_INTEGER, map, ierror)
    call MPI_TYPE_COMMIT(map, ierror)
    mine(1, :) = rank + 2
    mine(2, :) = block(rank, everyone, count)
    expected(1, :) = 1
    expected(2, :) = 0
    added = 0
    do r = 0, ranks - 1
      expected(2, :) = mod((r + 2)*expected(2, :) + block(r, everyone, count), 1009)
      expected(1, :) = mod((r + 2)*expected(1, :), 1009)
      added(1, :) = added(1, :) + r + 2
      added(2, :) = mod(added(2, :) + block(r, everyone, count), 1009)
    end do
    ! Of one rank there is nothing to combine.
    if (ranks == 1) expected(2, :) = block(0, everyone, count)
    if (ranks == 1) added(2, :) = expected(2, :)
    call MPI_OP_CREATE(compose, .false., op, ierror)
    call MPI_ALLREDUCE(mine, found, count, map, op, comm, ierror)
    call counted('allreduce', nothing=count == 0, is_own=.true.)
    call expect(all(found == expected), 'maps one after the other')
    found = -1
    call MPI_REDUCE(mine, found, count, map, op, ranks - 1, comm, ierror)
    call counted('reduce', nothing=count == 0, is_own=.true.)
    if (rank == ranks - 1) call expect(all(found == expected), 'maps one after the other on one rank')
    call MPI_OP_FREE(op, ierror)
    call MPI_OP_CREATE(add_modulo, .true., op, ierror)
    call MPI_ALLREDUCE(MPI_IN_PLACE, mine, count, map, op, comm, ierror)
    call counted('allreduce', nothing=count == 0, is_own=.true.)
    call expect(all(mine == added), 'sums modulo 1009')
    call MPI_OP_FREE(op, ierror)
    call MPI_TYPE_FREE(map, ierror)
  end subroutine

  ! ---- calls that do not block

  ! All at the same time, waited for with one that is none. Each is served, or not, when it begins.
  subroutine check_nonblocking()
    HANDLE_OF(MPI_Request) :: requests(11)
    HANDLE_OF(MPI_Datatype) :: types(0:ranks - 1)
    integer, asynchronous :: whole(count), total(count), reduced(count), gathered(count, 0:ranks - 1)
    integer, asynchronous :: sent(count, 0:ranks - 1), exchanged(count, 0:ranks - 1), spread(count)
    integer, asynchronous :: collected(count, 0:ranks - 1), swapped(count, 0:ranks - 1), typed(count, 0:ranks - 1)
    integer, asynchronous :: share(count), other_share(count)
    integer :: counts(0:ranks - 1), places(0:ranks - 1), offsets(0:ranks - 1), r
    logical :: done, nothing
    nothing = count == 0
    counts = count
    places = places_of(counts)
    offsets = places*4
    types = MPI_INTEGER
    whole = block(rank, everyone, count)
    total = whole
    gathered(:, rank) = whole
    spread = whole
    do r = 0, ranks - 1
      sent(:, r) = block(rank, r, count)
    end do
    call MPI_IALLREDUCE(MPI_IN_PLACE, total, count, MPI_INTEGER, MPI_SUM, comm, requests(1), ierror)
    call counted('iallreduce', nothing)
    call MPI_IALLGATHER(MPI_IN_PLACE, 0, MPI_INTEGER, gathered, count, MPI_INTEGER, comm, requests(2), ierror)
    call counted('iallgather', nothing)
    requests(3) = MPI_REQUEST_NULL
    call MPI_IALLTOALL(sent, count, MPI_INTEGER, exchanged, count, MPI_INTEGER, comm, requests(4), ierror)
    call counted('ialltoall', nothing)
    call MPI_IREDUCE(whole, reduced, count, MPI_INTEGER, MPI_SUM, ranks - 1, comm, requests(5), ierror)
    call counted('ireduce', nothing)
    call MPI_IBCAST(spread, count, MPI_INTEGER, 0, comm, requests(6), ierror)
    call counted('ibcast', nothing)
    call MPI_IALLGATHERV(whole, count, MPI_INTEGER, collected, counts, places, MPI_INTEGER, comm, requests(7), ierror)
    call counted('iallgatherv', nothing)
    call MPI_IALLTOALLV(sent, counts, places, MPI_INTEGER, swapped, counts, places, MPI_INTEGER, comm, requests(8), &
                        ierror)
    call counted('ialltoallv', nothing=.false.)
    call MPI_IREDUCE_SCATTER_BLOCK(sent, share, count, MPI_INTEGER, MPI_SUM, comm, requests(9), ierror)
    call counted('ireduce_scatter_block', nothing)
    call MPI_IREDUCE_SCATTER(sent, other_share, counts, MPI_INTEGER, MPI_SUM, comm, requests(10), ierror)
    call counted('ireduce_scatter', nothing)
    call MPI_IALLTOALLW(sent, counts, offsets, types, typed, counts, offsets, types, comm, requests(11), ierror)
    call counted('ialltoallw', nothing=.false.)
    done = .false.
    do while (.not. done)
      call MPI_TEST(requests(4), done, MPI_STATUS_IGNORE, ierror)
    end do
    call MPI_WAIT(requests(6), MPI_STATUS_IGNORE, ierror)
    call MPI_WAITALL(11, requests, MPI_STATUSES_IGNORE, ierror)
    call expect(ierror == MPI_SUCCESS, 'waiting')
    call expect(all(requests == MPI_REQUEST_NULL), 'requests after waiting')
    call expect(all(total == sum_of_blocks(everyone)), 'sum, not blocking')
    if (rank == ranks - 1) call expect(all(reduced == total), 'reduced, not blocking')
    call expect(all(spread == block(0, everyone, count)), 'broadcast, not blocking')
    call expect(all(share == sum_of_blocks(rank)), 'equal shares, not blocking')
    call expect(all(other_share == share), 'shares, not blocking')
    do r = 0, ranks - 1
      call expect(all(gathered(:, r) == block(r, everyone, count)), 'gathered, not blocking')
      call expect(all(collected(:, r) == gathered(:, r)), 'blocks of given sizes gathered, not blocking')
      call expect(all(exchanged(:, r) == block(r, rank, count)), 'exchanged, not blocking')
      call expect(all(swapped(:, r) == exchanged(:, r)), 'blocks of given sizes exchanged, not blocking')
      call expect(all(typed(:, r) == exchanged(:, r)), 'exchanged, a type each, not blocking')
    end do
  end subroutine

  function sum_of_blocks(destination) result(values)
    integer, intent(in) :: destination
    integer :: values(count), r
    values = 0
    do r = 0, ranks - 1
      values = values + block(r, destination, count)
    end do
  end function
end program

! Operations of our own, on pairs of integers: second = first op second.
#ifdef MPI_F08
subroutine add_modulo(in, inout, length, datatype)
  use, intrinsic :: iso_c_binding
  use mpi_f08
  implicit none
  type(c_ptr), value :: in, inout
  integer :: length
  type(MPI_Datatype) :: datatype
  integer, pointer :: first(:, :), second(:, :)
  call c_f_pointer(in, first, [2, length])
  call c_f_pointer(inout, second, [2, length])
#else
subroutine add_modulo(first, second, length, datatype)
  implicit none
  integer :: length, datatype, first(2, length), second(2, length)
#endif
  second(1, :) = first(1, :) + second(1, :)
  second(2, :) = mod(first(2, :) + second(2, :), 1009)
end subroutine

#ifdef MPI_F08
subroutine compose(in, inout, length, datatype)
  use, intrinsic :: iso_c_binding
  use mpi_f08
  implicit none
  type(c_ptr), value :: in, inout
  integer :: length
  type(MPI_Datatype) :: datatype
  integer, pointer :: first(:, :), second(:, :)
  call c_f_pointer(in, first, [2, length])
  call c_f_pointer(inout, second, [2, length])
#else
subroutine compose(first, second, length, datatype)
  implicit none
  integer :: length, datatype, first(2, length), second(2, length)
#endif
  second(2, :) = mod(second(1, :)*first(2, :) + second(2, :), 1009)
  second(1, :) = mod(second(1, :)*first(1, :), 1009)
end subroutine
