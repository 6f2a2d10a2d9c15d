! field writer|reader PATH: a field in bands of columns, through PnetCDF's Fortran 90 interface; the reader has its own decomposition, bands of rows.
program field
  use mpi
  use pnetcdf
  implicit none
  integer, parameter :: nx = 60, ny = 24
  integer :: rank, ranks, status, ncid, dims(2), id, first, last, i, j, wrong
  integer(kind=MPI_OFFSET_KIND) :: start(2), count(2), length
  real(kind=8), allocatable :: values(:, :)
  real, allocatable :: single(:, :)
  character(len=256) :: role, path
  character(len=32) :: units

  call MPI_Init(status)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, status)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, status)
  call get_command_argument(1, role)
  call get_command_argument(2, path)
  if (role == 'writer') then
    first = ny * rank / ranks
    last = ny * (rank + 1) / ranks
    allocate (values(nx, last - first))
    do j = 1, last - first
      do i = 1, nx
        values(i, j) = 1000 * (first + j) + i
      end do
    end do
    call check(nf90mpi_create(MPI_COMM_WORLD, path, ior(NF90_CLOBBER, NF90_64BIT_DATA), MPI_INFO_NULL, ncid), 'create')
    length = nx
    call check(nf90mpi_def_dim(ncid, 'x', length, dims(1)), 'def_dim')
    length = ny
    call check(nf90mpi_def_dim(ncid, 'y', length, dims(2)), 'def_dim')
    call check(nf90mpi_def_var(ncid, 'field', NF90_DOUBLE, dims, id), 'def_var')
    call check(nf90mpi_put_att(ncid, id, 'units', 'kelvin'), 'put_att')
    call check(nf90mpi_enddef(ncid), 'enddef')
    start = (/1, first + 1/)
    count = (/nx, last - first/)
    call check(nf90mpi_put_var_all(ncid, id, values, start, count), 'put_var')
  else
    first = nx * rank / ranks
    last = nx * (rank + 1) / ranks
    allocate (single(last - first, ny))
    call check(nf90mpi_open(MPI_COMM_WORLD, path, NF90_NOWRITE, MPI_INFO_NULL, ncid), 'open')
    call check(nf90mpi_inq_varid(ncid, 'field', id), 'inq_varid')
    units = ' '
    call check(nf90mpi_get_att(ncid, id, 'units', units), 'get_att')
    if (units /= 'kelvin') call fail('units are '//units)
    start = (/first + 1, 1/)
    count = (/last - first, ny/)
    call check(nf90mpi_get_var_all(ncid, id, single, start, count), 'get_var')
    wrong = 0
    do j = 1, ny
      do i = 1, last - first
        if (single(i, j) /= real(1000 * j + first + i)) wrong = wrong + 1
      end do
    end do
    if (wrong > 0) call fail('wrong values')
  end if
  call check(nf90mpi_close(ncid), 'close')
  call MPI_Finalize(status)
contains
  subroutine check(code, what)
    integer, intent(in) :: code
    character(len=*), intent(in) :: what
    if (code /= NF90_NOERR) call fail(what//': '//trim(nf90mpi_strerror(code)))
  end subroutine check
  subroutine fail(text)
    character(len=*), intent(in) :: text
    integer :: ierr
    write (*, *) trim(role), ' rank ', rank, ': ', text
    call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
  end subroutine fail
end program field
