! reaction PREFIX: two substances react and spread (Gray and Scott), and make patterns. Writes PREFIX001.nc … by netCDF-Fortran: u(x, y) and v(x, y), and the time.
program reaction
  use netcdf
  implicit none
  integer, parameter :: cells = 128, files = 20, steps = 250
  real, parameter :: feed = 0.037, kill = 0.06, spread_u = 0.16, spread_v = 0.08
  real :: u(cells, cells), v(cells, cells), rate(cells, cells)
  character(len=200) :: prefix
  integer :: file, step

  call get_command_argument(1, prefix)
  call begin(u, v)
  do file = 1, files
    do step = 1, steps
      rate = u * v * v
      u = u + spread_u * laplacian(u) - rate + feed * (1 - u)
      v = v + spread_v * laplacian(v) + rate - (feed + kill) * v
    end do
    call write_file(file)
  end do

contains

  ! A calm sea of u with some islands of v.
  subroutine begin(u, v)
    real, intent(out) :: u(:, :), v(:, :)
    integer :: island, x, y
    u = 1
    v = 0
    do island = 1, 12
      x = 8 + mod(37 * island, cells - 16)
      y = 8 + mod(61 * island, cells - 16)
      u(x:x + 5, y:y + 5) = 0.5
      v(x:x + 5, y:y + 5) = 0.25
    end do
  end subroutine

  ! The region is a torus.
  function laplacian(a)
    real, intent(in) :: a(:, :)
    real :: laplacian(size(a, 1), size(a, 2))
    laplacian = cshift(a, 1, 1) + cshift(a, -1, 1) + cshift(a, 1, 2) + cshift(a, -1, 2) - 4 * a
  end function

  subroutine write_file(number)
    integer, intent(in) :: number
    integer :: id, x, y, u_id, v_id
    character(len=8) :: name
    write (name, '(i3.3, ".nc")') number
    call check(nf90_create(trim(prefix) // trim(name), NF90_64BIT_OFFSET, id))
    call check(nf90_def_dim(id, "x", cells, x))
    call check(nf90_def_dim(id, "y", cells, y))
    call check(nf90_def_var(id, "u", NF90_FLOAT, [x, y], u_id))
    call check(nf90_def_var(id, "v", NF90_FLOAT, [x, y], v_id))
    call check(nf90_put_att(id, NF90_GLOBAL, "step", number * steps))
    call check(nf90_enddef(id))
    call check(nf90_put_var(id, u_id, u))
    call check(nf90_put_var(id, v_id, v))
    call check(nf90_close(id))
  end subroutine

  subroutine check(status)
    integer, intent(in) :: status
    if (status == NF90_NOERR) return
    print *, "reaction: ", trim(nf90_strerror(status))
    stop 1
  end subroutine
end program
