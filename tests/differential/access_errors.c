/* The status of every data function for each mistake, and for each pair of mistakes: verbs, shapes, modes. */
#include "calls.h"
#include "report.h"

enum { FIXED, RECORD, SCALAR, TEXTUAL, VARIABLES };

/* Alternative 0 of each list is a valid argument. */
static const MPI_Offset starts[][2] = {{0, 0}, {2, 1}, {3, 3}, {4, 0},  {4, 4},
                                       {0, 4}, {5, 0}, {0, 5}, {-1, 0}, {0, -1}};
static const MPI_Offset counts[][2] = {{1, 1},  {2, 2},  {0, 1}, {1, 0}, {0, 0},
                                       {-1, 1}, {1, -1}, {5, 1}, {1, 5}, {5, -1}};
static const MPI_Offset strides[][2] = {{1, 1}, {2, 1}, {0, 1}, {1, 0}, {-1, 1}, {1, -2}, {4, 1}, {1, 9}};
#define LENGTH(list) (int)(sizeof(list) / sizeof *(list))

static int ncid, varids[VARIABLES];
static int memory[4096];

static void define(const char* path) {
  int t, x, y;
  MUST(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER, MPI_INFO_NULL, &ncid));
  MUST(ncmpi_def_dim(ncid, "t", NC_UNLIMITED, &t));
  MUST(ncmpi_def_dim(ncid, "x", 4, &x));
  MUST(ncmpi_def_dim(ncid, "y", 4, &y));
  const int fixed[] = {x, y}, record[] = {t, x};
  MUST(ncmpi_def_var(ncid, "fixed", NC_INT, 2, fixed, &varids[FIXED]));
  MUST(ncmpi_def_var(ncid, "record", NC_INT, 2, record, &varids[RECORD]));
  MUST(ncmpi_def_var(ncid, "scalar", NC_INT, 0, NULL, &varids[SCALAR]));
  MUST(ncmpi_def_var(ncid, "textual", NC_CHAR, 2, fixed, &varids[TEXTUAL]));
  MUST(ncmpi_enddef(ncid));
  const MPI_Offset start[] = {3, 0}, count[] = {1, 4};
  MUST(ncmpi_put_vara_int_all(ncid, varids[RECORD], start, count, memory));
}

static struct call call_of(enum verb verb, enum shape shape, int varid) {
  static MPI_Offset* start_list[2];
  static MPI_Offset* count_list[2];
  static int request;
  struct call c = {.verb = verb, .shape = shape, .memory = INT, .ncid = ncid, .varid = varid};
  start_list[0] = (MPI_Offset*)starts[0], start_list[1] = (MPI_Offset*)starts[1];
  count_list[0] = count_list[1] = (MPI_Offset*)counts[0];
  c.start = starts[0], c.count = counts[0], c.stride = strides[0], c.imap = NULL;
  c.num = 2, c.starts = start_list, c.counts = count_list;
  c.buffer = memory, c.request = &request;
  return c;
}

static void report_call(struct call* c, const char* what) {
  if (c->request) *c->request = -77;
  const int status = do_call(c);
  MPI_Offset records = -1;
  ncmpi_inq_dimlen(ncid, 0, &records);
  show("%s_%s_%s var %d %s -> %s, request %d, %d records", verb_names[c->verb], shape_names[c->shape],
       memory_names[c->memory], c->varid, what, ncmpi_strerrno(status),
       is_nonblocking(c->verb) && c->request ? *c->request : 0, (int)records);
}

static void forget_requests(void) {
  int pending = -1;
  MUST(ncmpi_inq_nreqs(ncid, &pending));
  show("%d pending", pending);
  MUST(ncmpi_cancel(ncid, NC_REQ_ALL, NULL, NULL));
}

static void selections(enum verb verb) {
  char what[80];
  for (int variable = FIXED; variable <= SCALAR; ++variable) {
    for (int s = 0; s < LENGTH(starts); ++s) {
      for (int n = 0; n < LENGTH(counts); ++n) {
        struct call c = call_of(verb, VARA, varids[variable]);
        c.start = starts[s], c.count = counts[n];
        snprintf(what, sizeof what, "start %d count %d", s, n);
        report_call(&c, what);
        for (int d = 0; d < LENGTH(strides); ++d) {
          c.shape = VARS, c.stride = strides[d];
          snprintf(what, sizeof what, "start %d count %d stride %d", s, n, d);
          report_call(&c, what);
        }
        if (variable == RECORD && n == 7 && !is_nonblocking(verb))
          continue; /* overlapping: the reference fails in MPI-IO */
        MPI_Offset* list[] = {(MPI_Offset*)starts[0], (MPI_Offset*)starts[s]};
        MPI_Offset* lengths[] = {(MPI_Offset*)counts[0], (MPI_Offset*)counts[n]};
        c.shape = VARN, c.starts = list, c.counts = lengths;
        snprintf(what, sizeof what, "list start %d count %d", s, n);
        report_call(&c, what);
      }
      struct call c = call_of(verb, VAR1, varids[variable]);
      c.start = starts[s];
      snprintf(what, sizeof what, "start %d", s);
      report_call(&c, what);
    }
  }
  if (is_nonblocking(verb)) forget_requests();
}

static void missing_arguments(enum verb verb) {
  for (int shape = VAR1; shape <= VARN; ++shape) {
    for (int variable = FIXED; variable < VARIABLES; ++variable) {
      struct call c = call_of(verb, (enum shape)shape, varids[variable]);
      c.start = NULL, report_call(&c, "no start");
      c.count = NULL, report_call(&c, "no start, no count");
      c.start = starts[0], report_call(&c, "no count");
      c.start = starts[6], report_call(&c, "bad start, no count");
      c = call_of(verb, (enum shape)shape, varids[variable]);
      c.stride = NULL, report_call(&c, "no stride");
      if (shape != VARN) continue;
      MPI_Offset* holes[] = {(MPI_Offset*)starts[0], NULL};
      c.starts = NULL, report_call(&c, "no starts");
      c.starts = holes, report_call(&c, "no second start");
      c = call_of(verb, VARN, varids[variable]);
      c.counts = NULL, report_call(&c, "no counts");
      c.counts = holes, report_call(&c, "no second count");
      c.num = 0, report_call(&c, "length 0");
      c.num = -1, report_call(&c, "length -1");
      c.num = 1, report_call(&c, "length 1");
      c.num = 0, c.starts = NULL, c.counts = NULL, report_call(&c, "length 0 and nothing");
    }
  }
  if (is_nonblocking(verb)) forget_requests();
}

static void variables(enum verb verb) {
  const int bad[] = {99, -1, -2, 1 << 30};
  for (int shape = VAR; shape <= VARN; ++shape) {
    for (int i = 0; i < LENGTH(bad); ++i) {
      struct call c = call_of(verb, (enum shape)shape, bad[i]);
      report_call(&c, "bad variable");
      c.start = NULL, report_call(&c, "bad variable, no start");
      c.ncid = 4711, report_call(&c, "bad dataset");
    }
    struct call c = call_of(verb, (enum shape)shape, varids[TEXTUAL]);
    report_call(&c, "numbers as text");
    c.start = starts[6], report_call(&c, "numbers as text, bad start");
    c.start = NULL, report_call(&c, "numbers as text, no start");
    c = call_of(verb, (enum shape)shape, varids[FIXED]);
    c.memory = TEXT, report_call(&c, "text as numbers");
  }
  if (is_nonblocking(verb)) forget_requests();
}

static void buffers(enum verb verb) {
  const MPI_Datatype types[] = {MPI_INT,    MPI_DATATYPE_NULL, MPI_SHORT,   MPI_2INT,
                                MPI_PACKED, MPI_LONG_DOUBLE,   MPI_INT32_T, MPI_LOGICAL};
  const MPI_Offset amounts[] = {4, 3, 5, 0, -1, -2};
  char what[80];
  for (int t = 0; t < LENGTH(types); ++t) {
    for (int n = 0; n < LENGTH(amounts); ++n) {
      for (int bad = 0; bad < 3; ++bad) {
        struct call c = call_of(verb, VARA, varids[FIXED]);
        c.memory = FLEXIBLE, c.buftype = types[t], c.bufcount = amounts[n];
        c.start = starts[bad == 1 ? 6 : 0], c.count = counts[bad == 2 ? 4 : 1];
        snprintf(what, sizeof what, "type %d amount %d %s", t, (int)amounts[n],
                 bad == 1   ? "bad start"
                 : bad == 2 ? "empty"
                            : "");
        if (amounts[n] == -1 && t != 0 && t != 2) continue; /* MPI ends the reference's process here */
        report_call(&c, what);
      }
    }
  }
  if (is_nonblocking(verb)) forget_requests();
}

static void every_mistake(enum verb verb) {
  selections(verb);
  missing_arguments(verb);
  variables(verb);
  buffers(verb);
}

/* One valid call of each function: only the mode matters. */
static void modes(const char* mode) {
  show("== %s", mode);
  for (int verb = 0; verb < VERBS; ++verb) {
    for (int shape = 0; shape < SHAPES; ++shape) {
      struct call c = call_of((enum verb)verb, (enum shape)shape, varids[FIXED]);
      report_call(&c, "in order");
      c.varid = 99, report_call(&c, "bad variable");
      c.varid = varids[TEXTUAL], report_call(&c, "numbers as text");
      c.varid = varids[FIXED], c.start = NULL, report_call(&c, "no start");
    }
  }
  forget_requests();
  int request = 6, status = -77;
  TRY(ncmpi_wait(ncid, 0, NULL, NULL));
  TRY(ncmpi_wait_all(ncid, 0, NULL, NULL));
  TRY(ncmpi_wait(ncid, 1, &request, &status)), show("request %d status %d", request, status);
  TRY(ncmpi_wait_all(ncid, 1, &request, &status)), show("request %d status %d", request, status);
  TRY(ncmpi_cancel(ncid, 1, &request, &status)), show("request %d status %d", request, status);
}

int main(int argc, char** argv) {
  report_begin(&argc, &argv);
  define("access_errors.nc");
  /* With a burst buffer, bput needs no attached buffer. */
  if (argc > 1 && strcmp(argv[1], "unattached") == 0) {
    modes("collective, nothing attached");
    MUST(ncmpi_close(ncid));
    return report_end();
  }
  MUST(ncmpi_buffer_attach(ncid, 1 << 20));
  for (int verb = 0; verb < VERBS; ++verb) {
    if (verb == PUT || verb == GET) continue;
    show("== %s", verb_names[verb]);
    every_mistake((enum verb)verb);
  }
  modes("collective");
  MUST(ncmpi_begin_indep_data(ncid));
  if (report_rank == 0) {
    every_mistake(PUT);
    every_mistake(GET);
  }
  modes("independent");
  MUST(ncmpi_end_indep_data(ncid));
  MUST(ncmpi_redef(ncid));
  modes("define");
  MUST(ncmpi_enddef(ncid));
  MUST(ncmpi_buffer_detach(ncid));
  MUST(ncmpi_close(ncid));
  MUST(ncmpi_open(MPI_COMM_WORLD, "access_errors.nc", NC_NOWRITE, MPI_INFO_NULL, &ncid));
  modes("read-only");
  MUST(ncmpi_close(ncid));
  return report_end();
}
