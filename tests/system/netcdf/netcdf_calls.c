/* netcdf_calls write|append|read PATH SEED: many calls of netCDF-C in a random order, right and wrong ones,
   with what each returned and gave. The same lines are expected on disk and in a run. write4, append4, read4:
   as netCDF-4, in groups. steps4, looks4: several files of one process. Each begins with the calls of the
   first one; some go on with others, some end in nc_abort. put_varied4, get_varied4: files that differ in the
   values of attributes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most = 5, places = 4096 };

static unsigned long long state;
static long turns, turn_of_change; /* of the random numbers: where a step begins to differ from others */

static unsigned below(unsigned limit) {
  if (++turns == turn_of_change) state += 4711;
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (unsigned)(state >> 33) % limit;
}

static int id;   /* the dataset, or a group of it */
static int root; /* the dataset */
static int is_netcdf4;

static void tell(const char* what, int status) {
  printf("%s: %d\n", what, status);
}

static const nc_type types[] = {NC_BYTE,  NC_CHAR,   NC_SHORT, NC_INT,   NC_FLOAT, NC_DOUBLE,
                                NC_UBYTE, NC_USHORT, NC_UINT,  NC_INT64, NC_UINT64};

static nc_type any_type(int is_data5) {
  return types[below(below(20) == 0 || is_data5 ? 11 : 6)];
}

static const char* any_name(char kind) {
  static char name[8];
  snprintf(name, sizeof name, "%c%u", kind, below(most + 1));
  return name;
}

static int any_id(int count) {
  return below(12) == 0 ? (int)below(9) - 2 : count > 0 ? (int)below((unsigned)count) : 0;
}

static int counts(int* dimensions, int* attributes) {
  int variables = 0;
  nc_inq(id, dimensions, &variables, attributes, NULL);
  return variables;
}

/* The length of a new dimension. Where several dimensions grow, netCDF 4.9.0 gives garbage for what nobody
 * has put. */
static size_t any_length(void) {
  int growing = -1;
  if (!is_netcdf4) return below(4) == 0 ? NC_UNLIMITED : below(5);
  nc_inq_unlimdim(root, &growing);
  return below(4) == 0 && growing < 0 && id == root ? NC_UNLIMITED : 1 + below(4);
}

/* In netCDF-4 the growing dimension is the first one, for the same reason. */
static int any_dimensions(int* dimids, int dimensions) {
  const int rank = (int)below(4);
  int growing = -1;
  if (is_netcdf4) nc_inq_unlimdim(root, &growing);
  for (int i = 0; i < rank; ++i) {
    dimids[i] = any_id(dimensions);
    if (i > 0 && dimids[i] == growing && growing >= 0) return i;
  }
  return rank;
}

/* In data mode without attributes: netCDF 4.9.0 lets them grow into data. */
static void define(int is_data5, int is_data_mode) {
  int dimensions = 0, variables = counts(&dimensions, NULL), given = -7, dimids[3];
  unsigned long long values[4] = {below(300), below(70000), below(100), 1};
  const int varid = below(3) == 0 ? NC_GLOBAL : any_id(variables);
  switch (is_data_mode ? below(2) * 6 + below(2) : below(8)) {
    case 0:
      tell("def_dim", nc_def_dim(id, any_name('d'), any_length(), &given));
      break;
    case 1:
    case 2: {
      const int rank = any_dimensions(dimids, dimensions);
      tell("def_var", nc_def_var(id, any_name('v'), any_type(is_data5), rank, dimids, &given));
      break;
    }
    case 3:
      tell("put_att_text", nc_put_att_text(id, varid, any_name('a'), below(9), "textual!"));
      break;
    case 4: {
      const double numbers[3] = {below(400), 1.5, -3e9 * below(2)};
      tell("put_att_double",
           nc_put_att_double(id, varid, any_name('a'), any_type(is_data5), 1 + below(3), numbers));
      break;
    }
    case 5:
      tell("put_att", nc_put_att(id, varid, any_name('a'), any_type(is_data5), 1, values));
      break;
    case 6: /* netCDF 4.9.0 cannot close some netCDF-4 files with new names */
      if (is_netcdf4) break;
      tell("rename", below(2) == 0   ? nc_rename_dim(id, any_id(dimensions), any_name('d'))
                     : below(2) == 0 ? nc_rename_var(id, any_id(variables), any_name('v'))
                                     : nc_rename_att(id, varid, any_name('a'), any_name('a')));
      break;
    default:
      tell("del_att", nc_del_att(id, varid, any_name('a')));
  }
  printf("  id %d\n", given);
}

static void any_slab(int varid, size_t* start, size_t* count, ptrdiff_t* stride, ptrdiff_t* imap) {
  int rank = 0, dimids[NC_MAX_VAR_DIMS];
  nc_inq_var(id, varid, NULL, NULL, &rank, dimids, NULL);
  ptrdiff_t step = 1;
  for (int i = rank - 1; i >= 0; --i) {
    size_t length = 0;
    int growing = -1;
    nc_inq_dimlen(id, dimids[i], &length);
    nc_inq_unlimdim(id, &growing);
    const unsigned room = (unsigned)length + (dimids[i] == growing ? 2 : 0) + (below(10) == 0);
    start[i] = below(room + 1);
    count[i] = below(room - (start[i] < room ? (unsigned)start[i] : room) + 1);
    stride[i] = below(3) == 0 ? 2 : 1;
    if (below(40) == 0) stride[i] = 0;
    imap[i] = step;
    step *= (ptrdiff_t)count[i] + 1;
  }
}

/* Whether a strided access has elements, and all are there. Of others, netCDF may have made a part when it
 * finds out. */
static int is_inside(int varid, const size_t* start, const size_t* count, const ptrdiff_t* stride) {
  int rank = 0, dimids[NC_MAX_VAR_DIMS];
  nc_inq_var(id, varid, NULL, NULL, &rank, dimids, NULL);
  for (int i = 0; i < rank; ++i) {
    size_t length = 0;
    nc_inq_dimlen(id, dimids[i], &length);
    if (count[i] == 0 || stride[i] <= 0 || start[i] + (count[i] - 1) * (size_t)stride[i] >= length) return 0;
  }
  return 1;
}

static void move(int is_put) {
  static double buffer[places];
  static long long whole[places];
  static char letters[places];
  size_t start[NC_MAX_VAR_DIMS] = {0}, count[NC_MAX_VAR_DIMS] = {0};
  ptrdiff_t stride[NC_MAX_VAR_DIMS], imap[NC_MAX_VAR_DIMS];
  const int varid = any_id(counts(NULL, NULL));
  any_slab(varid, start, count, stride, imap);
  for (int i = 0; i < places; ++i) {
    buffer[i] = is_put ? (double)below(100) : -1.0;
    whole[i] = is_put ? (long long)below(90) : -1;
    letters[i] = is_put ? (char)('a' + below(26)) : '-';
  }
  int status = 0, rank = 0;
  const unsigned kind = below(7);
  nc_inq_varndims(id, varid, &rank);
  printf("%s by function %u, variable %d:", is_put ? "put" : "get", kind, varid);
  for (int i = 0; i < rank; ++i) printf(" %zu+%zu*%td", start[i], count[i], stride[i]);
  printf("\n");
  const int is_strided = kind == 1 || kind == 2;
  if (is_strided && !is_inside(varid, start, count, stride)) return;
  switch (kind) {
    case 0:
      status = is_put ? nc_put_vara_double(id, varid, start, count, buffer)
                      : nc_get_vara_double(id, varid, start, count, buffer);
      break;
    case 1:
      status = is_put ? nc_put_vars_longlong(id, varid, start, count, stride, whole)
                      : nc_get_vars_longlong(id, varid, start, count, stride, whole);
      break;
    case 2:
      status = is_put ? nc_put_varm_double(id, varid, start, count, stride, imap, buffer)
                      : nc_get_varm_double(id, varid, start, count, stride, imap, buffer);
      break;
    case 3:
      status = is_put ? nc_put_vara_text(id, varid, start, count, letters)
                      : nc_get_vara_text(id, varid, start, count, letters);
      break;
    case 4:
      status = is_put ? nc_put_var1_longlong(id, varid, start, whole)
                      : nc_get_var1_longlong(id, varid, start, whole);
      break;
    case 5:
      status =
          is_put ? nc_put_vara(id, varid, start, count, whole) : nc_get_vara(id, varid, start, count, whole);
      break;
    default:
      status = is_put ? nc_put_var_longlong(id, varid, whole) : nc_get_var_longlong(id, varid, whole);
  }
  tell(is_put ? "put" : "get", status);
  if (is_put) return;
  unsigned long long sum = 0;
  const int is_whole = status == 0;
  for (int i = 0; is_whole && i < places; ++i)
    sum = sum * 31 + (unsigned long long)(buffer[i] * 4) + (unsigned long long)whole[i] +
          (unsigned char)letters[i];
  printf("  values %g %lld, all %llx\n", is_whole ? buffer[0] : 0, is_whole ? whole[0] : 0, sum);
}

static void describe_attributes(int varid, int count) {
  for (int i = 0; i < count; ++i) {
    char name[NC_MAX_NAME + 1], bytes[4096] = {0};
    nc_type type = 0;
    size_t length = 0, size = 0;
    tell("attname", nc_inq_attname(id, varid, i, name));
    tell(name, nc_inq_att(id, varid, name, &type, &length));
    nc_inq_type(id, type, NULL, &size);
    tell("get_att", nc_get_att(id, varid, name, bytes));
    double numbers[512] = {0};
    printf("  type %d length %zu; as numbers %d;", type, length, nc_get_att_double(id, varid, name, numbers));
    for (size_t j = 0; j < length * size && j < sizeof bytes; ++j) printf(" %02x", (unsigned char)bytes[j]);
    printf("\n");
  }
}

static void describe(void) {
  int dimensions = 0, attributes = 0, growing = -5, format = 0, groups = -1, mode = 0;
  const int variables = counts(&dimensions, &attributes);
  tell("inq_unlimdim", nc_inq_unlimdim(id, &growing));
  tell("inq_format", nc_inq_format(id, &format));
  printf("%d dimensions, %d variables, %d attributes, growing %d, format %d\n", dimensions, variables,
         attributes, growing, format);
  tell("inq_format_extended", nc_inq_format_extended(id, &format, &mode));
  printf("  format %d\n", format);
  tell("inq_grps", nc_inq_grps(id, &groups, NULL));
  tell("def_grp", nc_def_grp(id, "g", &groups));
  tell("inq_ncid", nc_inq_ncid(id, "g", &groups));
  tell("inq_grp_parent", nc_inq_grp_parent(id, &groups));
  tell("inq_varid", nc_inq_varid(id, "none", &groups));
  for (int i = 0; i < dimensions; ++i) {
    char name[NC_MAX_NAME + 1] = "";
    size_t length = 0;
    tell("inq_dim", nc_inq_dim(id, i, name, &length));
    printf("  %s %zu\n", name, length);
  }
  describe_attributes(NC_GLOBAL, attributes);
  for (int i = 0; i < variables; ++i) {
    char name[NC_MAX_NAME + 1] = "";
    int rank = 0, dimids[NC_MAX_VAR_DIMS], shuffle = 0, deflate = 0, level = 0, unfilled = -1, storage = -1;
    nc_type type = 0;
    unsigned long long fill = 0;
    tell("inq_var", nc_inq_var(id, i, name, &type, &rank, dimids, &attributes));
    printf("  %s type %d:", name, type);
    for (int d = 0; d < rank; ++d) printf(" %d", dimids[d]);
    tell("; deflate", nc_inq_var_deflate(id, i, &shuffle, &deflate, &level));
    tell("chunking", nc_inq_var_chunking(id, i, &storage, NULL));
    tell("fill", nc_inq_var_fill(id, i, &unfilled, &fill));
    printf("  %d %d %d %d %llx\n", deflate, storage, unfilled, attributes, fill);
    describe_attributes(i, attributes);
  }
}

static void choose_group(void) {
  int group = root;
  tell("def_grp", nc_def_grp(id, any_name('g'), &group));
  id = below(2) == 0 ? root : group;
}

static int is_aborted; /* within its second round of definitions */

static void change_file(int is_data5) {
  int old = -1;
  for (int round = 0; round < 3; ++round) {
    if (is_netcdf4) choose_group();
    for (unsigned i = 0, calls = 10 + below(40); i < calls; ++i)
      below(8) == 0 ? move((int)below(2)) : define(is_data5, 0);
    if (is_aborted && round == 1) {
      tell("abort", nc_abort(root));
      return;
    }
    if (below(5) == 0) tell("set_fill", nc_set_fill(id, below(2) == 0 ? NC_FILL : NC_NOFILL, &old));
    tell("set_fill", nc_set_fill(id, NC_FILL, &old)); /* what is not filled is undefined */
    if (below(6) == 0) tell("sync", nc_sync(id));
    if (below(6) == 0) tell("redef", nc_redef(id));
    tell("enddef", nc_enddef(id));
    for (unsigned i = 0, calls = below(40); i < calls; ++i)
      below(12) == 0 ? define(is_data5, 1) : move(below(3) != 0);
    if (below(3) == 0) tell("sync", nc_sync(id));
    if (below(6) == 0) tell("enddef", nc_enddef(id));
    describe();
    tell("redef", nc_redef(id));
  }
  tell("close", nc_close(root));
  tell("close", nc_close(root));
}

static void write_file(const char* path) {
  const int format = (int)below(3) + 3 * is_netcdf4;
  const int flags[] = {0,          NC_64BIT_OFFSET, NC_64BIT_DATA, NC_NETCDF4 | NC_CLASSIC_MODEL,
                       NC_NETCDF4, NC_NETCDF4};
  tell("create", nc_create(path, flags[format], &id));
  root = id;
  change_file(format >= 2);
}

static void append_to_file(const char* path) {
  tell("open", nc_open(path, NC_WRITE, &id));
  root = id;
  describe();
  for (unsigned i = 0; i < 20; ++i) move(below(3) != 0);
  tell("sync", nc_sync(id));
  tell("redef", nc_redef(id));
  change_file(is_netcdf4);
}

static void read_file(const char* path) {
  char own[4096] = "";
  size_t length = 0;
  tell("open", nc_open(path, NC_NOWRITE, &id));
  tell("inq_path", nc_inq_path(id, &length, own));
  printf("  %s, %zu\n", own, length);
  describe();
  root = id;
  for (unsigned i = 0; i < 60; ++i) {
    if (i % 20 == 19 && nc_inq_ncid(root, any_name('g'), &id) != 0) id = root;
    move(below(20) == 0);
  }
  for (unsigned i = 0; i < 10; ++i) define(0, 0);
  tell("redef", nc_redef(id));
  tell("enddef", nc_enddef(id));
  tell("sync", nc_sync(id));
  describe();
  tell("close", nc_close(root));
}

/* The shadows that Sluice makes: each is a temporary file. */
static int shadows;

int mkostemp(char* name, int flags) {
  int (*real)(char*, int) = (int (*)(char*, int))dlsym(RTLD_NEXT, "mkostemp");
  ++shadows;
  return real(name, flags);
}

static void for_each_step(const char* path, int writes) {
  enum { steps = 9 };
  const unsigned long long seed = state;
  for (int step = 0; step < steps; ++step) {
    char name[4096];
    snprintf(name, sizeof name, "%s.%d", path, step);
    turns = 0;
    turn_of_change = step % 3 == 2 ? 20 + (long)(seed % 89) * step : 0;
    state = seed;
    is_aborted = writes && step % 4 == 3;
    if (writes)
      write_file(name);
    else
      read_file(name);
  }
  fprintf(stderr, "%d shadows\n", shadows);
}

/* Files that differ in the values of attributes, which some set twice, look at, or remove. */
static void write_varied(int step) {
  int group, x, v, w;
  short range[3] = {(short)step, 2, (short)(step * 7)};
  double time = 0.25 * step, back = -1, rounded = step == 4 ? 1.7 : 2.7;
  char text[] = "step 0";
  text[5] = (char)('0' + step);
  nc_def_dim(root, "x", 3, &x);
  nc_def_var(root, "v", NC_INT, 1, &x, &v);
  nc_put_att_text(root, NC_GLOBAL, "history", 6, text);
  nc_put_att_double(root, v, "time", NC_DOUBLE, 1, &time);
  nc_put_att_double(root, v, "rounded", NC_FLOAT, 1, &rounded);
  nc_def_grp(root, "g", &group);
  nc_def_var(group, "w", NC_SHORT, 1, &x, &w);
  if (step == 3) tell("back", nc_get_att_double(root, v, "time", &back));
  nc_put_att_short(group, w, "range", NC_SHORT, 3, range);
  nc_put_var_short(group, w, range);
  time += 1;
  nc_put_att_double(root, v, "time", NC_DOUBLE, 1, &time);
  nc_put_att_text(root, NC_GLOBAL, "end", 6, text);
  if (step == 5) tell("delete", nc_del_att(group, w, "range"));
  if (step == 6) tell("rename", nc_rename_att(root, v, "time", "moment"));
  if (step == 7) nc_put_att_short(group, NC_GLOBAL, "range", NC_SHORT, 3, range);
  if (step == 8) nc_put_att_text(root, NC_GLOBAL, "history", 3, text);
  printf("%g\n", back);
}

static void read_varied(void) {
  int group = 0, v = 0, w = 0;
  char text[16] = "";
  double time = -1;
  float range[3] = {0, 0, 0};
  unsigned char small[3] = {0, 0, 0};
  nc_inq_varid(root, "v", &v);
  nc_inq_ncid(root, "g", &group);
  nc_inq_varid(group, "w", &w);
  tell("history", nc_get_att_text(root, NC_GLOBAL, "history", text));
  tell("time", nc_get_att(root, v, "time", &time));
  tell("no text", nc_get_att_text(root, v, "time", text + 8));
  tell("range", nc_get_att_float(group, w, "range", range));
  tell("small", nc_get_att_uchar(group, w, "range", small));
  printf("%s %g %g %g %d\n", text, time, range[0], range[2], small[2]);
}

static void for_each_varied(const char* path, int writes) {
  for (int step = 0; step < 16; ++step) {
    char name[4096];
    snprintf(name, sizeof name, "%s.%d", path, step);
    tell("file", writes ? nc_create(name, NC_NETCDF4, &root) : nc_open(name, 0, &root));
    if (writes)
      write_varied(step);
    else
      read_varied();
    tell("close", nc_close(root));
  }
  if (writes) {
    tell("again", nc_open("v.nc.2", NC_WRITE, &root));
    read_varied();
    tell("put", nc_put_att_text(root, NC_GLOBAL, "later", 3, "end"));
    tell("close", nc_close(root));
  }
  fprintf(stderr, "%d shadows\n", shadows);
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  state = strtoull(argv[3], NULL, 10) * 7919 + 17;
  below(2);
  is_netcdf4 = strchr(argv[1], '4') != NULL;
  if (strncmp(argv[1], "write", 5) == 0) write_file(argv[2]);
  if (strncmp(argv[1], "append", 6) == 0) append_to_file(argv[2]);
  if (strncmp(argv[1], "read", 4) == 0) read_file(argv[2]);
  if (strcmp(argv[1], "steps4") == 0 || strcmp(argv[1], "looks4") == 0)
    for_each_step(argv[2], argv[1][0] == 's');
  if (strstr(argv[1], "varied4") != NULL) for_each_varied(argv[2], argv[1][0] == 'p');
  return 0;
}
