/* Writes or reads files whose content follows from a seed: dimensions, attributes, variables of all types,
 * and puts of many kinds. A reader prints what it finds, so two runs can be compared.
 *
 *     random_files write SEED FILES PREFIX
 *     random_files read  SEED FILES PREFIX OUTPUT    one file OUTPUT.NUMBER.RANK for each file and rank
 *
 * The process writes or reads PREFIX0.nc, PREFIX1.nc, … in this order; with STREAM in the environment
 * PREFIX.nc each time. Each element of a variable is only put by one rank, in an order that is defined. All
 * ranks draw the same numbers. More in the environment:
 *
 *     FORMAT4  the C library also writes netCDF-4 files
 *     ONCE     each variable is put at most once, and defined at the begin
 *     REOPEN   the writer opens some files again, and goes on
 *     KILL=N   a rank kills itself at its N-th point, once: then the file killed.NAME is there
 *
 * A reader that is started again goes on behind the files whose results all ranks have saved. A rank saves
 * its results before it closes the file. */
#include "layer.h"

enum { MOST_DIMS = 5, MOST_VARS = 7, MOST_ELEMENTS = 200000, MOST_PIECES = 6 };

struct generator {
  unsigned long long state;
};

static unsigned draw(struct generator* g, unsigned bound) {
  g->state = g->state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (unsigned)((g->state >> 33) % bound);
}

/* A generator for one purpose. */
static struct generator generator_of(unsigned long long seed, unsigned file, unsigned purpose) {
  struct generator g = {seed * 1000003ULL + file * 7919ULL + purpose * 104729ULL};
  for (int i = 0; i < 4; ++i) draw(&g, 2);
  return g;
}

/* A place where a process may end. */
static void point(void) {
  static int passed;
  const char* const kill_at = getenv("KILL");
  if (kill_at == NULL || ++passed != atoi(kill_at) || atoi(kill_at) % ranks != rank) return;
  const int mark = open(getenv("KILL_MARK"), O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (mark >= 0) raise(SIGKILL);
}

struct variable {
  int id, ndims, is_text, is_record;
  int by; /* the dimension by which ranks divide it; -1: rank 0 has it all */
  int is_cyclic, is_put;
  extent shape[MOST_RANK]; /* of a record variable: the records that are put */
};

struct file {
  int id, ndims, nvars, has_records;
  extent records;
  unsigned version;
  extent lengths[MOST_DIMS];
  struct variable vars[MOST_VARS];
};

static const nc_type types[] = {NC_CHAR,  NC_BYTE,   NC_SHORT, NC_INT,   NC_FLOAT, NC_DOUBLE,
                                NC_UBYTE, NC_USHORT, NC_UINT,  NC_INT64, NC_UINT64};
static double numbers[MOST_ELEMENTS * 2];
static char text[MOST_ELEMENTS * 2];

static void put_attributes(struct generator* g, int id, int varid) {
  const unsigned count = draw(g, 3);
  for (unsigned i = 0; i < count; ++i) {
    char name[40];
    snprintf(name, sizeof name, "attribute_%u", draw(g, 4));
    if (draw(g, 2)) {
      char words[60];
      snprintf(words, sizeof words, "%.*s", (int)draw(g, 50),
               "the quick brown fox jumps over the lazy dog, and on it goes");
      MUST(NAME(put_att_text)(id, varid, name, strlen(words), words));
    } else {
      double values[5];
      for (int k = 0; k < 5; ++k) values[k] = draw(g, 100);
      MUST(NAME(put_att_double)(id, varid, name, types[1 + draw(g, 5)], 1 + draw(g, 5), values));
    }
  }
}

static void define_variable(struct generator* g, struct file* file) {
  struct variable* v = &file->vars[file->nvars];
  char name[40];
  int dims[MOST_RANK];
  extent elements = 1;
  const nc_type type = types[draw(g, file->version == 5 ? 11 : 6)];
  memset(v, 0, sizeof *v);
  v->is_text = type == NC_CHAR;
  v->ndims = (int)draw(g, MOST_RANK);
  v->is_record = file->has_records && v->ndims > 0 && draw(g, 2);
  v->by = -1;
  for (int i = 0; i < v->ndims; ++i) {
    dims[i] = v->is_record && i == 0
                  ? 0
                  : file->has_records + (int)draw(g, (unsigned)(file->ndims - file->has_records));
    v->shape[i] = dims[i] == 0 && v->is_record ? file->records : file->lengths[dims[i]];
    if (elements * v->shape[i] > MOST_ELEMENTS) { /* too large: fewer dimensions */
      v->ndims = i;
      break;
    }
    elements *= v->shape[i];
  }
  v->is_record = v->is_record && v->ndims > 0;
  if (v->ndims > v->is_record) v->by = v->is_record + (int)draw(g, (unsigned)(v->ndims - v->is_record));
  v->is_cyclic = draw(g, 3) == 0;
  snprintf(name, sizeof name, "variable_%d", file->nvars++);
  MUST(NAME(def_var)(file->id, name, type, v->ndims, dims, &v->id));
  put_attributes(g, file->id, v->id);
}

/* All records exist from the begin on. PnetCDF fills records only when it is told to; the C library fills
 * them when there is a later one. */
static void end_definitions(const struct file* file, int first_new) {
  MUST(NAME(enddef)(file->id));
  for (int i = first_new; i < file->nvars; ++i) {
    if (!file->vars[i].is_record) continue;
#ifdef SERIAL
    const size_t last[MOST_RANK] = {file->records - 1};
    char value[8];
    MUST(nc_inq_var_fill(file->id, file->vars[i].id, NULL, value));
    MUST(nc_put_var1(file->id, file->vars[i].id, last, value));
#else
    for (extent k = 0; k < file->records; ++k) MUST(ncmpi_fill_var_rec(file->id, file->vars[i].id, k));
#endif
  }
}

static void define(struct generator* g, struct file* file) {
  int ignored, dimid;
  file->ndims = 2 + (int)draw(g, MOST_DIMS - 1);
  file->has_records = draw(g, 2) && getenv("ONCE") == NULL;
  file->records = 1 + draw(g, 4);
  file->nvars = 0;
  for (int i = 0; i < file->ndims; ++i) {
    char name[40];
    snprintf(name, sizeof name, "dimension_%d", i);
    file->lengths[i] = draw(g, 6) == 0 ? 1000 + draw(g, 9000) : 1 + draw(g, 12);
    MUST(
        NAME(def_dim)(file->id, name, i == 0 && file->has_records ? NC_UNLIMITED : file->lengths[i], &dimid));
  }
  put_attributes(g, file->id, NC_GLOBAL);
  MUST(NAME(set_fill)(file->id, NC_FILL, &ignored)); /* so that what nobody puts is defined */
  for (int i = 1 + (int)draw(g, MOST_VARS - 2); i > 0; --i) define_variable(g, file);
}

struct slab {
  extent start[MOST_RANK], count[MOST_RANK], stride[MOST_RANK], elements;
};

/* A part of what this rank has of the variable; maybe nothing. All ranks draw alike. */
static struct slab slab_of(struct generator* g, const struct variable* v, int by_rank, int of_ranks) {
  struct slab s;
  s.elements = 1;
  for (int i = 0; i < v->ndims; ++i) {
    const extent n = v->shape[i];
    extent first = 0, length = n;
    s.stride[i] = 1;
    if (i == v->by) {
      if (v->is_cyclic) {
        first = by_rank;
        s.stride[i] = of_ranks;
        length = n > first ? (n - first + of_ranks - 1) / of_ranks : 0;
      } else {
        first = n * by_rank / of_ranks;
        length = n * (by_rank + 1) / of_ranks - first;
      }
    } else if (draw(g, 3) == 0) {
      first = draw(g, (unsigned)n);
      length = 1 + draw(g, (unsigned)(n - first));
    }
    s.start[i] = length > 0 ? first : 0;
    s.count[i] = length;
    s.elements *= length;
  }
  if (v->by < 0 && by_rank > 0) {
    s.elements = 0;
    for (int i = 0; i < v->ndims; ++i) s.count[i] = 0;
  }
  return s;
}

static void fill_from(unsigned base, const struct variable* v, extent elements, extent at) {
  for (extent i = 0; i < elements; ++i) {
    if (v->is_text)
      text[at + i] = (char)('a' + (base + i * 7) % 26);
    else
      numbers[at + i] = (double)((base + i * 13 + (extent)rank * 5) % 120);
  }
}

static void fill(struct generator* g, const struct variable* v, extent elements, extent at) {
  fill_from(draw(g, 90), v, elements, at);
}

/* The variable of the next put. With ONCE, one that was put already is not put again: then it is NULL. */
static struct variable* choose(struct generator* g, struct file* f) {
  struct variable* const v = &f->vars[draw(g, (unsigned)f->nvars)];
  if (getenv("ONCE") == NULL) return v;
  if (v->is_put & 1 << rank) return NULL;
  v->is_put |= 1 << rank;
  return v;
}

/* Puts what lies at `at` in the buffers. */
static void put_slab(const struct file* f, const struct variable* v, const struct slab* s, extent at,
                     int is_collective) {
#ifdef SERIAL
  const ptrdiff_t* stride = (const ptrdiff_t*)s->stride;
  (void)is_collective;
  if (s->elements == 0) return;
  if (v->is_text)
    MUST(nc_put_vars_text(f->id, v->id, s->start, s->count, stride, text + at));
  else
    MUST(nc_put_vars_double(f->id, v->id, s->start, s->count, stride, numbers + at));
#else
  if (!is_collective && s->elements == 0) return;
  if (is_collective && v->is_text)
    MUST(ncmpi_put_vars_text_all(f->id, v->id, s->start, s->count, s->stride, text + at));
  else if (is_collective)
    MUST(ncmpi_put_vars_double_all(f->id, v->id, s->start, s->count, s->stride, numbers + at));
  else if (v->is_text)
    MUST(ncmpi_put_vars_text(f->id, v->id, s->start, s->count, s->stride, text + at));
  else
    MUST(ncmpi_put_vars_double(f->id, v->id, s->start, s->count, s->stride, numbers + at));
#endif
}

static void put_collectively(struct generator* g, struct file* f) {
  const struct variable* v = choose(g, f);
  if (v == NULL) return;
  struct slab s = slab_of(g, v, rank, ranks);
  fill(g, v, s.elements, 0);
  if (v->ndims == 0) { /* by all ranks, with the same value */
    text[0] = 'q';
    numbers[0] = 42;
    s.elements = 1;
  }
  put_slab(f, v, &s, 0, 1);
}

static void put_alone(struct generator* g, struct file* f) {
  const struct variable* v = choose(g, f);
  if (v == NULL) return;
  const struct slab s = slab_of(g, v, rank, ranks);
  fill(g, v, s.elements, 0);
#ifndef SERIAL
  MUST(ncmpi_begin_indep_data(f->id));
#endif
  put_slab(f, v, &s, 0, 0);
#ifndef SERIAL
  MUST(ncmpi_end_indep_data(f->id));
#endif
}

/* One wait for puts of several variables. */
static void put_by_requests(struct generator* g, struct file* f) {
  int ids[3], n = 0;
  extent at = 0;
  const int count = 1 + (int)draw(g, 3), is_alone = draw(g, 3) == 0;
#ifndef SERIAL
  int requests[3], statuses[3];
#else
  (void)is_alone;
#endif
  for (int i = 0; i < count; ++i) {
    const struct variable* v = choose(g, f);
    if (v == NULL) continue;
    const struct slab s = slab_of(g, v, rank, ranks);
    int is_again = v->ndims == 0 || at > MOST_ELEMENTS; /* puts of one wait have no order */
    for (int k = 0; k < n; ++k) is_again = is_again || ids[k] == v->id;
    const unsigned base = draw(g, 90);
    if (is_again) continue;
    fill_from(base, v, s.elements, at);
    ids[n] = v->id;
#ifdef SERIAL
    put_slab(f, v, &s, at, 0);
#else
    if (v->is_text)
      MUST(ncmpi_iput_vars_text(f->id, v->id, s.start, s.count, s.stride, text + at, &requests[n]));
    else
      MUST(ncmpi_iput_vars_double(f->id, v->id, s.start, s.count, s.stride, numbers + at, &requests[n]));
#endif
    ++n;
    at += s.elements;
  }
#ifndef SERIAL
  if (is_alone) {
    MUST(ncmpi_begin_indep_data(f->id));
    MUST(ncmpi_wait(f->id, n, requests, statuses));
    MUST(ncmpi_end_indep_data(f->id));
  } else {
    MUST(ncmpi_wait_all(f->id, n, requests, statuses));
  }
  for (int i = 0; i < n; ++i) MUST(statuses[i]);
#endif
}

/* Some single rows along the divided dimension. */
static void put_pieces(struct generator* g, struct file* f) {
  const struct variable* v = choose(g, f);
  if (v == NULL) return;
  const struct slab s = slab_of(g, v, rank, ranks);
  struct slab pieces[MOST_PIECES];
  extent elements = 0;
  int n = 0;
  for (; v->by >= 0 && n < MOST_PIECES && (extent)n < s.count[v->by]; ++n) {
    pieces[n] = s;
    pieces[n].start[v->by] = s.start[v->by] + (extent)n * s.stride[v->by];
    pieces[n].count[v->by] = 1;
    pieces[n].elements = s.elements / s.count[v->by];
    elements += pieces[n].elements;
  }
  fill(g, v, elements, 0);
  if (v->ndims == 0) return;
#ifdef SERIAL
  elements = 0;
  for (int i = 0; i < n; ++i) {
    put_slab(f, v, &pieces[i], elements, 1);
    elements += pieces[i].elements;
  }
#else
  extent *starts[MOST_PIECES], *counts[MOST_PIECES];
  for (int i = 0; i < n; ++i) {
    starts[i] = pieces[i].start;
    counts[i] = pieces[i].count;
  }
  if (v->is_text)
    MUST(ncmpi_put_varn_text_all(f->id, v->id, n, starts, counts, text));
  else
    MUST(ncmpi_put_varn_double_all(f->id, v->id, n, starts, counts, numbers));
#endif
}

static void put_as_rank(struct generator* g, struct file* f) {
  switch (draw(g, 6)) {
    case 0:
      return put_by_requests(g, f);
    case 1:
      return put_alone(g, f);
    case 2:
      return put_pieces(g, f);
    case 3:
      MUST(NAME(sync)(f->id));
      return put_collectively(g, f);
    default:
      return put_collectively(g, f);
  }
}

static void put(struct generator* g, struct file* f) {
#ifdef SERIAL
  const struct generator before = *g;
  for (rank = 0; rank < ranks; ++rank) {
    *g = before;
    put_as_rank(g, f);
  }
#else
  put_as_rank(g, f);
#endif
}

static void put_some(struct generator* g, struct file* f) {
  for (unsigned i = 1 + draw(g, 8); i > 0; --i) {
    put(g, f);
    point();
    if (f->nvars < MOST_VARS && getenv("ONCE") == NULL && draw(g, 10) == 0) {
      MUST(NAME(redef)(f->id));
      define_variable(g, f);
      put_attributes(g, f->id, NC_GLOBAL);
      end_definitions(f, f->nvars - 1);
    }
  }
}

static void write_file(unsigned long long seed, unsigned number, const char* path) {
  struct generator g = generator_of(seed, number, 1);
  struct file f;
  const unsigned versions[] = {1, 2, 5};
  const int modes[] = {0, NC_64BIT_OFFSET, 0, 0, NC_64BIT_DATA};
  memset(&f, 0, sizeof f);
  f.version = versions[draw(&g, 3)];
  int mode = modes[f.version - 1];
#ifdef SERIAL
  if (getenv("FORMAT4") != NULL && draw(&g, 2)) mode = NC_NETCDF4 | NC_CLASSIC_MODEL, f.version = 1;
#endif
    /* One that is given up. The C library closes it before it removes it, so a reader may see it for a
     * moment. */
#ifndef SERIAL
  if (draw(&g, 8) == 0) {
    MUST(create(path, NC_CLOBBER | mode, &f.id));
    define(&g, &f);
    point();
    MUST(ncmpi_abort(f.id));
  }
#else
  if (draw(&g, 8) == 0) {
    MUST(nc_create("given_up", NC_CLOBBER | mode, &f.id));
    define(&g, &f);
    MUST(nc_abort(f.id));
  }
#endif
  MUST(create(path, NC_CLOBBER | mode, &f.id));
  define(&g, &f);
  end_definitions(&f, 0);
  put_some(&g, &f);
  MUST(NAME(close)(f.id));
  point();
  if (getenv("REOPEN") != NULL && draw(&g, 2)) {
    int ignored;
    MUST(open_file(path, NC_WRITE, &f.id));
    MUST(NAME(redef)(f.id));
    MUST(NAME(set_fill)(f.id, NC_FILL, &ignored));
    MUST(NAME(enddef)(f.id));
    put_some(&g, &f);
    MUST(NAME(close)(f.id));
  }
}

/* Reading */

static unsigned long long sum_of(const void* bytes, size_t n) {
  unsigned long long sum = 1469598103934665603ULL;
  for (size_t i = 0; i < n; ++i) sum = (sum ^ ((const unsigned char*)bytes)[i]) * 1099511628211ULL;
  return sum;
}

static void read_attributes(FILE* out, int id, int varid, int count) {
  for (int i = 0; i < count; ++i) {
    char name[NC_MAX_NAME + 1], words[200] = "";
    double values[200];
    nc_type type;
    extent length;
    MUST(NAME(inq_attname)(id, varid, i, name));
    MUST(NAME(inq_att)(id, varid, name, &type, &length));
    if (type == NC_CHAR)
      MUST(NAME(get_att_text)(id, varid, name, words));
    else
      MUST(NAME(get_att_double)(id, varid, name, values));
    fprintf(out, "  %s %d %lld %s", name, type, (long long)length, words);
    for (extent k = 0; type != NC_CHAR && k < length; ++k) fprintf(out, " %g", values[k]);
    fprintf(out, "\n");
  }
}

static void get(const struct file* f, const struct variable* v, const struct slab* s, int is_collective) {
#ifdef SERIAL
  const ptrdiff_t* stride = (const ptrdiff_t*)s->stride;
  (void)is_collective;
  if (s->elements == 0) return;
  if (v->is_text)
    MUST(nc_get_vars_text(f->id, v->id, s->start, s->count, stride, text));
  else
    MUST(nc_get_vars_double(f->id, v->id, s->start, s->count, stride, numbers));
#else
  if (!is_collective && v->is_text)
    MUST(ncmpi_get_vars_text(f->id, v->id, s->start, s->count, s->stride, text));
  else if (!is_collective)
    MUST(ncmpi_get_vars_double(f->id, v->id, s->start, s->count, s->stride, numbers));
  else if (v->is_text)
    MUST(ncmpi_get_vars_text_all(f->id, v->id, s->start, s->count, s->stride, text));
  else
    MUST(ncmpi_get_vars_double_all(f->id, v->id, s->start, s->count, s->stride, numbers));
#endif
}

static void read_variable(FILE* out, struct generator* g, struct file* f, int varid) {
  struct variable v;
  char name[NC_MAX_NAME + 1];
  int dims[MOST_RANK], natts;
  nc_type type;
  memset(&v, 0, sizeof v);
  v.id = varid;
  MUST(NAME(inq_var)(f->id, varid, name, &type, &v.ndims, dims, &natts));
  v.is_text = type == NC_CHAR;
  v.by = -1;
  fprintf(out, " %s %d", name, type);
  int is_empty = 0;
  for (int i = 0; i < v.ndims; ++i) {
    MUST(NAME(inq_dimlen)(f->id, dims[i], &v.shape[i]));
    fprintf(out, " %lld", (long long)v.shape[i]);
    is_empty = is_empty || v.shape[i] == 0;
  }
  fprintf(out, "\n");
  read_attributes(out, f->id, varid, natts);
  if (v.ndims > 0) v.by = (int)draw(g, (unsigned)v.ndims);
  v.is_cyclic = draw(g, 3) == 0;
  const int is_whole = draw(g, 2);
  const int is_collective = draw(g, 3) != 0;
#ifndef SERIAL
  if (!is_collective) MUST(ncmpi_begin_indep_data(f->id));
#endif
  struct slab s = slab_of(g, &v, is_whole ? 0 : rank, is_whole ? 1 : ranks);
  if (!is_empty && (s.elements > 0 || is_collective)) {
    get(f, &v, &s, is_collective);
    fprintf(
        out, "  %lld elements %016llx\n", (long long)s.elements,
        v.is_text ? sum_of(text, (size_t)s.elements) : sum_of(numbers, (size_t)s.elements * sizeof *numbers));
  }
#ifndef SERIAL
  if (!is_collective) MUST(ncmpi_end_indep_data(f->id));
#endif
}

static void read_file(const char* output, unsigned long long seed, unsigned number, const char* path) {
  struct generator g = generator_of(seed, number, 2);
  struct file f;
  char unfinished[420], finished[400];
  snprintf(finished, sizeof finished, "%s.%u.%d", output, number, rank);
  snprintf(unfinished, sizeof unfinished, "%s.unfinished", finished);
  if (least_of_all(access(finished, F_OK) == 0)) return;
  point();
  FILE* const out = fopen(unfinished, "w");
  int natts, unlimited;
  MUST(open_file(path, NC_NOWRITE, &f.id));
  MUST(NAME(inq)(f.id, &f.ndims, &f.nvars, &natts, &unlimited));
  fprintf(out, "%u %d %d %d %d\n", number, f.ndims, f.nvars, natts, unlimited);
  for (int i = 0; i < f.ndims; ++i) {
    char name[NC_MAX_NAME + 1];
    extent length;
    MUST(NAME(inq_dim)(f.id, i, name, &length));
    fprintf(out, " %s %lld\n", name, (long long)length);
  }
  read_attributes(out, f.id, NC_GLOBAL, natts);
  for (int i = 0; i < f.nvars; ++i) {
    read_variable(out, &g, &f, i);
    point();
  }
  if (fclose(out) != 0 || rename(unfinished, finished) != 0) give_up();
  MUST(NAME(close)(f.id));
  point();
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  if (argc < 5) {
    fprintf(stderr, "random_files write|read SEED FILES PREFIX [OUTPUT]\n");
    give_up();
  }
  const unsigned long long seed = strtoull(argv[2], NULL, 10);
  char path[400];
  for (unsigned i = 0; i < (unsigned)atoi(argv[3]); ++i) {
    if (getenv("STREAM") != NULL)
      snprintf(path, sizeof path, "%s.nc", argv[4]);
    else
      snprintf(path, sizeof path, "%s%u.nc", argv[4], i);
    if (argc == 5)
      write_file(seed, i, path);
    else
      read_file(argv[5], seed, i, path);
  }
  end();
  return 0;
}
