! kelvin FILE: a burst of wind in the west of an ocean like the Pacific sends a Kelvin wave east along the equator, and Rossby waves come back.
! Writes one netCDF-4 file by netCDF-Fortran: a record of the depth anomaly h(x, y, day) every two days, with nf90_sync after each one.
program kelvin
  use netcdf
  implicit none
  integer, parameter :: columns = 300, rows = 80, days = 400, days_per_record = 2, records = days / days_per_record
  real, parameter :: cell = 5.0e4, beta = 2.3e-11, reduced_gravity = 0.04, depth = 150., second = 7200.  ! second: seconds of a time step
  integer, parameter :: steps_per_record = nint(86400. / second) * days_per_record
  real :: h(columns, rows), u(columns, rows), v(columns, rows), stress(columns, rows)
  real :: x(columns), y(rows)
  character(len=200) :: path
  integer :: id, h_id, wind_id, forcing, record, step, column, row

  call get_command_argument(1, path)
  x = [(cell * (column - 0.5), column = 1, columns)]
  y = [(cell * (row - 0.5 - rows / 2), row = 1, rows)]
  h = 0
  u = 0
  v = 0
  call define
  do record = 1, records
    do step = 1, steps_per_record
      call advance(((record - 1) * steps_per_record + step) * second / 86400)
    end do
    call check(nf90_put_var(id, h_id, h, start=[1, 1, record], count=[columns, rows, 1]))
    call check(nf90_put_var(forcing, wind_id, [maxval(stress)], start=[record], count=[1]))
    call check(nf90_sync(id))
  end do
  call check(nf90_close(id))

contains

  subroutine define
    integer :: x_dim, y_dim, day_dim, x_id, y_id
    call check(nf90_create(trim(path), NF90_NETCDF4, id))
    call check(nf90_put_att(id, NF90_GLOBAL, "title", "waves on the equator after a burst of wind"))
    call check(nf90_put_att(id, NF90_GLOBAL, "records", records))
    call check(nf90_def_dim(id, "x", columns, x_dim))
    call check(nf90_def_dim(id, "y", rows, y_dim))
    call check(nf90_def_dim(id, "day", NF90_UNLIMITED, day_dim))
    call check(nf90_def_var(id, "x", NF90_FLOAT, [x_dim], x_id))
    call check(nf90_put_att(id, x_id, "units", "m"))
    call check(nf90_def_var(id, "y", NF90_FLOAT, [y_dim], y_id))
    call check(nf90_put_att(id, y_id, "units", "m"))
    call check(nf90_def_var(id, "h", NF90_FLOAT, [x_dim, y_dim, day_dim], h_id, &
      chunksizes=[columns, rows, 1], shuffle=.true., deflate_level=4))
    call check(nf90_put_att(id, h_id, "long_name", "how much deeper the warm layer is"))
    call check(nf90_put_att(id, h_id, "units", "m"))
    call check(nf90_def_grp(id, "forcing", forcing))
    call check(nf90_def_var(forcing, "wind", NF90_FLOAT, [day_dim], wind_id))
    call check(nf90_put_att(forcing, wind_id, "units", "m s-2"))
    call check(nf90_enddef(id))
    call check(nf90_put_var(id, x_id, x))
    call check(nf90_put_var(id, y_id, y))
  end subroutine

  ! One step of the shallow-water equations on a staggered grid (Arakawa's C): u is on the west side of a cell, v on its south side. The coast is closed.
  subroutine advance(day)
    real, intent(in) :: day
    real :: f(rows), far
    f = beta * y
    do row = 1, rows
      do column = 1, columns
        far = ((x(column) - 3.0e6) / 1.5e6)**2 + (y(row) / 5.0e5)**2
        stress(column, row) = merge(4.0e-7, 0.0, day < 30) * exp(-far)
      end do
    end do
    u(2:, :) = u(2:, :) + second * (-reduced_gravity * (h(2:, :) - h(:columns - 1, :)) / cell + stress(2:, :))
    do row = 2, rows - 1
      u(2:, row) = u(2:, row) + second * f(row) &
        * (v(2:, row) + v(:columns - 1, row) + v(2:, row + 1) + v(:columns - 1, row + 1)) / 4
    end do
    v(:, 2:) = v(:, 2:) - second * reduced_gravity * (h(:, 2:) - h(:, :rows - 1)) / cell
    do row = 2, rows
      v(:columns - 1, row) = v(:columns - 1, row) - second * (f(row) + f(row - 1)) / 2 &
        * (u(:columns - 1, row) + u(2:, row) + u(:columns - 1, row - 1) + u(2:, row - 1)) / 4
    end do
    u = u * 0.9999
    v = v * 0.9999
    h(:columns - 1, :) = h(:columns - 1, :) - second * depth * (u(2:, :) - u(:columns - 1, :)) / cell
    h(columns, :) = h(columns, :) + second * depth * u(columns, :) / cell
    h(:, :rows - 1) = h(:, :rows - 1) - second * depth * (v(:, 2:) - v(:, :rows - 1)) / cell
    h(:, rows) = h(:, rows) + second * depth * v(:, rows) / cell
  end subroutine

  subroutine check(status)
    integer, intent(in) :: status
    if (status == NF90_NOERR) return
    print *, "kelvin: ", trim(nf90_strerror(status))
    stop 1
  end subroutine
end program
