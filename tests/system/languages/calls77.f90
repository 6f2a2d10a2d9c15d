! calls77 PATH: functions of the Fortran 77 interface on one file, with right and wrong arguments; prints what is seen, to compare two libraries.
program calls77
  use mpi
  implicit none
  include 'pnetcdf.inc'
  integer :: st, ncid, x, y, t, v, c, info, n, req, ids(3), fmt, no_fill
  integer(kind=8) :: len8, start(3), count(3), stride(3), imap(3), starts(2,2), counts(2,2), off
  integer :: vals(12), i, big(100)
  integer(kind=2) :: s2(12)
  character(len=40) :: name
  character(len=5) :: txt
  character(len=20) :: path
  call MPI_Init(st)
  call get_command_argument(1, path)
  print *, nfmpi_create(MPI_COMM_WORLD, path, nf_clobber, MPI_INFO_NULL, ncid)
  print *, nfmpi_def_dim(ncid, 'x  ', 4_8, x), x, nfmpi_def_dim(ncid, 'y', 3_8, y), y, nfmpi_def_dim(ncid, 't', nfmpi_unlimited, t), t
  print *, nfmpi_def_dim(ncid, 'x', 4_8, n)
  print *, nfmpi_def_var(ncid, 'v', nf_int, 3, (/x, y, t/), v), v
  print *, nfmpi_def_var(ncid, 'c', nf_char, 1, (/x/), c), c
  print *, nfmpi_put_att_int2(ncid, v, 'a', nf_double, 3_8, (/1_2, 2_2, 3_2/))
  print *, nfmpi_put_att_text(ncid, nf_global, 'title ', 5_8, 'hello')
  print *, nfmpi_rename_var(ncid, c, 'chars')
  print *, nfmpi__enddef(ncid, 0_8, 512_8, 0_8, 4_8)
  print *, nfmpi_inq_unlimdim(ncid, n), n
  print *, nfmpi_inq_vardimid(ncid, v, ids), ids
  print *, nfmpi_inq_attid(ncid, v, 'a', n), n
  name = 'zzzzzzzzzz'
  print *, nfmpi_inq_attname(ncid, v, 1, name), name, '|'
  print *, nfmpi_inq_attname(ncid, v, 2, name)
  print *, nfmpi_inq_varname(ncid, 3, name)
  txt = 'zzzzz'
  print *, nfmpi_get_att_text(ncid, nf_global, 'title', txt), txt
  do i = 1, 12
    vals(i) = i
  end do
  start = (/1, 1, 2/); count = (/4, 3, 1/); stride = 1
  print *, nfmpi_put_vara_int_all(ncid, v, start, count, vals)
  imap = (/3, 1, 12/)
  print *, nfmpi_put_varm_int_all(ncid, v, (/1_8, 1_8, 1_8/), count, stride, imap, vals)
  count = (/2, 2, 2/); stride = (/2, 2, 1/); s2 = 0
  print *, nfmpi_get_vars_int2_all(ncid, v, (/1_8, 1_8, 1_8/), count, stride, s2), s2
  print *, nfmpi_get_var1_int_all(ncid, v, (/3_8, 2_8, 2_8/), n), n
  print *, nfmpi_get_var1_int_all(ncid, v, (/5_8, 2_8, 2_8/), n)
  print *, nfmpi_get_var1_int_all(ncid, 7, (/5_8, 2_8, 2_8/), n)
  print *, nfmpi_get_var1_int_all(ncid, v, (/0_8, 2_8, 2_8/), n)
  vals = 0
  print *, nfmpi_get_var_int_all(ncid, v, big)
  print *, nfmpi_put_var_text_all(ncid, c, 'abcd')
  txt = ' '
  print *, nfmpi_get_vara_text_all(ncid, c, (/2_8/), (/2_8/), txt), txt
  print *, nfmpi_begin_indep_data(ncid), nfmpi_get_vara_int(ncid, v, (/1_8,1_8,1_8/), (/4_8,1_8,1_8/), vals), vals(1:4), nfmpi_end_indep_data(ncid)
  print *, nfmpi_buffer_attach(ncid, 1000_8), nfmpi_bput_var1_int(ncid, v, (/1_8,1_8,3_8/), 77, req), nfmpi_inq_nreqs(ncid, n), n
  print *, nfmpi_wait_all(ncid, nf_req_all, ids, ids), nfmpi_buffer_detach(ncid)
  print *, nfmpi_inq_dimlen(ncid, t, len8), len8
  print *, nfmpi_fill_var_rec(ncid, v, 3_8)
  print *, nfmpi_inq_varoffset(ncid, v, off), off, nfmpi_inq_header_extent(ncid, len8), len8, nfmpi_inq_recsize(ncid, len8), len8
  print *, nfmpi_inq_var_fill(ncid, v, no_fill, n), no_fill
  print *, nfmpi_inq_file_info(ncid, info), info /= MPI_INFO_NULL
  name = 'zzzzzzzzzzzzzzzzzzzzzzzzzzz'
  print *, nfmpi_inq_path(ncid, n, name) 
  print *, nfmpi_issyserr(2), nfmpi_issyserr(-33), nfmpi_strerrno(-33), nfmpi_strerrno(0)
  print *, nfmpi_get_vara_all(ncid, v, (/1_8,1_8,2_8/), (/4_8,3_8,1_8/), vals, 12_8, MPI_INTEGER), vals
  ! Text that is mapped, also nonblocking; vard; netCDF version 2's names.
  print *, nfmpi_put_varm_text_all(ncid, c, (/1_8/), (/2_8/), (/2_8/), (/2_8/), 'pxqy')
  txt = '.....'
  print *, nfmpi_get_varm_text_all(ncid, c, (/1_8/), (/2_8/), (/1_8/), (/3_8/), txt), txt
  txt = '.....'
  print *, nfmpi_iget_varm_text(ncid, c, (/1_8/), (/2_8/), (/2_8/), (/2_8/), txt, req), nfmpi_wait_all(ncid, 1, (/req/), ids), ids(1), txt
  print *, nfmpi_buffer_attach(ncid, 100_8), nfmpi_bput_varm_text(ncid, c, (/3_8/), (/2_8/), (/1_8/), (/2_8/), 'm.n', req)
  print *, nfmpi_wait_all(ncid, 1, (/req/), ids), ids(1), nfmpi_buffer_detach(ncid)
  print *, nfmpi_get_var_text_all(ncid, c, txt(1:4)), txt
  call MPI_Type_vector(3, 1, 4, MPI_INTEGER, n, st)
  call MPI_Type_commit(n, st)
  vals(1:3) = (/61, 62, 63/)
  print *, nfmpi_put_vard_all(ncid, v, n, vals, 3_8, MPI_INTEGER), nfmpi_put_vard_all(ncid, v, n, vals, 2_8, MPI_INTEGER)
  print *, nfmpi_get_vard_all(ncid, v, n, vals(4), 3_8, MPI_INTEGER), vals(4:6), nfmpi_get_var1_int_all(ncid, v, (/1_8, 2_8, 1_8/), i), i
  call MPI_Type_free(n, st)
  print *, ncbyte, ncdouble, ncclob, ncnoerr, ncenotvr, maxncnam, maxvdims, filfloat, fildoub, nf2_err, nf_ecmode
  print *, nfmpi_copy_att(ncid, v, 'a', ncid, nf_global)
  print *, nfmpi_close(ncid), nfmpi_inq_file_format(path, fmt), fmt
  print *, nfmpi_open(MPI_COMM_WORLD, 'missing.nc', nf_nowrite, MPI_INFO_NULL, ncid)
  call MPI_Finalize(st)
end program calls77
