! calls PATH: kinds, ranks and optional arguments of the Fortran 90 interface, on one file; prints what is seen, so that two libraries can be compared.
program calls
  use mpi
  use pnetcdf
  implicit none
  integer :: status, ncid, dims(3), field, series, title, scalar, id, req(2), st(2), i, count_of_values, natts, unlimited, found(3)
  integer(kind=8) :: length, start(3), count(3), starts(2, 2), counts(2, 2), offset
  integer(kind=2) :: small(4, 3), transposed(3, 4)
  integer(kind=8) :: wide(4, 3)
  real(kind=4) :: single = 4.5
  real(kind=8) :: one, list(2), series_values(2, 2), three = 3, pair(2) = [5, 6], other_pair(2) = [8, 9]
  character(len=8) :: words(2), word
  character(len=256) :: path, name

  call MPI_Init(status)
  call get_command_argument(1, path)
  call report('create', nf90mpi_create(MPI_COMM_WORLD, path, NF90_CLOBBER, MPI_INFO_NULL, ncid))
  length = 4
  call report('def_dim', nf90mpi_def_dim(ncid, 'x', length, dims(1)))
  length = 3
  call report('def_dim', nf90mpi_def_dim(ncid, 'y', length, dims(2)))
  call report('inquire', nf90mpi_inquire(ncid, unlimitedDimId=unlimited))
  print *, 'no record dimension', unlimited
  call report('def_dim', nf90mpi_def_dim(ncid, 't', NF90MPI_UNLIMITED, dims(3)))
  length = 8
  call report('def_dim', nf90mpi_def_dim(ncid, 'letters', length, id))
  call report('def_var', nf90mpi_def_var(ncid, 'field', NF90_INT, dims(1:2), field))
  call report('def_var', nf90mpi_def_var(ncid, 'series', NF90_DOUBLE, dims([1, 3]), series))
  call report('def_var', nf90mpi_def_var(ncid, 'title', NF90_CHAR, [id, dims(2)], title))
  call report('def_var', nf90mpi_def_var(ncid, 'scalar', NF90_FLOAT, scalar))
  call report('put_att', nf90mpi_put_att(ncid, field, 'range', (/1.5, 2.5/)))
  call report('put_att', nf90mpi_put_att(ncid, NF90_GLOBAL, 'count', 7))
  call report('def_var_fill', nf90mpi_def_var_fill(ncid, series, 0, -1.d0))
  call report('enddef', nf90mpi_enddef(ncid))
  call report('inquire', nf90mpi_inquire(ncid, nAttributes=natts, unlimitedDimId=unlimited))
  print *, 'attributes', natts, 'record dimension', unlimited

  small = reshape([(int(i, 2), i=1, 12)], [4, 3])
  call report('put_var_all', nf90mpi_put_var_all(ncid, field, small))
  wide = 0
  call report('get_var_all', nf90mpi_get_var_all(ncid, field, wide))
  print *, wide
  start = 1
  wide = 0
  call report('strided', nf90mpi_get_var_all(ncid, field, wide(:2, :2), start(:2), stride=[2_8, 2_8]))
  print *, wide
  transposed = 0
  call report('mapped', nf90mpi_get_var_all(ncid, field, transposed, count=[4_8, 3_8], map=[3_8, 1_8]))
  print *, transposed
  call report('outside', nf90mpi_get_var_all(ncid, field, wide, [2_8, 1_8]))

  words = ['first   ', 'second  ']
  call report('text', nf90mpi_put_var_all(ncid, title, words))
  call report('text', nf90mpi_get_var_all(ncid, title, word, [1_8, 2_8]))
  print *, word
  call report('scalar', nf90mpi_put_var_all(ncid, scalar, single))
  call report('scalar', nf90mpi_get_var_all(ncid, scalar, one))
  print *, one

  call report('iput', nf90mpi_iput_var(ncid, series, three, req(1), [2_8, 3_8]))
  call report('iput', nf90mpi_iput_var(ncid, series, pair, req(2), [3_8, 1_8]))
  call report('wait_all', nf90mpi_wait_all(ncid, 2, req, st))
  print *, st
  starts = reshape([1_8, 1_8, 3_8, 3_8], [2, 2])
  counts = reshape([1_8, 1_8, 1_8, 1_8], [2, 2])
  call report('varn', nf90mpi_put_varn_all(ncid, series, other_pair, 2, starts, counts))
  list = 0
  call report('varn', nf90mpi_get_varn_all(ncid, series, list, 2, starts))
  print *, list
  call report('varn', nf90mpi_put_varn_all(ncid, series, three, starts))
  one = 0
  call report('varn', nf90mpi_get_varn_all(ncid, series, one, starts))
  print *, one
  call report('iput_varn', nf90mpi_iput_varn(ncid, series, three, req(1), starts(:, 2:2)))
  call report('iget_varn', nf90mpi_iget_varn(ncid, title, word, req(2), reshape([1_8, 2_8], [2, 1])))
  call report('wait_all', nf90mpi_wait_all(ncid, 2, req, st))
  print *, st, word
  call report('inquire', nf90mpi_inquire_dimension(ncid, dims(3), name, length))
  print *, trim(name), length
  call report('fill_var_rec', nf90mpi_fill_var_rec(ncid, series, 2_8))
  call report('record', nf90mpi_get_var_all(ncid, series, series_values, [2_8, 1_8]))
  print *, series_values
  call report('flexible', nf90mpi_get_var_all(ncid, field, small, [1_8, 1_8], [4_8, 3_8], bufcount=12_8, buftype=MPI_INTEGER2))
  print *, small

  call nonblocking
  call datatypes
  call fortran77

  call report('inquire', nf90mpi_inquire_variable(ncid, title, name, ndims=i, dimids=found))
  print *, trim(name), i, found(:i)
  call report('inquire', nf90mpi_inquire_attribute(ncid, field, 'range', len=length, attnum=i))
  print *, length, i
  call report('get_att', nf90mpi_get_att(ncid, field, 'range', list))
  call report('get_att', nf90mpi_get_att(ncid, NF90_GLOBAL, 'count', count_of_values))
  print *, list, count_of_values
  call report('varoffset', nf90mpi_inq_varoffset(ncid, field, offset))
  print *, 'offset', offset
  call report('no such', nf90mpi_inq_varid(ncid, 'missing', id))
  call report('no such', nf90mpi_inq_attname(ncid, field, 1, name))
  print *, trim(name)
  print *, nf90mpi_strerrno(NF90_EBADID), nf90mpi_strerrno(NF90_NOERR)
  call report('close', nf90mpi_close(ncid))
  call MPI_Finalize(status)
contains
  ! iget and bput, also of text and of lists. Not with count or map: then Debian's iget of numbers gives garbage.
  subroutine nonblocking
    integer :: requests(4), statuses(4), used
    integer(kind=8) :: bytes
    integer(kind=2) :: plain(4, 3)
    real(kind=8) :: listed(2)
    character(len=8) :: got, third = 'third   '
    plain = reshape([(int(20 + i, 2), i=1, 12)], [4, 3])
    listed = [1.25d0, 2.5d0]
    call report('buffer_attach', nf90mpi_buffer_attach(ncid, 1000_8))
    call report('bput', nf90mpi_bput_var(ncid, field, plain, requests(1)))
    call report('bput', nf90mpi_bput_var(ncid, title, third, requests(2), [1_8, 3_8]))
    call report('bput', nf90mpi_bput_varn(ncid, series, listed, requests(3), 2, starts))
    call report('buffer', nf90mpi_inq_buffer_usage(ncid, bytes))
    print *, bytes
    plain = 0
    call report('nreqs', nf90mpi_inq_nreqs(ncid, used))
    print *, used
    call report('wait', nf90mpi_wait_all(ncid, 3, requests, statuses))
    print *, statuses(:3)
    call report('buffer_detach', nf90mpi_buffer_detach(ncid))
    listed = 0
    got = ' '
    call report('iget', nf90mpi_iget_var(ncid, field, plain, requests(1)))
    call report('iget', nf90mpi_iget_var(ncid, title, got, requests(2), [1_8, 3_8]))
    call report('iget', nf90mpi_iget_varn(ncid, series, listed, requests(3), 2, starts))
    call report('wait', nf90mpi_wait_all(ncid, 3, requests, statuses))
    print *, statuses(:3), plain, got, listed
    call report('cancel', nf90mpi_iget_var(ncid, field, plain, requests(1)))
    call report('cancel', nf90mpi_cancel(ncid, 1, requests, statuses))
  end subroutine nonblocking

  ! vard: a column of the field, and all of it.
  subroutine datatypes
    integer :: column, all, ignored
    integer :: four(4), twelve(12)
    call MPI_Type_vector(3, 1, 4, MPI_INTEGER, column, ignored)
    call MPI_Type_commit(column, ignored)
    call MPI_Type_contiguous(12, MPI_INTEGER, all, ignored)
    call MPI_Type_commit(all, ignored)
    four = [91, 92, 93, 94]
    call report('put_vard', nf90mpi_put_vard_all(ncid, field, column, four, 3_8, MPI_INTEGER))
    twelve = 0
    call report('get_vard', nf90mpi_get_vard_all(ncid, field, all, twelve, 12_8, MPI_INTEGER))
    print *, twelve
    call report('put_vard', nf90mpi_put_vard_all(ncid, field, column, four, 4_8, MPI_INTEGER))
    call report('indep', nf90mpi_begin_indep_data(ncid))
    call report('put_vard', nf90mpi_put_vard(ncid, field, column, four(2:), 3_8, MPI_INTEGER))
    call report('get_vard', nf90mpi_get_vard(ncid, field, column, twelve, 3_8, MPI_INTEGER))
    print *, twelve(:3)
    call report('indep', nf90mpi_end_indep_data(ncid))
    call MPI_Type_free(column, ignored)
    call MPI_Type_free(all, ignored)
  end subroutine datatypes

  ! Through the module also the Fortran 77 interface, with its constants: scalars, arrays and texts as buffers, and kinds of the program's own names.
  subroutine fortran77
    integer, parameter :: EightByteInt = selected_int_kind(18)
    integer(kind=EightByteInt) :: first(3), extent(3), length8
    integer :: numbers(4, 3), number, format, requests(2), statuses(2), kind_of_fill
    real(kind=8) :: fill
    character(len=8) :: text
    first = 1
    extent = [4, 3, 1]
    call report('flush', nfmpi_flush(ncid))
    numbers = reshape([(100 + i, i=1, 12)], [4, 3])
    number = 77
    call report('put_vara', nfmpi_put_vara_int_all(ncid, field, first, extent, numbers))
    call report('put_var1', nfmpi_begin_indep_data(ncid))
    call report('put_var1', nfmpi_put_var1_int(ncid, field, [2_8, 3_8], number))
    call report('put_var1', nfmpi_put_var1_int(ncid, field, [5_8, 3_8], number))
    number = 0
    call report('get_var1', nfmpi_get_var1_int(ncid, field, [2_8, 3_8], number))
    call report('get_var1', nfmpi_end_indep_data(ncid))
    numbers = 0
    call report('get_vars', nfmpi_get_vars_int_all(ncid, field, first, [2_8, 2_8], [2_8, 2_8], numbers(2:3, 1:2)))
    print *, number, numbers
    call report('iput', nfmpi_iput_vara_int(ncid, field, first, [2_8, 1_8], numbers(2:3, 1), requests(1)))
    call report('iget', nfmpi_iget_vara_text(ncid, title, first, [8_8, 1_8], text, requests(2)))
    call report('wait', nfmpi_wait_all(ncid, 2, requests, statuses))
    print *, statuses, text
    call report('inq_format', nfmpi_inq_format(ncid, format))
    call report('inq_dimlen', nfmpi_inq_dimlen(ncid, dims(1), length8))
    call report('fill', nfmpi_inq_var_fill(ncid, series, kind_of_fill, fill))
    call report('inq_atttype', nfmpi_inq_atttype(ncid, nf_global, 'count', number))
    print *, format == nf_format_classic, length8, kind_of_fill, fill, number == nf_int
    print *, nfmpi_issyserr(2), nfmpi_issyserr(nf_ebadid)
    print *, nfmpi_unlimited, nf_fill_int, filbyte, ncglobal, nf90_edims_size_multidefine == nf_emultidefine_dim_size
    print *, pnetcdf_erange_fill
    print *, trim(nfmpi_strerror(nf_ebadid)), ' ', trim(nfmpi_strerrno(nf_ebadid))
  end subroutine fortran77

  subroutine report(what, code)
    character(len=*), intent(in) :: what
    integer, intent(in) :: code
    print *, what, code, trim(nf90mpi_strerror(code))
  end subroutine report
end program calls
