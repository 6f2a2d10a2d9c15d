! Looks at fields of wave_0001.nc … wave_0004.nc with netCDF-Fortran, and prints sums that have all digits.
program fields
  use netcdf
  implicit none
  integer :: file, variable, ids(3), lengths(3), number, i
  real, allocatable :: level(:, :, :)
  character(len=12) :: name
  logical :: is_there
  do number = 1, 4
    write (name, '("wave_", i4.4, ".nc")') number
    inquire (file=name, exist=is_there)
    if (.not. is_there) stop 2
    call check(nf90_open(name, NF90_NOWRITE, file))
    call check(nf90_inq_varid(file, "sea_level", variable))
    call check(nf90_inquire_variable(file, variable, dimids=ids))
    do i = 1, 3
      call check(nf90_inquire_dimension(file, ids(i), len=lengths(i)))
    end do
    allocate (level(lengths(1), lengths(2), lengths(3)))
    call check(nf90_get_var(file, variable, level))
    print '(a, 3i5, 2es25.16)', name, lengths, sum(dble(level)), maxval(level)
    deallocate (level)
    call check(nf90_close(file))
  end do
contains
  subroutine check(status)
    integer, intent(in) :: status
    if (status == NF90_NOERR) return
    print *, name, ": ", trim(nf90_strerror(status))
    stop 1
  end subroutine
end program
