/* Random puts and gets of all verbs, shapes, types and buffers. Statuses, values and files must agree.
 * Every rank writes its own rows, because simultaneous writes to one element are undefined. It reads all
 * rows. */
#include "../support/seed.h"
#include "calls.h"
#include "report.h"

enum { ROWS = 4, COLUMNS = 6, RECORDS = 5, ROUNDS = 120, MOST = 4096, FORMATS = 3 };

/* The same numbers on every platform and in both runs. */
struct generator {
  unsigned long long state;
};

static unsigned draw(struct generator* g, unsigned bound) {
  g->state = g->state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (unsigned)((g->state >> 33) % bound);
}

static struct generator shared, own;
static int ncid, types, fixed_ids[11], record_ids[11];
static const nc_type external[] = {NC_BYTE,  NC_CHAR,   NC_SHORT, NC_INT,   NC_FLOAT, NC_DOUBLE,
                                   NC_UBYTE, NC_USHORT, NC_UINT,  NC_INT64, NC_UINT64};
static double aligned[3 * MOST];
static char* const buffer = (char*)aligned;

static void define(int format) {
  const int modes[] = {0, NC_64BIT_OFFSET, NC_64BIT_DATA};
  char name[40];
  int t, rows, columns, old_fill;
  snprintf(name, sizeof name, "access_random_%d.nc", format);
  types = modes[format] == NC_64BIT_DATA ? 11 : 6;
  MUST(ncmpi_create(MPI_COMM_WORLD, name, NC_CLOBBER | modes[format], MPI_INFO_NULL, &ncid));
  MUST(ncmpi_set_fill(ncid, NC_FILL, &old_fill));
  MUST(ncmpi_def_dim(ncid, "t", NC_UNLIMITED, &t));
  MUST(ncmpi_def_dim(ncid, "rows", ROWS * report_ranks, &rows));
  MUST(ncmpi_def_dim(ncid, "columns", COLUMNS, &columns));
  const int fixed[] = {rows, columns}, record[] = {t, rows, columns};
  for (int i = 0; i < types; ++i) {
    snprintf(name, sizeof name, "fixed%d", i);
    MUST(ncmpi_def_var(ncid, name, external[i], 2, fixed, &fixed_ids[i]));
    snprintf(name, sizeof name, "record%d", i);
    MUST(ncmpi_def_var(ncid, name, external[i], 3, record, &record_ids[i]));
  }
  MUST(ncmpi_enddef(ncid));
  for (int i = 0; i < types; ++i) {
    for (int r = 0; r < RECORDS; ++r) MUST(ncmpi_fill_var_rec(ncid, record_ids[i], r));
  }
}

/* Values that every type can hold; sometimes one that only some types can hold. */
static double value(int is_small) {
  const double far[] = {127,   128,          -129,          255,          256,  32768, -32769,
                        65536, 2147483648.0, -2147483649.0, 4294967296.0, 1e15, -1e15, 1e300};
  return !is_small && draw(&own, 12) == 0 ? far[draw(&own, sizeof far / sizeof *far)]
                                          : (double)draw(&own, 100) + (draw(&own, 3) == 0 ? 0.5 : 0);
}

/* Replaces values out of range of the memory type, whose conversion is undefined. */
static double within(double x, double least, double greatest) {
  return x < least || x > greatest ? 7 : x;
}

static void fill_buffer(enum memory memory, int n, int is_small) {
  memset(aligned, 0x5a, sizeof aligned);
  for (int i = 0; i < n; ++i) {
    const double x = value(is_small);
    switch (memory) {
      case TEXT:
        buffer[i] = (char)('a' + draw(&own, 26));
        break;
      case SCHAR:
        ((signed char*)buffer)[i] = (signed char)within(x, -128, 127);
        break;
      case UCHAR:
        ((unsigned char*)buffer)[i] = (unsigned char)within(x, 0, 255);
        break;
      case SHORT:
        ((short*)buffer)[i] = (short)within(x, -32768, 32767);
        break;
      case USHORT:
        ((unsigned short*)buffer)[i] = (unsigned short)within(x, 0, 65535);
        break;
      case INT:
        ((int*)buffer)[i] = (int)within(x, -2147483648.0, 2147483647.0);
        break;
      case UINT:
        ((unsigned*)buffer)[i] = (unsigned)within(x, 0, 4294967295.0);
        break;
      case LONG:
        ((long*)buffer)[i] = (long)within(x, -1e18, 1e18);
        break;
      case FLOAT:
        ((float*)buffer)[i] = (float)within(x, -1e30, 1e30);
        break;
      case DOUBLE:
        ((double*)buffer)[i] = x;
        break;
      case LONGLONG:
        ((long long*)buffer)[i] = (long long)within(x, -1e18, 1e18);
        break;
      default:
        ((unsigned long long*)buffer)[i] = (unsigned long long)within(x, 0, 1e19);
    }
  }
}

static unsigned long long hash(const void* bytes, size_t n) {
  unsigned long long h = 14695981039346656037ULL;
  for (size_t i = 0; i < n; ++i) h = (h ^ ((const unsigned char*)bytes)[i]) * 1099511628211ULL;
  return h;
}

/* A datatype of n elements, contiguous or not. */
static MPI_Datatype derived(MPI_Datatype base, int n, MPI_Offset* items) {
  MPI_Datatype type, inner;
  int lengths[2], places[2], size;
  MPI_Aint lower, extent;
  *items = 1;
  switch (draw(&own, 6)) {
    case 0:
      MPI_Type_contiguous(n, base, &type);
      break;
    case 1:
      MPI_Type_vector(n, 1, 2, base, &type);
      break;
    case 2:
      MPI_Type_get_extent(base, &lower, &extent);
      MPI_Type_create_resized(base, 0, 3 * extent, &type);
      *items = n;
      break;
    case 3:
      lengths[0] = n / 2, lengths[1] = n - n / 2;
      places[0] = n, places[1] = 0;
      MPI_Type_indexed(2, lengths, places, base, &type);
      break;
    case 4:
      size = 2 * n;
      places[0] = n / 2;
      MPI_Type_create_subarray(1, &size, &n, places, MPI_ORDER_C, base, &type);
      break;
    default:
      MPI_Type_vector(1, n, n + 1, base, &inner);
      MPI_Type_dup(inner, &type);
      MPI_Type_free(&inner);
  }
  MPI_Type_commit(&type);
  return type;
}

struct arguments {
  struct call call;
  MPI_Offset start[3], count[3], stride[3], imap[3];
  MPI_Offset list_start[ROWS][3], list_count[ROWS][3];
  MPI_Offset *starts[ROWS], *counts[ROWS];
  int elements, request;
  MPI_Datatype made;
};

/* The range of one dimension. A writing rank stays in its rows. */
static int draw_range(int first, int length, int has_stride, MPI_Offset* start, MPI_Offset* count,
                      MPI_Offset* stride) {
  const int from = (int)draw(&own, (unsigned)length);
  *stride = has_stride ? 1 + draw(&own, 3) : 1;
  const int most = (length - 1 - from) / (int)*stride + 1;
  *start = first + from;
  *count = draw(&own, 20) == 0 ? 0 : 1 + draw(&own, (unsigned)most);
  return (int)*count;
}

static void draw_selection(struct arguments* a, int is_record) {
  struct call* c = &a->call;
  const int writes = is_put(c->verb), d = is_record;
  const int first = writes ? ROWS * report_rank : 0, rows = writes ? ROWS : ROWS * report_ranks;
  const int has_stride = c->shape == VARS || c->shape == VARM;
  c->start = a->start, c->count = a->count, c->stride = a->stride, c->imap = a->imap;
  a->elements = 1;
  if (is_record) a->elements *= draw_range(0, RECORDS, has_stride, a->start, a->count, a->stride);
  a->elements *= draw_range(first, rows, has_stride, a->start + d, a->count + d, a->stride + d);
  a->elements *= draw_range(0, COLUMNS, has_stride, a->start + d + 1, a->count + d + 1, a->stride + d + 1);
  if (c->shape == VAR1) a->elements = 1;
  if (c->shape == VAR) a->elements = (is_record ? RECORDS : 1) * ROWS * report_ranks * COLUMNS;
  if (c->shape == VARS && draw(&own, 5) == 0) {
    for (int i = 0; i < d + 2; ++i) a->stride[i] = 1;
  }
  /* Contiguous, spread out, or with the last two dimensions exchanged. */
  const int layout = (int)draw(&own, 3);
  const MPI_Offset columns = a->count[d + 1], plane = a->count[d] * columns;
  a->imap[d + 1] = layout == 0 ? 1 : layout == 1 ? 2 : a->count[d];
  a->imap[d] = layout == 0 ? columns : layout == 1 ? 2 * columns : 1;
  if (is_record) a->imap[0] = layout == 1 ? 2 * plane : plane;
  if (layout == 0 && draw(&own, 2)) c->imap = NULL;
  if (c->shape != VARN) return;
  /* Parts of rows, in ascending order. */
  c->num = (int)draw(&own, ROWS + 1);
  a->elements = 0;
  for (int i = 0; i < c->num; ++i) {
    MPI_Offset* start = a->starts[i] = a->list_start[i];
    MPI_Offset* count = a->counts[i] = a->list_count[i];
    MPI_Offset stride;
    if (is_record) start[0] = a->start[0] < RECORDS ? a->start[0] : 0, count[0] = 1;
    start[d] = first + i, count[d] = 1;
    a->elements += draw_range(0, COLUMNS, 0, start + d + 1, count + d + 1, &stride);
  }
  c->starts = a->starts, c->counts = a->counts;
}

static void draw_buffer(struct arguments* a, enum memory memory) {
  struct call* c = &a->call;
  a->made = MPI_DATATYPE_NULL;
  c->memory = memory;
  c->buffer = buffer;
  if (draw(&own, 3) || a->elements == 0) return;
  c->memory = FLEXIBLE, c->buftype = mpi_type_of(memory);
  c->bufcount = draw(&own, 3) ? a->elements : -1;
  if (c->shape == VARM || draw(&own, 2)) return;
  a->made = c->buftype = derived(mpi_type_of(memory), a->elements, &c->bufcount);
}

static void draw_call(struct arguments* a, enum verb verb, int type, int is_record) {
  memset(a, 0, sizeof *a);
  struct call* c = &a->call;
  c->verb = verb;
  do {
    c->shape = (enum shape)draw(&shared, SHAPES);
  } while (is_put(verb) && c->shape == VAR);
  enum memory memory;
  do {
    memory = (enum memory)draw(&shared, MEMORIES);
  } while ((memory == TEXT) != (external[type] == NC_CHAR));
  c->ncid = ncid, c->varid = (is_record ? record_ids : fixed_ids)[type], c->request = &a->request;
  draw_selection(a, is_record);
  draw_buffer(a, memory);
  if (is_put(verb)) {
    /* After NC_ERANGE the reference does not write a list. */
    fill_buffer(memory, MOST, c->shape == VARN && !is_nonblocking(verb));
  } else {
    memset(aligned, 0x5a, sizeof aligned);
  }
}

static void perform(int round, struct arguments* a) {
  struct call* c = &a->call;
  int status = do_call(c);
  show("round %d: %s_%s_%s var %d, %d elements -> %s", round, verb_names[c->verb], shape_names[c->shape],
       memory_names[c->memory], c->varid, a->elements, ncmpi_strerrno(status));
  if (is_nonblocking(c->verb)) {
    show("request %d", a->request);
    int request_status = -77;
    status = draw(&shared, 2) ? ncmpi_wait_all(ncid, 1, &a->request, &request_status)
                              : ncmpi_wait_all(ncid, NC_REQ_ALL, NULL, NULL);
    show("wait -> %s, request %d, status %d", ncmpi_strerrno(status), a->request, request_status);
  }
  if (a->made != MPI_DATATYPE_NULL) MPI_Type_free(&a->made);
  if (!is_put(c->verb)) show("read %016llx", hash(aligned, sizeof aligned));
}

static void run(int format, unsigned long long seed) {
  static struct arguments a;
  shared.state = seed + 100 + (unsigned)format;
  own.state = seed + 1000 * (unsigned)format + (unsigned)report_rank;
  show("== format %d", format);
  define(format);
  MUST(ncmpi_buffer_attach(ncid, 1 << 20));
  for (int round = 0; round < ROUNDS; ++round) {
    const enum verb verbs[] = {PUT_ALL, GET_ALL, IPUT, IGET, BPUT, PUT_ALL};
    draw_call(&a, verbs[draw(&shared, 6)], (int)draw(&shared, (unsigned)types), (int)draw(&shared, 2));
    perform(round, &a);
    together();
  }
  /* Puts of other ranks are not visible before end_indep_data: all ranks write, then all read. */
  for (int phase = 0; phase < 2; ++phase) {
    MUST(ncmpi_begin_indep_data(ncid));
    for (int round = 0; round < ROUNDS / 4; ++round) {
      draw_call(&a, phase == 0 ? PUT : GET, (int)draw(&shared, (unsigned)types), (int)draw(&shared, 2));
      perform(round, &a);
    }
    MUST(ncmpi_end_indep_data(ncid));
    MUST(ncmpi_sync(ncid));
    together();
  }
  MUST(ncmpi_buffer_detach(ncid));
  MUST(ncmpi_close(ncid));
}

int main(int argc, char** argv) {
  report_begin(&argc, &argv);
  const unsigned long long seed = test_seed(0);
  for (int format = 0; format < FORMATS; ++format) run(format, seed);
  return report_end();
}
