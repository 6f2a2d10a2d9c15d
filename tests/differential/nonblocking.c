/* Nonblocking requests: ids, statuses, orders, partial waits, cancelling, accounting of the attached
 * buffer, range errors, records, modes, closing. */
#include "report.h"

static int ncid, fixed, record, bytes, shorts, requests[16], statuses[16];
static int memory[256];
static const MPI_Offset origin[] = {0, 0}, one[] = {1, 1}, row[] = {1, 5}, nothing[] = {0, 5};

/* Place i of this rank's row: five elements each. */
static const MPI_Offset* place(int i) {
  static MPI_Offset places[8][2];
  places[i][0] = report_rank, places[i][1] = 5 * i;
  return places[i];
}

static void reset(void) {
  for (int i = 0; i < 16; ++i) requests[i] = -66, statuses[i] = -77;
}

static void show_requests(const int* ids, int n) {
  for (int i = 0; i < n; ++i) show("  request %d: id %d, status %d", i, ids[i], statuses[i]);
  for (int i = 0; i < 16; ++i) statuses[i] = -77;
}

static void show_usage(void) {
  MPI_Offset usage = -7, size = -7;
  int pending = -7;
  const int usage_status = ncmpi_inq_buffer_usage(ncid, &usage),
            size_status = ncmpi_inq_buffer_size(ncid, &size);
  MUST(ncmpi_inq_nreqs(ncid, &pending));
  show("  usage %d (%s), size %d (%s), %d pending", (int)usage, ncmpi_strerrno(usage_status), (int)size,
       ncmpi_strerrno(size_status), pending);
}

static void define(void) {
  int t, x, y, all;
  MUST(ncmpi_create(MPI_COMM_WORLD, "nonblocking.nc", NC_CLOBBER, MPI_INFO_NULL, &ncid));
  MUST(ncmpi_def_dim(ncid, "t", NC_UNLIMITED, &t));
  MUST(ncmpi_def_dim(ncid, "ranks", report_ranks, &all));
  MUST(ncmpi_def_dim(ncid, "x", 4, &x));
  MUST(ncmpi_def_dim(ncid, "y", 40, &y));
  const int of_fixed[] = {all, y}, of_record[] = {t, all};
  MUST(ncmpi_def_var(ncid, "fixed", NC_INT, 2, of_fixed, &fixed));
  MUST(ncmpi_def_var(ncid, "record", NC_INT, 2, of_record, &record));
  MUST(ncmpi_def_var(ncid, "bytes", NC_BYTE, 1, &x, &bytes));
  MUST(ncmpi_def_var(ncid, "shorts", NC_SHORT, 2, of_fixed, &shorts));
  int values[40] = {0};
  const MPI_Offset start[] = {report_rank, 0}, whole[] = {1, 40};
  MUST(ncmpi_enddef(ncid));
  MUST(ncmpi_put_vara_int_all(ncid, fixed, start, whole, values));
  MUST(ncmpi_put_vara_int_all(ncid, shorts, start, whole, values));
}

static void attached_buffer(void) {
  const double reals[] = {1, 2, 3, 4};
  const MPI_Offset three[] = {3, 3}, two_rows[] = {1, 4}, outside[] = {99, 0};
  const MPI_Offset triple[] = {1, 3};
  show_usage();
  TRY(ncmpi_bput_vara_int(ncid, fixed, place(2), one, memory, requests));
  TRY(ncmpi_buffer_detach(ncid));
  TRY(ncmpi_buffer_attach(ncid, 0));
  TRY(ncmpi_buffer_attach(ncid, -1));
  TRY(ncmpi_buffer_attach(ncid, 80)), show_usage();
  TRY(ncmpi_buffer_attach(ncid, 80));
  TRY(ncmpi_bput_vara_int(ncid, fixed, place(0), one, memory, &requests[0])), show_usage();
  TRY(ncmpi_bput_vara_int(ncid, bytes, origin, three, memory, &requests[1])), show_usage();
  TRY(ncmpi_bput_vara_int(ncid, shorts, place(0), triple, memory, &requests[2])), show_usage();
  TRY(ncmpi_bput_vara_double(ncid, shorts, place(1), triple, reals, &requests[3])), show_usage();
  TRY(ncmpi_bput_vara_int(ncid, fixed, place(1), row, memory, &requests[4])), show_usage();
  TRY(ncmpi_bput_vara_int(ncid, fixed, place(5), nothing, memory, &requests[5])), show_usage();
  TRY(ncmpi_bput_vara_int(ncid, fixed, outside, row, memory, &requests[6])), show_usage();
  TRY(ncmpi_bput_vara_int(ncid, fixed, place(2), row, memory, &requests[7])), show_usage();
  TRY(ncmpi_bput_vara_int(ncid, fixed, place(3), row, memory, &requests[8])), show_usage();
  TRY(ncmpi_bput_vara_int(ncid, fixed, place(4), row, memory, &requests[9])), show_usage();
  TRY(ncmpi_buffer_detach(ncid));
  show_requests(requests, 10);
  TRY(ncmpi_cancel(ncid, 1, &requests[1], statuses)), show_requests(&requests[1], 1), show_usage();
  TRY(ncmpi_wait_all(ncid, 1, &requests[0], statuses)), show_requests(requests, 1), show_usage();
  TRY(ncmpi_wait_all(ncid, 2, &requests[2], statuses)), show_requests(&requests[2], 2), show_usage();
  TRY(ncmpi_wait_all(ncid, NC_REQ_ALL, NULL, NULL)), show_usage();
  TRY(ncmpi_bput_vara_int(ncid, fixed, place(0), two_rows, memory, &requests[0])), show_usage();
  memory[1] = 4711; /* after the copy */
  TRY(ncmpi_wait_all(ncid, 1, requests, statuses)), show_requests(requests, 1), show_usage();
  TRY(ncmpi_buffer_detach(ncid)), show_usage();
}

/* If the number of ids is the number of pending requests, and these are all puts or all gets, the
 * reference ignores the ids. */
static void wait_for(int count, int first, int second) {
  int ids[] = {first, second};
  statuses[0] = statuses[1] = 4711;
  TRY(ncmpi_wait_all(ncid, count, ids, statuses)), show_requests(ids, count), show_usage();
  MUST(ncmpi_cancel(ncid, NC_REQ_ALL, NULL, NULL));
}

static void as_many_ids_as_pending(void) {
  reset();
  for (int gets = 0; gets < 2; ++gets) {
    for (int turn = 0; turn < 6; ++turn) {
      for (int i = 0; i < 2; ++i) {
        if (gets)
          MUST(ncmpi_iget_vara_int(ncid, fixed, place(i), one, memory + 100 + i, &requests[i]));
        else
          MUST(ncmpi_iput_vara_int(ncid, fixed, place(i), one, memory + i, &requests[i]));
      }
      switch (turn) {
        case 0:
          wait_for(2, NC_REQ_NULL, NC_REQ_NULL);
          break;
        case 1:
          wait_for(2, 77, requests[0]);
          break;
        case 2:
          wait_for(2, requests[1], requests[1]);
          break;
        case 3:
          wait_for(1, NC_REQ_NULL, 0);
          break; /* fewer */
        case 4:
          wait_for(2, requests[1], NC_REQ_NULL);
          break;
        case 5:
          wait_for(2, -5, 1000);
          break;
      }
    }
  }
  /* One of each kind: the ids count. */
  MUST(ncmpi_iput_vara_int(ncid, fixed, place(0), one, memory, &requests[0]));
  MUST(ncmpi_iget_vara_int(ncid, fixed, place(1), one, memory + 100, &requests[1]));
  wait_for(2, NC_REQ_NULL, NC_REQ_NULL);
  MUST(ncmpi_iput_vara_int(ncid, fixed, place(0), one, memory, &requests[0]));
  MUST(ncmpi_iget_vara_int(ncid, fixed, place(1), one, memory + 100, &requests[1]));
  wait_for(1, NC_REQ_NULL, 0);
  for (int i = 100; i < 102; ++i) show("  %d", memory[i]);
}

static void ids_and_orders(void) {
  const MPI_Offset empty[] = {0, 1};
  reset();
  TRY(ncmpi_iput_vara_int(ncid, fixed, place(0), one, memory, &requests[0]));
  TRY(ncmpi_iput_vara_int(ncid, fixed, place(1), one, memory, &requests[1]));
  TRY(ncmpi_iget_vara_int(ncid, fixed, place(2), one, memory + 100, &requests[2]));
  TRY(ncmpi_iget_vara_int(ncid, fixed, place(3), one, memory + 101, &requests[3]));
  TRY(ncmpi_iput_vara_int(ncid, fixed, place(7), one, memory, NULL));
  TRY(ncmpi_iget_vara_int(ncid, fixed, place(7), one, memory + 102, NULL));
  TRY(ncmpi_iput_vara_int(ncid, fixed, place(4), empty, memory, &requests[4]));
  TRY(ncmpi_iget_vara_int(ncid, fixed, place(5), empty, memory, &requests[5]));
  show_requests(requests, 6), show_usage();
  int wrong[] = {requests[1], 77, requests[2], requests[1], NC_REQ_NULL};
  TRY(ncmpi_wait_all(ncid, 5, wrong, statuses)), show_requests(wrong, 5), show_usage();
  int twice[] = {requests[0], requests[0]};
  TRY(ncmpi_wait_all(ncid, 2, twice, statuses)), show_requests(twice, 2), show_usage();
  TRY(ncmpi_wait_all(ncid, 2, twice, NULL)), show_requests(twice, 2), show_usage();
  int unknown[] = {78, 79, -2, -3};
  TRY(ncmpi_wait_all(ncid, 4, unknown, statuses)), show_requests(unknown, 4), show_usage();
  TRY(ncmpi_cancel(ncid, 2, unknown, statuses)), show_requests(unknown, 2);
  int null[] = {NC_REQ_NULL, NC_REQ_NULL};
  TRY(ncmpi_wait_all(ncid, 2, null, statuses)), show_requests(null, 2);
  TRY(ncmpi_cancel(ncid, 2, null, statuses)), show_requests(null, 2);
  TRY(ncmpi_wait_all(ncid, -4, NULL, NULL));
  TRY(ncmpi_wait_all(ncid, 0, NULL, NULL));
  TRY(ncmpi_cancel(ncid, -4, NULL, NULL));
  TRY(ncmpi_cancel(ncid, 0, NULL, NULL));
  /* In the reference, the requests of a failed wait stay pending. */
  MUST(ncmpi_cancel(ncid, NC_REQ_ALL, NULL, NULL));
  MUST(ncmpi_iput_vara_int(ncid, fixed, place(0), one, memory, NULL));
  MUST(ncmpi_iget_vara_int(ncid, fixed, place(1), one, memory + 104, NULL));
  MUST(ncmpi_iput_vara_int(ncid, fixed, place(6), one, memory, &requests[6]));
  MUST(ncmpi_iget_vara_int(ncid, fixed, place(7), one, memory + 103, &requests[7]));
  int mixed[] = {requests[7], requests[6]};
  TRY(ncmpi_wait_all(ncid, 2, mixed, statuses)), show_requests(mixed, 2), show_usage();
  TRY(ncmpi_wait_all(ncid, NC_PUT_REQ_ALL, NULL, NULL)), show_usage();
  TRY(ncmpi_wait_all(ncid, NC_GET_REQ_ALL, NULL, NULL)), show_usage();
  for (int i = 0; i < 6; ++i) MUST(ncmpi_iput_vara_int(ncid, fixed, place(i), one, memory, &requests[i]));
  show_requests(requests, 6);
  TRY(ncmpi_cancel(ncid, 1, &requests[5], NULL)), show_requests(&requests[5], 1), show_usage();
  TRY(ncmpi_cancel(ncid, 1, &requests[1], NULL)), show_requests(&requests[1], 1), show_usage();
  MUST(ncmpi_iput_vara_int(ncid, fixed, place(1), one, memory, &requests[1]));
  show_requests(&requests[1], 1);
  int backwards[] = {requests[4], requests[0], requests[2]};
  TRY(ncmpi_wait_all(ncid, 3, backwards, statuses)), show_requests(backwards, 3), show_usage();
  TRY(ncmpi_cancel(ncid, NC_GET_REQ_ALL, NULL, NULL)), show_usage();
  TRY(ncmpi_cancel(ncid, NC_PUT_REQ_ALL, NULL, NULL)), show_usage();
}

static void values(void) {
  int large[] = {1, 70000, 3, 4, 5};
  short small[] = {9, 9, 9, 9, 9};
  const MPI_Offset start[] = {report_rank, 0};
  reset();
  TRY(ncmpi_iput_vara_int(ncid, shorts, start, row, large, &requests[0])), show_requests(requests, 1),
      show_usage();
  TRY(ncmpi_wait_all(ncid, 1, requests, statuses)), show_requests(requests, 1);
  MUST(ncmpi_put_vara_int_all(ncid, fixed, start, row, large));
  TRY(ncmpi_iget_vara_short(ncid, fixed, start, row, small, &requests[0]));
  TRY(ncmpi_iput_vara_int(ncid, record, start, one, large, &requests[1]));
  TRY(ncmpi_wait_all(ncid, 2, requests, statuses)), show_requests(requests, 2);
  for (int i = 0; i < 5; ++i) show("  %d", small[i]);
  /* Puts come before gets in one wait, whatever the order of posting. */
  int again[] = {11, 12, 13, 14, 15}, seen[5] = {0};
  TRY(ncmpi_iget_vara_int(ncid, fixed, start, row, seen, &requests[0]));
  TRY(ncmpi_iput_vara_int(ncid, fixed, start, row, again, &requests[1]));
  TRY(ncmpi_wait_all(ncid, 2, requests, statuses)), show_requests(requests, 2);
  for (int i = 0; i < 5; ++i) show("  %d", seen[i]);
  /* The datatype and the arrays of numbers may be freed before the wait. */
  MPI_Datatype spread;
  MPI_Offset begin[] = {report_rank, 0}, length[] = {1, 5};
  int wide[10] = {0};
  MPI_Type_vector(5, 1, 2, MPI_INT, &spread);
  MPI_Type_commit(&spread);
  for (int i = 0; i < 10; ++i) wide[i] = 20 + i;
  TRY(ncmpi_iput_vara(ncid, fixed, begin, length, wide, 1, spread, &requests[0]));
  begin[0] = 77;
  TRY(ncmpi_wait_all(ncid, 1, requests, statuses));
  begin[0] = report_rank;
  memset(wide, 0, sizeof wide);
  TRY(ncmpi_iget_vara(ncid, fixed, begin, length, wide, 1, spread, &requests[0]));
  MPI_Type_free(&spread);
  length[0] = 99;
  TRY(ncmpi_wait_all(ncid, 1, requests, statuses));
  for (int i = 0; i < 10; ++i) show("  %d", wide[i]);
}

static void records(void) {
  const MPI_Offset start[] = {3 + report_rank, report_rank}, beyond[] = {50, 0}, no_elements[] = {1, 0};
  MPI_Offset length = -1;
  reset();
  TRY(ncmpi_iput_vara_int(ncid, record, start, one, memory, &requests[0]));
  TRY(ncmpi_iput_vara_int(ncid, record, beyond, no_elements, memory, &requests[1]));
  MUST(ncmpi_inq_dimlen(ncid, 0, &length));
  show("  %d records", (int)length);
  TRY(ncmpi_iget_vara_int(ncid, record, start, one, memory, &requests[2]));
  TRY(ncmpi_wait_all(ncid, 2, requests, statuses)), show_requests(requests, 3);
  MUST(ncmpi_inq_dimlen(ncid, 0, &length));
  show("  %d records", (int)length);
  if (report_rank == 0) MUST(ncmpi_iput_vara_int(ncid, record, beyond, one, memory, NULL));
  TRY(ncmpi_wait_all(ncid, NC_REQ_ALL, NULL, NULL));
  MUST(ncmpi_inq_dimlen(ncid, 0, &length));
  show("  %d records", (int)length);
  /* Unwritten elements are undefined, and the reference leaves garbage there. */
  static int zeros[1024];
  MUST(ncmpi_put_var_int_all(ncid, record, zeros));
}

/* Requests of one rank only; the other ranks take part without requests. */
static void one_rank(void) {
  reset();
  const int last = report_rank == report_ranks - 1;
  if (last) MUST(ncmpi_iput_vara_int(ncid, fixed, place(0), row, memory + 3, &requests[0]));
  TRY(ncmpi_wait_all(ncid, last, requests, statuses)), show_requests(requests, 1);
}

static void modes(void) {
  const MPI_Offset start[] = {report_rank, 0};
  reset();
  TRY(ncmpi_iput_vara_int(ncid, fixed, start, row, memory, &requests[0]));
  TRY(ncmpi_wait(ncid, 1, requests, statuses)), show_requests(requests, 1);
  TRY(ncmpi_begin_indep_data(ncid));
  TRY(ncmpi_wait_all(ncid, 1, requests, statuses)), show_requests(requests, 1);
  TRY(ncmpi_wait(ncid, 1, requests, statuses)), show_requests(requests, 1);
  TRY(ncmpi_iput_vara_int(ncid, fixed, start, row, memory, &requests[0]));
  TRY(ncmpi_end_indep_data(ncid));
  TRY(ncmpi_redef(ncid));
  TRY(ncmpi_iget_vara_int(ncid, fixed, start, row, memory + 50, &requests[1]));
  TRY(ncmpi_wait_all(ncid, 1, requests, statuses)), show_requests(requests, 1);
  TRY(ncmpi_wait(ncid, 1, requests, statuses)), show_requests(requests, 1);
  show_usage();
  TRY(ncmpi_enddef(ncid));
  TRY(ncmpi_wait_all(ncid, 2, requests, statuses)), show_requests(requests, 2);
}

static void closing(void) {
  const MPI_Offset start[] = {report_rank, 0};
  reset();
  MUST(ncmpi_iput_vara_int(ncid, fixed, start, row, memory, &requests[0]));
  MUST(ncmpi_iget_vara_int(ncid, fixed, start, row, memory + 50, &requests[1]));
  TRY(ncmpi_close(ncid));
  MUST(ncmpi_open(MPI_COMM_WORLD, "nonblocking.nc", NC_NOWRITE, MPI_INFO_NULL, &ncid));
  TRY(ncmpi_iput_vara_int(ncid, fixed, start, row, memory, &requests[0])), show_requests(requests, 1);
  TRY(ncmpi_buffer_attach(ncid, 10)), show_usage();
  TRY(ncmpi_bput_vara_int(ncid, fixed, start, row, memory, &requests[0])), show_requests(requests, 1);
  TRY(ncmpi_wait_all(ncid, NC_PUT_REQ_ALL, NULL, NULL));
  TRY(ncmpi_iget_vara_int(ncid, fixed, start, row, memory + 50, &requests[1]));
  TRY(ncmpi_wait_all(ncid, NC_REQ_ALL, NULL, NULL));
  for (int i = 50; i < 55; ++i) show("  %d", memory[i]);
  TRY(ncmpi_close(ncid));
  TRY(ncmpi_wait_all(ncid, 0, NULL, NULL));
  TRY(ncmpi_cancel(ncid, 0, NULL, NULL));
}

int main(int argc, char** argv) {
  report_begin(&argc, &argv);
  for (int i = 0; i < 256; ++i) memory[i] = i;
  define();
  /* With a burst buffer, invalid ids have another meaning. */
  if (argc > 1 && strcmp(argv[1], "ids") == 0) {
    ids_and_orders();
    as_many_ids_as_pending();
    MUST(ncmpi_close(ncid));
    return report_end();
  }
  /* With a burst buffer, bput does not use the attached buffer. */
  if (argc > 1 && strcmp(argv[1], "attached") == 0) {
    attached_buffer();
    MUST(ncmpi_close(ncid));
    return report_end();
  }
  values();
  records();
  one_rank();
  modes();
  closing();
  return report_end();
}
