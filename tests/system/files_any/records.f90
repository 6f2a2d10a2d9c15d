! A model with MPI that writes as Fortran programs do, by the Fortran library alone: records MODE, MODE: write or read.
program records
  use mpi
  implicit none
  integer, parameter :: columns = 500, steps = 3
  integer :: error, rank, ranks, step, i, unit
  character(len=16) :: mode
  character(len=64) :: name, line
  double precision :: row(columns), expected(columns)
  integer :: count = 0
  double precision :: dt = 0
  namelist /setting/ count, dt

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call get_command_argument(1, mode)
  do step = 1, steps
    ! Each rank has a file of its own, unformatted.
    write(name, '(a,i0,a,i0,a)') 'own_', step, '_', rank, '.w'
    expected = [(rank * 1000 + step + i / 4d0, i = 1, columns)]
    if (mode == 'write') then
      open(newunit=unit, file=name, form='unformatted', status='replace')
      write(unit) step, rank
      write(unit) expected
      close(unit)
    else
      open(newunit=unit, file=name, form='unformatted', status='old')
      read(unit) i, error
      call check(i == step .and. error == rank, 'the first record')
      read(unit) row
      call check(all(row == expected), 'the row of a rank')
      close(unit)
    end if
    ! All ranks write their records of one file.
    write(name, '(a,i0,a)') 'shared_', step, '.w'
    if (mode == 'write') then
      if (rank == 0) then
        open(newunit=unit, file=name, form='unformatted', access='direct', recl=8 * columns, status='replace')
        call MPI_Barrier(MPI_COMM_WORLD, error)
      else
        call MPI_Barrier(MPI_COMM_WORLD, error)
        open(newunit=unit, file=name, form='unformatted', access='direct', recl=8 * columns, status='old')
      end if
      write(unit, rec=rank + 1) expected
      call MPI_Barrier(MPI_COMM_WORLD, error)
      close(unit)
    else
      open(newunit=unit, file=name, form='unformatted', access='direct', recl=8 * columns)
      do i = 0, 2
        read(unit, rec=i + 1) row
        call check(row(1) == i * 1000 + step + 0.25d0, 'a record')
      end do
      close(unit)
    end if
  end do
  if (rank == 0) then
    if (mode == 'write') then
      open(10, file='log.w')
      do step = 1, steps
        write(10, '(a,i0)') 'step ', step
      end do
      close(10)
      open(10, file='log.w', position='append', status='old')
      write(10, '(a)') 'end'
      close(10)
      open(11, file='setting.w')
      count = 7
      dt = 0.5d0
      write(11, nml=setting)
      close(11)
      open(12, file='stream.w', access='stream', form='unformatted')
      write(12) 'abc', 1, 2.5d0
      write(12, pos=2) 'B'
      close(12)
      open(13, status='scratch')
      write(13, *) 'nobody sees it'
      close(13)
      open(14, file='gone.w')
      write(14, *) 'gone'
      close(14, status='delete')
      open(15, file='done')
      close(15)
    else
      open(10, file='log.w')  ! for reading or writing, for all that Fortran knows
      do step = 1, steps
        read(10, '(a)') line
        call check(line(1:5) == 'step ', 'a line')
      end do
      read(10, '(a)') line
      call check(line == 'end', 'the last line')
      read(10, '(a)', iostat=error) line
      call check(error /= 0, 'the end of the file')
      close(10)
      open(11, file='setting.w', action='read')
      read(11, nml=setting)
      close(11)
      call check(count == 7 .and. dt == 0.5d0, 'the namelist')
    end if
  end if
  call MPI_Barrier(MPI_COMM_WORLD, error)
  call MPI_Finalize(error)

contains

  subroutine check(condition, text)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: text
    integer :: status
    if (condition) return
    print *, 'WRONG: ', text
    call MPI_Abort(MPI_COMM_WORLD, 1, status)
  end subroutine
end program
