C     field77 writer|reader PATH: the file of field.f90 through PnetCDF's
C     Fortran 77 interface.
      program field77
      implicit none
      include 'mpif.h'
      include 'pnetcdf.inc'
      integer nx, ny
      parameter (nx = 60, ny = 24)
      integer rank, ranks, ierr, ncid, dims(2), id, first, last
      integer i, j, n, wrong, ids(2), kind, ndims, natts, req(1), st(1)
      integer*8 start(2), count(2), length, extent
      double precision values(nx * ny)
      character*16 role, units
      character*256 path, name

      call MPI_Init(ierr)
      call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
      call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
      call getarg(1, role)
      call getarg(2, path)
      n = 0
      if (role .eq. 'writer') then
         first = ny * rank / ranks
         last = ny * (rank + 1) / ranks
         do 20 j = first + 1, last
            do 10 i = 1, nx
               n = n + 1
               values(n) = 1000 * j + i
 10         continue
 20      continue
         call check(nfmpi_create(MPI_COMM_WORLD, path,
     +     nf_64bit_data, MPI_INFO_NULL, ncid), 'create')
         length = nx
         call check(nfmpi_def_dim(ncid, 'x', length, dims(1)), 'x')
         length = ny
         call check(nfmpi_def_dim(ncid, 'y', length, dims(2)), 'y')
         call check(nfmpi_def_var(ncid, 'field', nf_double, 2, dims,
     +     id), 'def_var')
         length = 6
         call check(nfmpi_put_att_text(ncid, id, 'units', length,
     +     'kelvin'), 'put_att')
         call check(nfmpi_enddef(ncid), 'enddef')
         start(1) = 1
         start(2) = first + 1
         count(1) = nx
         count(2) = last - first
         call check(nfmpi_iput_vara_double(ncid, id, start, count,
     +     values, req), 'iput')
         call check(nfmpi_wait_all(ncid, 1, req, st), 'wait_all')
         call check(st(1), 'status')
      else
         call check(nfmpi_open(MPI_COMM_WORLD, path, nf_nowrite,
     +     MPI_INFO_NULL, ncid), 'open')
         call check(nfmpi_inq_varid(ncid, 'field', id), 'inq_varid')
         call check(nfmpi_inq_var(ncid, id, name, kind, ndims, ids,
     +     natts), 'inq_var')
         if (name .ne. 'field') call fail('name')
         if (kind .ne. nf_double) call fail('type')
         if (ndims .ne. 2 .or. natts .ne. 1) call fail('inq_var')
         call check(nfmpi_inq_dim(ncid, ids(1), name, extent), 'dim')
         if (name .ne. 'x' .or. extent .ne. nx) call fail('dim x')
         units = ' '
         call check(nfmpi_get_att_text(ncid, id, 'units', units),
     +     'get_att')
         if (units .ne. 'kelvin') call fail('units')
         first = nx * rank / ranks
         last = nx * (rank + 1) / ranks
         start(1) = first + 1
         start(2) = 1
         count(1) = last - first
         count(2) = ny
         call check(nfmpi_get_vara_double_all(ncid, id, start, count,
     +     values), 'get_vara')
         wrong = 0
         do 40 j = 1, ny
            do 30 i = first + 1, last
               n = n + 1
               if (values(n) .ne. 1000 * j + i) wrong = wrong + 1
 30         continue
 40      continue
         if (wrong .gt. 0) call fail('values')
      end if
      call check(nfmpi_close(ncid), 'close')
      call MPI_Finalize(ierr)
      end

      subroutine check(code, what)
      implicit none
      include 'pnetcdf.inc'
      integer code
      character*(*) what
      if (code .eq. nf_noerr) return
      print *, nfmpi_strerror(code)
      call fail(what)
      end

      subroutine fail(what)
      implicit none
      include 'mpif.h'
      character*(*) what
      integer ierr
      print *, what, ' is wrong'
      call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
      end
