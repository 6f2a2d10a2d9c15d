! pair ROLE PREFIX CONFIGURATION: the same steps as pair.c, with DTF's calls for Fortran.
program pair
  use mpi
  use pnetcdf
  implicit none
  integer, parameter :: nx = 60, ny = 24, steps = 3
  integer :: rank, ranks, status, ncid, dims(2), id, step, first, last, x, y
  integer(kind=MPI_OFFSET_KIND) :: start(2), count(2), length
  real(kind=8), allocatable :: values(:, :)
  character(len=256) :: role, prefix, path, configuration
  external :: dtf_init, dtf_finalize, dtf_transfer, dtf_transfer_all_files, dtf_transfer_multiple, &
              dtf_complete_multiple, dtf_time_start, dtf_time_end

  call MPI_Init(status)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, status)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, status)
  call get_command_argument(1, role)
  call get_command_argument(2, prefix)
  call get_command_argument(3, configuration)
  call dtf_init(trim(configuration)//char(0), ' ', status)
  if (status /= 1) call fail('dtf_init without a name')
  call dtf_init(trim(configuration)//char(0), 'pair'//char(0), status)
  call check(status, 'dtf_init')
  do step = 1, steps
    write (path, '(a, i0, a)') trim(prefix), step, '.nc'
    call dtf_time_start()
    if (role == 'writer') then
      first = ny*rank/ranks
      last = ny*(rank + 1)/ranks
      allocate (values(nx, last - first))
      do y = 1, last - first
        do x = 1, nx
          values(x, y) = value_at(step, first + y - 1, x - 1)
        end do
      end do
      call check(nf90mpi_create(MPI_COMM_WORLD, path, ior(NF90_CLOBBER, NF90_64BIT_DATA), MPI_INFO_NULL, ncid), 'create')
      length = nx
      call check(nf90mpi_def_dim(ncid, 'x', length, dims(1)), 'def_dim')
      length = ny
      call check(nf90mpi_def_dim(ncid, 'y', length, dims(2)), 'def_dim')
      call check(nf90mpi_def_var(ncid, 'field', NF90_DOUBLE, dims, id), 'def_var')
      call check(nf90mpi_enddef(ncid), 'enddef')
      start = (/1, first + 1/)
      count = (/nx, last - first/)
      call check(nf90mpi_put_var_all(ncid, id, values, start, count), 'put_var')
      call dtf_transfer_multiple(trim(path)//char(0), ncid)
    else
      first = nx*rank/ranks
      last = nx*(rank + 1)/ranks
      allocate (values(last - first, ny))
      call check(nf90mpi_open(MPI_COMM_WORLD, path, NF90_NOWRITE, MPI_INFO_NULL, ncid), 'open')
      call check(nf90mpi_inq_varid(ncid, 'field', id), 'inq_varid')
      start = (/first + 1, 1/)
      count = (/last - first, ny/)
      call check(nf90mpi_get_var_all(ncid, id, values, start, count), 'get_var')
      do y = 1, ny
        do x = 1, last - first
          if (values(x, y) /= value_at(step, y - 1, first + x - 1)) call fail('a wrong value')
        end do
      end do
      call dtf_complete_multiple(trim(path)//char(0), ncid)
    end if
    status = -1
    call dtf_transfer(trim(path)//char(0), ncid, status)
    call check(status, 'dtf_transfer')
    call dtf_transfer_all_files()
    call check(nf90mpi_close(ncid), 'close')
    deallocate (values)
    call dtf_time_end()
  end do
  status = -1
  call dtf_finalize(status)
  call check(status, 'dtf_finalize')
  call MPI_Finalize(status)
contains
  real(kind=8) function value_at(step, y, x)
    integer, intent(in) :: step, y, x
    value_at = 100000d0*step + 1000d0*y + x
  end function value_at
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
end program pair
